//! Where schemas have schemas inside, and what they refer to. Everything else in them is data, never looked into.

use std::collections::HashMap;

use serde_json::Value;

const ONE: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LISTS: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
const MAPS: [&str; 6] = ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// Those that look at the same value again.
const IN_PLACE: [&str; 9] =
    ["allOf", "anyOf", "dependencies", "dependentSchemas", "else", "if", "not", "oneOf", "then"];

/// Of draft-04, and of all later ones.
pub(super) const IDENTIFIERS: [&str; 2] = ["id", "$id"];

const REFERENCES: [&str; 3] = ["$dynamicRef", "$recursiveRef", "$ref"];

/// The schemas directly inside this one.
pub(super) fn inside(schema: &Value) -> impl Iterator<Item = &Value> {
    members(schema).flat_map(|(keyword, member)| schemas_at(keyword, member))
}

/// Those of them that look at the same value.
pub(super) fn in_place(schema: &Value) -> impl Iterator<Item = &Value> {
    let again = members(schema).filter(|(keyword, _)| IN_PLACE.contains(keyword));
    again.flat_map(|(keyword, member)| schemas_at(keyword, member))
}

/// Those of them that stand under one of these keywords.
pub(super) fn at<'a>(schema: &'a Value, keywords: &[&str]) -> impl Iterator<Item = &'a Value> {
    members(schema)
        .filter(move |(keyword, _)| keywords.contains(keyword))
        .flat_map(|(keyword, member)| schemas_at(keyword, member))
}

/// What this schema refers to.
pub(super) fn references(schema: &Value) -> impl Iterator<Item = &str> {
    REFERENCES.iter().filter_map(|keyword| schema.get(keyword)?.as_str())
}

/// What references in a schema can refer to.
pub(super) struct Targets<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    ambiguous: Option<&'a str>,
}

impl<'a> Targets<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        let mut targets = Self { root, anchors: HashMap::new(), ambiguous: None };
        targets.collect(root);
        targets
    }

    pub(super) fn resolve(&self, target: &str) -> Option<&'a Value> {
        self.way(target)?.pop()
    }

    /// All that a reference leads through, its target last.
    pub(super) fn way(&self, target: &str) -> Option<Vec<&'a Value>> {
        let fragment = target.strip_prefix('#')?;
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.anchors.get(fragment).map(|anchor| vec![*anchor]);
        }
        let ends = fragment.char_indices().filter(|(_, letter)| *letter == '/').map(|(at, _)| at);
        ends.chain([fragment.len()]).map(|end| self.root.pointer(&fragment[..end])).collect()
    }

    /// A name that two places have.
    pub(super) fn ambiguous(&self) -> Option<&'a str> {
        self.ambiguous
    }

    fn collect(&mut self, schema: &'a Value) {
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = schema.get(keyword).and_then(Value::as_str)
                && self.anchors.insert(name, schema).is_some_and(|other| !std::ptr::eq(other, schema))
            {
                self.ambiguous = Some(name);
            }
        }
        inside(schema).for_each(|part| self.collect(part));
    }
}

fn members(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema.as_object().into_iter().flatten().map(|(keyword, member)| (keyword.as_str(), member))
}

fn schemas_at<'a>(keyword: &str, member: &'a Value) -> Vec<&'a Value> {
    match member {
        Value::Array(items) if LISTS.contains(&keyword) => items.iter().collect(),
        Value::Object(entries) if MAPS.contains(&keyword) => entries.values().collect(),
        Value::Object(_) if ONE.contains(&keyword) => vec![member],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Vec::new()
        }
    }
}
