//! Whether a server still knows the session. It says so with a status that has other meanings, too, and what is wrong
//! with one request must not end what others have begun.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};

use super::super::{LinkError, Message};
use super::Shared;

/// For the answer to a ping.
const PATIENCE: Duration = Duration::from_secs(5);

const METHOD_NOT_FOUND: i64 = -32601;
/// No code of the protocol, but the SDKs' own.
const SESSION_NOT_FOUND: i64 = -32001;

impl Shared {
    /// What an answer with this status says about the session that its request named.
    pub(super) async fn is_forgotten(&self, status: StatusCode, answer: &Result<Option<Message>, LinkError>) -> bool {
        let code = match answer {
            Ok(Some(answer)) => Some(answer.get("error").and_then(|error| error.get("code")).and_then(Value::as_i64)),
            Ok(None) | Err(_) => None,
        };
        match (status, code) {
            // The protocol's own status for it; some say with it that there is no such method.
            (StatusCode::NOT_FOUND, None | Some(Some(SESSION_NOT_FOUND))) => true,
            (StatusCode::NOT_FOUND, Some(Some(METHOD_NOT_FOUND))) => false,
            // That there is no such thing as it names, say; but some find another number for the session. And many say it
            // with the other status, but also many other things.
            (StatusCode::NOT_FOUND, Some(_)) | (StatusCode::BAD_REQUEST, None) => self.knows_no_ping().await,
            _ => false,
        }
    }

    /// Every server answers a ping in a session that it knows.
    async fn knows_no_ping(&self) -> bool {
        let ping = json!({"jsonrpc": "2.0", "id": "still-there", "method": "ping"});
        let Value::Object(ping) = ping else { return false };
        let (headers, body) = (self.headers_for(&ping), Value::Object(ping).to_string().into_bytes());
        let answered = tokio::time::timeout(PATIENCE, self.client.post(headers, body)).await;
        // Its body says nothing more: whoever drops it hangs up.
        let status = answered.ok().and_then(Result::ok).map(|response| response.status);
        matches!(status, Some(StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND))
    }
}
