//! Every kind of invalid arguments that an input schema can tell, made from the schema and one valid example.

use serde_json::{Map, Value, json};

/// What was done to the valid arguments, and the result.
pub(crate) type Spoiled = (String, Value);

pub(crate) fn invalid_inputs(schema: &Value, valid: &Value) -> Vec<Spoiled> {
    let mut spoiled = vec![
        ("not an object: null".to_owned(), Value::Null),
        ("not an object: a list".to_owned(), json!([])),
        ("not an object: a text".to_owned(), json!("x")),
        ("an undeclared argument".to_owned(), with(valid, "undeclared_argument", json!(1))),
    ];
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let mut members = valid.as_object().cloned().unwrap_or_default();
        members.remove(name);
        spoiled.push((format!("`{name}` missing"), Value::Object(members)));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let choices = choices(property);
        let values = wrong_types(&choices).into_iter().chain(choices.iter().flat_map(|choice| out_of_bounds(choice)));
        spoiled.extend(values.map(|(what, value)| (format!("`{name}` {what}"), with(valid, name, value))));
    }
    spoiled
}

fn with(valid: &Value, name: &str, value: Value) -> Value {
    let mut members: Map<_, _> = valid.as_object().cloned().unwrap_or_default();
    members.insert(name.to_owned(), value);
    Value::Object(members)
}

/// What an argument may be: what may be null is a choice of two.
fn choices(property: &Value) -> Vec<&Value> {
    property["anyOf"].as_array().map_or_else(|| vec![property], |choices| choices.iter().collect())
}

fn wrong_types(choices: &[&Value]) -> Vec<Spoiled> {
    let kinds: Vec<&str> = choices.iter().filter_map(|choice| choice["type"].as_str()).collect();
    if kinds.len() < choices.len() {
        return Vec::new();
    }
    let specimens = [
        ("null", Value::Null),
        ("boolean", json!(true)),
        ("integer", json!(3)),
        ("number", json!(3.5)),
        ("string", json!("text")),
        ("array", json!(["a"])),
        ("object", json!({"a": 1})),
    ];
    let fits = |kind: &str| kinds.contains(&kind) || (kind == "integer" && kinds.contains(&"number"));
    specimens
        .into_iter()
        .filter(|(kind, _)| !fits(kind))
        .map(|(kind, value)| (format!("of type {kind}"), value))
        .collect()
}

fn out_of_bounds(property: &Value) -> Vec<Spoiled> {
    let mut spoiled = Vec::new();
    let mut push = |what: &str, value: Value| spoiled.push((what.to_owned(), value));
    if let Some(limit) = property["minLength"].as_u64().filter(|limit| *limit > 0) {
        push("too short", json!(text(limit - 1)));
    }
    if let Some(limit) = property["maxLength"].as_u64() {
        push("too long", json!(text(limit + 1)));
    }
    if let Some(limit) = property["minimum"].as_i64() {
        push("too small", json!(limit - 1));
    }
    if let Some(limit) = property["maximum"].as_u64() {
        push("too large", json!(limit + 1));
    }
    if property["enum"].is_array() {
        push("not among the choices", json!("none-of-these"));
    }
    if property["pattern"].is_string() {
        push("against its pattern", json!("\u{0}\u{1}"));
    }
    spoiled
}

fn text(length: u64) -> String {
    (0..length).map(|_| 'x').collect()
}

#[test]
fn each_constraint_of_a_schema_is_broken_once() {
    let schema = json!({
        "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^a"},
            "kind": {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["name"],
    });
    let labels: Vec<_> = invalid_inputs(&schema, &json!({"name": "ab"})).into_iter().map(|(label, _)| label).collect();
    for expected in [
        "`name` missing",
        "`name` of type integer",
        "`name` too short",
        "`name` too long",
        "`name` against its pattern",
        "`kind` not among the choices",
        "`kind` of type object",
        "`count` of type number",
        "`count` too small",
        "`count` too large",
        "an undeclared argument",
    ] {
        assert!(labels.iter().any(|label| label == expected), "{expected} in {labels:?}");
    }
    assert!(!labels.contains(&"`kind` of type null".to_owned()), "null is allowed there");
}
