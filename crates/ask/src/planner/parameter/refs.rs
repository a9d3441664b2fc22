//! Local references in a schema: `{"$ref": "#/$defs/Place"}` stands for what is there.

use serde_json::{Map, Value};

/// References within references beyond this are left as they are: a schema may refer to itself.
const DEPTH_MAX: usize = 3;

/// The same schema without local references.
pub(in crate::planner) fn followed(schema: &Value) -> Value {
    within(schema, schema, 0)
}

fn within(schema: &Value, root: &Value, depth: usize) -> Value {
    match schema {
        Value::Object(members) => {
            let target = target(members, root).filter(|_| depth < DEPTH_MAX);
            let mut joined = match target.map(|target| within(target, root, depth + 1)) {
                Some(Value::Object(joined)) => joined,
                Some(other) => return other,
                None => Map::new(),
            };
            // What stands beside a reference says more about this place.
            let is_kept = |key: &str| !["$defs", "definitions"].contains(&key) && (key != "$ref" || target.is_none());
            let kept = members.iter().filter(|(key, _)| is_kept(key));
            joined.extend(kept.map(|(key, value)| (key.clone(), within(value, root, depth))));
            Value::Object(joined)
        }
        Value::Array(items) => items.iter().map(|item| within(item, root, depth)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

fn target<'s>(members: &Map<String, Value>, root: &'s Value) -> Option<&'s Value> {
    root.pointer(members.get("$ref")?.as_str()?.strip_prefix('#')?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::followed;

    #[test]
    fn what_is_referred_to_stands_there() {
        let schema = json!({
            "properties": {
                "place": {"$ref": "#/$defs/Place", "description": "Where"},
                "places": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
                "elsewhere": {"$ref": "https://example.org/place.json"},
                "nowhere": {"$ref": "#/$defs/None"},
            },
            "$defs": {"Place": {"type": "object", "properties": {"city": {"type": "string"}}}},
        });
        let place = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let expected = json!({
            "properties": {
                "place": {"type": "object", "properties": {"city": {"type": "string"}}, "description": "Where"},
                "places": {"type": "array", "items": place},
                "elsewhere": {"$ref": "https://example.org/place.json"},
                "nowhere": {"$ref": "#/$defs/None"},
            },
        });
        assert_eq!(followed(&schema), expected);
    }

    #[test]
    fn what_refers_to_itself_comes_to_an_end() {
        let schema = json!({
            "properties": {"root": {"$ref": "#/$defs/Node"}},
            "$defs": {"Node": {"properties": {"left": {"$ref": "#/$defs/Node"}, "right": {"$ref": "#/$defs/Node"}}}},
        });
        let node = json!({"$ref": "#/$defs/Node"});
        let innermost = "/properties/root/properties/left/properties/right/properties/left";
        assert_eq!(followed(&schema).pointer(innermost), Some(&node));
    }
}
