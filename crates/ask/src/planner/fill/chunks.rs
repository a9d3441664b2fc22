//! Values in lower case: runs of words that are neither other values nor function words.

use std::ops::Range;

use crate::planner::bm25::to_f64;
use crate::planner::lexicon::BORDERS;
use crate::planner::question::{Question, Word};
use crate::planner::span::{Found, Span};
use crate::planner::words::{Stems, overlap};

/// Each run, and each without the tool's own words at its ends.
pub(super) fn chunks(question: &Question, vocabulary: &Stems) -> Vec<Span> {
    let runs = runs(question);
    let whole = runs.iter().map(|run| {
        let fresh = run.iter().filter(|word| !vocabulary.contains(&word.stem)).count();
        chunk(question, run, to_f64(fresh) / to_f64(run.len()))
    });
    let trimmed = runs.iter().filter_map(|run| {
        let is_own = |word: &Word| vocabulary.contains(&word.stem);
        let start = run.iter().position(|word| !is_own(word))?;
        let end = run.iter().rposition(|word| !is_own(word))? + 1;
        (end - start < run.len()).then(|| chunk(question, &run[start..end], 1.0))
    });
    whole.chain(trimmed).collect()
}

fn runs(question: &Question) -> Vec<&[Word]> {
    let words = &question.words;
    let (mut runs, mut start) = (Vec::new(), 0);
    for (at, word) in words.iter().enumerate() {
        if is_border(question, word) {
            runs.push(&words[start..at]);
            start = at + 1;
        } else if at > start && !between(question, &words[at - 1], word).trim().is_empty() {
            runs.push(&words[start..at]);
            start = at;
        }
    }
    runs.push(&words[start..]);
    runs.retain(|run| !run.is_empty());
    runs
}

fn is_border(question: &Question, word: &Word) -> bool {
    let in_value = || question.spans.iter().any(|span| overlap(&span.range, &word.range));
    word.is_sign() || BORDERS.contains(word.bare()) || in_value()
}

fn between<'q>(question: &'q Question, one: &Word, other: &Word) -> &'q str {
    &question.text[one.range.end..other.range.start]
}

fn chunk(question: &Question, run: &[Word], fresh: f64) -> Span {
    let start = run.first().map_or(0, |word| word.range.start);
    let range: Range<usize> = start..run.last().map_or(start, |word| word.range.end);
    Span { text: question.text[range.clone()].to_owned(), found: Found::Chunk { fresh }, range }
}
