//! Booleans, and time zones.

use super::{Evidence, Filler};
use crate::planner::bm25::to_f64;
use crate::planner::lexicon::{NEGATIONS, STOP, SWITCHING, has_synonym, synonyms};
use crate::planner::parameter::{Kind, Parameter, Type};
use crate::planner::pattern::Pattern;
use crate::planner::question::{Values, Word};
use crate::planner::span::{Found, Span, zones};
use crate::planner::words::{Stems, as_key, is_misspelt, stem};

/// Words in front of a switch among which a negation is looked for.
const NEGATED_WITHIN: usize = 3;
/// A word beyond this is meant though a letter of it is wrong.
const LONG: usize = 7;

/// "what it requires", "the files it imports".
static REQUIRED: Pattern =
    Pattern::new(r"\b(?:it|they|that) (?:directly )?(?:requires?|depends? (?:up)?on|relies on|pulls in)\b");

impl Filler<'_> {
    /// A switch is set when all telling words of its name are said.
    pub(super) fn switches(&mut self) {
        let joined = self.question.words.iter().map(|word| stem(&word.lower.replace('-', "")));
        let required = REQUIRED.is_match(&self.question.lower).then(|| stem("dependencies"));
        let said: Stems = self.question.stems.iter().cloned().chain(joined).chain(required).collect();
        for parameter in self.open() {
            if parameter.of != Type::Boolean && !parameter.is_switch_in_words() {
                continue;
            }
            let telling = telling(parameter);
            let all_said = !telling.is_empty() && telling.iter().all(|word| is_said(word, &said));
            if !all_said || telling.iter().all(|word| self.tool.name_stems.contains(*word)) {
                continue;
            }
            let words = &self.question.words;
            let place = words.iter().position(|word| telling.iter().any(|each| means(word, each))).unwrap_or(0);
            let before = &words[place.saturating_sub(NEGATED_WITHIN)..place];
            let behind = words.iter().skip(place + 1).take(NEGATED_WITHIN);
            // "leave the imports out".
            let left_out = before.iter().any(|word| ["leave", "leaving", "keep"].contains(&word.lower.as_str()))
                && behind.clone().any(|word| ["out", "away", "aside"].contains(&word.lower.as_str()));
            let denied_behind = behind.take(2).any(|word| ["doesn't", "don't", "isn't"].contains(&word.lower.as_str()));
            let negated =
                left_out || denied_behind || before.iter().any(|word| NEGATIONS.contains(word.lower.as_str()));
            let on = !negated || parameter.is_called(&["avoid", "no", "without", "exclude", "disable"]);
            let in_words = parameter.choices.iter().find(|choice| choice.lower == on.to_string());
            self.set(parameter, in_words.map_or_else(|| on.into(), |choice| choice.value.clone()), Evidence::LISTED);
            let joined =
                |word: &Word| as_key(&word.lower) == telling.iter().map(|each| each.as_str()).collect::<String>();
            let is_key = |word: &Word| word.lower.contains('-') && as_key(&word.lower) == as_key(&parameter.name);
            let own = words.iter().filter(|word| telling.contains(&&word.stem) || joined(word) || is_key(word));
            let places: Vec<_> = own.map(|word| word.range.clone()).collect();
            self.free.retain(|span| !places.contains(&span.range));
            self.switched.extend(places);
        }
    }

    pub(super) fn zones(&mut self) {
        let open: Vec<&Parameter> =
            self.open().into_iter().filter(|each| each.kind == Kind::Zone && each.is_text()).collect();
        if open.is_empty() {
            return;
        }
        let zone = |(range, text)| Span { range, found: Found::Zone, text };
        let zones: Vec<Span> = zones(&self.question.text).into_iter().map(zone).collect();
        let mut pairs = Vec::new();
        for (at, span) in zones.iter().enumerate() {
            let context = self.question.context(&span.range, Values::Read);
            for (number, parameter) in open.iter().enumerate() {
                pairs.push((context.speaks_of(parameter, span) - 0.05 * to_f64(number.abs_diff(at)), number, at));
            }
        }
        pairs.sort_by(|one, other| other.0.total_cmp(&one.0).then((one.1, one.2).cmp(&(other.1, other.2))));
        for (_, number, at) in pairs {
            let (parameter, span) = (open[number], &zones[at]);
            if !self.has(parameter) && !self.used.contains(&span.range) {
                self.set(parameter, span.text.as_str().into(), Evidence::of(&Found::Zone));
                self.take(span.range.clone());
            }
        }
    }
}

/// Stems of the name that say what is switched.
fn telling(parameter: &Parameter) -> Vec<&String> {
    let words = || parameter.name_stems.iter().filter(|word| !STOP.contains(word.as_str()));
    let rare: Vec<&String> = words().filter(|word| !SWITCHING.contains(*word)).collect();
    if rare.is_empty() { words().collect() } else { rare }
}

fn is_said(word: &str, said: &Stems) -> bool {
    let is_misspelt = |synonym: &String| synonym.len() > LONG && said.iter().any(|other| is_misspelt(other, synonym));
    said.contains(word)
        || has_synonym(word, said)
        || said.iter().any(|other| alike(word, other))
        || synonyms(word).any(is_misspelt)
}

fn means(word: &Word, stem: &str) -> bool {
    let other = &word.stem;
    other == stem || synonyms(other).any(|synonym| synonym == stem) || stem.len() > 3 && same_start(other, stem)
}

/// The same up to their fifth letter, or to the end of the shorter one.
fn alike(one: &str, other: &str) -> bool {
    let start = |text: &str| text.chars().take(5).collect::<String>();
    one.len() > 3 && other.len() > 3 && one.starts_with(&start(other)) && other.starts_with(&start(one))
}

fn same_start(one: &str, other: &str) -> bool {
    one.chars().take(5).eq(other.chars().take(5))
}
