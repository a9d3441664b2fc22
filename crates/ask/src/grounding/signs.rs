//! What speaks for a claim or against it without being proof: data/grounding/weigh.py has found what each sign means
//! together with the others and the score of [`super::entailment`].

use super::Flaw;
use super::facts::{Facts, Token, TokenKind};
use super::lexicon::{
    DETERMINERS, HEDGES, JUDGING, KEPT_LIMITS, LIMITS, NEGATIONS, REPORTS, STOP_WORDS, STRONG, Unit, unit_of,
};
use super::order;
use super::overlap;
use super::support;
use super::words::{are_contrary, are_forms, denials};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Substituted,
    Replaced,
    Scope,
    Reported,
    Units,
    Denied,
    Contrary,
    Swapped,
    /// An odd number of the last three: two of them turn the meaning back.
    Turned,
    Stronger,
    Certain,
    Clause,
    Keyed,
    NamedByKey,
    Denials,
    Words,
    Unknown,
    ShareUnknown,
    OneUnknown,
    Ordered,
    OrderedAll,
    Run,
    Pieces,
    Dropped,
    Limits,
    Limited,
    DenialsApart,
    Length,
    LengthShown,
}

#[derive(Debug)]
pub(super) struct Sign {
    pub(super) kind: Kind,
    pub(super) value: f32,
    /// What it finds wrong.
    pub(super) flaw: Option<Flaw>,
}

pub(super) fn signs(claimed: &Facts, shown: &Facts, evidence: &str, pointer: &str) -> Vec<Sign> {
    let about = relevant(claimed, shown);
    let flaw = |kind: Kind, found: Result<(), Flaw>| Sign {
        kind,
        value: f32::from(u8::from(found.is_err())),
        flaw: found.err(),
    };
    let count = |kind: Kind, value: f32| Sign { kind, value, flaw: None };
    let turns = [denied(claimed, shown, &about), contrary(claimed, shown), swapped(claimed, shown)];
    let odd = turns.iter().filter(|turn| turn.is_err()).count() % 2 == 1;
    let turned = turns.iter().find_map(|turn| turn.clone().err()).filter(|_| odd);
    let [denied, contrary, swapped] = turns;
    let support = support::measure(claimed, shown, evidence, pointer);
    let overlap = overlap::measure(claimed, shown);
    vec![
        flaw(Kind::Turned, turned.map_or(Ok(()), Err)),
        flaw(Kind::Denied, denied),
        flaw(Kind::Contrary, contrary),
        flaw(Kind::Swapped, swapped),
        flaw(Kind::Substituted, substituted(claimed, shown)),
        flaw(Kind::Replaced, replaced(claimed, shown)),
        flaw(Kind::Scope, scope(claimed, shown, &about)),
        flaw(Kind::Reported, reported(claimed, shown, &about)),
        flaw(Kind::Units, units(claimed, shown)),
        flaw(Kind::Stronger, strength(claimed, shown)),
        flaw(Kind::Certain, certainty(claimed, &about)),
        flaw(Kind::Clause, support.clause.then_some(Flaw::Unsupported).map_or(Ok(()), Err)),
        count(Kind::Keyed, f32::from(u8::from(shown.keyed))),
        count(Kind::NamedByKey, f32::from(u8::from(support.named_by_key))),
        count(Kind::Denials, to_f32(denials(claimed))),
        count(Kind::Words, to_f32(support.words)),
        count(Kind::Unknown, to_f32(support.unknown)),
        count(Kind::ShareUnknown, overlap.share_unknown),
        count(Kind::OneUnknown, f32::from(u8::from(overlap.one_unknown))),
        count(Kind::Ordered, overlap.ordered),
        count(Kind::OrderedAll, overlap.ordered_all),
        count(Kind::Run, overlap.run),
        count(Kind::Pieces, overlap.pieces),
        count(Kind::Dropped, overlap.dropped),
        count(Kind::Limits, overlap.limits),
        count(Kind::Limited, overlap.limited),
        count(Kind::DenialsApart, overlap.denials),
        count(Kind::Length, overlap.length),
        count(Kind::LengthShown, overlap.length_shown),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "a sentence has few words")]
