//! Values in a question: what they are, where they stand, and what they mean.
//!
//! Nothing here knows of tools. Values are looked for from the most to the least certain, first come, first served.

mod dates;
mod files;
mod literals;
mod names;
mod numbers;

use std::ops::Range;

use serde_json::Value;

use super::words::overlaps_any;

pub(super) use self::literals::{QUOTES, bracketed, literal, quoted};
pub(super) use self::names::zones;
pub(super) use self::numbers::number_in;

/// A part of a question that can become an argument.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    pub(super) found: Found,
    /// As it goes into an argument: without quotation marks, a pattern for "python files".
    pub(super) text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found {
    Json(Value),
    Quoted,
    Url,
    Email,
    Date(Date),
    Month {
        year: i16,
        month: i8,
    },
    Time(Time),
    /// `tomorrow`, `next week`.
    RelativeDate,
    Path,
    Identifier,
    Number(Number),
    /// In words: weaker, since "one" is often no number.
    NumberWord(Number),
    Code,
    Currency,
    Unit,
    Zone,
    /// A run of words with capitals.
    Name,
    /// A run of other words that are no function words, and which share of them the tool does not say itself.
    Chunk {
        fresh: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: Option<i16>,
    pub(super) month: i8,
    pub(super) day: i8,
    pub(super) time: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) hour: i8,
    pub(super) minute: i8,
    pub(super) second: i8,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Number {
    pub(super) value: f64,
    pub(super) measure: Measure,
}

/// What is behind a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Measure {
    None,
    Percent,
    Ordinal,
    /// A unit by its name, or the stem of the next word.
    Of(String),
}

/// All values of a question, in its order.
pub(super) fn spans(text: &str) -> Vec<Span> {
    let mut finder = Finder { text, spans: Vec::new(), taken: Vec::new() };
    finder.literals();
    finder.dates();
    finder.files();
    finder.versions();
    finder.numbers();
    finder.number_words();
    finder.identifiers();
    finder.code();
    finder.currencies();
    finder.units();
    finder.names();
    finder.spans.sort_by_key(|span| (span.range.start, usize::MAX - span.range.end));
    finder.spans
}

/// The search for spans.
struct Finder<'t> {
    text: &'t str,
    spans: Vec<Span>,
    /// Where nothing else is looked for.
    taken: Vec<Range<usize>>,
}

impl Finder<'_> {
    fn is_free(&self, range: &Range<usize>) -> bool {
        !overlaps_any(range, &self.taken)
    }

    /// With the text that stands there.
    fn take(&mut self, range: Range<usize>, found: Found) {
        let text = self.text[range.clone()].to_owned();
        self.take_as(range, found, text);
    }

    fn take_as(&mut self, range: Range<usize>, found: Found, text: String) {
        self.taken.push(range.clone());
        self.note(range, found, text);
    }

    /// Others may be found there, too.
    fn note(&mut self, range: Range<usize>, found: Found, text: String) {
        self.spans.push(Span { range, found, text });
    }
}

impl Span {
    pub(super) fn number(&self) -> Option<&Number> {
        if let Found::Number(number) | Found::NumberWord(number) = &self.found { Some(number) } else { None }
    }

    pub(super) fn time(&self) -> Option<Time> {
        if let Found::Time(time) = self.found { Some(time) } else { None }
    }
}

impl Number {
    pub(super) fn is_whole(&self) -> bool {
        self.value.fract() == 0.0 && self.value.abs() < 1e15
    }

    pub(super) fn to_json(&self) -> Value {
        to_json(self.value)
    }

    pub(super) fn is_year(&self) -> bool {
        let dollars = self.measure == Measure::Of("dollar".to_owned());
        self.is_whole() && (1000.0..=2100.0).contains(&self.value) && !dollars
    }
}

/// An integer where it is one.
pub(super) fn to_json(value: f64) -> Value {
    whole(value).map_or_else(|| Value::from(value), Value::from)
}

pub(super) fn whole(value: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "far from the limits, and not a fraction")]
    (value.fract() == 0.0 && value.abs() < 1e15).then_some(value as i64)
}
