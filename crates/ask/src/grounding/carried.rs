//! What is right to the letter or wrong: numbers, dates and names. Nothing else makes up for one that is missing.

use countersign_index::stem;

use super::Flaw;
use super::facts::{Facts, Token, TokenKind};
use super::lexicon::{COUNTRIES, Unit, unit_of};
use super::words::denials;

/// Whoever says one of these has rounded.
const ROUGH: [&str; 8] = ["about", "almost", "approximately", "around", "circa", "nearly", "roughly", "some"];
/// How far it is from what was rounded, at most.
const ROUGH_MAX: f64 = 0.05;

pub(super) fn check(claimed: &Facts, shown: &Facts) -> Result<(), Flaw> {
    for (at, token) in claimed.tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| claimed.tokens.get(before));
        if token.text == "two" && before.is_some_and(|before| before.text == "the") {
            // Those that were spoken of: nobody counted.
            continue;
        }
        match &token.kind {
            TokenKind::Number { value, unit } => {
                let is_rough = before.is_some_and(|before| ROUGH.contains(&before.text.as_str()));
                (has_number(shown, token, *value, *unit) || is_rough && roughly_in(shown, token, *value, *unit))
                    .then_some(())
                    .ok_or_else(|| Flaw::Number(token.text.clone()))?;
            }
            TokenKind::Date { year, month, day } => {
                date_in(shown, *year, *month, *day).map(|_| ()).ok_or_else(|| Flaw::Date(token.text.clone()))?;
            }
            TokenKind::Name | TokenKind::Mark => {
                has_name(shown, token).then_some(()).ok_or_else(|| Flaw::Name(token.text.clone()))?;
            }
            TokenKind::Word => {}
        }
    }
    Ok(())
}

/// The claim with its numbers, dates and times as the evidence writes them.
pub(super) fn respelled(claim: &str, evidence: &str) -> String {
    let (claimed, mut shown) = (Facts::as_written(claim), Facts::as_written(evidence));
    shown.units_of_keys();
    let mut text = claim.to_owned();
    for token in claimed.tokens.iter().rev() {
        let found = match &token.kind {
            TokenKind::Number { value, unit } => number_in(&shown, *value, *unit),
            TokenKind::Date { year, month, day } => date_in(&shown, *year, *month, *day),
            // `5:45 p.m.` and `17:45`, `Mon.` and `Monday`.
            TokenKind::Mark | TokenKind::Name | TokenKind::Word => {
                shown.tokens.iter().find(|theirs| theirs.text == token.text && theirs.span.is_some())
            }
        };
        if let (Some(span), Some(theirs)) = (&token.span, found.and_then(|found| found.span.clone())) {
            text.replace_range(span.clone(), &evidence[theirs]);
        }
    }
    text
}

fn has_number(shown: &Facts, token: &Token, value: f64, unit: Option<Unit>) -> bool {
    // `one of them`, `one can`: not always a count.
    let is_none = value == 0.0 && denials(shown) > 0;
    token.text == "one" || is_none || number_in(shown, value, unit).is_some()
}

fn number_in(shown: &Facts, value: f64, unit: Option<Unit>) -> Option<&Token> {
    let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1e-6);
    shown.tokens.iter().find(|token| match &token.kind {
        TokenKind::Number { value: own, unit: own_unit } => match (unit, own_unit) {
            (Some(one), Some(other)) if one.dimension == other.dimension => {
                near(value * one.factor, own * other.factor)
            }
            (Some(one), Some(other)) => near(value, *own) && may_mean(one, *other),
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
        TokenKind::Word if token.text == "half" => {
            near(value, 0.5) || (near(value, 50.0) && unit.is_some_and(|unit| unit.dimension == "share"))
        }
        TokenKind::Word | TokenKind::Name => false,
    })
}

/// Degrees may be of either scale; pounds are paid with, and weighed.
fn may_mean(one: Unit, other: Unit) -> bool {
    let either = |dimension: &str| one.dimension == dimension || other.dimension == dimension;
    let pounds = unit_of("pounds");
    either("degree") || (either("gbp") && (Some(one) == pounds || Some(other) == pounds))
}

/// `about 96 s` where it took 96.41 s: a figure of it that was rounded to as many places.
fn roughly_in(shown: &Facts, token: &Token, value: f64, unit: Option<Unit>) -> bool {
    let figure = token.text.trim_matches(|c: char| !c.is_ascii_digit());
    let places = figure.split_once('.').map_or(0, |(_, places)| places.len());
    let zeros = figure.len() - figure.trim_end_matches('0').len();
    let step = match (places, zeros) {
        (0, zeros) => 10_f64.powi(i32::try_from(zeros).unwrap_or(0)),
        (places, _) => 10_f64.powi(-i32::try_from(places).unwrap_or(0)),
    };
    let most = (step / 2.0).min(ROUGH_MAX * value.abs());
    shown.tokens.iter().any(|token| match token.kind {
        TokenKind::Number { value: own, unit: own_unit } => match (unit, own_unit) {
            (Some(one), Some(other)) if one.dimension != other.dimension => false,
            (Some(one), Some(other)) => (value - own * other.factor / one.factor).abs() <= most,
            (None, _) | (_, None) => (value - own).abs() <= most,
        },
        TokenKind::Word | TokenKind::Name | TokenKind::Mark | TokenKind::Date { .. } => false,
    })
}

fn date_in(shown: &Facts, year: Option<u16>, month: u8, day: Option<u8>) -> Option<&Token> {
    let fits = |own: Option<u16>, wanted: Option<u16>| own.is_none() || wanted.is_none() || own == wanted;
    shown.tokens.iter().find(|token| match token.kind {
        TokenKind::Date { year: own_year, month: own_month, day: own_day } => {
            month == own_month && fits(own_year, year) && (day.is_none() || own_day == day)
        }
        TokenKind::Word | TokenKind::Name | TokenKind::Mark | TokenKind::Number { .. } => false,
    })
}

/// Its code counts where it is written as one: `NO` is a country, `no` is none.
fn has_country(shown: &Facts, words: &[&str]) -> bool {
    shown.tokens.iter().any(|token| {
        let is_code = words.first() == Some(&token.text.as_str());
        words.contains(&token.text.as_str()) && (!is_code || token.kind == TokenKind::Name)
    })
}

fn has_name(shown: &Facts, wanted: &Token) -> bool {
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    // `UTC+5:45` and `UTC+05:45`.
    let plain = |text: &str| {
        plain(&if text.starts_with("utc") { text.replace("+0", "+").replace("-0", "-") } else { text.to_owned() })
    };
    let name = plain(&wanted.text);
    shown.words().any(|own| {
        let own_plain = plain(own);
        own_plain == name
            || own == wanted.text
            || stem(own) == stem(&wanted.text)
            || wanted.text.strip_suffix('s') == Some(own)
            || (wanted.kind == TokenKind::Mark && !name.is_empty() && own_plain.contains(&name))
            || (wanted.kind == TokenKind::Name
                && name.len() > 2
                && own.split(['.', '_', '/', '@', ':', '-']).any(|part| part == name))
    }) || COUNTRIES.iter().any(|words| words.contains(&name.as_str()) && has_country(shown, words))
}
