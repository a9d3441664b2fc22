//! A schema as its costs see it: which parts look at the same value, which at what is inside of it. Made once, because
//! walking a schema by its keywords for each part of a value is itself too much.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::parts::{self, Targets};

/// What the validator repeats in each mistake, and the size of a mistake.
const REPEATED: [&str; 4] = ["dependentRequired", "not", "pattern", "required"];
const MISTAKE_BYTES: usize = 256;

/// What is compared one by one, and how many of those are a look.
const COMPARED: [&str; 5] = ["const", "dependencies", "dependentRequired", "enum", "required"];
const COMPARED_PER_LOOK: u64 = 8;

/// Keywords that go through a text from beginning to end.
const TEXTUAL: [&str; 6] = ["contentEncoding", "contentMediaType", "format", "maxLength", "minLength", "pattern"];

const UNEVALUATED: [&str; 2] = ["unevaluatedItems", "unevaluatedProperties"];

#[derive(Debug)]
pub(super) struct Plan {
    /// The root first; the others are told by their place.
    nodes: Vec<Node>,
}

/// One schema. Every number in it is the place of another.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a schema has any of these, whatever else it has")]
pub(super) struct Node {
    /// Looks that it is worth for itself.
    pub(super) weight: u64,
    /// What one mistake about it is worth.
    pub(super) described: u64,
    pub(super) reads_text: bool,
    /// Compares items with all that is in them.
    pub(super) compares_items: bool,
    /// Lists its mistakes by branch.
    pub(super) is_choice: bool,
    /// Lists members that it does not know.
    pub(super) is_closed: bool,
    /// Has to know what others have looked at.
    pub(super) marks: bool,
    pub(super) same: Vec<usize>,
    pub(super) by_name: BTreeMap<String, usize>,
    pub(super) members: Vec<usize>,
    pub(super) names: Vec<usize>,
    pub(super) by_position: Vec<usize>,
    pub(super) items: Vec<usize>,
    /// Those of the members and items that say which of them are looked at.
    pub(super) marking: Vec<usize>,
}

impl Node {
    pub(super) fn is_about_members(&self) -> bool {
        self.is_closed || !(self.by_name.is_empty() && self.members.is_empty() && self.names.is_empty())
    }

    pub(super) fn is_about_items(&self) -> bool {
        !(self.by_position.is_empty() && self.items.is_empty())
    }

    pub(super) fn children(&self) -> impl Iterator<Item = usize> {
        let lists = [&self.same, &self.members, &self.names, &self.by_position, &self.items];
        lists.into_iter().flatten().chain(self.by_name.values()).copied()
    }
}

impl Plan {
    pub(super) fn of(schema: &Value) -> Self {
        let mut making = Making { targets: Targets::of(schema), places: HashMap::new(), found: Vec::new() };
        making.place(schema);
        let mut nodes = Vec::new();
        // The list grows while it is gone through: references may go in circles, and deep.
        while let Some(schema) = making.found.get(nodes.len()).copied() {
            nodes.push(making.node(schema));
        }
        Self { nodes }
    }

    pub(super) fn root(&self) -> &Node {
        self.node(0)
    }

    pub(super) fn node(&self, place: usize) -> &Node {
        &self.nodes[place]
    }
}

struct Making<'a> {
    targets: Targets<'a>,
    places: HashMap<*const Value, usize>,
    found: Vec<&'a Value>,
}

impl<'a> Making<'a> {
    fn place(&mut self, schema: &'a Value) -> usize {
        let next = self.found.len();
        let place = *self.places.entry(std::ptr::from_ref(schema)).or_insert(next);
        if place == next {
            self.found.push(schema);
        }
        place
    }

    fn places(&mut self, schema: &'a Value, keywords: &[&str]) -> Vec<usize> {
        parts::at(schema, keywords).map(|part| self.place(part)).collect()
    }

    fn node(&mut self, schema: &'a Value) -> Node {
        let has = |keywords: &[&str]| keywords.iter().any(|keyword| schema.get(keyword).is_some());
        let sizes = |keywords: &[&str], size: fn(&Value) -> u64| -> u64 {
            keywords.iter().filter_map(|keyword| schema.get(keyword)).map(size).sum()
        };
        let referred: Vec<_> = parts::references(schema).filter_map(|target| self.targets.resolve(target)).collect();
        let mut same: Vec<usize> = parts::in_place(schema).map(|part| self.place(part)).collect();
        same.extend(referred.into_iter().map(|part| self.place(part)));
        let (mut items, mut by_position) = (Vec::new(), self.places(schema, &["prefixItems"]));
        match schema.get("items") {
            Some(Value::Array(_)) => by_position.extend(self.places(schema, &["items"])),
            Some(_) => items.extend(self.places(schema, &["items"])),
            None => {}
        }
        items.extend(self.places(schema, &["additionalItems", "contains", "unevaluatedItems"]));
        let named = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let closed = ["additionalProperties", "unevaluatedProperties"];
        Node {
            weight: 1 + sizes(&COMPARED, count) / COMPARED_PER_LOOK,
            described: 1 + sizes(&["required"], count) + sizes(&REPEATED, length) / MISTAKE_BYTES as u64,
            reads_text: has(&TEXTUAL),
            compares_items: schema.get("uniqueItems") == Some(&Value::Bool(true)),
            is_choice: has(&["anyOf", "oneOf"]),
            is_closed: closed.iter().any(|keyword| schema.get(keyword) == Some(&Value::Bool(false))),
            marks: has(&UNEVALUATED),
            same,
            by_name: named.map(|(name, part)| (name.clone(), self.place(part))).collect(),
            members: self.places(schema, &["patternProperties", "additionalProperties", "unevaluatedProperties"]),
            names: self.places(schema, &["propertyNames"]),
            by_position,
            items,
            marking: self.places(schema, &["contains", "unevaluatedItems", "unevaluatedProperties"]),
        }
    }
}

fn count(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(count).fold(1, u64::saturating_add),
        Value::Object(members) => members.values().map(count).fold(1, u64::saturating_add),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

fn length(value: &Value) -> u64 {
    value.to_string().len() as u64
}
