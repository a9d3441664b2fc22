//! What rows of the shared corpus have in common: placeholders, and a call over any wire.

use serde_json::{Value, json};

use crate::env::{Server, TestEnv};
use crate::mcp_http::{legacy_call, modern};
use crate::mcp_stdio::Session;

pub(crate) const WIRES: [&str; 6] = ["v1", "mcptool", "modern", "legacy", "stdio", "stdio-legacy"];

/// A server and a session beside it, called over one wire.
pub(crate) struct Caller {
    wire: &'static str,
    pub(crate) server: Server,
    session: Session,
}

impl Caller {
    pub(crate) fn start(env: &TestEnv, wire: &'static str) -> Self {
        let mut session = Session::start(env, &["mcp"]);
        if wire == "stdio-legacy" {
            session.initialize(&json!({}));
        }
        Self { wire, server: env.serve(), session }
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
            "legacy" => legacy_call(&self.server, tool, input)["result"]["structuredContent"].take(),
            "stdio" => self.session.call(tool, input)["result"]["structuredContent"].take(),
            _ => self.session.legacy_call(tool, input)["result"]["structuredContent"].take(),
        }
    }
}

/// Whether an answer is what its row says, in all that the fields `expect`, `code`, `error`, `eq`, `out`, `must_contain`
/// and `must_not_contain` can say.
pub(crate) fn check(row: &Value, wire: &str, answer: &Value) {
    let text = answer.to_string();
    let code = &answer["code"];
    assert_ne!(code, "INTERNAL_ERROR", "{wire}: {row}");
    let one_of = |field: &str, found: &Value| {
        let expected = &row[field];
        let right = expected.as_array().map_or(expected == found, |several| several.contains(found));
        assert!(right || expected.is_null(), "{wire}: {field} is {found} for {row}");
    };
    match row["expect"].as_str().unwrap() {
        "allow" => assert_eq!(code, &Value::Null, "{wire}: {row}: {text}"),
        "any" => {}
        _ => {
            assert!(code.is_string(), "{wire}: {row}: {text}");
            one_of("code", code);
            one_of("error", &answer["error"]);
        }
    }
    // `/v1/tools` has less to say about what it refuses.
    if row["expect"] == "allow" || wire != "v1" {
        for (path, value) in row["eq"].as_object().into_iter().flatten() {
            assert_eq!(values_at(answer, path), [value], "{wire}: {path}: {row}");
        }
        for (path, kind) in row["out"].as_object().into_iter().flatten() {
            for value in values_at(answer, path) {
                assert!(has_type(value, kind.as_str().unwrap()), "{wire}: {path} is {value}: {row}");
            }
        }
    }
    let listed = |field: &str| -> Vec<String> {
        let several = row[field].as_array().into_iter().flatten().chain(row[field].is_string().then(|| &row[field]));
        several.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    for wanted in listed("must_contain") {
        assert!(text.contains(&wanted), "{wire}: no {wanted}: {row}: {text}");
    }
    for unwanted in listed("must_not_contain") {
        assert!(!text.contains(&unwanted), "{wire}: {unwanted}: {row}: {text}");
    }
}

/// What a path leads to: `a.b`, or every one of `a[].b`.
fn values_at<'a>(answer: &'a Value, path: &str) -> Vec<&'a Value> {
    path.split('.').fold(vec![answer], |found, part| match part.strip_suffix("[]") {
        Some(list) => found.into_iter().flat_map(|value| value[list].as_array().unwrap()).collect(),
        None => found.into_iter().map(|value| &value[part]).collect(),
    })
}

fn has_type(value: &Value, kinds: &str) -> bool {
    kinds.split('|').any(|kind| match kind {
        "any" => true,
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        "datetime" => value.as_str().is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok()),
        other => panic!("unknown type {other}"),
    })
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
