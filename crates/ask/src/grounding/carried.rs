//! What is right to the letter or wrong: numbers, dates, names, denials, contraries, how much and how sure.

use countersign_index::stem;

use super::Flaw;
use super::facts::{Facts, Token, TokenKind};
use super::lexicon::{
    CONTRARIES, DETERMINERS, HEDGES, KEPT_LIMITS, LIMITS, NEGATIONS, REPORTS, STOP_WORDS, STRONG, Unit, unit_of,
};
use super::order;

pub(super) fn check(claimed: &Facts, shown: &Facts) -> Result<(), Flaw> {
    for token in &claimed.tokens {
        match &token.kind {
            TokenKind::Number { value, unit } => {
                has_number(shown, token, *value, *unit).then_some(()).ok_or_else(|| Flaw::Number(token.text.clone()))?
            }
            TokenKind::Date { year, month, day } => {
                has_date(shown, *year, *month, *day).then_some(()).ok_or_else(|| Flaw::Date(token.text.clone()))?;
            }
            TokenKind::Name | TokenKind::Mark => {
                has_name(shown, token).then_some(()).ok_or_else(|| Flaw::Name(token.text.clone()))?;
            }
            TokenKind::Word => {}
        }
    }
    let about = relevant(claimed, shown);
    substituted(claimed, shown)?;
    replaced(claimed, shown)?;
    limited(claimed, shown, &about)?;
    units(claimed, shown)?;
    turned(claimed, shown, &about)?;
    strength(claimed, shown, &about)
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

/// What holds for some, at times or by hearsay is not claimed of all, always and as a fact.
fn limited(claimed: &Facts, shown: &Facts, about: &Facts) -> Result<(), Flaw> {
    if shown.keyed {
        return Ok(());
    }
    if let Some(limit) = about.words().find(|word| KEPT_LIMITS.contains(word))
        && !claimed.words().any(|word| LIMITS.contains(&word))
    {
        return Err(Flaw::Scope(limit.to_owned()));
    }
    match about.words().find(|word| REPORTS.contains(word)) {
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

fn has_number(shown: &Facts, token: &Token, value: f64, unit: Option<Unit>) -> bool {
    let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1e-6);
    // `one of them`, `one can`: not always a count.
    if token.text == "one" {
        return true;
    }
    shown.tokens.iter().any(|token| match &token.kind {
        TokenKind::Number { value: own, unit: own_unit } => match (unit, own_unit) {
            (Some(one), Some(other)) if one.dimension == other.dimension => {
                near(value * one.factor, own * other.factor)
            }
            (Some(one), Some(other)) => near(value, *own) && (one.dimension == "degree" || other.dimension == "degree"),
            (Some(one), None) if one.dimension == "share" => near(value, *own) || near(value / 100.0, *own),
            (None, Some(other)) if other.dimension == "share" => near(value, *own) || near(value, own / 100.0),
            (None, _) | (_, None) => near(value, *own),
        },
        TokenKind::Date { year, day, .. } => {
            year.is_some_and(|year| near(f64::from(year), value)) || day.is_some_and(|day| near(f64::from(day), value))
        }
        // `v2`, `10:30` and `#42` have their numbers, too.
        TokenKind::Mark => token
            .text
            .split(|c: char| !c.is_ascii_digit() && c != '.')
            .filter_map(|digits| digits.trim_matches('.').parse::<f64>().ok())
            .any(|own| near(own, value)),
        TokenKind::Word | TokenKind::Name => false,
    })
}

fn has_date(shown: &Facts, year: Option<u16>, month: u8, day: Option<u8>) -> bool {
    let fits = |own: Option<u16>, wanted: Option<u16>| own.is_none() || wanted.is_none() || own == wanted;
    shown.tokens.iter().any(|token| match token.kind {
        TokenKind::Date { year: own_year, month: own_month, day: own_day } => {
            month == own_month && fits(own_year, year) && (day.is_none() || own_day == day)
        }
        TokenKind::Word | TokenKind::Name | TokenKind::Mark | TokenKind::Number { .. } => false,
    })
}

fn has_name(shown: &Facts, wanted: &Token) -> bool {
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let name = plain(&wanted.text);
    shown.words().any(|own| {
        let own_plain = plain(own);
        own_plain == name
            || own == wanted.text
            || stem(own) == stem(&wanted.text)
            || (wanted.kind == TokenKind::Mark && !name.is_empty() && own_plain.contains(&name))
            || (wanted.kind == TokenKind::Name
                && name.len() > 2
                && own.split(['.', '_', '/', '@', ':', '-']).any(|part| part == name))
    })
}

/// Denied, turned into its contrary, told from the other side: each turns the meaning round, and two of them turn it back.
/// `Not required` is `optional`; `A is faster than B` is `B is slower than A`.
fn turned(claimed: &Facts, shown: &Facts, about: &Facts) -> Result<(), Flaw> {
    let agree = if shown.keyed {
        // Which of the fields it denies is not always in their keys.
        if denials(claimed) > 0 { denials(shown) > 0 } else { denials(about) == 0 }
    } else {
        denials(claimed) % 2 == denials(about) % 2
    };
    let denied = agree.then_some(()).ok_or(Flaw::Negation);
    let contrary = claimed.words().find_map(|word| {
        let other = shown.words().find(|other| are_contrary(word, other) && !claimed.has(other))?;
        (!shown.has(word)).then(|| Flaw::Contrary(other.to_owned()))
    });
    let swapped = order::swapped(claimed, shown);
    let turns = [denied.err(), contrary, swapped];
    let mut turns = turns.into_iter().flatten();
    match (turns.next(), turns.next(), turns.next()) {
        (Some(flaw), None, _) | (Some(_), Some(_), Some(flaw)) => Err(flaw),
        (None, _, _) | (Some(_), Some(_), None) => Ok(()),
    }
}

fn denials(facts: &Facts) -> usize {
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

/// Nothing larger and nothing surer than the evidence.
fn strength(claimed: &Facts, shown: &Facts, about: &Facts) -> Result<(), Flaw> {
    let has_form = |group: &[&str]| {
        group.iter().any(|word| shown.words().any(|own| own == *word || (word.len() > 4 && are_forms(own, word))))
    };
    for word in claimed.words() {
        let Some((strong, alike)) = STRONG.iter().find(|(strong, _)| strong.contains(&word)) else {
            continue;
        };
        let denied =
            denials(claimed) > 0 && ["required", "mandatory", "needs", "need", "requires", "must"].contains(&word);
        let evaluates = strong.len() > 15;
        let carried = if evaluates { shown.has(word) } else { has_form(strong) || has_form(alike) };
        if !denied && !carried {
            return Err(Flaw::Stronger(word.to_owned()));
        }
    }
    let is_hedge = |word: &&str| {
        HEDGES.contains(word) || ["can", "allowed", "permitted", "able", "option", "asked"].contains(word)
    };
    let Some(hedge) = about.words().find(|word| HEDGES.contains(word)) else {
        return Ok(());
    };
    let kept = |word: &str| is_hedge(&word) || are_forms(word, hedge);
    if claimed.words().any(kept) { Ok(()) } else { Err(Flaw::Certain(hedge.to_owned())) }
}

/// Of one word: `wait` and `awaited` are not, `use` and `used` are.
pub(super) fn are_forms(one: &str, other: &str) -> bool {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    stem(one) == stem(other) || (same >= 3 && one.len() - same <= 3 && other.len() - same <= 3)
}
