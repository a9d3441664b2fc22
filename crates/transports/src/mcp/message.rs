//! What a message must be before the SDK sees it: one JSON-RPC object, without two ways to read it.

use countersign_contract::parse_json;
use rmcp::model::RequestId;
use serde_json::{Map, Value, json};

const MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// A message that may go on, as far as the wires look at it.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Request(Request),
    Notification,
    Response,
}

#[derive(Debug, PartialEq)]
pub(super) struct Request {
    pub(super) id: Value,
    pub(super) method: String,
    /// Null where there are none.
    pub(super) params: Value,
}

/// A message that goes no further, and what its sender is told.
#[derive(Debug, PartialEq)]
pub(super) struct Refused {
    code: i32,
    message: String,
    /// Of the message, where it has a usable one.
    id: Value,
}

impl Refused {
    pub(super) fn invalid(message: impl Into<String>, id: Value) -> Self {
        Self { code: -32600, message: message.into(), id }
    }

    /// What was asked could have been answered.
    pub(super) fn broken(id: &RequestId) -> Self {
        let id = serde_json::to_value(id).unwrap_or_default();
        Self { code: -32603, message: "Internal error".to_owned(), id }
    }

    pub(super) fn body(&self) -> String {
        json!({"jsonrpc": "2.0", "id": self.id, "error": {"code": self.code, "message": self.message}}).to_string()
    }
}

pub(super) fn check(bytes: &[u8]) -> Result<Message, Refused> {
    let value = parse_json(bytes).map_err(|malformed| Refused {
        code: -32700,
        message: format!("Parse error: {malformed}"),
        id: Value::Null,
    })?;
    match value {
        Value::Object(members) => check_members(members),
        Value::Array(_) => Err(Refused::invalid("Batches are not supported; send one message at a time", Value::Null)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(Refused::invalid("A message is an object", Value::Null))
        }
    }
}

fn check_members(mut members: Map<String, Value>) -> Result<Message, Refused> {
    let id = members.get("id");
    let usable = id.filter(|id| is_id(id)).cloned().unwrap_or_default();
    let invalid = |message: String| Err(Refused::invalid(message, usable.clone()));
    if let Some(alike) = members.keys().find(|key| is_almost_a_member(key)) {
        return invalid(format!("`{}` is not a member of a message; letter case matters", shown(alike)));
    }
    if members.get("jsonrpc") != Some(&Value::from("2.0")) {
        return invalid("`jsonrpc` must be \"2.0\"".to_owned());
    }
    if id.is_some_and(|id| !is_id(id)) {
        return invalid("`id` must be a string or an integer".to_owned());
    }
    match (members.get("method"), id) {
        (Some(Value::String(method)), Some(id)) => {
            let (id, method) = (id.clone(), method.clone());
            let params = members.get_mut("params").map(Value::take).unwrap_or_default();
            Ok(Message::Request(Request { id, method, params }))
        }
        (Some(Value::String(_)), None) => Ok(Message::Notification),
        (Some(_), _) => invalid("`method` must be a string".to_owned()),
        (None, _) if members.contains_key("result") != members.contains_key("error") => Ok(Message::Response),
        (None, _) => invalid("A message has a `method`, or either a `result` or an `error`".to_owned()),
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// A reader that does not mind letter case would take it for one.
fn is_almost_a_member(key: &str) -> bool {
    !MEMBERS.contains(&key) && MEMBERS.iter().any(|member| member.eq_ignore_ascii_case(key))
}

fn shown(key: &str) -> String {
    key.chars().take(32).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Message, Request, check};

    #[test]
    fn one_message_at_a_time() {
        let request = |id| Ok(Message::Request(Request { id, method: "ping".to_owned(), params: json!(null) }));
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, request(json!(1))),
            (r#"{"jsonrpc":"2.0","id":"a","method":"ping","x":1}"#, request(json!("a"))),
            (r#"{"jsonrpc":"2.0","method":"ping"}"#, Ok(Message::Notification)),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Ok(Message::Response)),
            (r#"{"jsonrpc":"2.0","id":1,"error":{}}"#, Ok(Message::Response)),
        ] {
            assert_eq!(check(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        for (text, code, id) in [
            ("", -32700, json!(null)),
            ("{", -32700, json!(null)),
            ("[]", -32600, json!(null)),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, json!(null)),
            ("null", -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32700, json!(null)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":7,"Method":"ping"}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":"a","METHOD":"b"}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, json!(7)),
            (r#"{"id":7,"method":"ping"}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#, -32600, json!(7)),
        ] {
            let refused = check(text.as_bytes()).unwrap_err();
            assert_eq!((refused.code, refused.id), (code, id), "{text}");
        }
        let nested = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(check(nested.as_bytes()).unwrap_err().code, -32700);
    }
}
