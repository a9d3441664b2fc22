//! Schemas from Rust types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The schema of `T`, readable by draft-07 and 2020-12 alike: no `$defs`, no dialect, no names of Rust types.
pub fn derive_schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    if let Value::Object(root) = &mut schema {
        root.remove("title");
        root.remove("description");
    }
    bound_numbers(&mut schema);
    schema
}

/// The same for clients of tools, some of which understand no lists of types.
pub(crate) fn derive_tool_schema<T: JsonSchema>() -> Value {
    let mut schema = derive_schema::<T>();
    split_nullable(&mut schema);
    schema
}

/// What describes a value wherever it stands, and not what it may be.
const ANNOTATIONS: [&str; 3] = ["title", "description", "default"];

/// What may be null becomes a choice of two.
fn split_nullable(part: &mut Value) {
    match part {
        Value::Array(items) => items.iter_mut().for_each(split_nullable),
        Value::Object(members) => {
            members.values_mut().for_each(split_nullable);
            let kinds = members.get("type").and_then(Value::as_array).cloned().unwrap_or_default();
            let mut others = kinds.iter().filter(|kind| *kind != "null");
            if let (2, Some(kind), None) = (kinds.len(), others.next(), others.next()) {
                let (outer, mut inner): (Map<_, _>, Map<_, _>) =
                    std::mem::take(members).into_iter().partition(|(name, _)| ANNOTATIONS.contains(&name.as_str()));
                inner.insert("type".to_owned(), kind.clone());
                *members = outer;
                members.insert("anyOf".to_owned(), json!([inner, {"type": "null"}]));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// schemars notes the Rust width of a number as `format`; validators in other languages complain about it. As bounds
/// they all understand it, and what passes the schema then fits the type.
fn bound_numbers(part: &mut Value) {
    match part {
        Value::Array(items) => items.iter_mut().for_each(bound_numbers),
        Value::Object(members) => {
            if is_number(members)
                && let Some(format) = members.remove("format")
                && let Some((least, most)) = bounds(format.as_str().unwrap_or_default())
            {
                members.entry("minimum").or_insert(least);
                members.entry("maximum").or_insert(most);
            }
            members.values_mut().for_each(bound_numbers);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn bounds(format: &str) -> Option<(Value, Value)> {
    let bounds = match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "uint8" => (u8::MIN.into(), u8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "uint16" => (u16::MIN.into(), u16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "uint32" => (u32::MIN.into(), u32::MAX.into()),
        "int64" | "int" => (i64::MIN.into(), i64::MAX.into()),
        "uint64" | "uint" => (u64::MIN.into(), u64::MAX.into()),
        _ => return None,
    };
    Some(bounds)
}

fn is_number(schema: &Map<String, Value>) -> bool {
    let numeric = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number"));
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(numeric),
        Some(kind) => numeric(kind),
        None => false,
    }
}
