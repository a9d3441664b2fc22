//! What is looked at before a schema is compiled, so that compiling it and recursing through it stay cheap.

use std::collections::HashMap;

use serde_json::Value;

use super::SchemaRejected;
use super::parts::{self, Targets};

/// The largest schema among 51 tools of the reference servers is under 4 KiB.
const MAX_BYTES: usize = 256 * 1024;
const MAX_DEPTH: usize = 64;
const MAX_PARTS: usize = 10_000;

/// References that lead to references; each is a level of recursion in the validator.
const MAX_CHAIN: usize = 16;

pub(super) fn check(schema: &Value) -> Result<(), SchemaRejected> {
    let mut parts = 0;
    count(schema, 0, &mut parts)?;
    // Only now: serialising recurses, and the depth is known to be bounded.
    if schema.to_string().len() > MAX_BYTES {
        return Err(SchemaRejected::TooLarge { limit: MAX_BYTES });
    }
    let mut references = Vec::new();
    collect_references(schema, &mut references)?;
    let (targets, mut lengths) = (Targets::of(schema), HashMap::new());
    references.into_iter().try_for_each(|target| follow(&targets, target, 0, &mut lengths).map(drop))
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

fn collect_references<'a>(schema: &'a Value, found: &mut Vec<&'a str>) -> Result<(), SchemaRejected> {
    for target in parts::references(schema) {
        // An escaped pointer would be another spelling of one that is followed below.
        if !target.starts_with('#') || target.contains('%') {
            return Err(SchemaRejected::ForeignReference { target: shown(target) });
        }
        found.push(target);
    }
    parts::inside(schema).try_for_each(|part| collect_references(part, found))
}

/// How many more references follow from this one without looking at a smaller part of the value. One that leads back
/// to itself is a chain without end.
fn follow<'a>(
    targets: &Targets<'a>,
    target: &'a str,
    depth: usize,
    lengths: &mut HashMap<&'a str, usize>,
) -> Result<usize, SchemaRejected> {
    let known = lengths.get(target).copied();
    if depth + known.unwrap_or_default() > MAX_CHAIN {
        return Err(SchemaRejected::LongChain { target: shown(target), limit: MAX_CHAIN });
    }
    if let Some(length) = known {
        return Ok(length);
    }
    let mut length = 0;
    for next in targets.resolve(target).map(in_place_references).unwrap_or_default() {
        length = length.max(1 + follow(targets, next, depth + 1, lengths)?);
    }
    lengths.insert(target, length);
    Ok(length)
}

fn in_place_references(schema: &Value) -> Vec<&str> {
    let mut found: Vec<_> = parts::references(schema).collect();
    found.extend(parts::in_place(schema).flat_map(in_place_references));
    found
}

fn shown(target: &str) -> String {
    target.chars().take(200).collect()
}
