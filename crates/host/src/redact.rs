//! Arguments as the call log may show them: secrets masked, long values cut.

use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

const MAX_TEXT_CHARACTERS: usize = 200;
const MAX_ITEMS: usize = 20;
const MAX_DEPTH: usize = 6;
const MASK: &str = "***";

/// An argument whose name contains one of these is taken for a secret, in any letter case.
const SECRET_WORDS: [&str; 18] = [
    "access_key",
    "api_key",
    "apikey",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "private_key",
    "pwd",
    "secret",
    "session",
    "signature",
    "signing_key",
    "token",
];

/// Names that are secrets as a whole, but parts of harmless words.
const SECRET_NAMES: [&str; 3] = ["auth", "key", "pin"];

/// Texts that begin so carry a credential, whatever they are called.
const SECRET_BEGINNINGS: [&str; 3] = ["basic ", "bearer ", "-----begin"];

/// JSON for the log, written in one pass.
pub(crate) fn redact(arguments: &Value) -> Option<Box<RawValue>> {
    serde_json::value::to_raw_value(&Redacted { value: arguments, depth: 0 }).ok()
}

struct Redacted<'a> {
    value: &'a Value,
    depth: usize,
}

impl Serialize for Redacted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inner = |value| Redacted { value, depth: self.depth + 1 };
        match self.value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.value.serialize(serializer),
            Value::String(text) => serialize_text(text, serializer),
            Value::Array(_) | Value::Object(_) if self.depth >= MAX_DEPTH => serializer.serialize_str("…"),
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(None)?;
                items.iter().take(MAX_ITEMS).try_for_each(|item| list.serialize_element(&inner(item)))?;
                if items.len() > MAX_ITEMS {
                    list.serialize_element(&format!("… {} more", items.len() - MAX_ITEMS))?;
                }
                list.end()
            }
            Value::Object(members) => {
                let mut map = serializer.serialize_map(None)?;
                for (name, member) in members.iter().take(MAX_ITEMS) {
                    map.serialize_key(&cut(name).as_deref().unwrap_or(name))?;
                    if is_secret(name) { map.serialize_value(MASK)? } else { map.serialize_value(&inner(member))? }
                }
                if members.len() > MAX_ITEMS {
                    map.serialize_entry("…", &format!("{} more", members.len() - MAX_ITEMS))?;
                }
                map.end()
            }
        }
    }
}

fn serialize_text<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let begins =
        |beginning: &&str| text.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning));
    if SECRET_BEGINNINGS.iter().any(begins) {
        return serializer.serialize_str(MASK);
    }
    match without_login(text) {
        Some(url) => serializer.serialize_str(&url),
        None => serializer.serialize_str(cut(text).as_deref().unwrap_or(text)),
    }
}

/// A URL that carries a user's name and password, without them.
fn without_login(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (login, _) = authority.rsplit_once('@')?;
    let url = format!("{scheme}://{MASK}{}", &rest[login.len()..]);
    Some(cut(&url).unwrap_or(url))
}

fn is_secret(name: &str) -> bool {
    // In place: this is on the way of every call, and names are short.
    let same = |name: &[u8], word: &str| {
        let plain = name.iter().map(|byte| if *byte == b'-' { b'_' } else { byte.to_ascii_lowercase() });
        plain.eq(word.bytes())
    };
    let name = name.as_bytes();
    SECRET_NAMES.iter().any(|word| same(name, word))
        || SECRET_WORDS.iter().any(|word| name.windows(word.len()).any(|part| same(part, word)))
}

/// `None` when the text is short enough as it is.
fn cut(text: &str) -> Option<String> {
    let (end, _) = text.char_indices().nth(MAX_TEXT_CHARACTERS)?;
    Some(format!("{}… {} bytes more", &text[..end], text.len() - end))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::redact;

    #[test]
    fn secrets_are_masked() {
        for (given, shown) in [
            (
                json!({"query": "plain", "n": 1, "b": true, "x": null}),
                json!({"query": "plain", "n": 1, "b": true, "x": null}),
            ),
            (
                json!({"API-Key": "k", "pwd": 7, "auth": {}, "author": "Ann"}),
                json!({"API-Key": "***", "pwd": "***", "auth": "***", "author": "Ann"}),
            ),
            (
                json!({"nested": {"user_password": ["p"], "n": [{"token": "t"}]}}),
                json!({"nested": {"user_password": "***", "n": [{"token": "***"}]}}),
            ),
            (
                json!({"header": "Bearer abc", "h": "basic abc", "k": "-----BEGIN KEY"}),
                json!({"header": "***", "h": "***", "k": "***"}),
            ),
            (json!({"url": "https://u:p@h/x?a@b"}), json!({"url": "https://***@h/x?a@b"})),
            (json!({"url": "https://h/x@y"}), json!({"url": "https://h/x@y"})),
        ] {
            assert_eq!(redacted(&given), shown);
        }
    }

    #[test]
    fn long_values_are_cut() {
        let shown = redacted(&json!({"text": "é".repeat(300), "list": vec![0; 30]}));
        assert_eq!(shown["text"], format!("{}… 200 bytes more", "é".repeat(200)));
        assert_eq!((shown["list"].as_array().unwrap().len(), &shown["list"][20]), (21, &json!("… 10 more")));
    }

    #[test]
    fn hostile_shapes_stay_small() {
        let deep = (0..100).fold(json!("bottom"), |value, _| json!([value]));
        let wide: serde_json::Map<_, _> = (0..10_000).map(|n| (format!("{n:0>300}"), json!(n))).collect();
        for value in [deep, wide.into()] {
            assert!(redact(&value).unwrap().get().len() < 10_000);
        }
    }

    fn redacted(value: &Value) -> Value {
        serde_json::from_str(redact(value).unwrap().get()).unwrap()
    }
}
