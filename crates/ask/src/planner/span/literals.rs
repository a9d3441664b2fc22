//! Values that say themselves where they end: brackets, quotation marks, addresses, code.

use serde_json::Value;

use super::dates::iso_date;
use super::{Finder, Found, Span};
use crate::planner::pattern::Pattern;
use crate::planner::words::{char_at, char_before};

pub(in crate::planner) const QUOTES: [(char, char); 6] =
    [('"', '"'), ('\'', '\''), ('`', '`'), ('\u{201c}', '\u{201d}'), ('\u{2018}', '\u{2019}'), ('\u{ab}', '\u{bb}')];

static URL: Pattern = Pattern::new(r#"(?:https?://|ftp://|www\.)[^\s<>"'`]+"#);
static EMAIL: Pattern = Pattern::new(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+");

impl Finder<'_> {
    pub(super) fn literals(&mut self) {
        self.brackets();
        for mut span in quoted(self.text) {
            if !self.is_free(&span.range) {
                continue;
            }
            if let Some(found) = address(&span.text).or_else(|| iso_date(&span.text).map(Found::Date)) {
                span.found = found;
            }
            self.taken.push(span.range.clone());
            self.spans.push(span);
        }
        for found in URL.find_iter(self.text) {
            let length = without_end(found.as_str()).len();
            if self.is_free(&found.range()) {
                self.take(found.start()..found.start() + length, Found::Url);
            }
        }
        for found in EMAIL.find_iter(self.text).filter(|found| !found.is_empty()) {
            if self.is_free(&found.range()) {
                self.take(found.range(), Found::Email);
            }
        }
        self.escapes();
    }

    /// `10\.0\.\d+` is no number.
    fn escapes(&mut self) {
        static ESCAPED: Pattern = Pattern::new(r"\S*\\(?:[dws][+*?{\\)\]]|[.()\[\]{}+$|])\S*");
        for found in ESCAPED.find_iter(self.text) {
            let text = found.as_str().trim_end_matches([',', ';', '!']);
            let range = found.start()..found.start() + text.len();
            if self.is_free(&range) {
                self.take(range, Found::Code);
            }
        }
    }

    /// JSON, and tuples of numbers.
    fn brackets(&mut self) {
        static TUPLE: Pattern = Pattern::new(r"^\(\s*-?\d+(?:\.\d+)?(?:\s*,\s*-?\d+(?:\.\d+)?)+\s*\)");
        let mut at = 0;
        while let Some(start) = self.text[at..].find(['{', '[', '(']).map(|found| at + found) {
            at = start + 1;
            let is_tuple = self.text[start..].starts_with('(');
            if is_tuple && !TUPLE.is_match(&self.text[start..]) {
                continue;
            }
            let Some(end) = bracketed(self.text, start) else { continue };
            let text = &self.text[start..end];
            let text = if is_tuple { text.replace('(', "[").replace(')', "]") } else { text.to_owned() };
            if let Some(value) = literal(&text) {
                self.take(start..end, Found::Json(value));
                at = end;
            }
        }
    }

    /// What is written with signs of programs.
    pub(super) fn code(&mut self) {
        static CODE: Pattern = Pattern::new(r"\S*[\\()\[\]{}=<>|^$]\S*");
        static NO_CODE: Pattern = Pattern::new(r"^(?:\(?\w+\)?|[A-Za-z_]+=\S*)$");
        for found in CODE.find_iter(self.text) {
            let text = found.as_str().trim_end_matches(['.', ',', ';', '?', '!']);
            let range = found.start()..found.start() + text.len();
            let says_something = text.chars().count() > 2 && text.chars().any(char::is_alphanumeric);
            if says_something && self.is_free(&range) && !NO_CODE.is_match(text) {
                self.note(range, Found::Code, text.to_owned());
            }
        }
    }
}

/// Without the signs of the sentence around it; `Ada_(language)` keeps its bracket.
fn without_end(url: &str) -> &str {
    let url = url.trim_end_matches(['.', ',', ';', ':', '!', '?']);
    match url.strip_suffix(')') {
        Some(inner) if url.matches(')').count() > url.matches('(').count() => without_end(inner),
        Some(_) | None => url,
    }
}

fn address(text: &str) -> Option<Found> {
    let all_of = |pattern: &Pattern| pattern.find(text).is_some_and(|found| found.range() == (0..text.len()));
    if all_of(&URL) { Some(Found::Url) } else { all_of(&EMAIL).then_some(Found::Email) }
}

/// Where the bracket at `start` is closed, behind it.
pub(in crate::planner) fn bracketed(text: &str, start: usize) -> Option<usize> {
    let (mut open, mut in_quotes) = (Vec::new(), false);
    for (at, c) in text[start..].char_indices() {
        match c {
            '"' => in_quotes = !in_quotes,
            _ if in_quotes => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '(' => open.push(')'),
            _ if open.last() == Some(&c) => {
                open.pop();
                if open.is_empty() {
                    return Some(start + at + c.len_utf8());
                }
            }
            _ => {}
        }
    }
    None
}

/// JSON, or the same as Python writes it.
pub(in crate::planner) fn literal(text: &str) -> Option<Value> {
    let as_python = || {
        let text = text.replace('\'', "\"").replace("True", "true").replace("False", "false").replace("None", "null");
        serde_json::from_str(&text).ok()
    };
    serde_json::from_str(text).ok().or_else(as_python)
}

/// What is between quotation marks; an apostrophe within a word is none.
pub(in crate::planner) fn quoted(text: &str) -> Vec<Span> {
    let (mut spans, mut at) = (Vec::new(), 0);
    while let Some(c) = char_at(text, at) {
        let start = at + c.len_utf8();
        let closed = QUOTES.iter().find(|(open, _)| *open == c).and_then(|(_, close)| closing(text, at, *close));
        at = start;
        if let Some(end) = closed {
            let inner = &text[start..end];
            if inner.contains("\n\n") || inner.is_empty() && c != '"' {
                continue;
            }
            at = end + char_at(text, end).map_or(0, char::len_utf8);
            spans.push(Span { range: start - c.len_utf8()..at, found: Found::Quoted, text: inner.to_owned() });
        }
    }
    spans
}

/// Where the mark at `open` is closed.
fn closing(text: &str, open: usize, close: char) -> Option<usize> {
    let is_apostrophe = matches!(close, '\'' | '\u{2019}');
    if is_apostrophe && char_before(text, open).is_some_and(char::is_alphanumeric) {
        return None;
    }
    let start = open + char_at(text, open)?.len_utf8();
    let within_word =
        |at: usize| is_apostrophe && char_at(text, at + close.len_utf8()).is_some_and(char::is_alphanumeric);
    text[start..].match_indices(close).map(|(at, _)| start + at).find(|&at| !within_word(at))
}
