//! How the words of a claim lie in its evidence: which are there, in which order, and what was left out between them.

use countersign_index::stem;

use super::facts::{Facts, Token, TokenKind};
use super::lexicon::{HEDGES, KEPT_LIMITS, LIMITS, NEGATIONS, REPORTS, STOP_WORDS};
use super::support::alike;
use super::words::denials;

/// Said with or without, it means the same.
const ARTICLES: [&str; 3] = ["the", "a", "an"];
/// What begins another part of a sentence, after a comma.
const JOINTS: [&str; 4] = ["and", "but", "while", "which"];

/// Shares are of the words of the claim, if nothing else is said.
#[derive(Debug)]
pub(super) struct Overlap {
    /// Words that the evidence does not have.
    pub(super) share_unknown: f32,
    pub(super) one_unknown: bool,
    /// Words that come in the order of the evidence; with those that mean little, too.
    pub(super) ordered: f32,
    pub(super) ordered_all: f32,
    /// The longest piece that is in the evidence as it stands, and how many pieces there are for each word.
    pub(super) run: f32,
    pub(super) pieces: f32,
    /// Of the sentence that is nearest: words that the claim leaves out, and how many of them limit it.
    pub(super) dropped: f32,
    pub(super) limits: f32,
    pub(super) denials: f32,
    /// Words that limit the claim and not the evidence.
    pub(super) limited: f32,
    pub(super) length: f32,
    pub(super) length_shown: f32,
}

pub(super) fn measure(claimed: &Facts, shown: &Facts) -> Overlap {
    let (own, theirs) = (content(&claimed.tokens), content(&shown.tokens));
    let (all, all_theirs) = (without_articles(&claimed.tokens), without_articles(&shown.tokens));
    let unknown = own.iter().filter(|word| !has(&theirs, word)).count();
    let near = Facts { tokens: nearest(&own, shown), keyed: shown.keyed };
    let telling = content(&near.tokens);
    let left_out = telling.iter().filter(|word| !has(&own, word)).count();
    let limits = |tokens: &[Token], other: &Facts| {
        let limits = |word: &str| LIMITS.contains(&word) || HEDGES.contains(&word);
        tokens.iter().filter(|token| limits(&token.text) && !other.has(&token.text)).count()
    };
    let (pieces, covered) = pieces(&all, &all_theirs);
    Overlap {
        share_unknown: share(unknown, own.len()),
        one_unknown: unknown == 1,
        ordered: share(in_order(&own, &theirs), own.len()),
        ordered_all: share(in_order(&all, &all_theirs), all.len()),
        run: share((0..all.len()).map(|at| run(&all[at..], &all_theirs)).max().unwrap_or_default(), all.len()),
        pieces: share(pieces, covered),
        dropped: share(left_out, telling.len()),
        limits: count(limits(&near.tokens, claimed)),
        denials: count(denials(claimed).abs_diff(denials(&near))),
        limited: count(limits(&claimed.tokens, shown)),
        length: count(own.len()),
        length_shown: count(theirs.len() + 1).ln(),
    }
}

/// Whether the claim is a sentence of the evidence, or a part of one that nothing else in it limits or puts in doubt.
pub(super) fn is_quoted(claimed: &Facts, shown: &Facts) -> bool {
    let claim = without_articles(&claimed.tokens);
    if shown.keyed || claim.len() < 3 {
        return false;
    }
    let sentences = shown.tokens.chunk_by(|one, other| one.sentence == other.sentence);
    sentences.into_iter().any(|sentence| {
        let parts = parts(sentence);
        let at = parts.iter().position(|part| {
            let part = without_articles(part);
            part.len() == claim.len() && part.iter().zip(&claim).all(|(one, other)| is_same_word(one, other))
        });
        let unsafe_word = |token: &Token| {
            let word = token.text.as_str();
            [&KEPT_LIMITS, &NEGATIONS, &HEDGES, &REPORTS].iter().any(|words| words.contains(&word))
        };
        let others = parts.iter().enumerate().filter(|(other, _)| Some(*other) != at);
        at.is_some() && !others.flat_map(|(_, part)| part.iter()).any(unsafe_word)
    })
}

fn parts(sentence: &[Token]) -> Vec<&[Token]> {
    let mut parts = Vec::new();
    let mut rest = sentence;
    let starts = |rest: &[Token]| {
        rest.windows(2).position(|pair| pair[0].listed && JOINTS.contains(&pair[1].text.as_str())).map(|at| at + 1)
    };
    while let Some(at) = starts(rest) {
        let (part, next) = rest.split_at(at);
        parts.push(part);
        rest = &next[1..];
    }
    parts.push(rest);
    parts
}

