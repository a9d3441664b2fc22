//! How much work a validation is. Branches and references multiply: a schema of two hundred bytes and a value of twenty
//! levels can ask for a million looks, and no bound on either alone is both safe and fair. So for schemas that can do
//! this, the looks are counted for the value at hand before the validator takes a single one.

use std::collections::HashMap;

use serde_json::Value;

use super::parts::{self, Targets};

/// A schema whose unfolded form is no larger costs at most this for each part of a value.
const CHEAP_UNFOLDED: u64 = 10_000;

/// Some tenths of a second; describing that many mistakes takes some tens of megabytes.
const MAX_LOOKS: u64 = 100_000;

/// Levels of recursion, of which the validator's stack holds several times as many.
const MAX_LEVELS: usize = 600;

/// Whether the work must be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cost {
    /// It grows with the value, and no faster.
    Proportional,
    /// It may explode.
    Counted,
}

impl Cost {
    pub(super) fn of(schema: &Value) -> Self {
        let mut sizes = HashMap::new();
        match unfolded(&Targets::of(schema), schema, &mut sizes) {
            0..=CHEAP_UNFOLDED => Self::Proportional,
            _ => Self::Counted,
        }
    }

    /// Whether checking this value stays within reason.
    pub(super) fn is_bearable(self, schema: &Value, instance: &Value) -> bool {
        match self {
            Self::Proportional => true,
            Self::Counted => {
                let mut count = Count { targets: Targets::of(schema), known: HashMap::new() };
                count.looks(schema, instance, 0).is_some_and(|looks| looks <= MAX_LOOKS)
            }
        }
    }
}

/// The size of a schema with every reference replaced by what it refers to; endless for recursive ones.
fn unfolded<'a>(targets: &Targets<'a>, schema: &'a Value, sizes: &mut HashMap<*const Value, u64>) -> u64 {
    let key = std::ptr::from_ref(schema);
    if let Some(size) = sizes.get(&key) {
        return *size;
    }
    // Whoever comes by here again before the end has gone in a circle.
    sizes.insert(key, u64::MAX);
    let referred = parts::references(schema).filter_map(|target| targets.resolve(target));
    let mut size = 1_u64;
    for part in parts::applied(schema).chain(referred) {
        size = size.saturating_add(unfolded(targets, part, sizes));
    }
    sizes.insert(key, size);
    size
}

struct Count<'a> {
    targets: Targets<'a>,
    /// By schema and value: each pair is counted once, however often the validator would look at it.
    known: HashMap<(*const Value, *const Value), u64>,
}

impl<'a> Count<'a> {
    /// How often the validator may look at a part of the schema; `None` when counting itself takes too long.
    fn looks(&mut self, schema: &'a Value, instance: &Value, level: usize) -> Option<u64> {
        let key = (std::ptr::from_ref(schema), std::ptr::from_ref(instance));
        if let Some(looks) = self.known.get(&key) {
            return Some(*looks);
        }
        if level > MAX_LEVELS || self.known.len() as u64 > MAX_LOOKS {
            return None;
        }
        let referred = parts::references(schema).filter_map(|target| self.targets.resolve(target));
        let same_value: Vec<_> = parts::in_place(schema).chain(referred).collect();
        let mut looks = 1_u64;
        for part in same_value {
            looks = looks.saturating_add(self.looks(part, instance, level + 1)?);
        }
        for (name, value) in smaller(instance) {
            for part in parts::below(schema, name) {
                looks = looks.saturating_add(self.looks(part, value, level + 1)?);
            }
        }
        self.known.insert(key, looks);
        Some(looks)
    }
}

/// The parts of a value, with their names where they have some.
fn smaller(instance: &Value) -> Vec<(Option<&str>, &Value)> {
    match instance {
        Value::Array(items) => items.iter().map(|item| (None, item)).collect(),
        Value::Object(members) => members.iter().map(|(name, value)| (Some(name.as_str()), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
