//! Where a quotation is in a result: in a text of it, or in the result as JSON. White space and escapes do not count;
//! what is cut out of a word or a number is no quotation.

mod edges;
#[cfg(test)]
mod tests;
mod written;

use serde_json::Value;

use self::written::Written;

/// JSON Pointer to the smallest value that contains the quotation.
pub(crate) fn locate(result: &Value, quotation: &str) -> Option<String> {
    let quoted = [quotation.to_owned(), unescaped(quotation)];
    in_texts(result, &quoted, String::new()).or_else(|| in_json(result, &quoted, String::new()))
}

/// As somebody would read it aloud: without escapes and without the signs of JSON.
pub(super) fn plain(quotation: &str) -> String {
    let text = unescaped(quotation);
    if !has_keys(quotation) {
        return text;
    }
    // What is empty says that there is nothing.
    let text =
        text.replace("[]", " none ").replace("{}", " none ").replace(":\"\"", ": none ").replace(": \"\"", ": none ");
    // Each field is a sentence of its own.
    text.replace(",\"", " ; \"").replace(", \"", " ; \"").replace(",{", " ; {").replace(['{', '}', '[', ']', '"'], " ")
}

/// How many things its lists have.
pub(super) fn lengths(quotation: &str) -> Vec<usize> {
    let lists = quotation.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
    lists
        .map(|(list, _)| if list.trim().is_empty() { 0 } else { list.matches(',').count() + 1 })
        .filter(|length| *length > 0)
        .collect()
}

/// Whether it is a piece of JSON that names its values.
pub(super) fn has_keys(quotation: &str) -> bool {
    quotation.contains("\":") || quotation.contains("\" :")
}

/// The first text that contains one of them.
fn in_texts(value: &Value, quoted: &[String], pointer: String) -> Option<String> {
    match value {
        Value::String(text) => {
            let text = Written::text(text);
            quoted.iter().any(|quoted| text.has(quoted)).then_some(pointer)
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| in_texts(item, quoted, format!("{pointer}/{at}")))
        }
        Value::Object(fields) => fields.iter().find_map(|(key, field)| in_texts(field, quoted, below(&pointer, key))),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The smallest value whose JSON contains one of them.
fn in_json(value: &Value, quoted: &[String], pointer: String) -> Option<String> {
    let written = Written::json(value);
    if !quoted.iter().any(|quoted| written.has(quoted)) {
        return None;
    }
    let deeper = match value {
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| in_json(item, quoted, format!("{pointer}/{at}")))
        }
        Value::Object(fields) => fields.iter().find_map(|(key, field)| in_json(field, quoted, below(&pointer, key))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    deeper.or(Some(pointer))
}

fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// With JSON's escapes undone, as far as they are whole.
pub(super) fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match rest.next() {
            Some('n' | 'r' | 't') => plain.push(' '),
            Some('u') => {
                let digits: String = rest.clone().take(4).collect();
                match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                    Some(c) if digits.len() == 4 => {
                        plain.push(c);
                        rest = rest.as_str()[4..].chars();
                    }
                    _ => plain.push_str("\\u"),
                }
            }
            Some(c @ ('"' | '\\' | '/')) => plain.push(c),
            Some(other) => plain.extend(['\\', other]),
            None => plain.push('\\'),
        }
    }
    plain
}
