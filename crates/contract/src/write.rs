//! Writing JSON: the same text as `serde_json` writes, but a long one in a fraction of the time.

use json_escape_simd::escape;
use serde_json::{Number, Value};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// From here on it is worth the preparation.
const LONG: usize = 64;
/// Escaped at once: six times as much has to have room, and should stay in the cache.
const PART: usize = 8 * 1024;

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
    push_json_part(out, text);
    out.push('"');
}

/// What stands between the quotes; of a long text, part by part.
fn push_json_part(out: &mut String, text: &str) {
    if text.len() < LONG {
        return push_short(out, text);
    }
    for part in in_parts(text, PART) {
        let quoted = escape(part);
        out.push_str(&quoted[1..quoted.len() - 1]);
    }
}

/// What stands between the quotes, as a text of its own.
pub fn json_part(text: &str) -> String {
    let mut part = escape(text);
    part.pop();
    part.remove(0);
    part
}

/// The parts of a text, each of at most so many bytes.
pub fn in_parts(mut rest: &str, bytes: usize) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (part, after) = rest.split_at(rest.floor_char_boundary(bytes));
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

/// Byte by byte. What is escaped is one byte long, so both sides of it are text.
fn push_short(out: &mut String, text: &str) {
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte < b' ' || byte == b'"' || byte == b'\\' {
            out.push_str(&text[written..at]);
            push_escaped(out, byte);
            written = at + 1;
        }
    }
    out.push_str(&text[written..]);
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

    use super::{LONG, PART, to_json};
    use crate::digest::tests::any_json;

    #[test]
    fn every_byte_at_every_place_is_written_as_serde_does() {
        for character in (0..=0xff).map(char::from).chain(['\u{2028}', '😀']) {
            for place in (0..2 * LONG + 2).chain(PART - 2 * LONG..PART + 2) {
                let text = format!("{}{character}{}\n", "x".repeat(place), "y".repeat(LONG + 3));
                assert_eq!(to_json(&json!(text)), serde_json::to_string(&text).unwrap());
            }
        }
    }

    #[test]
    fn nothing_but_what_is_escaped_is_written_as_serde_does() {
        for character in ['\0', '\n', '"', '\\', '\u{7f}', 'é', '😀'] {
            let text = character.to_string().repeat(3 * PART + 1);
            assert_eq!(to_json(&json!(text)), serde_json::to_string(&text).unwrap());
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
        fn any_text_is_written_as_serde_does(text in "[a-zé\\x00-\\x22\\\\\\PC]{0,400}") {
            prop_assert_eq!(to_json(&json!(text)), serde_json::to_string(&text).unwrap());
        }

        #[test]
        fn any_value_is_written_as_serde_does(value in any_json()) {
            prop_assert_eq!(to_json(&value), serde_json::to_string(&value).unwrap());
        }
    }
}