fn to_f32(count: usize) -> f32 {
    count as f32
}

fn denied(claimed: &Facts, shown: &Facts, about: &Facts) -> Result<(), Flaw> {
    let agree = if shown.keyed {
        // Which of the fields it denies is not always in their keys.
        if denials(claimed) > 0 { denials(shown) > 0 } else { denials(about) == 0 }
    } else {
        denials(claimed) % 2 == denials(about) % 2
    };
    agree.then_some(()).ok_or(Flaw::Negation)
}

fn contrary(claimed: &Facts, shown: &Facts) -> Result<(), Flaw> {
    let found = claimed.words().find_map(|word| {
        let other = shown.words().find(|other| are_contrary(word, other) && !claimed.has(other))?;
        (!shown.has(word)).then(|| Flaw::Contrary(other.to_owned()))
    });
    found.map_or(Ok(()), Err)
}

fn swapped(claimed: &Facts, shown: &Facts) -> Result<(), Flaw> {
    order::swapped(claimed, shown).map_or(Ok(()), Err)
}

/// A sentence that is the same but for the one it is about.
fn substituted(claimed: &Facts, shown: &Facts) -> Result<(), Flaw> {
    let stems = |facts: &Facts| facts.content().map(|(_, stem)| stem.to_owned()).collect::<Vec<_>>();
    let (own, theirs) = (stems(claimed), stems(shown));
    let shared = own.iter().filter(|word| theirs.contains(word)).count();
    let is_subject = |(token, _): &(&Token, &str)| token.starts && !NEGATIONS.contains(&token.text.as_str());
    for (token, word) in claimed.content().filter(|_| !shown.keyed).filter(is_subject) {
        let replaced = shown.content().any(|(other, stem)| other.starts && !own.iter().any(|own| own == stem));
        if !theirs.iter().any(|other| other == word) && replaced && shared * 10 >= (own.len() - 1) * 7 && shared > 1 {
            return Err(Flaw::Name(token.text.clone()));
        }
    }
    Ok(())
}

