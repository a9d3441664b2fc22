//! A text or a value as JSON, sign by sign, so that a quotation can be looked for in it. White space of any kind and
//! length within a text is one space; around texts and outside of them there is none, and a quotation may have some.

use serde_json::Value;

use super::edges::is_within;

/// Where a quotation may be.
pub(super) struct Written {
    signs: Vec<Sign>,
    /// The same without white space, for a search that takes no longer than the text is long.
    tight: String,
    /// Of each sign in `tight`, which of `signs` it is.
    places: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Sign {
    sign: char,
    part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Text,
    /// The quotation mark at a text's beginning or end.
    Mark,
    Outside,
}

impl Written {
    pub(super) fn text(text: &str) -> Self {
        let mut signs = Vec::with_capacity(text.len());
        push_text(text, &mut signs);
        Self::of(signs)
    }

    pub(super) fn json(value: &Value) -> Self {
        let mut signs = Vec::new();
        push_json(value, &mut signs);
        Self::of(signs)
    }

    fn of(signs: Vec<Sign>) -> Self {
        let places: Vec<usize> = (0..signs.len()).filter(|&at| !signs[at].sign.is_whitespace()).collect();
        let tight = places.iter().map(|&at| signs[at].sign).collect();
        Self { signs, tight, places }
    }

    /// Whether the quotation is there as a whole: with the spaces that count, and without cutting anything in two.
    ///
    /// Places that overlap an earlier one are not looked at, which can only miss a quotation that repeats itself.
    pub(super) fn has(&self, quotation: &str) -> bool {
        let tight: String = quotation.split_whitespace().collect();
        if tight.is_empty() {
            return false;
        }
        let (mut counted, mut nth) = (0, 0);
        self.tight.match_indices(&tight).any(|(at, _)| {
            nth += self.tight[counted..at].chars().count();
            counted = at;
            self.has_at(self.places[nth], quotation)
        })
    }

    fn has_at(&self, start: usize, quotation: &str) -> bool {
        if self.is_within(start) {
            return false;
        }
        let mut at = start;
        for (nth, word) in quotation.split_whitespace().enumerate() {
            if nth > 0 && self.signs.get(at).is_some_and(|next| next.sign.is_whitespace()) {
                at += 1;
            } else if nth > 0 && !self.may_have_space(at) {
                return false;
            }
            for sign in word.chars() {
                if self.signs.get(at).is_none_or(|here| here.sign != sign) {
                    return false;
                }
                at += 1;
            }
        }
        !self.is_within(at)
    }

    /// Where JSON may be written with a space and is not here.
    fn may_have_space(&self, at: usize) -> bool {
        let (Some(before), Some(after)) = (self.signs.get(at.wrapping_sub(1)), self.signs.get(at)) else {
            return false;
        };
        let is_outside = before.part == Part::Outside && after.part == Part::Outside && !self.is_within(at);
        before.part == Part::Mark || after.part == Part::Mark || is_outside
    }

    fn is_within(&self, at: usize) -> bool {
        let (before, after) = self.signs.split_at(at);
        is_within(before.iter().rev().map(|sign| sign.for_edges()), after.iter().map(|sign| sign.for_edges()))
    }
}

impl Sign {
    /// What separates the values of a list groups no digits.
    fn for_edges(self) -> char {
        if self.part == Part::Outside && matches!(self.sign, ',' | ':') { '\n' } else { self.sign }
    }
}

fn push_json(value: &Value, signs: &mut Vec<Sign>) {
    match value {
        Value::String(text) => {
            push("\"", Part::Mark, signs);
            push_text(text, signs);
            push("\"", Part::Mark, signs);
        }
        Value::Array(items) => {
            push("[", Part::Outside, signs);
            for (nth, item) in items.iter().enumerate() {
                push(if nth > 0 { "," } else { "" }, Part::Outside, signs);
                push_json(item, signs);
            }
            push("]", Part::Outside, signs);
        }
        Value::Object(fields) => {
            push("{", Part::Outside, signs);
            for (nth, (key, field)) in fields.iter().enumerate() {
                push(if nth > 0 { "," } else { "" }, Part::Outside, signs);
                push("\"", Part::Mark, signs);
                push_text(key, signs);
                push("\"", Part::Mark, signs);
                push(":", Part::Outside, signs);
                push_json(field, signs);
            }
            push("}", Part::Outside, signs);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => push(&value.to_string(), Part::Outside, signs),
    }
}

/// Each run of white space is its first sign.
fn push_text(text: &str, signs: &mut Vec<Sign>) {
    let mut is_space = false;
    for sign in text.trim().chars() {
        if !(is_space && sign.is_whitespace()) {
            signs.push(Sign { sign, part: Part::Text });
        }
        is_space = sign.is_whitespace();
    }
}

fn push(text: &str, part: Part, signs: &mut Vec<Sign>) {
    signs.extend(text.chars().map(|sign| Sign { sign, part }));
}
