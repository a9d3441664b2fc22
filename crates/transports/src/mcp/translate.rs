//! From our words to the protocol's: replies, content, resources, prompts, questions, errors.

use std::sync::Arc;

use countersign_contract::{Capability, Code, Failure, Offers, Question, Rejection, Reply, Subject, ToolError};
use countersign_host::NoAnswer;
use rmcp::model::{
    CallToolResult, ClientCapabilities, ContentBlock, ErrorCode, ErrorData, GetPromptResult, InputRequest, Reference,
    ServerCapabilities,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::problem::shown;

/// Our types have the protocol's shape, so the way between them is JSON.
pub(super) fn convert<T: DeserializeOwned>(ours: impl Serialize) -> Result<T, ErrorData> {
    let value = serde_json::to_value(ours).and_then(serde_json::from_value);
    value.map_err(|error| {
        tracing::error!(%error, "cannot be said in MCP");
        ErrorData::internal_error("Internal error", None)
    })
}

pub(super) fn tool_result(reply: Reply) -> Result<CallToolResult, ErrorData> {
    let is_error = reply.is_error();
    let content = match reply.content {
        Some(blocks) => convert(blocks)?,
        None => vec![ContentBlock::text(Arc::unwrap_or_clone(reply.text))],
    };
    let mut result = CallToolResult::success(content);
    result.structured_content = reply.promised.then_some(reply.structured);
    result.is_error = Some(is_error);
    Ok(result)
}

/// A prompt with its description and its messages.
pub(super) fn prompt_result(mut prompt: Value) -> Result<GetPromptResult, ErrorData> {
    let result = GetPromptResult::new(convert(prompt["messages"].take())?);
    Ok(match prompt["description"].as_str() {
        None | Some("") => result,
        Some(description) => result.with_description(description),
    })
}

pub(super) fn subject(reference: Reference) -> Option<Subject> {
    match reference {
        Reference::Prompt(prompt) => Some(Subject::Prompt(prompt.name)),
        Reference::Resource(resource) => Some(Subject::Template(resource.uri)),
        _ => None,
    }
}

pub(super) fn input_request(question: &Question) -> Result<InputRequest, ErrorData> {
    convert(match question {
        Question::Form { message, schema } => json!({
            "method": "elicitation/create",
            "params": {"mode": "form", "message": message, "requestedSchema": schema},
        }),
        Question::Completion { prompt, max_tokens } => json!({
            "method": "sampling/createMessage",
            "params": {
                "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
                "maxTokens": max_tokens,
            },
        }),
        Question::Roots => json!({"method": "roots/list"}),
        Question::PassedOn { request, .. } => request.clone(),
    })
}

pub(super) fn capability_name(capability: Capability) -> &'static str {
    match capability {
        Capability::Elicitation => "elicitation",
        Capability::Sampling => "sampling",
        Capability::Roots => "roots",
    }
}

/// Why a call of this tool has no result; questions to the client are none of these.
pub(super) fn no_answer(reason: &NoAnswer, tool: &str) -> ErrorData {
    match reason {
        NoAnswer::UnknownTool => ErrorData::invalid_params(format!("Unknown tool: {}", shown(tool)), None),
        NoAnswer::MissingCapability(capability) => missing(*capability),
        // Nobody reads this.
        NoAnswer::Cancelled | NoAnswer::InputRequired(_) => ErrorData::internal_error("Cancelled", None),
    }
}

pub(super) fn missing(capability: Capability) -> ErrorData {
    match convert::<ClientCapabilities>(json!({capability_name(capability): {}})) {
        Ok(required) => ErrorData::missing_required_client_capability(required),
        Err(error) => error,
    }
}

pub(super) fn capabilities(offers: Offers) -> ServerCapabilities {
    let mut capabilities = json!({"tools": {"listChanged": true}});
    if offers.resources {
        capabilities["resources"] = json!({"listChanged": true, "subscribe": offers.resource_updates});
    }
    if offers.prompts {
        capabilities["prompts"] = json!({"listChanged": true});
    }
    if offers.completions {
        capabilities["completions"] = json!({});
    }
    if offers.messages {
        capabilities["logging"] = json!({});
    }
    convert(capabilities).unwrap_or_default()
}

/// Why a resource or a prompt cannot be had.
pub(super) fn provider_error(error: ToolError, subject: &Value) -> ErrorData {
    match error {
        ToolError::Rejected(Rejection { code: Code::NotFound, error, .. }) => {
            ErrorData::new(ErrorCode::RESOURCE_NOT_FOUND, error, Some(subject.clone()))
        }
        ToolError::Rejected(rejection) => {
            ErrorData::invalid_params(rejection.error, Some(json!({"code": rejection.code})))
        }
        ToolError::MissingCapability(capability) => missing(capability),
        ToolError::Internal(_) | ToolError::TimedOut(_) | ToolError::Cancelled | ToolError::InputRequired(_) => {
            tracing::error!(%error, %subject, "provider failed");
            ErrorData::internal_error("Internal error", None)
        }
    }
}

/// Why the gate gave no resource or prompt.
pub(super) fn refusal(failure: &Failure, mut structured: Value, subject: Value) -> ErrorData {
    let error = structured["error"].as_str().unwrap_or_default().to_owned();
    let data = json!({"code": failure.code, "details": structured["details"].take()});
    if failure.code == Code::NotFound {
        return ErrorData::new(ErrorCode::RESOURCE_NOT_FOUND, error, Some(subject));
    }
    // What the client can do nothing about.
    if matches!(failure.code, Code::InternalError | Code::Timeout) {
        return ErrorData::internal_error(error, Some(data));
    }
    ErrorData::invalid_params(error, Some(data))
}
