//! Several values where a tool takes one: "delete tasks 3, 4 and 5" with a tool that deletes one task.

use serde_json::Value;

use super::reading::Reading;
use crate::planner::Ranked;
use crate::planner::deed::{Deed, Deeds};
use crate::planner::fill::From;
use crate::planner::parameter::{Kind, Parameter, Type};
use crate::planner::pattern::Pattern;
use crate::planner::question::{Question, words};
use crate::planner::span::{Found, Measure, Span};
use crate::planner::words::overlaps_any;

/// Between values that belong together, beside the tool's own verbs and things.
const JOINING: [&str; 24] = [
    "and", "or", "to", "through", "thru", "until", "till", "plus", "also", "then", "even", "as", "well", "the",
    "number", "numbers", "no", "nos", "id", "ids", "both", "maybe", "finally", "nor",
];

pub(super) fn names_several(question: &Question, reading: &Reading<'_>, ranked: &Ranked<'_>) -> bool {
    let free = |span: &&Span| !overlaps_any(&span.range, &reading.content) || span.number().is_none();
    let spans: Vec<&Span> = question.spans.iter().filter(free).collect();
    let identifying = ranked.tool.shape.parameters.iter().filter(|each| identifies(each));
    // What a tool without a known verb does is too uncertain for anything but numbers.
    let is_known = !ranked.tool.deeds.is_empty();
    identifying
        .filter(|each| is_known || each.is_number())
        .filter_map(|each| ranked.filling.arguments.get(&each.name))
        .any(|given| {
            let named = spans.iter().rposition(|span| is_given(span, given));
            named.is_some_and(|at| begins_range(question, spans[at]) || has_others(question, &spans, at, ranked))
        })
}

/// What the tool does something to, and not what it does.
fn identifies(parameter: &Parameter) -> bool {
    let is_key = || parameter.is_called(&["id", "number", "no", "key", "index"]);
    parameter.required
        && match parameter.of {
            Type::Integer | Type::Number => is_key(),
            Type::String => matches!(parameter.kind, Kind::Id | Kind::Path | Kind::Name | Kind::Url),
            Type::Boolean | Type::Array | Type::Object | Type::Other => false,
        }
}

fn is_given(span: &Span, given: &Value) -> bool {
    match (span.number(), given) {
        (Some(number), Value::Number(_)) => number.to_json() == *given,
        (_, Value::String(text)) => span.text == *text,
        (_, Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => false,
    }
}

/// "3-5".
fn begins_range(question: &Question, span: &Span) -> bool {
    static TO: Pattern = Pattern::new(r"^\s?(?:-|\u{2013}|\u{2014}|\.\.+)\s?#?\d");
    span.number().is_some() && TO.is_match(&question.text[span.range.end..])
}

/// Others of its kind that no argument has: next to it, or "task 4" further behind.
fn has_others(question: &Question, spans: &[&Span], at: usize, ranked: &Ranked<'_>) -> bool {
    let of_kind = |span: &Span| {
        let both_numbers = span.number().is_some() && spans[at].number().is_some();
        both_numbers || std::mem::discriminant(&span.found) == std::mem::discriminant(&spans[at].found)
    };
    let is_used = |span: &Span| {
        let whole = span.number().is_none();
        let holds = |value: &Value| is_given(span, value) || whole && value.to_string().contains(&span.text);
        ranked.filling.iter_but_rest().any(holds)
    };
    let others = |span: &&&Span| of_kind(span);
    let counts = |span: &Span| is_countless(span) && !is_used(span);
    let behind = spans[at + 1..].iter().find(others).map(|next| (spans[at], *next));
    let before = spans[..at].iter().rev().find(others).map(|last| (*last, spans[at]));
    let joined = |pair: Option<(&Span, &Span)>, verbs: Deeds| {
        pair.is_some_and(|(one, other)| {
            let gap = &question.text[one.range.end.min(other.range.start)..other.range.start];
            let counts = if std::ptr::eq(one, spans[at]) { counts(other) } else { counts(one) };
            counts && is_joined(gap, spans[at].number().is_some(), verbs, ranked)
        })
    };
    let called_so = |span: &&Span| span.number().is_some() && counts(span) && is_called_so(question, span, ranked);
    // What stands in front of the verb is only spoken of: "5 is like 4, delete 5".
    joined(behind, ranked.tool.deeds.changing())
        || joined(before, Deeds::default())
        || spans[at + 1..].iter().filter(|span| of_kind(span)).any(called_so)
}

/// "3 days" are no third task.
fn is_countless(span: &Span) -> bool {
    match &span.found {
        Found::Number(number) | Found::NumberWord(number) => match &number.measure {
            Measure::None | Measure::Ordinal => true,
            Measure::Percent => false,
            Measure::Of(unit) => !crate::planner::lexicon::is_unit_stem(unit),
        },
        Found::Json(_)
        | Found::Quoted
        | Found::Url
        | Found::Email
        | Found::Date(_)
        | Found::Month { .. }
        | Found::Time(_)
        | Found::RelativeDate
        | Found::Path
        | Found::Identifier
        | Found::Code
        | Found::Currency
        | Found::Unit
        | Found::Zone
        | Found::Name
        | Found::Chunk { .. } => true,
    }
}

/// "a.txt to b.txt" is from one to the other; "3 to 5" are three.
fn is_joined(gap: &str, are_numbers: bool, verbs: Deeds, ranked: &Ranked<'_>) -> bool {
    let words = words(gap);
    let mut between = words.iter().filter(|word| !word.is_sign());
    let joins = |lower: &str| JOINING.contains(&lower) && (are_numbers || !["to", "as"].contains(&lower));
    let is_idle = between.all(|word| {
        joins(&word.lower) || ranked.tool.objects.contains(&word.stem) || Deed::of(&word.lower).meets(verbs)
    });
    let says_and =
        || words.iter().any(|word| ["and", "or", "nor", "plus", ",", "&", "+"].contains(&word.lower.as_str()));
    is_idle && !gap.contains(['.', '?', '!', ':', '=']) && (are_numbers || says_and())
}

/// "… and task 4".
fn is_called_so(question: &Question, span: &Span, ranked: &Ranked<'_>) -> bool {
    let before = question.words.iter().rev().filter(|word| word.range.end <= span.range.start);
    let mut before = before.skip_while(|word| word.text == "#" || JOINING[14..20].contains(&word.lower.as_str()));
    before.next().is_some_and(|word| ranked.tool.objects.contains(&word.stem))
}

impl crate::planner::fill::Filling {
    /// Arguments that have their value to themselves.
    fn iter_but_rest(&self) -> impl Iterator<Item = &Value> {
        let is_rest = |name: &String| self.evidence.get(name).is_some_and(|evidence| evidence.from == From::Rest);
        self.arguments.iter().filter(move |(name, _)| !is_rest(name)).map(|(_, value)| value)
    }
}
