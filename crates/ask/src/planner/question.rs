//! A question as the filler looks at it: its words, its values, and which words stand around a value.

use std::borrow::Cow;
use std::ops::Range;

use super::pattern::Pattern;
use super::request::Request;
use super::span::{self, Span};
use super::words::{Stems, StopWords, lower_in_place, stem, stems};

/// Words further away say nothing about a value.
const REACH_LEFT: u32 = 9;
const REACH_RIGHT: u32 = 6;

#[derive(Debug)]
pub(super) struct Question {
    pub(super) text: String,
    /// Of the same length.
    pub(super) lower: String,
    pub(super) words: Vec<Word>,
    /// Function words, too.
    pub(super) stems: Stems,
    pub(super) spans: Vec<Span>,
    /// What stands in quotation marks.
    pub(super) quoted: Vec<Span>,
    pub(super) request: Request,
}

/// A word or a single sign.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) range: Range<usize>,
    pub(super) text: String,
    pub(super) lower: String,
    pub(super) stem: String,
    /// Part of a value.
    pub(super) in_value: bool,
}

/// The words around a value, with their distance: a comma and other values make it longer, a sentence ends there.
#[derive(Debug, Default)]
pub(super) struct Context<'q> {
    pub(super) left: Vec<(u32, &'q Word)>,
    pub(super) right: Vec<(u32, &'q Word)>,
}

/// What the words within values are for a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Skipped,
    Read,
}

impl Question {
    pub(super) fn new(text: &str) -> Self {
        let text = with_todo(without_quotes(text)).into_owned();
        let spans = span::spans(&text);
        let mut words = words(&text);
        for word in &mut words {
            word.in_value = spans.iter().any(|span| span.range.contains(&word.range.start));
        }
        Self {
            request: Request::of(&text, &words, &spans),
            lower: lower_in_place(&text),
            stems: stems(&text, StopWords::Kept).into_iter().collect(),
            quoted: span::quoted(&text),
            words,
            spans,
            text,
        }
    }

    pub(super) fn context(&self, of: &Range<usize>, values: Values) -> Context<'_> {
        let skipped = |word: &Word| values == Values::Skipped && word.in_value;
        let mut context = Context::default();
        let mut distance = 0;
        for word in self.words.iter().rev().filter(|word| word.range.end <= of.start) {
            match word.text.as_str() {
                "." | "!" | "?" | ";" => break,
                "," => distance += 2,
                _ if skipped(word) => distance += 3,
                _ => {
                    distance += 1;
                    context.left.push((distance, word));
                    if distance > REACH_LEFT {
                        break;
                    }
                }
            }
        }
        distance = 0;
        for word in self.words.iter().filter(|word| word.range.start >= of.end) {
            match word.text.as_str() {
                // A sentence ends, or what follows speaks of the value behind it.
                "." | "!" | "?" | ";" | "based" | "starting" | "branched" | "branching" | "derived" | "forked" => break,
                "," | "and" | "or" => distance += 3,
                _ if skipped(word) => distance += 5,
                _ => {
                    distance += 1;
                    context.right.push((distance, word));
                    if distance > REACH_RIGHT {
                        break;
                    }
                }
            }
        }
        context
    }
}

impl Word {
    pub(super) fn is_sign(&self) -> bool {
        !self.text.starts_with(char::is_alphanumeric)
    }

    /// Without an apostrophe and what follows it.
    pub(super) fn bare(&self) -> &str {
        self.lower.rsplit_once(['\'', '\u{2019}']).map_or(self.lower.as_str(), |(word, _)| word)
    }
}

/// Somebody may put the whole question in quotation marks.
fn without_quotes(text: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark).filter(|inner| !inner.contains(mark)))
        .unwrap_or(text)
}

/// "a to do item" with the word that it is; only where the request is.
pub(super) fn with_todo(text: &str) -> Cow<'_, str> {
    static TO_DO: Pattern = Pattern::new(concat!(
        r"(?i)^((?:[^\s:]+\s+){0,9}?(?:(?:an?|my|the|this|new|another|your|our|up|off)\s+)?)to-do\b|",
        r"^((?:[^\s:]+\s+){0,4}(?:a|my|the|this|new|another|your|our)\s+)to do\b"
    ));
    TO_DO.replace(text, "${1}${2}todo")
}

pub(super) fn words(text: &str) -> Vec<Word> {
    static WORD: Pattern = Pattern::new(r"[^\W_](?:[\w'’.&-]*\w)?|[^\s\w]");
    let word = |found: regex::Match<'_>| {
        let lower = found.as_str().to_lowercase();
        let stem = stem(lower.trim_matches(['\'', '\u{2019}']));
        Word { range: found.range(), text: found.as_str().to_owned(), lower, stem, in_value: false }
    };
    WORD.find_iter(text).map(word).collect()
}