/// To the letter, but for its ending.
fn is_same_word(one: &Token, other: &Token) -> bool {
    match (&one.kind, &other.kind) {
        (TokenKind::Word, _) | (_, TokenKind::Word) => one.text == other.text,
        _ => is_same(one, other),
    }
}

fn is_same(one: &Token, other: &Token) -> bool {
    match (&one.kind, &other.kind) {
        (TokenKind::Number { value, .. }, TokenKind::Number { value: other, .. }) => {
            (value - other).abs() <= 1e-9 * value.abs()
        }
        (TokenKind::Date { .. }, TokenKind::Date { .. }) => one.kind == other.kind,
        (TokenKind::Number { .. } | TokenKind::Date { .. }, _)
        | (_, TokenKind::Number { .. } | TokenKind::Date { .. }) => one.text == other.text,
        (TokenKind::Word | TokenKind::Name | TokenKind::Mark, TokenKind::Word | TokenKind::Name | TokenKind::Mark) => {
            alike(stem(&one.text), stem(&other.text))
        }
    }
}

fn has(tokens: &[&Token], wanted: &Token) -> bool {
    tokens.iter().any(|token| is_same(token, wanted))
}

fn content(tokens: &[Token]) -> Vec<&Token> {
    let counts = |token: &&Token| token.kind != TokenKind::Word || !STOP_WORDS.contains(&token.text.as_str());
    tokens.iter().filter(counts).collect()
}

fn without_articles(tokens: &[Token]) -> Vec<&Token> {
    tokens.iter().filter(|token| !ARTICLES.contains(&token.text.as_str())).collect()
}

/// The sentence with most of the words.
fn nearest(words: &[&Token], shown: &Facts) -> Vec<Token> {
    let sentences = shown.tokens.chunk_by(|one, other| one.sentence == other.sentence);
    let known = |sentence: &[Token]| {
        let theirs: Vec<&Token> = sentence.iter().collect();
        words.iter().filter(|word| has(&theirs, word)).count()
    };
    // The first one of several.
    let most = sentences.rev().max_by_key(|sentence| known(sentence));
    most.map(<[Token]>::to_vec).unwrap_or_default()
}

/// The length of the longest sequence that both have, with gaps.
fn in_order(own: &[&Token], theirs: &[&Token]) -> usize {
    let mut best = vec![0_usize; theirs.len() + 1];
    for word in own {
        let mut before = 0;
        for (at, other) in theirs.iter().enumerate() {
            let above = best[at + 1];
            best[at + 1] = if is_same(word, other) { before + 1 } else { above.max(best[at]) };
            before = above;
        }
    }
    best.last().copied().unwrap_or_default()
}

/// How many words from the first one on stand somewhere in the evidence just so.
fn run(own: &[&Token], theirs: &[&Token]) -> usize {
    let from = |at: usize| own.iter().zip(&theirs[at..]).take_while(|(one, other)| is_same(one, other)).count();
    (0..theirs.len()).map(from).max().unwrap_or_default()
}

/// Into how many runs a claim falls, and how many words are in them.
fn pieces(own: &[&Token], theirs: &[&Token]) -> (usize, usize) {
    let (mut at, mut pieces, mut covered) = (0, 0, 0);
    while at < own.len() {
        let length = run(&own[at..], theirs);
        pieces += usize::from(length > 0);
        covered += length;
        at += length.max(1);
    }
    (pieces, covered)
}

fn share(part: usize, whole: usize) -> f32 {
    count(part) / count(whole.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "a sentence has few words")]
fn count(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_quoted_unless_the_rest_takes_it_back() {
        for (claim, evidence, expected) in [
            ("Membership costs £15 a year.", "Membership costs £15 a year; under-18s pay nothing.", true),
            ("The cord is long enough.", "It is quiet, and the cord is long enough.", true),
            ("Pets are allowed.", "Pets are allowed, but only in the yard.", false),
            ("Pets are allowed.", "Pets are not allowed.", false),
            ("The roof was replaced.", "The seller says the roof was replaced.", false),
            ("The roof is new.", "Is the roof new?", false),
        ] {
            assert_eq!(is_quoted(&Facts::of(claim), &Facts::of_evidence(evidence, false)), expected, "{claim}");
        }
    }

    #[test]
    fn words_and_their_order() {
        let found = measure(&Facts::of("Anna thanked Bert"), &Facts::of_evidence("Bert thanked Anna on Monday", false));
        assert!((found.share_unknown, found.dropped) == (0.0, 0.25), "{found:?}");
        assert!((found.ordered - 1.0 / 3.0).abs() < 1e-6 && (found.pieces - 1.0).abs() < 1e-6, "{found:?}");
    }
}
