//! How much work a validation is. Branches and references multiply: a schema of two hundred bytes and a value of twenty
//! levels can ask for a million looks, and a choice of a thousand in a list of ten thousand for ten million. No bound on
//! either alone is both safe and fair. So the looks are counted for the value at hand before the validator takes a
//! single one, unless even the largest possible number of them is small.

use serde_json::Value;

use super::plan::{Node, Plan};

/// Some tenths of a second, for counting and for looking.
const MAX_LOOKS: u64 = 2_000_000;

/// The validator makes a list of all mistakes before it hands out the first: some tens of megabytes.
const MAX_DESCRIBED: u64 = 100_000;

/// Levels of recursion, of which the validator's stack holds several times as many.
const MAX_LEVELS: usize = 600;

/// Parts of an unfolded schema above which it is not unfolded any further.
const MAX_UNFOLDED: u64 = 10_000;

/// So many bytes of text are as much to look at as a number.
const TEXT_UNIT: usize = 256;

/// What a check of every part of a schema and a value may come to.
#[derive(Debug)]
pub(super) struct Cost {
    plan: Plan,
    /// The size of the schema with every reference replaced by what it refers to; absent where that is endless, large,
    /// or says nothing about the looks.
    unfolded: Option<u64>,
}

/// How much can be said about what is wrong with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Everything,
    First,
    Nothing,
}

impl Cost {
    pub(super) fn of(schema: &Value) -> Self {
        let plan = Plan::of(schema);
        Self { unfolded: unfolded(&plan), plan }
    }

    /// Whether checking this value stays within reason.
    pub(super) fn is_bearable(&self, instance: &Value) -> bool {
        let most = self.unfolded.map_or(u64::MAX, |unfolded| unfolded.saturating_mul(size(instance)));
        most <= MAX_LOOKS || self.count(instance).is_some()
    }

    /// How its mistakes can be described within reason.
    pub(super) fn detail(&self, instance: &Value) -> Detail {
        match self.count(instance) {
            Some(Described { all: 0..=MAX_DESCRIBED, .. }) => Detail::Everything,
            Some(Described { choice: 0..=MAX_DESCRIBED, .. }) => Detail::First,
            Some(Described { .. }) | None => Detail::Nothing,
        }
    }

    fn count(&self, instance: &Value) -> Option<Described> {
        let mut tally = Tally { plan: &self.plan, left: MAX_LOOKS, choice: 0 };
        let all = tally.look(self.plan.root(), instance, 0)?;
        Some(Described { all, choice: tally.choice })
    }
}

/// Parts of a value; long texts count as several.
fn size(instance: &Value) -> u64 {
    match instance {
        Value::Array(items) => items.iter().map(size).fold(2, u64::saturating_add),
        Value::Object(members) => {
            members.iter().map(|(name, value)| size(value) + units(name)).fold(2, u64::saturating_add)
        }
        Value::String(text) => 2 + units(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => 2,
    }
}

fn unfolded(plan: &Plan) -> Option<u64> {
    // By hand, because this can be thousands of levels deep.
    let (mut waiting, mut size) = (vec![(plan.root(), 0)], 0_u64);
    while let Some((node, level)) = waiting.pop() {
        size = size.saturating_add(node.weight);
        // Marks are set by looking again, so that looks are more than parts.
        if size > MAX_UNFOLDED || level > MAX_LEVELS || node.marks {
            return None;
        }
        waiting.extend(node.children().map(|child| (plan.node(child), level + 1)));
    }
    Some(size)
}

/// The most mistakes there can be.
#[derive(Debug, Clone, Copy)]
struct Described {
    all: u64,
    /// Those of one choice, which has those of all its branches.
    choice: u64,
}

/// Looks as the validator does, at everything that it may look at. Each step is paid for, so counting ends, too.
struct Tally<'p> {
    plan: &'p Plan,
    left: u64,
    choice: u64,
}

impl<'p> Tally<'p> {
    fn spend(&mut self, looks: u64) -> Option<()> {
        self.left = self.left.checked_sub(looks)?;
        Some(())
    }

    /// How many mistakes there can be; `None` when it takes too long.
    fn look(&mut self, node: &'p Node, instance: &Value, level: usize) -> Option<u64> {
        if level > MAX_LEVELS {
            return None;
        }
        self.spend(node.weight)?;
        let mut described = node.described;
        for part in &node.same {
            described = described.saturating_add(self.look(self.plan.node(*part), instance, level + 1)?);
        }
        if node.marks {
            self.mark(node, instance, level + 1)?;
        }
        described = described.saturating_add(self.look_inside(node, instance, level + 1)?);
        if node.is_choice {
            self.choice = self.choice.max(described);
        }
        Some(described)
    }

    fn look_inside(&mut self, node: &'p Node, instance: &Value, level: usize) -> Option<u64> {
        let mut described = 0_u64;
        match instance {
            Value::Object(members) if node.is_about_members() => {
                self.spend(members.len() as u64)?;
                described = if node.is_closed { members.len() as u64 } else { 0 };
                for (name, value) in members {
                    described = described.saturating_add(self.look_at_member(node, name, value, level)?);
                }
            }
            Value::Array(items) => {
                if node.compares_items {
                    self.spend(size(instance))?;
                }
                if node.is_about_items() {
                    self.spend(items.len() as u64)?;
                    for (at, item) in items.iter().enumerate() {
                        for part in node.by_position.get(at).into_iter().chain(&node.items) {
                            described = described.saturating_add(self.look(self.plan.node(*part), item, level)?);
                        }
                    }
                }
            }
            Value::String(text) if node.reads_text => self.spend(units(text))?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {}
        }
        Some(described)
    }

    fn look_at_member(&mut self, node: &'p Node, name: &str, value: &Value, level: usize) -> Option<u64> {
        let mut described = 0_u64;
        for part in node.by_name.get(name).into_iter().chain(&node.members) {
            described = described.saturating_add(self.look(self.plan.node(*part), value, level)?);
        }
        if !node.members.is_empty() {
            self.spend(units(name).saturating_mul(node.members.len() as u64))?;
        }
        if !node.names.is_empty() {
            let name = Value::String(name.to_owned());
            for part in &node.names {
                described = described.saturating_add(self.look(self.plan.node(*part), &name, level)?);
            }
        }
        Some(described)
    }

    /// What `unevaluatedProperties` and its like do to learn what has been looked at: all branches anew, at every depth.
    fn mark(&mut self, node: &'p Node, instance: &Value, level: usize) -> Option<()> {
        if level > MAX_LEVELS {
            return None;
        }
        for part in &node.same {
            let part = self.plan.node(*part);
            self.look(part, instance, level + 1)?;
            self.mark(part, instance, level + 1)?;
        }
        let inside: Vec<&Value> = match instance {
            Value::Array(items) => items.iter().collect(),
            Value::Object(members) => members.values().collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Some(()),
        };
        self.spend(inside.len() as u64)?;
        for part in &node.marking {
            for value in &inside {
                self.look(self.plan.node(*part), value, level + 1)?;
            }
        }
        Some(())
    }
}

fn units(text: &str) -> u64 {
    (text.len() / TEXT_UNIT) as u64
}
