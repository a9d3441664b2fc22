//! What rows of the shared corpus have in common: placeholders, and a call over any wire.

use serde_json::{Value, json};

use crate::env::{Server, TestEnv};
use crate::mcp_http::modern;
use crate::mcp_stdio::Session;

pub(crate) const WIRES: [&str; 4] = ["v1", "mcptool", "modern", "stdio"];

/// A server and a session beside it, called over one wire.
pub(crate) struct Caller {
    wire: &'static str,
    pub(crate) server: Server,
    session: Session,
}

impl Caller {
    pub(crate) fn start(env: &TestEnv, wire: &'static str) -> Self {
        Self { wire, server: env.serve(), session: Session::start(env, &["mcp"]) }
    }

    /// The structured result or error; what `/v1/tools` has as `approval` is under `details` like everywhere else.
    pub(crate) fn call(&mut self, tool: &str, input: &Value) -> Value {
        match self.wire {
            "v1" => {
                let body = json!({"args": input}).to_string();
                let mut body = self.server.post(&format!("/v1/tools/{tool}"), &body).json();
                if body["ok"] == json!(true) {
                    return body["result"].take();
                }
                if body["approval"].is_object() {
                    body["details"] = body["approval"].take();
                }
                body
            }
            "mcptool" => self.server.post(&format!("/mcp/tool/{tool}"), &input.to_string()).json(),
            "modern" => {
                let params = json!({"name": tool, "arguments": input});
                modern(&self.server, "tools/call", Some(tool), params).json()["result"]["structuredContent"].take()
            }
            _ => self.session.call(tool, input)["result"]["structuredContent"].take(),
        }
    }
}

/// Texts in place of placeholders, and `{{rep:X:N}}` is X repeated. What is replaced is JSON, so that quotes count.
pub(crate) fn filled_in(input: &Value, places: &[(&str, &str)]) -> Value {
    let text = input.to_string();
    let mut text = places.iter().fold(text, |text, (place, filling)| text.replace(place, filling));
    while let Some(start) = text.find("{{rep:") {
        let end = start + text[start..].find("}}").unwrap();
        let (what, times) = text[start + 6..end].rsplit_once(':').unwrap();
        let repeated = what.repeat(times.parse().unwrap());
        text.replace_range(start..end + 2, &repeated);
    }
    serde_json::from_str(&text).unwrap()
}