/// The same words on both sides of one that differs.
fn replaced(claimed: &Facts, shown: &Facts) -> Result<(), Flaw> {
    if shown.keyed {
        return Ok(());
    }
    let telling = |token: &Token| {
        !STOP_WORDS.contains(&token.text.as_str()) && matches!(token.kind, TokenKind::Word | TokenKind::Name)
    };
    let known = |facts: &Facts, token: &Token| facts.words().any(|word| are_forms(word, &token.text));
    let same = |one: Option<&Token>, other: Option<&Token>| match (one, other) {
        (Some(one), Some(other)) => one.text == other.text || are_forms(&one.text, &other.text),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    let around = |facts: &Facts, at: usize| {
        let before = at.checked_sub(1).and_then(|at| facts.tokens.get(at)).cloned();
        (before, facts.tokens.get(at + 1).cloned())
    };
    for (at, token) in claimed.tokens.iter().enumerate().filter(|(_, token)| telling(token) && !known(shown, token)) {
        let (before, after) = around(claimed, at);
        for (place, other) in
            shown.tokens.iter().enumerate().filter(|(_, other)| telling(other) && !known(claimed, other))
        {
            let (their_before, their_after) = around(shown, place);
            let noun = before
                .as_ref()
                .is_some_and(|before| DETERMINERS.contains(&before.text.as_str()) || before.kind == TokenKind::Name);
            let turned = are_contrary(&token.text, &other.text)
                || (token.text.len() > 4 && other.text.ends_with(&token.text))
                || (other.text.len() > 4 && token.text.ends_with(&other.text));
            if noun
                && !turned
                && same(before.as_ref(), their_before.as_ref())
                && same(after.as_ref(), their_after.as_ref())
                && (before.is_some() || after.is_some())
            {
                return Err(Flaw::Replaced(token.text.clone(), other.text.clone()));
            }
        }
    }
    Ok(())
}

/// What holds for some or at times is not claimed of all and always.
fn scope(claimed: &Facts, shown: &Facts, about: &Facts) -> Result<(), Flaw> {
    let limit = about.words().filter(|_| !shown.keyed).find(|word| KEPT_LIMITS.contains(word));
    match limit {
        Some(limit) if !claimed.words().any(|word| LIMITS.contains(&word)) => Err(Flaw::Scope(limit.to_owned())),
        Some(_) | None => Ok(()),
    }
}

/// What somebody says is not claimed as a fact.
fn reported(claimed: &Facts, shown: &Facts, about: &Facts) -> Result<(), Flaw> {
    match about.words().filter(|_| !shown.keyed).find(|word| REPORTS.contains(word)) {
        Some(report) if !claimed.words().any(|word| REPORTS.contains(&word) || are_forms(word, report)) => {
            Err(Flaw::Reported(report.to_owned()))
        }
        Some(_) | None => Ok(()),
    }
}

/// A unit that stands alone: `a month` is not `a year`.
fn units(claimed: &Facts, shown: &Facts) -> Result<(), Flaw> {
    let of = |facts: &Facts| -> Vec<(String, Unit)> {
        let found = |token: &Token| Some((token.text.clone(), unit_of(&token.text).filter(|_| token.text.len() > 2)?));
        facts.tokens.iter().filter_map(found).collect()
    };
    let theirs = of(shown);
    for (word, unit) in of(claimed) {
        let same = theirs.iter().filter(|(_, other)| other.dimension == unit.dimension);
        if let (Some((other, _)), true) = (same.clone().next(), same.clone().all(|(_, other)| *other != unit)) {
            return Err(Flaw::Contrary(format!("{other}` and not `{word}")));
        }
    }
    Ok(())
}

/// The sentences of the evidence that have most of the claim's words.
fn relevant(claimed: &Facts, shown: &Facts) -> Facts {
    let words: Vec<&str> = claimed.content().map(|(_, stem)| stem).collect();
    let sentences = shown.tokens.last().map_or(0, |token| token.sentence + 1);
    let mut shared = vec![0_usize; sentences];
    for (token, stem) in shown.content() {
        shared[token.sentence] += usize::from(words.contains(&stem));
    }
    let most = shared.iter().copied().max().unwrap_or_default();
    let tokens = shown.tokens.iter().filter(|token| 2 * shared[token.sentence] >= most || most == 0).cloned().collect();
    Facts { tokens, keyed: shown.keyed }
}

/// Nothing larger than the evidence.
fn strength(claimed: &Facts, shown: &Facts) -> Result<(), Flaw> {
    let has_form = |group: &[&str]| {
        group.iter().any(|word| shown.words().any(|own| own == *word || (word.len() > 4 && are_forms(own, word))))
    };
    for word in claimed.words() {
        if JUDGING.contains(&word) && !shown.has(word) {
            return Err(Flaw::Stronger(word.to_owned()));
        }
        let Some((strong, alike)) = STRONG.iter().find(|(strong, _)| strong.contains(&word)) else {
            continue;
        };
        // What is not required is optional.
        let denied = denials(claimed) > 0 && strong.contains(&"required");
        if !denied && !has_form(strong) && !has_form(alike) {
            return Err(Flaw::Stronger(word.to_owned()));
        }
    }
    Ok(())
}

/// Nothing surer than the evidence.
fn certainty(claimed: &Facts, about: &Facts) -> Result<(), Flaw> {
    let allows = ["can", "allowed", "permitted", "able", "option", "asked"];
    let Some(hedge) = about.words().find(|word| HEDGES.contains(word)) else {
        return Ok(());
    };
    let kept = |word: &str| HEDGES.contains(&word) || allows.contains(&word) || are_forms(word, hedge);
    if claimed.words().any(kept) { Ok(()) } else { Err(Flaw::Certain(hedge.to_owned())) }
}
