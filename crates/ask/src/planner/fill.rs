//! Arguments for a tool out of a question, by its schema: certain values first, each value once, and what is left over
//! for the one free text.
//!
//! Nothing is made up: an argument is in the question, or a value that schema or contract name. What is not said is missing.

mod assign;
mod choices;
mod chunks;
mod emptied;
mod expression;
mod lists;
mod named;
mod nearby;
mod objects;
mod render;
mod rest;
mod revisions;
mod serve;
mod switches;
mod typed;
mod written;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::civil::Date;
use serde_json::{Map, Value};

use super::parameter::{Parameter, Shape};
use super::question::Question;
use super::span::{Found, Span};
use super::tool::Tool;
use super::words::overlap;

pub(super) use self::rest::POLITE;

/// What a question gives for a tool.
#[derive(Debug, Clone, Default)]
pub(super) struct Filling {
    pub(super) arguments: Map<String, Value>,
    /// How each of them was found.
    pub(super) evidence: BTreeMap<String, Evidence>,
    /// Required parameters that the question says nothing about.
    pub(super) missing: Vec<String>,
}

/// What speaks for an argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Evidence {
    /// How much it says for the tool that takes it, up to 1.
    pub(super) strength: f64,
    /// How little of it can be chance, up to 1.
    pub(super) hardness: f64,
    pub(super) from: From,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// A place of its own in the question.
    Value,
    /// JSON, a list, or by the parameter's name: may hold several values.
    Whole,
    /// What was left of the question.
    Rest,
}

impl Filling {
    pub(super) fn is_structured(&self) -> bool {
        self.evidence.values().any(|evidence| *evidence == Evidence::TYPED)
    }
}

impl Evidence {
    const NAMED: Self = Self { strength: 1.0, hardness: 1.0, from: From::Whole };
    const LISTED: Self = Self { strength: 1.0, hardness: 0.0, from: From::Value };
    const LISTED_IN_WORDS: Self = Self { hardness: 1.0, ..Self::LISTED };
    const LISTED_IN_PART: Self = Self { hardness: 0.2, ..Self::LISTED };
    /// Several values that belong together as the parameter wants them.
    const STRUCTURED: Self = Self { hardness: 0.5, ..Self::LISTED };
    /// The same, in words that leave no doubt: names with their types.
    const TYPED: Self = Self { hardness: 0.6, ..Self::LISTED };
    const GUESSED: Self = Self { strength: 0.5, hardness: 0.0, from: From::Value };
    /// Words that the question says beside the parameter's name.
    const BESIDE_NAME: Self = Self { strength: 0.8, hardness: 0.0, from: From::Value };
    const WEAK: Self = Self { strength: 0.0, hardness: 0.0, from: From::Value };
    const LIST: Self = Self { strength: 1.0, hardness: 0.0, from: From::Whole };
    const REST: Self = Self { strength: 0.5, hardness: 0.0, from: From::Rest };

    fn of(found: &Found) -> Self {
        let sure = |hardness| Self { strength: 1.0, hardness, from: From::Value };
        match found {
            Found::Json(_) => Self::NAMED,
            Found::Url | Found::Email => sure(1.0),
            Found::Path | Found::Code => sure(0.5),
            Found::Zone => sure(0.45),
            Found::Chunk { .. } => Self::WEAK,
            Found::Quoted
            | Found::Date(_)
            | Found::Month { .. }
            | Found::Time(_)
            | Found::RelativeDate
            | Found::Identifier
            | Found::Number(_)
            | Found::NumberWord(_)
            | Found::Currency
            | Found::Unit
            | Found::Name => sure(0.0),
        }
    }
}

pub(super) fn fill(question: &Question, tool: &Tool, today: Date) -> Filling {
    fill_shape(question, tool, &tool.shape, today)
}

/// The whole tool, or an object among its arguments.
fn fill_shape(question: &Question, tool: &Tool, shape: &Shape, today: Date) -> Filling {
    let mut filler = Filler {
        question,
        tool,
        shape,
        today,
        filling: Filling::default(),
        used: Vec::new(),
        named: Vec::new(),
        switched: Vec::new(),
        free: question.spans.iter().collect(),
    };
    filler.by_name();
    filler.emptied();
    filler.choices();
    filler.explained_numbers();
    filler.zones();
    filler.switches();
    filler.named_values();
    filler.written();
    filler.revisions();
    filler.lists_of_several();
    filler.assign();
    filler.other_lists();
    filler.required_text();
    filler.optional_text();
    filler.lists_of_objects();
    filler.empty_lists();
    filler.objects();
    filler.commands_of_given();
    filler.finish()
}

/// A filling in the making.
struct Filler<'a> {
    question: &'a Question,
    tool: &'a Tool,
    shape: &'a Shape,
    /// For dates that do not say their year, and for "tomorrow".
    today: Date,
    filling: Filling,
    /// Where the values of arguments stand.
    used: Vec<Range<usize>>,
    /// The same, with the words that name the parameter.
    named: Vec<Range<usize>>,
    /// Words that turned switches on or off.
    switched: Vec<Range<usize>>,
    /// Values for the assignment.
    free: Vec<&'a Span>,
}

impl<'a> Filler<'a> {
    /// Parameters without a value, so far.
    fn open(&self) -> Vec<&'a Parameter> {
        self.shape.parameters.iter().filter(|each| !self.has(each)).collect()
    }

    fn has(&self, parameter: &Parameter) -> bool {
        self.filling.arguments.contains_key(&parameter.name)
    }

    fn set(&mut self, parameter: &Parameter, value: Value, evidence: Evidence) {
        self.filling.arguments.insert(parameter.name.clone(), value);
        self.filling.evidence.insert(parameter.name.clone(), evidence);
    }

    /// No other argument may have what stands there.
    fn take(&mut self, range: Range<usize>) {
        self.free.retain(|span| !overlap(&span.range, &range));
        self.used.push(range);
    }

    fn finish(self) -> Filling {
        let mut filling = self.filling;
        let without = |each: &&Parameter| !filling.arguments.contains_key(&each.name);
        let needed = |each: &Parameter| {
            let is_given = |value: &&String| filling.arguments.values().any(|given| *given == value.as_str());
            each.needed_by.iter().any(|value| is_given(&value))
        };
        let mut missing: Vec<String> = self
            .shape
            .parameters
            .iter()
            .filter(|each| each.required || needed(each))
            .filter(without)
            .map(|each| each.name.clone())
            .collect();
        if missing.is_empty() && filling.arguments.len() < self.shape.properties_min {
            missing.extend(self.shape.parameters.iter().find(without).map(|each| each.name.clone()));
        }
        filling.missing = missing;
        filling
    }
}
