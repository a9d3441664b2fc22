//! `POST /v1/ask`: `{query, summary?}`, answered with the plan and what came of it.

use std::sync::Arc;

use countersign_ask::{Answered, AskError, Question};
use countersign_contract::{Caller, Code};
use countersign_host::Wire;
use http::StatusCode;
use serde::Deserialize;

use super::{Asked, Service};
use crate::body::read_json;
use crate::problem::Problem;
use crate::response::{Response, json_response};
use crate::wire::http_status;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    query: String,
    #[serde(default)]
    summary: bool,
}

impl Service {
    pub(super) async fn ask(&self, asked: Asked) -> Result<Response, Problem> {
        let Some(ask) = &self.ask else {
            let error = "Questions are not answered here";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, error));
        };
        let body = read_json(&asked.head.headers, asked.body, self.max_body).await?;
        let body: Body = serde_json::from_value(body).map_err(|_| {
            let error = "The body must be {\"query\": \"…\", \"summary\": true or false}, and nothing else";
            Problem::new(StatusCode::BAD_REQUEST, Code::ValidationError, error)
        })?;
        let answered = answer(ask, body, asked.caller).await.map_err(problem)?;
        // A refusal is an answer, too; a failed call says so as it does on its own route.
        let failure = answered.reply().and_then(|reply| reply.failure);
        let status = failure.map_or(StatusCode::OK, http_status);
        Ok(json_response(status, answered.to_json(false).to_string()))
    }
}

async fn answer(ask: &countersign_ask::Ask, body: Body, caller: Arc<Caller>) -> Result<Answered, AskError> {
    let question = Question { query: body.query, summary: body.summary, caller, wire: Wire::Rest };
    ask.answer(ask.plan(question).await?).await
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
fn problem(error: AskError) -> Problem {
    let (status, code) = match error {
        AskError::Empty | AskError::TooLong => (StatusCode::BAD_REQUEST, Code::ValidationError),
        AskError::Model(_) | AskError::Embedding(_) | AskError::Cancelled => {
            (StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable)
        }
    };
    Problem::new(status, code, error.to_string())
}
