//! What is looked at before a schema is compiled, so that compiling it and recursing through it stay cheap.

use std::collections::{HashMap, HashSet};

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
    let (targets, mut lengths) = (Targets::of(schema), HashMap::new());
    if let Some(name) = targets.ambiguous() {
        return Err(SchemaRejected::RepeatedAnchor { name: shown(name) });
    }
    let references = references(schema, &targets)?;
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

/// Everything that can be reached is held to the same rules: a reference may lead to any member, also to one that no
/// keyword makes a schema. What is followed here must be what the validator follows, or the bounds are about another
/// schema than its own.
fn references<'a>(root: &'a Value, targets: &Targets<'a>) -> Result<Vec<&'a str>, SchemaRejected> {
    let (mut waiting, mut seen, mut found) = (vec![root], HashSet::new(), Vec::new());
    while let Some(schema) = waiting.pop() {
        if !seen.insert(std::ptr::from_ref(schema)) {
            continue;
        }
        check_identifiers(schema, std::ptr::eq(schema, root))?;
        for target in parts::references(schema) {
            let foreign = || SchemaRejected::ForeignReference { target: shown(target) };
            // An escaped pointer would be another spelling of one that is known.
            if target.contains('%') {
                return Err(foreign());
            }
            let way = targets.way(target).ok_or_else(foreign)?;
            way.iter().skip(1).try_for_each(|step| check_identifiers(step, false))?;
            waiting.extend(way.last());
            found.push(target);
        }
        waiting.extend(parts::inside(schema));
    }
    Ok(found)
}

/// Inside of a part with an identifier of its own, references lead elsewhere; one that begins with `#` is an anchor of
/// older drafts.
fn check_identifiers(schema: &Value, is_root: bool) -> Result<(), SchemaRejected> {
    let is_harmless = |id: &str| is_root && id.split_once('#').is_none_or(|(_, fragment)| fragment.is_empty());
    let identifiers = parts::IDENTIFIERS.iter().filter_map(|keyword| schema.get(keyword)?.as_str());
    match identifiers.into_iter().find(|id| !is_harmless(id)) {
        Some(id) => Err(SchemaRejected::OwnIdentifier { id: shown(id) }),
        None => Ok(()),
    }
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
