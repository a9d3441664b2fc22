//! Canonical JSON and digests over it: the same content has the same digest, whatever its layout or key order was.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::write::{Style, push_value};

/// BLAKE3, written `blake3:<hex>`: a long result is hashed in a quarter of the time that SHA-256 takes, and anyone can
/// recompute it with `b3sum`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: expected `blake3:` and 64 hexadecimal digits")]
pub struct InvalidDigest;

impl Digest {
    pub fn of_json(value: &Value) -> Self {
        Self::of_bytes(&canonical_json(value))
    }

    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).into())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Compact, keys sorted by code point, integral floats written as integers. Numbers keep every digit.
pub fn canonical_json(value: &Value) -> Vec<u8> {
    let mut out = String::with_capacity(256);
    push_value(&mut out, value, Style::Canonical);
    out.into_bytes()
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("blake3:")?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let hex = text.strip_prefix("blake3:").ok_or(InvalidDigest)?;
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(InvalidDigest);
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).map_err(|_| InvalidDigest)?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Self, InvalidDigest> {
        text.parse()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
    use serde_json::{Value, json};

    use super::{Digest, canonical_json};

    #[test]
    fn layout_and_order_do_not_matter() {
        for (left, right) in [
            (r#"{"a":1,"b":[true,null]}"#, "{ \"b\" : [ true , null ] , \"a\" : 1.0 }"),
            (r#""\u00e9\n""#, "\"é\\n\""),
            ("-0.0", "0"),
        ] {
            assert_eq!(digest(left), digest(right), "{left} and {right}");
        }
        for (left, right) in [("1", "\"1\""), ("[1,2]", "[2,1]"), ("9007199254740993", "9007199254740992")] {
            assert_ne!(digest(left), digest(right), "{left} and {right}");
        }
    }

    #[test]
    fn digests_are_plain_blake3_of_the_canonical_text() {
        assert_eq!(canonical_json(&json!({"b": "\u{1}\"", "a": 1.5})), br#"{"a":1.5,"b":"\u0001\""}"#);
        // printf '{}' | b3sum
        let empty = "blake3:6e46dd10defc9b56c29a6ec56b508c21f54c08192194e4df25bf36f0c9c3c279";
        assert_eq!(Digest::of_json(&json!({})).to_string(), empty);
        assert_eq!(empty.parse(), Ok(Digest::of_json(&json!({}))));
    }

    proptest! {
        #[test]
        fn canonical_text_reads_back_as_the_same_value(value in any_json()) {
            let text = canonical_json(&value);
            let back: Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(canonical_json(&back), text);
            assert_eq!(back, value);
        }
    }

    pub(crate) fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                proptest::collection::btree_map(any::<String>(), inner, 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn digest(text: &str) -> Digest {
        Digest::of_json(&serde_json::from_str(text).unwrap())
    }
}
