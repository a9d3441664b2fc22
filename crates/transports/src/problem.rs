//! A request that never became a call: `{error, code}` with its status, in the layout of the route it was sent to.

use countersign_contract::Code;
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::json;

use crate::response::{Response, json_response};

/// Below this, answers are envelopes that name the tool.
const ENVELOPED: &str = "/v1/tools/";

const MAX_SHOWN_CHARACTERS: usize = 128;

#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    code: Code,
    error: String,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: Code, error: impl Into<String>) -> Self {
        Self { status, code, error: error.into(), header: None }
    }

    pub(crate) fn unknown_tool(name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, Code::NotFound, format!("Unknown tool: {}", shown(name)))
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    pub(crate) fn respond(self, path: &str) -> Response {
        let body = match path.strip_prefix(ENVELOPED) {
            Some(tool) => json!({"tool": shown(tool), "ok": false, "error": self.error, "code": self.code}),
            None => json!({"error": self.error, "code": self.code}),
        };
        let mut response = json_response(self.status, body.to_string());
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// As much of a text from outside as goes into an answer.
pub(crate) fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARACTERS).collect()
}
