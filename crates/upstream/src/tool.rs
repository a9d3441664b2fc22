//! A tool of another server as the gate sees it. What the server gives is taken apart here and checked by the gate; what
//! is passed on is made from what was checked.

use std::sync::Arc;

use countersign_contract::{
    AnyTool, BoxFuture, CallContext, Code, Content, Contract, Output, Rejection, ToolError, to_json,
};
use serde_json::{Map, Value, json};

use crate::keeper::Line;
use crate::link::LinkError;
use crate::session::CallFailure;
use crate::texts;

/// What of an upstream's own words about a failure goes to the caller.
const ERROR_MAX: usize = 2000;

pub(crate) struct UpstreamTool {
    pub(crate) contract: Arc<Contract>,
    /// As its server calls it.
    pub(crate) own_name: String,
    pub(crate) line: Arc<Line>,
}

impl AnyTool for UpstreamTool {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call_json<'a>(&'a self, ctx: &'a CallContext, arguments: Value) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let Some(session) = self.line.session() else {
                let error = format!("The server `{}` is not connected", self.line.name());
                return Err(Rejection::new(Code::Unavailable, error).into());
            };
            let params = Map::from_iter([
                ("name".to_owned(), self.own_name.clone().into()),
                ("arguments".to_owned(), arguments),
            ]);
            let answer = session.ask("tools/call", params, ctx.deadline, ctx.progress.clone()).await;
            let mut result = answer.map_err(|failure| self.failed(failure))?;
            if result.get("isError").and_then(Value::as_bool) == Some(true) {
                let words = texts::cleaned(&text_of(&result)).chars().take(ERROR_MAX).collect::<String>();
                let error = if words.trim().is_empty() { "The server says that it failed".to_owned() } else { words };
                return Err(Rejection::new(Code::UpstreamError, error).into());
            }
            if result.get("resultType").and_then(Value::as_str).is_some_and(|kind| kind != "complete") {
                let error = "The server asks for something that is not passed on";
                return Err(Rejection::new(Code::UpstreamError, error).into());
            }
            Ok(self.output(&mut result))
        })
    }

    /// Nothing is passed on that it might ask.
    fn asks_its_client(&self) -> bool {
        false
    }

    fn parse(&self, _result: &Value) -> Result<(), serde_json::Error> {
        Ok(())
    }
}

impl UpstreamTool {
    fn output(&self, result: &mut Value) -> Output {
        let mut blocks = result.get_mut("content").map(Value::take).unwrap_or_default();
        texts::clean(&mut blocks);
        if !self.contract.is_structured() {
            let content = blocks.as_array().cloned().unwrap_or_default().into_iter().map(block).collect();
            return Output { structured: json!({"content": blocks}), content: Some(content) };
        }
        let structured = result.get_mut("structuredContent").map(Value::take).unwrap_or_default();
        // Its text is made anew from what is checked; pictures and the like have no other form.
        let blocks = blocks.as_array().cloned().unwrap_or_default();
        let others: Vec<Content> = blocks.into_iter().filter(|block| block["type"] != "text").map(block).collect();
        let content = (!others.is_empty()).then(|| {
            let twin = Content::text(to_json(&structured));
            std::iter::once(twin).chain(others).collect()
        });
        Output { structured, content }
    }

    fn failed(&self, failure: CallFailure) -> ToolError {
        let server = self.line.name();
        match failure {
            CallFailure::Late(deadline) => ToolError::TimedOut(deadline),
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
                    LinkError::Unreachable(_) | LinkError::Status(_) => Code::NetworkError,
                    LinkError::Start(_) | LinkError::Over(_) => Code::Unavailable,
                    LinkError::Garbled(_) => Code::UpstreamError,
                };
                Rejection::new(code, format!("The server `{server}` did not answer")).into()
            }
        }
    }
}

fn text_of(result: &Value) -> String {
    let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = blocks.filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    texts.join("\n")
}

fn block(block: Value) -> Content {
    if let Value::Object(members) = block { Content::Other(members) } else { Content::text(block.to_string()) }
}
