//! Writing JSON. The same text as `serde_json` writes, but what has to be escaped is looked for by the block and not byte
//! by byte: a long text takes a fraction of the time.

use serde_json::{Number, Value};

/// How far ahead it is looked for what is rare in a text: far enough to be quick, and near enough to be in the cache.
const BLOCK: usize = 4096;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// How members and numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Members in the order in which they stand, numbers as they are.
    AsItStands,
    /// Members sorted by code point, integral floats as integers: the same for all values that mean the same.
    Canonical,
}

/// Above this, a float no longer tells neighbouring integers apart.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// Compact JSON.
pub fn to_json(value: &Value) -> String {
    let mut out = String::with_capacity(128);
    push_value(&mut out, value, Style::AsItStands);
    out
}

/// A text in quotes.
pub fn push_json_text(out: &mut String, text: &str) {
    out.reserve(text.len() + text.len() / 16 + 2);
    out.push('"');
    let mut rest = text;
    while !rest.is_empty() {
        let (block, after) = rest.split_at(rest.floor_char_boundary(BLOCK));
        // Other control characters do not occur in a text, as a rule.
        let rare = block.bytes().fold(0, |any, byte| any | u8::from(byte < b' ' && byte != b'\n'));
        let find = if rare == 0 { find_usual } else { find_any };
        push_block(out, block, find);
        rest = after;
    }
    out.push('"');
}

fn push_block(out: &mut String, block: &str, find: fn(&[u8]) -> Option<usize>) {
    let mut rest = block;
    while let Some(at) = find(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        push_escaped(out, rest.as_bytes()[at]);
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

fn find_usual(bytes: &[u8]) -> Option<usize> {
    memchr::memchr3(b'"', b'\\', b'\n', bytes)
}

fn find_any(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte < b' ' || *byte == b'"' || *byte == b'\\')
}

pub(crate) fn push_value(out: &mut String, value: &Value, style: Style) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => push_number(out, number, style),
        Value::String(text) => push_json_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_value(out, item, style);
            }
            out.push(']');
        }
        Value::Object(members) if style == Style::AsItStands => push_members(out, members.iter(), style),
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            // Already in order unless a crate in the build turns on `serde_json/preserve_order`.
            sorted.sort_unstable_by_key(|(key, _)| *key);
            push_members(out, sorted.into_iter(), style);
        }
    }
}

fn push_members<'a>(out: &mut String, members: impl Iterator<Item = (&'a String, &'a Value)>, style: Style) {
    out.push('{');
    for (index, (key, member)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_json_text(out, key);
        out.push(':');
        push_value(out, member, style);
    }
    out.push('}');
}

fn push_number(out: &mut String, number: &Number, style: Style) {
    let integral = |float: &f64| number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT_INTEGERS;
    let text = match number.as_f64().filter(integral) {
        Some(float) if style == Style::Canonical => format!("{float:.0}"),
        Some(_) | None => number.to_string(),
    };
    out.push_str(if style == Style::Canonical && text == "-0" { "0" } else { &text });
}

fn push_escaped(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        0x08 => out.push_str("\\b"),
        b'\t' => out.push_str("\\t"),
        b'\n' => out.push_str("\\n"),
        0x0c => out.push_str("\\f"),
        b'\r' => out.push_str("\\r"),
        control => {
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(control >> 4)]));
            out.push(char::from(HEX[usize::from(control & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::{BLOCK, to_json};
    use crate::digest::tests::any_json;

    #[test]
    fn every_byte_at_every_place_of_a_block_is_written_as_serde_does() {
        for character in (0..=0xff).map(char::from).chain(['\u{2028}', '😀']) {
            for place in [0, 1, 15, 16, 31, 32, BLOCK - 3, BLOCK - 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK] {
                let text = format!("{}{character}{}\n", "x".repeat(place), "y".repeat(BLOCK + 3));
                assert_eq!(to_json(&json!(text)), serde_json::to_string(&text).unwrap());
            }
        }
    }

    #[test]
    fn floats_are_written_as_serde_does() {
        for number in [0.0, -0.0, 1.0, 1.5, 1e300, 1e-7, f64::MIN_POSITIVE, 123_456_789.125] {
            assert_eq!(to_json(&json!(number)), serde_json::to_string(&json!(number)).unwrap());
        }
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_serde_does(value in any_json()) {
            prop_assert_eq!(to_json(&value), serde_json::to_string(&value).unwrap());
        }
    }
}
