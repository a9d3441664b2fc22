//! Names of people, places and things, which stand out by their capitals; currencies, units and time zones.

use std::ops::Range;

use super::{Finder, Found};
use crate::planner::deed::Deed;
use crate::planner::lexicon::{self, ABBREVIATIONS, ADJECTIVES, BORDERS, EMPHASIS, OPENERS, POLITE};
use crate::planner::pattern::Pattern;
use crate::planner::question::{Word, words};
use crate::planner::words::{char_at, is_capitalised, is_in_capitals, overlap};

/// Words that a known name may have.
const LONGEST_NAME: usize = 3;

impl Finder<'_> {
    pub(super) fn currencies(&mut self) {
        let code = |name: &str, _: &str| {
            lexicon::currency(name)
                .or_else(|| lexicon::currency(name.strip_suffix('s')?))
                .or_else(|| lexicon::currency(&name.to_uppercase()))
        };
        for (range, code) in known_names(self.text, code) {
            self.note(range, Found::Currency, code.to_owned());
        }
    }

    /// Behind a number, or "in kilometers".
    pub(super) fn units(&mut self) {
        static UNIT: Pattern = Pattern::new(r"(?:\d[\s-]?|\bin (?:the )?)([A-Za-z°]+(?:/[A-Za-z]+)?)");
        for captures in UNIT.captures_iter(self.text) {
            let Some(unit) = captures.get(1) else { continue };
            let ends = char_at(self.text, unit.end())
                .is_none_or(|c| c.is_whitespace() || matches!(c, ',' | '.' | '?' | '!' | ';' | ')'));
            if ends && lexicon::is_unit(&unit.as_str().to_lowercase()) {
                self.note(unit.range(), Found::Unit, unit.as_str().to_owned());
            }
        }
    }

    /// Runs of words with capitals.
    pub(super) fn names(&mut self) {
        static GRAPH: Pattern = Pattern::new(r"(?i)\b(?:entit(?:y|ies)|nodes?|observations?|edges?|knowledge graph)\b");
        let of_graph = GRAPH.is_match(self.text);
        let words = words(self.text);
        let mut at = 0;
        while at < words.len() {
            if !self.begins_name(&words, at) {
                at += 1;
                continue;
            }
            let mut end = self.end_of_name(&words, at);
            if of_graph && !self.begins_sentence(&words, at) && self.has_plain_end(&words, end) {
                end += 1;
            }
            let range = words[at].range.start..words[end - 1].range.end;
            let text = &self.text[range.clone()];
            let text = text.strip_suffix("'s").or_else(|| text.strip_suffix("\u{2019}s")).unwrap_or(text);
            let initial = is_in_capitals(&words[at].text) && words[at].text.chars().count() == 1;
            if !(initial && end == at + 1 && self.begins_sentence(&words, at)) {
                self.take(range.start..range.start + text.len(), Found::Name);
            }
            at = end;
        }
    }

    fn begins_name(&self, words: &[Word], at: usize) -> bool {
        let Word { range, text, lower, .. } = &words[at];
        if !is_capitalised(text) || !self.is_free(range) {
            return false;
        }
        let bare = ["'", "\u{2019}"]
            .iter()
            .find_map(|mark| {
                let (word, ending) = lower.rsplit_once(mark)?;
                ["s", "re", "ll", "d", "ve", "m"].contains(&ending).then_some(word)
            })
            .unwrap_or(lower);
        let is_acronym = is_in_capitals(text) && text.chars().count() > 1 && !ABBREVIATIONS.contains(bare);
        // "Forget that" has no name in it, "New York" is one.
        let joined = words.get(at + 1).is_some_and(|next| is_capitalised(&next.text));
        let is_word =
            !joined && self.begins_sentence(words, at) && (lexicon::is_known_word(bare) || ADJECTIVES.contains(bare));
        let is_loud = is_acronym && EMPHASIS.contains(bare);
        !is_loud && (!is_word && !OPENERS.contains(bare) || is_acronym && !self.begins_sentence(words, at))
    }

    /// "Oslo office": a noun in lower case, where the name is over behind it.
    fn has_plain_end(&self, words: &[Word], end: usize) -> bool {
        let Some(word) = words.get(end) else { return false };
        let lower = word.text.as_str();
        let is_noun = lower.len() > 2
            && lower.chars().all(|c| c.is_ascii_lowercase())
            && !ENDINGS.iter().any(|ending| lower.ends_with(ending))
            && !BORDERS.contains(lower)
            && !POLITE.contains(lower)
            && !GRAPH.contains(&lower)
            && !Deed::is_verb(lower)
            && words[end - 1].range.end + 1 == word.range.start
            && self.is_free(&word.range);
        let is_over = words.get(end + 1).is_none_or(|next| {
            let joins = ["from", "in", "out", "and", "or", "to", "of", "with"].contains(&next.lower.as_str());
            joins || matches!(next.text.as_str(), "." | "," | ";" | ":" | "!" | "?" | ")" | "-" | "\u{2192}")
        });
        is_noun && is_over
    }

    fn begins_sentence(&self, words: &[Word], at: usize) -> bool {
        at.checked_sub(1).is_none_or(|before| {
            let before = &words[before];
            matches!(before.text.as_str(), "." | "!" | "?" | ":" | "\"")
                || self.text[before.range.end..words[at].range.start].contains('\n')
        })
    }

    /// Behind the last word of the name that begins at `at`.
    fn end_of_name(&self, words: &[Word], at: usize) -> usize {
        let mut end = at + 1;
        while let Some(word) = words.get(end) {
            let before = &words[end - 1];
            let gap = &self.text[before.range.end..word.range.start];
            let is_me = word.text == "I" || word.text.starts_with("I'") || word.text.starts_with("I\u{2019}");
            if !gap.trim().is_empty() || gap.contains('\n') || !self.is_free(&word.range) || is_me {
                break;
            }
            let joins = || {
                let next = words.get(end + 1);
                matches!(word.lower.as_str(), "of" | "de" | "la" | "van" | "von" | "der" | "&" | "del" | "du" | "the")
                    && next.is_some_and(|next| is_capitalised(&next.text) && !OPENERS.contains(next.lower.as_str()))
            };
            let abbreviates = || {
                let title = ["Mr", "Mrs", "Ms", "Dr", "St", "Prof"].contains(&before.text.as_str());
                word.text == "." && gap.is_empty() && (before.text.chars().count() <= 1 || title)
            };
            if !(is_capitalised(&word.text) || abbreviates() || joins()) {
                break;
            }
            end += 1;
        }
        end
    }
}

