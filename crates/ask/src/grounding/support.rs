//! Which of a claim's words its evidence has.

use countersign_index::stem;

use super::facts::Facts;
use super::lexicon::unit_of;

/// Words with so many first letters in common are forms of one word.
const SAME_BEGINNING: usize = 5;
/// `temp` is short for `temperature`.
const ABBREVIATED: usize = 4;

#[derive(Debug)]
pub(super) struct Support {
    /// Words of the claim that mean something.
    pub(super) words: usize,
    /// Those the evidence does not have.
    pub(super) unknown: usize,
    /// Whether the evidence has nothing of some part of the claim.
    pub(super) clause: bool,
    pub(super) named_by_key: bool,
}

pub(super) fn measure(claimed: &Facts, shown: &Facts, evidence: &str, pointer: &str) -> Support {
    let words: Vec<&str> = claimed.content().map(|(_, stem)| stem).collect();
    // The key of a value says what it is.
    let keys = Facts::of(&pointer.replace(['/', '_', '-'], " "));
    let known: Vec<&str> = shown.words().chain(keys.words()).map(stem).collect();
    let is_known = |word: &str| known.iter().any(|own| alike(own, word));
    let clause = clauses(claimed).iter().any(|clause| clause.len() > 1 && !clause.iter().any(|word| is_known(word)));
    Support {
        words: words.len(),
        unknown: words.iter().filter(|word| !is_known(word)).count(),
        clause,
        named_by_key: named_by_key(&words, evidence),
    }
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

pub(super) fn alike(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    one == other
        || (short.len() >= ABBREVIATED && long.starts_with(short))
        || (one.len() >= SAME_BEGINNING
            && other.len() >= SAME_BEGINNING
            && one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count() >= SAME_BEGINNING)
}
