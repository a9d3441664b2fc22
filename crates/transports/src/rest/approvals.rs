//! Held calls over HTTP, for approvers only: an agent that could decide here could approve its own calls.

use std::sync::Arc;

use countersign_contract::{ApprovalId, Caller, Code, Decider, Decision, HeldCalls, NotDecided};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Asked, Service};
use crate::body::read_json;
use crate::problem::Problem;
use crate::response::{Response, json_response};

impl Service {
    pub(super) async fn list_approvals(&self, caller: &Caller) -> Result<Response, Problem> {
        let waiting = self.held_calls(caller)?.waiting().await.map_err(unavailable)?;
        Ok(json_response(StatusCode::OK, json!({"approvals": waiting}).to_string()))
    }

    pub(super) async fn approval(&self, id: &str, asked: Asked) -> Result<Response, Problem> {
        let held = self.held_calls(&asked.caller)?;
        let id: ApprovalId = id.parse().map_err(|_| unknown())?;
        if asked.head.method != Method::POST {
            let call = held.get(id).await.map_err(unavailable)?.ok_or_else(unknown)?;
            return Ok(json_response(StatusCode::OK, json!(call).to_string()));
        }
        let decision = decision(&read_json(&asked.head.headers, asked.body, self.max_body).await?)?;
        let by = Decider::Approver(Arc::clone(&asked.caller.name));
        let call = held.decide(id, decision, by).await.map_err(|reason| match reason {
            NotDecided::Unknown => unknown(),
            NotDecided::NotPending(state) => {
                let error = format!("This call is {} already", state.as_str());
                Problem::new(StatusCode::BAD_REQUEST, Code::ValidationError, error)
            }
            NotDecided::OwnCall => {
                Problem::new(StatusCode::FORBIDDEN, Code::AccessDenied, "Nobody may decide about a call of their own")
            }
            NotDecided::Unavailable(error) => unavailable(error),
        })?;
        Ok(json_response(StatusCode::OK, json!(call).to_string()))
    }

    fn held_calls(&self, caller: &Caller) -> Result<&dyn HeldCalls, Problem> {
        if !caller.approver {
            let error = "Only a token with `approver: true` may see and decide approvals here; \
                         on the server's machine there is `countersign approvals`";
            return Err(Problem::new(StatusCode::FORBIDDEN, Code::AccessDenied, error));
        }
        let nobody = || Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, "Approvals are not kept here");
        self.approvals.as_deref().ok_or_else(nobody)
    }
}

/// `{"decision": "approve"}`, and nothing else.
fn decision(body: &Value) -> Result<Decision, Problem> {
    let decision = match body.as_object() {
        Some(members) if members.len() == 1 => members.get("decision").and_then(Value::as_str),
        _ => None,
    };
    match decision {
        Some("approve") => Ok(Decision::Approve),
        Some("deny") => Ok(Decision::Deny),
        _ => {
            let error = "The body must be {\"decision\": \"approve\"} or {\"decision\": \"deny\"}";
            Err(Problem::new(StatusCode::BAD_REQUEST, Code::ValidationError, error))
        }
    }
}

fn unknown() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, Code::NotFound, "There is no held call of this id")
}

fn unavailable(error: impl std::fmt::Display) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, error.to_string())
}
