//! Text that a question says is to be written down: in quotation marks, behind a colon, behind "called", or "to buy milk".

use std::ops::Range;

use serde_json::Value;

use crate::planner::Ranked;
use crate::planner::deed::Deed;
use crate::planner::parameter::{Kind, Parameter};
use crate::planner::pattern::Pattern;
use crate::planner::question::Question;

/// Behind a text that is asked for, where nothing is taken back: "please", "to my list".
const CLOSING: [&str; 39] = [
    "a", "an", "and", "asap", "as", "away", "cheers", "for", "in", "its", "kindly", "list", "lot", "many", "me",
    "much", "my", "now", "of", "on", "our", "please", "pls", "plz", "right", "so", "tasks", "thank", "thanks", "the",
    "then", "thx", "to", "to-do", "todo", "ty", "us", "with", "you",
];

/// Words that doubt what they follow: "buy milk, or is that forbidden".
static DOUBT: Pattern = Pattern::new(concat!(
    r"[?!.;]\s+(?:just|tell|only|i|is|are|would|will|should|or|yes|no|answer|say|reply)\b|",
    r"\bor (?:not|no|else|is|isn|are|aren|am|was|would|wouldn|will|won|can|could|may|might|must|should|shall|does|do|don|did)\b|",
    r"\byes(?: or |/)no\b|",
    r"[,.\u{2013}\u{2014}-] ?(?:is|isn't|are|would|wouldn't|will|won't|can|could|may|should|shall|does|doesn't|do|am|if) ",
    r"(?:that|it|this|i|we|you|there|they|anyone|anybody)\b|",
    r"\b(?:just|only) (?:asking|wondering|curious|checking|a question|tell|say|answer)\b|\btell me\b"
));

/// Whether an argument is such a text and the question is over with it, politeness aside. "Can I add …, or would that
/// break things?" only asks.
pub(super) fn ends_with_text(question: &Question, ranked: &Ranked<'_>) -> bool {
    // Without quotation marks, a text goes on to the end, and so would a second sentence.
    static SECOND: Pattern = Pattern::new(r"[?!;]\s+\S");
    let given = given(ranked);
    let places: Vec<Range<usize>> = given.iter().flat_map(|text| marked(question, text)).collect();
    let Some(first) = places.iter().map(|place| place.end).min() else { return false };
    let names: Vec<String> = ranked.tool.shape.parameters.iter().map(|each| each.name.to_lowercase()).collect();
    let mut behind = question.words.iter().filter(|word| word.range.start >= first);
    let is_over = behind.all(|word| {
        let is_given = places.iter().any(|place| place.contains(&word.range.start));
        word.is_sign() || is_given || CLOSING.contains(&word.lower.as_str()) || names.contains(&word.lower)
    });
    let mut bare = places.iter().filter(|place| !is_quoted(question, place.start));
    is_over && !bare.any(|place| SECOND.is_match(&question.lower[place.clone()])) && !DOUBT.is_match(&asked(question))
}

/// What follows "can I", without what is quoted.
fn asked(question: &Question) -> String {
    static LEAVE: Pattern = Pattern::new(r"\b(?:can|could) (?:i|we)\b");
    let start = LEAVE.find(&question.lower).map_or(0, |leave| leave.end());
    let said = question.lower.char_indices().filter(|(at, _)| *at >= start && !is_quoted(question, *at));
    said.map(|(_, c)| c).collect()
}

/// Whether there is such a text for the tool, also where it was not taken for an argument.
pub(super) fn says_text(question: &Question, ranked: &Ranked<'_>) -> bool {
    static MARK: Pattern = Pattern::new(r": \S|\b(?:called|named|titled|saying) \S");
    let is_marked = || !question.quoted.is_empty() || MARK.is_match(&question.lower);
    texts(ranked).next().is_some() && is_marked()
        || given(ranked).iter().any(|text| marked(question, text).next().is_some())
}

/// Arguments that are texts, in lower case.
fn given(ranked: &Ranked<'_>) -> Vec<String> {
    let given = texts(ranked).filter_map(|each| ranked.filling.arguments.get(&each.name).and_then(Value::as_str));
    given.map(str::to_lowercase).filter(|text| !text.is_empty()).collect()
}

/// Where the text stands with a mark.
fn marked<'q>(question: &'q Question, text: &'q str) -> impl Iterator<Item = Range<usize>> + 'q {
    let places = question.lower.match_indices(text);
    places.filter(|(at, text)| is_marked(question, *at, text)).map(|(at, text)| at..at + text.len())
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
    is_quoted(question, at) || MARKED.is_match(before) || INFINITIVE.is_match(before) && Deed::is_verb(first)
}

fn is_quoted(question: &Question, at: usize) -> bool {
    question.quoted.iter().any(|quoted| quoted.range.contains(&at))
}