/// Words that say what something in a graph is.
const GRAPH: [&str; 8] = ["entity", "node", "edge", "relation", "relationship", "observation", "graph", "memory"];
/// Of words that are no nouns.
const ENDINGS: [&str; 4] = ["s", "ed", "ing", "ly"];

/// Time zones that are named, or places in them.
pub(in crate::planner) fn zones(text: &str) -> Vec<(Range<usize>, String)> {
    static ZONE: Pattern = Pattern::new(
        r"\b(?:Africa|America|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)/[A-Za-z_]+(?:/[A-Za-z_]+)?",
    );
    let mut zones: Vec<(Range<usize>, String)> =
        ZONE.find_iter(text).map(|found| (found.range(), found.as_str().to_owned())).collect();
    // `la` and `est` only as `LA` and `EST`.
    let zone = |name: &str, written: &str| lexicon::zone(name).filter(|_| name.len() > 3 || is_in_capitals(written));
    for (range, zone) in known_names(text, zone) {
        if !zones.iter().any(|(taken, _)| overlap(taken, &range)) {
            zones.push((range, zone.to_owned()));
        }
    }
    zones.sort_by_key(|(range, _)| range.start);
    zones
}

/// Names of up to three words, the longest first; asked for in lower case and as they are written.
fn known_names(text: &str, known: impl Fn(&str, &str) -> Option<&'static str>) -> Vec<(Range<usize>, &'static str)> {
    static WORD: Pattern = Pattern::new(r"[^\W\d_]+(?:'[a-z]+)?");
    let words: Vec<Range<usize>> = WORD.find_iter(text).map(|found| found.range()).collect();
    let (mut names, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let found = (1..=LONGEST_NAME.min(words.len() - at)).rev().find_map(|count| {
            let range = words[at].start..words[at + count - 1].end;
            let name = text[range.clone()].to_lowercase().replace("'s", "");
            Some((count, known(&name, &text[range.clone()])?, range))
        });
        if let Some((count, name, range)) = found {
            names.push((range, name));
            at += count;
        } else {
            at += 1;
        }
    }
    names
}
