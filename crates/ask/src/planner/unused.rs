//! Values in a question that a tool has no use for.

use serde_json::Value;

use super::bm25::to_f64;
use super::fill::{Filling, From};
use super::lexicon::{ADJECTIVES, BORDERS, has_synonym};
use super::parameter::{Kind, Type};
use super::pattern::Pattern;
use super::question::Question;
use super::span::{Found, Measure, Span, Time, to_json};
use super::tool::Tool;
use super::words::{as_key, char_at, char_before};

/// What a value counts that only went where no such value belongs.
const MISPLACED: f64 = 0.7;
/// What it counts at least that the tool does not take a path.
const PLACE_UNUSED: f64 = 0.75;

/// From 0 to 1; half for what only the rest of the question holds, and `key=` that the tool does not have counts, too.
pub(super) fn share(question: &Question, tool: &Tool, filling: &Filling) -> f64 {
    static KEY: Pattern = Pattern::new(r"(?:^|\s)([A-Za-z_]\w+)=\S");
    let has_key = |key: &str| tool.shape.parameters.iter().any(|each| as_key(&each.name) == as_key(key));
    let strange = KEY.captures_iter(&question.text).filter(|captures| !has_key(&captures[1])).count();
    if tool.shape.parameters.is_empty() {
        return 0.5 * words_unused(question, tool);
    }
    let values: Vec<&Span> = question.spans.iter().filter(|span| is_value(&span.found)).collect();
    if values.is_empty() {
        return if strange > 0 { 1.0 } else { 0.0 };
    }
    let (taken, rest) = (written(filling, |from| from != From::Rest), written(filling, |from| from == From::Rest));
    let unused = |span: &&Span| {
        if is_out_of_place(span, tool) {
            MISPLACED
        } else if is_taken(span, &taken, filling) {
            0.0
        } else if rest.contains(&span.text.to_lowercase()) {
            0.5
        } else {
            1.0
        }
    };
    // Where something is to be read, written or looked for is no detail.
    let is_place = |span: &&Span| span.found == Found::Path && is_goal(question, span) && unused(span) >= 1.0;
    let least = if values.iter().any(is_place) { PLACE_UNUSED } else { 0.0 };
    let unused: f64 = values.iter().map(unused).sum::<f64>() + to_f64(strange);
    (unused / to_f64(values.len())).min(1.0).max(least)
}

/// Of a tool that takes nothing: the share of words that its texts do not say.
fn words_unused(question: &Question, tool: &Tool) -> f64 {
    let telling = question.words.iter().filter(|word| !word.is_sign() && !BORDERS.contains(word.bare()));
    let (mut all, mut unused) = (0, 0);
    for word in telling {
        all += 1;
        let is_said = tool.texts.contains(&word.stem) || has_synonym(&word.stem, &tool.texts);
        unused += usize::from(!is_said && !ADJECTIVES.contains(word.lower.as_str()));
    }
    if all == 0 { 0.0 } else { to_f64(unused) / to_f64(all) }
}

/// "into data.csv", `src/**/*.go`, and what the verb of the request stands in front of.
fn is_goal(question: &Question, span: &Span) -> bool {
    static INTO: Pattern = Pattern::new(concat!(
        r"(?i)(?:\b(?:in|into|to|onto|from|under|as|file)|^\W*(?:please )?\w+)\s+",
        r"(?:(?:the|a|file|sandbox)\s+)*$"
    ));
    span.text.contains('*') || INTO.is_match(&question.text[..span.range.start])
}

/// An address for a tool that takes none.
fn is_out_of_place(span: &Span, tool: &Tool) -> bool {
    let takes = |kind: Kind| {
        tool.shape.parameters.iter().any(|each| matches!(each.of, Type::String | Type::Array) && each.kind == kind)
    };
    span.found == Found::Url && !takes(Kind::Url)
}

/// Words in a question are often no values; these are.
fn is_value(found: &Found) -> bool {
    matches!(
        found,
        Found::Quoted
            | Found::Url
            | Found::Email
            | Found::Path
            | Found::Number(_)
            | Found::Date(_)
            | Found::Time(_)
            | Found::Json(_)
            | Found::Identifier
            | Found::Code
    )
}

/// The arguments of a certain origin as text.
fn written(filling: &Filling, wanted: impl Fn(From) -> bool) -> String {
    let is_wanted = |name: &String| filling.evidence.get(name).is_some_and(|evidence| wanted(evidence.from));
    let values: Vec<&Value> =
        filling.arguments.iter().filter(|(name, _)| is_wanted(name)).map(|(_, value)| value).collect();
    serde_json::to_string(&values).unwrap_or_default().to_lowercase()
}

fn is_taken(span: &Span, taken: &str, filling: &Filling) -> bool {
    if let Found::Number(number) = &span.found {
        let is = |value: f64| has_number(taken, &to_json(value).to_string());
        return is(number.value) || number.measure == Measure::Percent && is((number.value * 1e8).round() / 1e10);
    }
    if let Found::Date(date) = &span.found {
        return taken.contains(&date.day.to_string());
    }
    if let Some(Time { hour, minute, .. }) = span.time() {
        return taken.contains(&format!("{hour:02}:{minute:02}")) || taken.contains(&hour.to_string());
    }
    if let Found::Json(_) = &span.found {
        return filling.evidence.values().any(|evidence| evidence.from == From::Whole);
    }
    let written = Value::from(span.text.to_lowercase()).to_string();
    taken.contains(written.trim_matches('"'))
}

/// Not as a part of a longer number.
fn has_number(text: &str, number: &str) -> bool {
    text.match_indices(number).any(|(at, _)| {
        !char_before(text, at).is_some_and(|c| c.is_ascii_digit() || c == '.')
            && !char_at(text, at + number.len()).is_some_and(|c| c.is_ascii_digit())
    })
}
