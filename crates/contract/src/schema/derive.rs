//! Schemas from Rust types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

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
    strip_number_formats(&mut schema);
    schema
}

/// schemars notes the Rust width of a number as `format`; validators in other languages complain about it.
fn strip_number_formats(part: &mut Value) {
    match part {
        Value::Array(items) => items.iter_mut().for_each(strip_number_formats),
        Value::Object(members) => {
            if is_number(members) {
                members.remove("format");
            }
            members.values_mut().for_each(strip_number_formats);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_number(schema: &Map<String, Value>) -> bool {
    let numeric = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number"));
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(numeric),
        Some(kind) => numeric(kind),
        None => false,
    }
}
