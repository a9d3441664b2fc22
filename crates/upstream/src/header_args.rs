//! Arguments that a server over HTTP wants to see in the head of a request, too (`x-mcp-header`): a proxy in between can
//! go by them. Which ones, and what they look like there.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

const ANNOTATION: &str = "x-mcp-header";

/// How deep objects in arguments are looked into.
const DEPTH_MAX: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderArgument {
    /// From the arguments' root.
    path: Vec<String>,
    header: String,
}

/// All that the schema names, or what is wrong with it.
pub(crate) fn find(schema: &Value) -> Result<Vec<HeaderArgument>, String> {
    let (mut found, mut path) = (Vec::new(), Vec::new());
    if schema.get(ANNOTATION).is_some() {
        return Err("it stands at the root".to_owned());
    }
    collect(schema, &mut path, &mut found)?;
    if count(schema) > found.len() {
        return Err("it stands where it says nothing about one argument".to_owned());
    }
    let mut names = BTreeSet::new();
    match found.iter().find(|argument| !names.insert(argument.header.to_ascii_lowercase())) {
        Some(twice) => Err(format!("`{}` is there twice", twice.header)),
        None => Ok(found),
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<HeaderArgument>) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object).filter(|_| path.len() < DEPTH_MAX);
    for (name, property) in properties.into_iter().flatten() {
        path.push(name.clone());
        if let Some(header) = property.get(ANNOTATION) {
            let header = header.as_str().filter(|header| is_token(header));
            let header = header.ok_or_else(|| format!("that of `{name}` cannot be the name of a header"))?;
            if !matches!(property.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
                return Err(format!("`{name}` is neither text nor integer nor boolean"));
            }
            found.push(HeaderArgument { path: path.clone(), header: header.to_owned() });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

/// How often it is there at all, but for where values stand.
fn count(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => members.iter().map(|(key, member)| count_in(key, member)).sum(),
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn count_in(key: &str, member: &Value) -> usize {
    match key {
        ANNOTATION => 1,
        "default" | "const" | "enum" | "examples" => 0,
        // A property may have any name.
        "properties" => member.as_object().into_iter().flat_map(Map::values).map(count).sum(),
        _ => count(member),
    }
}

fn is_token(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(allowed)
}

/// Names and values of the headers for these arguments.
pub(crate) fn headers(wanted: &[HeaderArgument], arguments: &Value) -> Vec<(String, String)> {
    let header = |HeaderArgument { path, header }: &HeaderArgument| {
        let value = path.iter().try_fold(arguments, |value, key| value.get(key))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((format!("mcp-param-{}", header.to_ascii_lowercase()), encoded(&text)))
    };
    wanted.iter().filter_map(header).collect()
}

/// A text as a header can have it.
pub(crate) fn encoded(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) && text.trim_matches(' ') == text;
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    if plain && !looks_encoded { text.to_owned() } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(text)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{encoded, find, headers};

    #[test]
    fn arguments_are_found_wherever_objects_are() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "where": {"type": "object", "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}},
            "x-mcp-header": {"type": "string"},
        }});
        let wanted = find(&schema).unwrap();
        let arguments = json!({"region": "eu", "where": {"count": 3}, "x-mcp-header": "nothing"});
        let expected =
            [("mcp-param-count".to_owned(), "3".to_owned()), ("mcp-param-region".to_owned(), "eu".to_owned())];
        let mut made = headers(&wanted, &arguments);
        made.sort();
        assert_eq!(made, expected);
        assert_eq!(headers(&wanted, &json!({"region": null})), []);
    }

    #[test]
    fn what_cannot_be_a_header_is_said() {
        for property in [
            json!({"type": "string", "x-mcp-header": ""}),
            json!({"type": "string", "x-mcp-header": "a b"}),
            json!({"type": "string", "x-mcp-header": 1}),
            json!({"type": "number", "x-mcp-header": "N"}),
            json!({"type": "array", "items": {"type": "string", "x-mcp-header": "Item"}}),
        ] {
            let schema = json!({"type": "object", "properties": {"a": property}});
            assert!(find(&schema).is_err(), "{schema}");
        }
        let twice = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"},
        }});
        assert!(find(&twice).is_err());
        assert!(find(&json!({"type": "object", "x-mcp-header": "A"})).is_err());
    }

    #[test]
    fn every_text_can_be_sent() {
        assert_eq!(encoded("plain text"), "plain text");
        assert_eq!(encoded("é"), "=?base64?w6k=?=");
        assert_eq!(encoded(" a"), "=?base64?IGE=?=");
        assert_eq!(encoded("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
    }
}
