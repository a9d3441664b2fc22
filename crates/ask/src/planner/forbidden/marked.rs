//! Text that a question says is to be written down: in quotation marks, behind a colon, behind "called", or "to buy milk".

use serde_json::Value;

use crate::planner::Ranked;
use crate::planner::deed::Deed;
use crate::planner::parameter::{Kind, Parameter};
use crate::planner::pattern::Pattern;
use crate::planner::question::Question;

/// Whether an argument is such a text.
pub(super) fn gives_text(question: &Question, ranked: &Ranked<'_>) -> bool {
    let given = texts(ranked).filter_map(|each| ranked.filling.arguments.get(&each.name).and_then(Value::as_str));
    given.map(str::to_lowercase).filter(|text| !text.is_empty()).any(|text| {
        let mut places = question.lower.match_indices(&text);
        places.any(|(at, text)| is_marked(question, at, text))
    })
}

/// Whether there is such a text for the tool, also where it was not taken for an argument.
pub(super) fn says_text(question: &Question, ranked: &Ranked<'_>) -> bool {
    static MARK: Pattern = Pattern::new(r": \S|\b(?:called|named|titled|saying) \S");
    let is_marked = || !question.quoted.is_empty() || MARK.is_match(&question.lower);
    texts(ranked).next().is_some() && is_marked() || gives_text(question, ranked)
}

fn texts<'p>(ranked: &Ranked<'p>) -> impl Iterator<Item = &'p Parameter> {
    let parameters = ranked.tool.shape.parameters.iter();
    parameters.filter(|each| each.kind == Kind::Text && each.is_text() && each.choices.is_empty())
}

fn is_marked(question: &Question, at: usize, text: &str) -> bool {
    static MARKED: Pattern = Pattern::new(r"(?:: ?|\b(?:called|named|titled|saying):? )$");
    static INFINITIVE: Pattern = Pattern::new(r"\bto $");
    let before = &question.lower[..at];
    let first = text.split_whitespace().next().unwrap_or_default();
    question.quoted.iter().any(|quoted| quoted.range.contains(&at))
        || MARKED.is_match(before)
        || INFINITIVE.is_match(before) && Deed::is_verb(first)
}
