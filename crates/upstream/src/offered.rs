//! What a server offers beside tools: resources and prompts, under names that say whose they are.
//!
//! Descriptions are cleaned like those of tools. What has no name, or a name that cannot be used here, is left out.

use std::sync::Arc;
use std::time::Duration;

use countersign_contract::{
    CallContext, Code, Prompt, PromptMessage, PromptText, Rejection, Resource, ResourceContents, ResourceTemplate,
    Subject, ToolError, ToolName,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::asking::in_rounds;
use crate::session::{ANYBODY, CallFailure, Errand, Session};
use crate::spec::ServerSpec;
use crate::texts;
use crate::tool::{failure, passed_on};

/// For whoever has no deadline of its own.
const PATIENCE: Duration = Duration::from_secs(30);

/// A URI that is longer leads nowhere.
const URI_MAX: usize = 4096;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Offered {
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
    /// Whether it completes arguments.
    pub(crate) completes: bool,
}

pub(crate) type Listed<T> = Result<Vec<T>, CallFailure>;

pub(crate) async fn resources(spec: &ServerSpec, session: &Session, within: Duration) -> Listed<Resource> {
    let items = declared(session, "resources", "resources/list", "resources", within).await?;
    Ok(read_all(spec, items, |resource: &mut Resource| {
        resource.uri = spec.uri_here(&resource.uri);
        resource.name = spec.prefixed(&resource.name);
        resource.uri.len() <= URI_MAX
    }))
}

pub(crate) async fn templates(spec: &ServerSpec, session: &Session, within: Duration) -> Listed<ResourceTemplate> {
    let items = match declared(session, "resources", "resources/templates/list", "resourceTemplates", within).await {
        // Not every server that has resources knows what a template is.
        Err(CallFailure::Refused { .. }) => Vec::new(),
        items => items?,
    };
    Ok(read_all(spec, items, |template: &mut ResourceTemplate| {
        template.uri_template = spec.uri_here(&template.uri_template);
        template.name = spec.prefixed(&template.name);
        template.uri_template.len() <= URI_MAX
    }))
}

pub(crate) async fn prompts(spec: &ServerSpec, session: &Session, within: Duration) -> Listed<Prompt> {
    let items = declared(session, "prompts", "prompts/list", "prompts", within).await?;
    Ok(read_all(spec, items, |prompt: &mut Prompt| {
        prompt.name = spec.prefixed(&prompt.name);
        prompt.name.parse::<ToolName>().is_ok()
    }))
}

/// Nobody is asked for what they do not say they have.
async fn declared(
    session: &Session,
    capability: &str,
    method: &str,
    key: &str,
    within: Duration,
) -> Result<Vec<Value>, CallFailure> {
    if session.declares(capability) { session.list(method, key, within).await } else { Ok(Vec::new()) }
}

fn read_all<T: DeserializeOwned>(spec: &ServerSpec, items: Vec<Value>, name: impl Fn(&mut T) -> bool) -> Vec<T> {
    let read = |mut item: Value| {
        texts::clean(&mut item);
        serde_json::from_value(item).ok().and_then(|mut item| name(&mut item).then_some(item))
    };
    let count = items.len();
    let read: Vec<T> = items.into_iter().filter_map(read).collect();
    if read.len() < count {
        let left_out = count - read.len();
        tracing::warn!(server = %spec.name, left_out, "resources or prompts without a usable name are left out");
    }
    read
}

pub(crate) async fn read(
    spec: &ServerSpec,
    session: &Session,
    ctx: &CallContext,
    uri: &str,
) -> Result<Vec<ResourceContents>, ToolError> {
    let not_found = || Rejection::new(Code::NotFound, format!("Resource not found: {}", spec.uri_here(uri)));
    let result = ask(session, ctx, "resources/read", json!({"uri": uri})).await;
    let mut result = match result {
        // As the protocol says it, in either era.
        Err(CallFailure::Refused { code: -32002 | -32602, .. }) => return Err(not_found().into()),
        other => other.map_err(|error| failure(&spec.name, error))?,
    };
    let contents = result.get_mut("contents").map(Value::take).unwrap_or_default();
    let Value::Array(contents) = contents else { return Err(garbled(spec)) };
    let read = |mut content: Value| {
        let is_text = content.get("text").is_some();
        if is_text {
            texts::clean(&mut content);
        }
        // Many leave it out.
        content
            .as_object_mut()?
            .entry("mimeType")
            .or_insert_with(|| if is_text { "text/plain".into() } else { "application/octet-stream".into() });
        let mut content: ResourceContents = serde_json::from_value(content).ok()?;
        content.uri = spec.uri_here(&content.uri);
        Some(content)
    };
    contents.into_iter().map(read).collect::<Option<_>>().ok_or_else(|| garbled(spec))
}

pub(crate) async fn prompt(
    spec: &ServerSpec,
    session: &Session,
    ctx: &CallContext,
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<PromptText, ToolError> {
    let mut result = in_rounds(&ctx.client, |added| async {
        let mut params = json!({"name": name, "arguments": arguments});
        if let Value::Object(params) = &mut params {
            params.extend(added);
        }
        ask(session, ctx, "prompts/get", params).await.map_err(|error| failure(&spec.name, error))
    })
    .await?;
    let description = texts::cleaned(result.get("description").and_then(Value::as_str).unwrap_or_default());
    let Some(Value::Array(messages)) = result.get_mut("messages").map(Value::take) else { return Err(garbled(spec)) };
    let read = |mut message: Value| {
        let role = serde_json::from_value(message.get("role")?.clone()).ok()?;
        let content = passed_on(spec, message.get_mut("content")?.take())?;
        Some(PromptMessage { role, content })
    };
    let messages = messages.into_iter().map(read).collect::<Option<_>>().ok_or_else(|| garbled(spec))?;
    Ok(PromptText { description, messages })
}

/// `subject` by the server's own name for it.
pub(crate) async fn complete(session: &Session, subject: &Subject, argument: &str, begun: &str) -> Vec<String> {
    let reference = match subject {
        Subject::Prompt(name) => json!({"type": "ref/prompt", "name": name}),
        Subject::Template(uri) => json!({"type": "ref/resource", "uri": uri}),
    };
    let params = json!({"ref": reference, "argument": {"name": argument, "value": begun}});
    let Value::Object(params) = params else { return Vec::new() };
    // Somebody's, and nobody says whose.
    let errand = Errand { caller: Some(ANYBODY.into()), ..Errand::default() };
    let result = session.ask("completion/complete", params, PATIENCE, errand).await;
    let values = result.ok().and_then(|mut result| result.pointer_mut("/completion/values").map(Value::take));
    let values: Vec<String> = values.and_then(|values| serde_json::from_value(values).ok()).unwrap_or_default();
    values.iter().map(|value| texts::cleaned(value)).collect()
}

async fn ask(session: &Session, ctx: &CallContext, method: &str, params: Value) -> Result<Value, CallFailure> {
    let Value::Object(params) = params else { return Err(CallFailure::Garbled("parameters of ours")) };
    let (caller, headers) = (Some(Arc::clone(&ctx.caller.name)), Vec::new());
    let errand = Errand { caller, progress: ctx.progress.clone(), client: ctx.client.clone(), headers };
    session.ask(method, params, ctx.deadline, errand).await
}

fn garbled(spec: &ServerSpec) -> ToolError {
    let error = format!("The server `{}` gave something else than what was asked for", spec.name);
    Rejection::new(Code::UpstreamError, error).into()
}
