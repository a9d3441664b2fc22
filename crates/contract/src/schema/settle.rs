//! What a schema says about values that are absent or written in another way: declared defaults take the place of what
//! is missing, and a whole number is an integer however it was written (`1.0`), as JSON Schema has it.

use serde_json::{Number, Value};

use super::mistakes::{MAX_MISTAKES, Mistake, below};

/// Up to here a float is exactly the integer it looks like.
const EXACT: f64 = 9_007_199_254_740_992.0;

pub(super) fn settle(schema: &Value, instance: &mut Value) {
    match instance {
        Value::Object(members) => {
            for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                match (members.get_mut(name), property.get("default")) {
                    (Some(member), _) => settle(property, member),
                    (None, Some(default)) => {
                        members.insert(name.clone(), default.clone());
                    }
                    (None, None) => {}
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    settle(schema, item);
                }
            }
        }
        Value::Number(number) if takes_only_integers(schema) => {
            if let Some(integer) = whole(number) {
                *number = integer;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What only looks like an integer: so large that its neighbours are written in the same way, so nobody knows which one is
/// meant.
pub(super) fn inexact(schema: &Value, instance: &Value, place: &str, found: &mut Vec<Mistake>) {
    match instance {
        Value::Object(members) => {
            for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                if let Some(member) = members.get(name) {
                    inexact(property, member, &below(place, name), found);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    inexact(schema, item, &below(place, &index.to_string()), found);
                }
            }
        }
        Value::Number(number) if number.is_f64() && takes_only_integers(schema) && whole(number).is_none() => {
            if found.len() < MAX_MISTAKES {
                found.push(Mistake::new(place, "is not an exact integer", "type"));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn takes_only_integers(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.contains(&"integer".into()) && !kinds.contains(&"number".into()),
        Some(kind) => kind == "integer",
        None => false,
    }
}

fn whole(number: &Number) -> Option<Number> {
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT)?;
    #[expect(clippy::cast_possible_truncation, reason = "whole, and within the exact range")]
    let integer = float as i64;
    Some(integer.into())
}
