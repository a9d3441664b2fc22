//! What is looked at before a schema is compiled, so that compiling and validating stay cheap.

use std::collections::HashSet;

use serde_json::Value;

use super::SchemaRejected;

/// The largest schema among 51 tools of the reference servers is under 4 KiB.
const MAX_BYTES: usize = 256 * 1024;
const MAX_DEPTH: usize = 64;
const MAX_PARTS: usize = 10_000;

/// Keywords whose subschemas look at the same value again: a reference that returns through these alone never ends.
const IN_PLACE: [&str; 10] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies", "$ref"];

pub(super) fn check(schema: &Value) -> Result<(), SchemaRejected> {
    let mut parts = 0;
    count(schema, 0, &mut parts)?;
    // Only now: serialising recurses, and the depth is known to be bounded.
    if schema.to_string().len() > MAX_BYTES {
        return Err(SchemaRejected::TooLarge { limit: MAX_BYTES });
    }
    let mut targets = Vec::new();
    collect_references(schema, &mut targets)?;
    targets.sort_unstable();
    targets.dedup();
    targets.into_iter().try_for_each(|target| ends(schema, target))
}

fn count(part: &Value, depth: usize, parts: &mut usize) -> Result<(), SchemaRejected> {
    *parts += 1;
    if *parts > MAX_PARTS {
        return Err(SchemaRejected::TooManyParts { limit: MAX_PARTS });
    }
    if depth > MAX_DEPTH {
        return Err(SchemaRejected::TooDeep { limit: MAX_DEPTH });
    }
    match part {
        Value::Array(items) => items.iter().try_for_each(|item| count(item, depth + 1, parts)),
        Value::Object(members) => members.values().try_for_each(|member| count(member, depth + 1, parts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn collect_references<'a>(part: &'a Value, targets: &mut Vec<&'a str>) -> Result<(), SchemaRejected> {
    match part {
        Value::Array(items) => items.iter().try_for_each(|item| collect_references(item, targets)),
        Value::Object(members) => members.iter().try_for_each(|(keyword, member)| {
            let reference = match keyword.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => member.as_str(),
                _ => None,
            };
            if let Some(target) = reference {
                if !target.starts_with('#') {
                    return Err(SchemaRejected::ForeignReference { target: target.chars().take(200).collect() });
                }
                targets.push(target);
            }
            collect_references(member, targets)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Follows a reference through everything that looks at the same value; it must come to an end.
fn ends(root: &Value, target: &str) -> Result<(), SchemaRejected> {
    let mut seen = HashSet::new();
    let mut waiting = vec![target];
    while let Some(next) = waiting.pop() {
        if !seen.insert(next) {
            continue;
        }
        let Some(part) = resolve(root, next) else { continue };
        let mut reached = Vec::new();
        in_place_references(part, &mut reached);
        if reached.contains(&target) {
            return Err(SchemaRejected::EndlessReference { target: target.to_owned() });
        }
        waiting.extend(reached);
    }
    Ok(())
}

fn resolve<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    // Anchors are left to the compiler, which refuses what it cannot resolve.
    root.pointer(target.strip_prefix('#')?)
}

fn in_place_references<'a>(part: &'a Value, reached: &mut Vec<&'a str>) {
    let Some(members) = part.as_object() else { return };
    for keyword in IN_PLACE {
        match members.get(keyword) {
            Some(Value::String(target)) if keyword == "$ref" => reached.push(target),
            Some(Value::Array(branches)) => branches.iter().for_each(|branch| in_place_references(branch, reached)),
            Some(object @ Value::Object(branches)) => match keyword {
                "dependentSchemas" | "dependencies" => {
                    branches.values().for_each(|branch| in_place_references(branch, reached));
                }
                _ => in_place_references(object, reached),
            },
            Some(_) | None => {}
        }
    }
}
