//! A tool of another server as the gate sees it. What the server gives is taken apart here and checked by the gate; what
//! is passed on is made from what was checked.

pub(crate) mod blocks;

use std::sync::Arc;

use countersign_contract::{
    AnyTool, BoxFuture, CallContext, Code, Content, Contract, Output, Rejection, ToolError, to_json,
};
use serde_json::{Value, json};

use crate::admission::Level;
use crate::asking::in_rounds;
use crate::header_args::{self, HeaderArgument};
use crate::keeper::Line;
use crate::link::LinkError;
use crate::session::{CallFailure, Errand};
use crate::spec::{ServerName, ServerSpec};
use crate::texts;

/// What of an upstream's own words about a failure goes to the caller.
const ERROR_MAX: usize = 2000;

/// What clients understand.
const KNOWN_BLOCKS: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

/// Of these, what goes out beside a result that was checked, whose text is made anew. Under `strict`, nothing that a
/// model could read and nobody has checked.
const WITHOUT_WORDS: [&str; 2] = ["image", "audio"];
const UNCHECKED_BLOCKS: [&str; 4] = ["image", "audio", "resource", "resource_link"];

pub(crate) struct UpstreamTool {
    pub(crate) contract: Arc<Contract>,
    /// As its server calls it.
    pub(crate) own_name: String,
    pub(crate) line: Arc<Line>,
    pub(crate) headers: Vec<HeaderArgument>,
}

impl AnyTool for UpstreamTool {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call_json<'a>(&'a self, ctx: &'a CallContext, arguments: Value) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let session = self.line.connected()?;
            let mut result = in_rounds(&ctx.client, |added| {
                let mut params = added;
                params.insert("name".to_owned(), self.own_name.clone().into());
                params.insert("arguments".to_owned(), arguments.clone());
                let headers = header_args::headers(&self.headers, &arguments);
                let caller = Some(Arc::clone(&ctx.caller.name));
                let errand = Errand { caller, progress: ctx.progress.clone(), client: ctx.client.clone(), headers };
                let asked = session.ask("tools/call", params, ctx.deadline, errand);
                async { asked.await.map_err(|error| failure(self.line.name(), error)) }
            })
            .await?;
            if result.get("isError").and_then(Value::as_bool) == Some(true) {
                let words = texts::cleaned(&text_of(&result)).chars().take(ERROR_MAX).collect::<String>();
                let error = if words.trim().is_empty() { "The server says that it failed".to_owned() } else { words };
                return Err(Rejection::new(Code::UpstreamError, error).into());
            }
            Ok(self.output(&mut result))
        })
    }

    /// Nobody knows before it does.
    fn asks_its_client(&self) -> bool {
        true
    }

    fn parse(&self, _result: &Value) -> Result<(), serde_json::Error> {
        Ok(())
    }
}

impl UpstreamTool {
    fn output(&self, result: &mut Value) -> Output {
        let blocks = result.get_mut("content").map(Value::take);
        let blocks = if let Some(Value::Array(blocks)) = blocks { blocks } else { Vec::new() };
        if !self.contract.is_structured() {
            let content = self.shown(blocks, &KNOWN_BLOCKS);
            return Output { structured: json!({"content": content}), content: Some(content) };
        }
        let structured = result.get_mut("structuredContent").map(Value::take).unwrap_or_default();
        // Its text is made anew from what is checked; pictures and the like have no other form.
        let others = self.shown(blocks, self.beside_structure());
        let content = (!others.is_empty()).then(|| {
            let twin = Content::text(to_json(&structured));
            std::iter::once(twin).chain(others).collect()
        });
        Output { structured, content }
    }

    fn beside_structure(&self) -> &'static [&'static str] {
        match self.line.level() {
            Level::Strict => &WITHOUT_WORDS,
            Level::Standard | Level::Observe => &UNCHECKED_BLOCKS,
        }
    }

    /// Blocks of these kinds, made anew, with resources by the names that they have here.
    fn shown(&self, blocks: Vec<Value>, kinds: &[&str]) -> Vec<Content> {
        let known = |block: &Value| kinds.iter().any(|kind| block["type"] == *kind);
        let wanted = blocks.into_iter().filter(known);
        let spec = self.line.spec();
        wanted.filter_map(|block| passed_on(&spec, block)).collect()
    }
}

/// Why a server gave nothing, for whoever asked.
pub(crate) fn failure(server: &ServerName, failure: CallFailure) -> ToolError {
    match failure {
        CallFailure::Late(deadline) => ToolError::TimedOut(deadline),
        CallFailure::NeedsCapability(capability) => ToolError::MissingCapability(capability),
        CallFailure::OtherVersion(_) => {
            let error = format!("The server `{server}` no longer speaks the version that was agreed on");
            Rejection::new(Code::UpstreamError, error).into()
        }
        CallFailure::Refused { message, .. } => {
            let error = format!("The server `{server}` refused the call: {}", texts::cleaned(&message));
            Rejection::new(Code::UpstreamError, error).into()
        }
        CallFailure::Garbled(what) => {
            Rejection::new(Code::UpstreamError, format!("The server `{server}` gave {what}")).into()
        }
        CallFailure::Link(error) => {
            tracing::warn!(%server, %error, "a call did not come through");
            let code = match error {
                LinkError::Unreachable(_) | LinkError::Nobody(_) | LinkError::Status(_) => Code::NetworkError,
                LinkError::Start(_) | LinkError::Over(_) | LinkError::Forgotten => Code::Unavailable,
                LinkError::Garbled(_) | LinkError::TooMuch(_) => Code::UpstreamError,
            };
            Rejection::new(code, format!("The server `{server}` did not answer")).into()
        }
    }
}

fn text_of(result: &Value) -> String {
    let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    texts.join("\n")
}

/// A block of this server's as clients here see it, if it is one.
pub(crate) fn passed_on(spec: &ServerSpec, block: Value) -> Option<Content> {
    let mut block = blocks::rebuilt(block)?;
    spec.name_resources(&mut block);
    let Value::Object(members) = block else { return None };
    Some(Content::Other(members))
}
