//! Resources and prompts: somebody else's come through the gate like the result of a tool, our own are simply there.

use std::time::Duration;

use countersign_contract::{CallContext, InputRequired, Progress, ToolError, Wanted};
use countersign_host::NoAnswer;
use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, InputResponses};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};

use super::{Endpoint, translate};

/// What there is of something that was wanted.
pub(super) enum Had {
    /// `{contents}` of a resource, `{description, messages}` of a prompt.
    Value(Value),
    /// The client has to answer first.
    Asks(Box<InputRequired>),
}

/// What came with a request that is a repetition.
type Brought = (Option<InputResponses>, Option<Value>);

impl Endpoint {
    pub(super) async fn have(
        &self,
        wanted: Wanted<'_>,
        arguments: Value,
        context: RequestContext<RoleServer>,
        (responses, state): Brought,
    ) -> Result<Had, ErrorData> {
        let Some(terms) = self.shared.provider.terms(&self.caller(&context), wanted) else {
            return self.have_own(wanted, arguments, context, (responses, state)).await;
        };
        let (name, peer) = (terms.name.to_string(), context.peer.clone());
        let (call, reports) = self.call(name.clone(), arguments, context, responses, state);
        let lent = self.shared.gate.lend(&*self.shared.provider, terms, wanted, call);
        match self.with_reports(lent, reports, &peer).await {
            Ok(answer) => match answer.reply.failure {
                None => Ok(Had::Value(answer.reply.structured)),
                Some(failure) => {
                    Err(of_prompts(translate::refusal(&failure, answer.reply.structured, subject(wanted)), wanted))
                }
            },
            Err(NoAnswer::InputRequired(required)) => Ok(Had::Asks(required)),
            Err(reason) => Err(translate::no_answer(&reason, &name)),
        }
    }

    /// Nobody has to be waited for, so nothing but the client counts.
    async fn have_own(
        &self,
        wanted: Wanted<'_>,
        arguments: Value,
        context: RequestContext<RoleServer>,
        (responses, state): Brought,
    ) -> Result<Had, ErrorData> {
        let (caller, cancelled) = (self.caller(&context), context.ct.clone());
        let client = self.client(context, responses, state);
        let ctx = CallContext::new(caller, Duration::MAX, cancelled, Progress::default(), client);
        let provider = &self.shared.provider;
        let had = match wanted {
            Wanted::Resource(uri) => provider.read(&ctx, uri).await.map(|contents| json!({"contents": contents})),
            Wanted::Prompt(name) => {
                let arguments = if let Value::Object(given) = arguments { given } else { Map::new() };
                let prompt = provider.prompt(&ctx, name, arguments).await;
                prompt.map(|prompt| json!({"description": prompt.description, "messages": prompt.messages}))
            }
        };
        match had {
            Ok(had) => Ok(Had::Value(had)),
            Err(ToolError::InputRequired(required)) => Ok(Had::Asks(required)),
            Err(error) => Err(of_prompts(translate::provider_error(error, &subject(wanted)), wanted)),
        }
    }
}

fn subject(wanted: Wanted<'_>) -> Value {
    match wanted {
        Wanted::Resource(uri) => json!({"uri": uri}),
        Wanted::Prompt(name) => json!({"name": name}),
    }
}

/// The protocol's code for what is not there is for resources only.
fn of_prompts(mut error: ErrorData, wanted: Wanted<'_>) -> ErrorData {
    if matches!(wanted, Wanted::Prompt(_)) && error.code == ErrorCode::RESOURCE_NOT_FOUND {
        error.code = ErrorCode::INVALID_PARAMS;
    }
    error
}
