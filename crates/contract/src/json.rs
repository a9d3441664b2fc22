//! Reading JSON from outside: as `serde_json` does, but a key that appears twice is an error. Which of the two a checker
//! sees and which a tool sees must never be a question.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// Why a text is not JSON we accept. Depth is bounded by `serde_json` (128), so hostile nesting ends here too.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MalformedJson(serde_json::Error);

pub fn parse_json(text: &[u8]) -> Result<Value, MalformedJson> {
    serde_json::from_slice::<Unambiguous>(text).map(|Unambiguous(value)| value).map_err(MalformedJson)
}

struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnambiguousVisitor).map(Unambiguous)
    }
}

struct UnambiguousVisitor;

impl<'de> Visitor<'de> for UnambiguousVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Unambiguous(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let Unambiguous(value) = access.next_value()?;
            match members.entry(key) {
                Entry::Vacant(place) => drop(place.insert(value)),
                Entry::Occupied(there) => {
                    let shown: String = there.key().chars().take(64).collect();
                    return Err(A::Error::custom(format_args!("key `{shown}` appears twice")));
                }
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::parse_json;

    #[test]
    fn ordinary_json_reads_as_serde_json_reads_it() {
        let text = r#" {"a": [1, -2, 3.5, 18446744073709551615, "x\u00e9", true, null], "b": {"c": {}}} "#;
        assert_eq!(parse_json(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(parse_json(b"7").unwrap(), json!(7));
    }

    #[test]
    fn ambiguous_broken_and_hostile_texts_are_refused_with_a_reason() {
        let deep = "[".repeat(200_000);
        for (text, reason) in [
            (&br#"{"a": 1, "a": 2}"#[..], "key `a` appears twice"),
            (br#"{"o": {"x": 1, "x": 1}}"#, "key `x` appears twice"),
            (br#"{"a": "#, "EOF while parsing"),
            (b"\"\xff\"", "invalid unicode code point"),
            (br#""\ud800""#, "hex escape"),
            (b"1e999", "number out of range"),
            (b"{} {}", "trailing characters"),
            (b"", "EOF while parsing"),
            (deep.as_bytes(), "recursion limit exceeded"),
        ] {
            let error = parse_json(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{error} should name: {reason}");
        }
    }
}
