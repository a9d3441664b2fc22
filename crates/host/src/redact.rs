//! Arguments as the call log may show them: secrets masked, long values cut.

use serde_json::{Map, Value};

const MAX_TEXT_CHARACTERS: usize = 200;
const MAX_ITEMS: usize = 20;
const MAX_DEPTH: usize = 6;
const MASK: &str = "***";

/// An argument whose name contains one of these is taken for a secret, in any letter case.
const SECRET_WORDS: [&str; 10] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "authorization",
    "credential",
    "cookie",
];

pub(crate) fn redact(arguments: &Value) -> Value {
    redact_at(arguments, 0)
}

fn redact_at(value: &Value, depth: usize) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::String(cut(text)),
        Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => Value::String("…".to_owned()),
        Value::Array(items) => {
            let mut shown: Vec<_> = items.iter().take(MAX_ITEMS).map(|item| redact_at(item, depth + 1)).collect();
            if items.len() > MAX_ITEMS {
                shown.push(Value::String(format!("… {} more", items.len() - MAX_ITEMS)));
            }
            Value::Array(shown)
        }
        Value::Object(members) => Value::Object(redact_members(members, depth)),
    }
}

fn redact_members(members: &Map<String, Value>, depth: usize) -> Map<String, Value> {
    let mut shown = Map::new();
    for (name, member) in members.iter().take(MAX_ITEMS) {
        let value = if is_secret(name) { Value::String(MASK.to_owned()) } else { redact_at(member, depth + 1) };
        shown.insert(cut(name), value);
    }
    if members.len() > MAX_ITEMS {
        shown.insert("…".to_owned(), Value::String(format!("{} more", members.len() - MAX_ITEMS)));
    }
    shown
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… {} bytes more", &text[..end], text.len() - end),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::redact;

    #[test]
    fn secrets_are_masked_and_long_values_cut() {
        let long = "é".repeat(300);
        let shown = redact(&json!({
            "query": "plain", "API-Key": "k", "nested": {"user_password": ["p"], "n": 1}, "text": long, "list": vec![0; 30],
        }));
        assert_eq!(shown["query"], "plain");
        assert_eq!(shown["API-Key"], "***");
        assert_eq!(shown["nested"], json!({"user_password": "***", "n": 1}));
        assert_eq!(shown["text"], format!("{}… 200 bytes more", "é".repeat(200)));
        assert_eq!(shown["list"].as_array().unwrap().len(), 21);
        assert_eq!(shown["list"][20], "… 10 more");
    }

    #[test]
    fn hostile_shapes_stay_small() {
        let mut deep = json!("bottom");
        for _ in 0..100 {
            deep = json!([deep]);
        }
        let wide: serde_json::Map<_, _> = (0..10_000).map(|n| (format!("{n:0>300}"), json!(n))).collect();
        for value in [deep, wide.into()] {
            assert!(redact(&value).to_string().len() < 10_000);
        }
    }
}
