//! Where a quotation is in a result: in a text of it, or in the result as JSON. White space and escapes do not count.

use serde_json::Value;

/// JSON Pointer to the smallest value that contains the quotation.
pub(super) fn locate(result: &Value, quotation: &str) -> Option<String> {
    let quoted = [spaced(quotation), spaced(&unescaped(quotation))];
    in_texts(result, &quoted, String::new()).or_else(|| {
        let structural = [tight(quotation), tight(&unescaped(quotation))];
        in_json(result, &structural, String::new())
    })
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
            let text = spaced(text);
            quoted.iter().any(|quoted| !quoted.is_empty() && text.contains(quoted.as_str())).then_some(pointer)
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
    let text = tight(&value.to_string());
    let plain = tight(&unescaped(&text));
    let contains = |quoted: &String| !quoted.is_empty() && (text.contains(quoted) || plain.contains(quoted));
    if !quoted.iter().any(contains) {
        return None;
    }
    let deeper = match value {
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| in_json(item, quoted, format!("{pointer}/{at}")))
        }
        Value::Object(fields) => fields.iter().find_map(|(key, field)| in_json(field, quoted, below(&pointer, key))),
        // A number counts as a whole: 1 is not in 210.
        Value::Number(_) | Value::Bool(_) | Value::Null => {
            return quoted.contains(&text).then_some(pointer);
        }
        Value::String(_) => None,
    };
    deeper.or_else(|| whole_numbers(&text, quoted).then_some(pointer))
}

/// Whether a quotation is there without cutting a number in two.
fn whole_numbers(text: &str, quoted: &[String]) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    quoted.iter().filter(|quoted| !quoted.is_empty()).any(|quoted| {
        text.match_indices(quoted.as_str()).any(|(at, found)| {
            let (before, after) = (text[..at].chars().next_back(), text[at + found.len()..].chars().next());
            let cut_before = is_digit(before) && is_digit(found.chars().next());
            let cut_after = is_digit(after) && is_digit(found.chars().next_back());
            !cut_before && !cut_after
        })
    })
}

fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// White space of any kind and length is one space.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Without any white space: what JSON allows between its signs cannot be told from what is in its texts.
fn tight(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::locate;

    #[test]
    fn quotations_and_where_they_are() {
        let result = json!({
            "title": "A \"quoted\" title",
            "lines": ["first line\n  second line", "über"],
            "count": 210,
            "open": false,
            "a/b": {"~": "x"},
        });
        for (quotation, pointer) in [
            ("first line second", Some("/lines/0")),
            ("first line\\n  second line", Some("/lines/0")),
            ("A \\\"quoted\\\" title", Some("/title")),
            ("\\u00fcber", Some("/lines/1")),
            ("\"count\": 210", Some("")),
            ("210", Some("/count")),
            ("21", None),
            ("\"open\":false", Some("")),
            ("x", Some("/a~1b/~0")),
            ("second line first", None),
            ("first line … second line", None),
        ] {
            assert_eq!(locate(&result, quotation).as_deref(), pointer, "{quotation}");
        }
    }
}
