//! How words relate, as far as their letters and the lexicon tell.

use countersign_index::stem;

use super::facts::{Facts, Token, TokenKind};
use super::lexicon::{CONTRARIES, NEGATIONS};

pub(super) fn denials(facts: &Facts) -> usize {
    let denies = |token: &&Token| {
        matches!(token.kind, TokenKind::Number { value, .. } if value == 0.0)
            || NEGATIONS.contains(&token.text.as_str())
            || token.text.ends_with("n't")
            || token.text.ends_with("n’t")
    };
    facts.tokens.iter().filter(denies).count()
}

/// By the list, or by a syllable that denies.
pub(super) fn are_contrary(one: &str, other: &str) -> bool {
    let is = |word: &str, listed: &str| word == listed || (word.len() > 3 && stem(word) == stem(listed));
    let listed =
        |pair: &&(&str, &str)| (is(one, pair.0) && is(other, pair.1)) || (is(other, pair.0) && is(one, pair.1));
    let denied = |long: &str, short: &str| {
        short.len() > 3
            && ["un", "in", "dis", "non", "im"].iter().any(|syllable| long.strip_prefix(syllable) == Some(short))
    };
    CONTRARIES.iter().any(|pair| listed(&pair)) || denied(stem(one), stem(other)) || denied(stem(other), stem(one))
}

/// Of one word: `wait` and `awaited` are not, `use` and `used` are.
pub(super) fn are_forms(one: &str, other: &str) -> bool {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    stem(one) == stem(other) || (same >= 3 && one.len() - same <= 3 && other.len() - same <= 3)
}
