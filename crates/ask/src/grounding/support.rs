//! Whether a claim is about what its evidence is about: by shared words, and by likeness of vectors.

use countersign_index::stem;

use super::facts::Facts;
use super::lexicon::unit_of;
use super::{Flaw, Likeness};

/// Of the claim's words, with likeness counted in.
const ENOUGH: f32 = 0.5;
/// What likeness weighs; without vectors, words are all there is.
const LIKENESS: f32 = 0.5;
/// Words with so many first letters in common are forms of one word.
const SAME_BEGINNING: usize = 5;
/// `temp` is short for `temperature`.
const ABBREVIATED: usize = 4;

pub(super) fn check(
    claimed: &Facts,
    shown: &Facts,
    evidence: &str,
    pointer: &str,
    likeness: Option<Likeness>,
) -> Result<(), Flaw> {
    let words: Vec<&str> = claimed.content().map(|(_, stem)| stem).collect();
    // The key of a value says what it is.
    let keys = Facts::of(&pointer.replace(['/', '_', '-'], " "));
    let known: Vec<&str> = shown.words().chain(keys.words()).map(stem).collect();
    let is_known = |word: &str| known.iter().any(|own| alike(own, word));
    let supported = words.iter().filter(|word| is_known(word)).count();
    if !shown.keyed
        && !clauses(claimed).iter().all(|clause| clause.len() < 2 || clause.iter().any(|word| is_known(word)))
    {
        return Err(Flaw::Unsupported);
    }
    #[expect(clippy::cast_precision_loss, reason = "a sentence has few words")]
    let share = if words.is_empty() { 1.0 } else { supported as f32 / words.len() as f32 };
    let score = likeness.map_or(share, |Likeness(likeness)| LIKENESS * likeness + (1.0 - LIKENESS) * share);
    if score >= ENOUGH || named_by_key(&words, evidence) { Ok(()) } else { Err(Flaw::Unsupported) }
}

/// `"open": 2` carries a claim that names all of its key and has its value, however it says so.
fn named_by_key(words: &[&str], evidence: &str) -> bool {
    let Some((key, _)) = evidence.split_once("\":").filter(|(_, value)| !value.contains("\":")) else {
        return false;
    };
    let key = Facts::of(&key.replace(['"', '_', '-', '{'], " "));
    let mut parts = key
        .content()
        .map(|(_, stem)| stem)
        .filter(|part| !matches!(*part, "count" | "number" | "total" | "is"))
        .peekable();
    parts.peek().is_some() && parts.all(|part| unit_of(part).is_some() || words.iter().any(|word| alike(part, word)))
}

/// The words of each part of a claim, between commas and the like.
fn clauses(claimed: &Facts) -> Vec<Vec<&str>> {
    let mut clauses = vec![Vec::new()];
    let mut sentence = 0;
    for (token, stem) in claimed.content() {
        if token.sentence != sentence {
            sentence = token.sentence;
            clauses.push(Vec::new());
        }
        clauses.last_mut().into_iter().for_each(|clause| clause.push(stem));
        if token.listed {
            clauses.push(Vec::new());
        }
    }
    clauses
}

fn alike(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    one == other
        || (short.len() >= ABBREVIATED && long.starts_with(short))
        || (one.len() >= SAME_BEGINNING
            && other.len() >= SAME_BEGINNING
            && one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count() >= SAME_BEGINNING)
}
