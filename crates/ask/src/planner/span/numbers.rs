//! Numbers, in digits and in words, with what they count.

use super::{Finder, Found, Measure, Number};
use crate::planner::lexicon;
use crate::planner::pattern::Pattern;
use crate::planner::words::{char_at, char_before, stem};

static NUMBER: Pattern = Pattern::new(
    r"([-+\u{2212}]?)([$\u{20ac}\u{a3}]?)(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]\d+)?|\.\d+)",
);
static PERCENT: Pattern = Pattern::new(r"^\s?(?:%|percent\b|per cent\b)");
static ORDINAL: Pattern = Pattern::new(r"^(?:st|nd|rd|th)\b");
static SCALE: Pattern = Pattern::new(r"(?i)^([\s-]?)(thousand|million|billion|trillion|hundred|dozen|mn|bn|k)\b");
static NEXT_WORD: Pattern = Pattern::new(r"^([\s-]?)([A-Za-z°]+)");

/// A number in digits, with its sign; `None` if the text has none.
pub(in crate::planner) fn number_in(text: &str) -> Option<f64> {
    let captures = NUMBER.captures(text)?;
    let value = digits(&captures[3])?;
    Some(if is_minus(&captures[1]) { -value } else { value })
}

impl Finder<'_> {
    pub(super) fn numbers(&mut self) {
        for captures in NUMBER.captures_iter(self.text) {
            let (Some(found), Some(value)) = (captures.get(0), digits(&captures[3])) else { continue };
            let before = char_before(self.text, found.start());
            if !self.is_free(&found.range())
                || before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '^'))
            {
                continue;
            }
            // "5-3" is no minus.
            let joined = before.is_some_and(|c| !c.is_whitespace() && !matches!(c, '(' | '[' | '=' | '$' | ','));
            let sign = &captures[1];
            let start = found.start() + if joined { sign.len() } else { 0 };
            let value = if is_minus(sign) && !joined { -value } else { value };
            let currency = lexicon::unit(&captures[2]);
            if let Some((end, number)) = measured(self.text, found.end(), value, currency)
                && char_at(self.text, end) != Some('_')
            {
                self.take(start..end, Found::Number(number));
            }
        }
    }

    pub(super) fn number_words(&mut self) {
        static WORD: Pattern = Pattern::new(r"[A-Za-z]+(?:-[a-z]+)?");
        static SCALE_WORD: Pattern = Pattern::new(r"(?i)^\s+(hundred|thousand|million|billion|dozen)\b");
        static COUNTED: Pattern = Pattern::new(r"^\s+([A-Za-z]+)");
        static ANY_OF: Pattern = Pattern::new(r"^\s+of\s+(?:my|our|the|these|those|them|your)\b");
        for found in WORD.find_iter(self.text) {
            let word = found.as_str().to_lowercase();
            // "one of my tasks" is any of them.
            let is_any = word == "one" && ANY_OF.is_match(&self.text[found.end()..]);
            if !self.is_free(&found.range()) || is_any {
                continue;
            }
            if let Some(mut value) = number_word(&word) {
                let mut end = found.end();
                if let Some(scale) = SCALE_WORD.captures(&self.text[end..]) {
                    value *= lexicon::scale(&scale[1].to_lowercase()).unwrap_or(1.0);
                    end += scale[0].len();
                }
                let counted = COUNTED.captures(&self.text[end..]).map(|counted| counted[1].to_lowercase());
                let measure = counted.map_or(Measure::None, |word| Measure::Of(unit_or_stem(&word)));
                self.take(found.start()..end, Found::NumberWord(Number { value, measure }));
            } else if let Some((first, counted)) = word.split_once('-')
                && let Some(value) = lexicon::number(first)
            {
                // "two-bedroom".
                let measure = Measure::Of(stem(counted));
                let range = found.start()..found.start() + first.len();
                self.take(range, Found::NumberWord(Number { value, measure }));
            }
        }
    }
}

/// What is behind the digits: where it ends, and the whole number. `None` if it is part of an identifier such as `4x` or
/// `1a2b`.
fn measured(text: &str, end: usize, value: f64, currency: Option<&str>) -> Option<(usize, Number)> {
    let rest = &text[end..];
    for (pattern, measure) in [(&PERCENT, Measure::Percent), (&ORDINAL, Measure::Ordinal)] {
        if let Some(found) = pattern.find(rest) {
            return Some((end + found.end(), Number { value, measure }));
        }
    }
    let (mut end, mut value) = (end, value);
    if let Some(found) = SCALE.captures(rest) {
        let kelvin = &found[2] == "K" && currency.is_none() && text.to_lowercase().contains("temp");
        let alone = &found[2] == "k" && &found[1] == " ";
        if !alone && !kelvin {
            value *= lexicon::scale(&found[2].to_lowercase()).unwrap_or(1.0);
            end += found[0].len();
        }
    }
    let none = || currency.map_or(Measure::None, |unit| Measure::Of(unit.to_owned()));
    let Some(next) = NEXT_WORD.captures(&text[end..]) else {
        return Some((end, Number { value, measure: none() }));
    };
    let word = next[2].to_lowercase();
    // "40 in the bin" are no inches.
    let is_preposition = word == "in" && text[end + next[0].len()..].starts_with(' ');
    let unit = lexicon::unit(&word).filter(|_| !is_preposition);
    if next[1].is_empty() {
        let measure = Measure::Of(unit?.to_owned());
        let end = end + next[0].len();
        let goes_on = char_at(text, end).is_some_and(char::is_alphanumeric);
        return (!goes_on).then_some((end, Number { value, measure }));
    }
    let measure = match (unit, currency) {
        (Some(unit), _) if word.len() > 1 => Measure::Of(unit.to_owned()),
        (_, Some(currency)) => Measure::Of(currency.to_owned()),
        (_, None) => Measure::Of(stem(&word)),
    };
    Some((end, Number { value, measure }))
}

/// "seven", "forty-two".
fn number_word(word: &str) -> Option<f64> {
    lexicon::number(word).or_else(|| {
        let (tens, ones) = word.split_once('-')?;
        let (tens, ones) = (lexicon::number(tens)?, lexicon::number(ones)?);
        (tens >= 20.0 && ones > 0.0 && ones < 10.0).then_some(tens + ones)
    })
}

fn unit_or_stem(word: &str) -> String {
    lexicon::unit(word).map_or_else(|| stem(word), str::to_owned)
}

fn digits(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

fn is_minus(sign: &str) -> bool {
    matches!(sign, "-" | "\u{2212}")
}
