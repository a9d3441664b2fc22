//! What can be seen in a sentence without understanding it: numbers with their units, dates, names, and words.

use std::ops::Range;

use countersign_index::stem;

use super::lexicon::{ACRONYMS, MONTHS, NUMBER_WORDS, PHRASES, SCALES, STOP_WORDS, Unit, WEEKDAYS, unit_of};

#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) tokens: Vec<Token>,
    /// Whether they come from a piece of JSON, with keys.
    pub(super) keyed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    /// In lower case, without what surrounds it.
    pub(super) text: String,
    pub(super) kind: TokenKind,
    /// Which sentence it is in, from 0.
    pub(super) sentence: usize,
    pub(super) starts: bool,
    /// Whether a comma follows.
    pub(super) listed: bool,
    /// Where it is in the text, if it is all of what stands there.
    pub(super) span: Option<Range<usize>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    Word,
    /// Written like one: with a capital letter inside of a sentence, or all in capitals.
    Name,
    /// A path, an address, a version, an identifier, a time: something that is right to the letter or wrong.
    Mark,
    Number {
        value: f64,
        unit: Option<Unit>,
    },
    Date {
        year: Option<u16>,
        month: u8,
        day: Option<u8>,
    },
}

impl Facts {
    /// With the parts of identifiers as words of their own.
    pub(super) fn of_evidence(text: &str, keyed: bool) -> Self {
        let mut facts = Self::of(text);
        facts.keyed = keyed;
        let mut tokens = Vec::with_capacity(facts.tokens.len());
        for token in facts.tokens {
            let parts: Vec<Token> = match token.kind {
                TokenKind::Mark => token
                    .text
                    .split(['_', '.', '/', '-', ':', '@', '#'])
                    .filter(|part| part.len() < token.text.len() && !part.is_empty())
                    .map(|part| Token { text: part.to_owned(), kind: TokenKind::Word, ..token.clone() })
                    .collect(),
                TokenKind::Word | TokenKind::Name | TokenKind::Number { .. } | TokenKind::Date { .. } => Vec::new(),
            };
            tokens.push(token);
            tokens.extend(parts);
        }
        facts.tokens = tokens;
        facts.units_of_keys();
        facts
    }

    /// Numbers that nobody wrote: the lengths of lists.
    pub(super) fn count(&mut self, lengths: &[usize]) {
        let Some(last) = self.tokens.last().cloned() else {
            return;
        };
        for length in lengths {
            #[expect(clippy::cast_precision_loss, reason = "a list that somebody quotes is short")]
            let kind = TokenKind::Number { value: *length as f64, unit: None };
            self.tokens.push(Token { text: length.to_string(), kind, ..last.clone() });
        }
    }

    /// `temp_c: -4.5`: a number without a unit has that of the word before it.
    pub(super) fn units_of_keys(&mut self) {
        for at in 1..self.tokens.len() {
            let before = unit_of(&self.tokens[at - 1].text);
            if let TokenKind::Number { unit: unit @ None, .. } = &mut self.tokens[at].kind {
                *unit = before;
            }
        }
    }

    pub(super) fn of(text: &str) -> Self {
        let lower = text.to_lowercase();
        if PHRASES.iter().any(|(phrase, _)| lower.contains(phrase)) {
            Self::as_written(&replaced(text))
        } else {
            Self::as_written(text)
        }
    }

    /// With phrases left as they are, so that places are those in the text.
    pub(super) fn as_written(text: &str) -> Self {
        let mut facts = Self::default();
        let (mut sentence, mut starts) = (0, true);
        for piece in text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '—' | '–' | '…' | '|')) {
            if piece.is_empty() {
                continue;
            }
            let at = piece.as_ptr().addr() - text.as_ptr().addr();
            facts.take((piece, at), sentence, starts);
            // `Dr.` and `St.` end nothing.
            let ends = piece.ends_with(['!', '?', ';']) || (piece.ends_with('.') && piece.len() > 4);
            starts = ends || piece.ends_with(':') || piece.ends_with(".\"");
            sentence += usize::from(ends);
        }
        facts.join_dates();
        facts.join_times();
        facts.join_scales();
        facts.join_spans();
        facts
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(|token| token.text.as_str())
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.words().any(|own| own == word)
    }

    /// What carries meaning, by its stem.
    pub(super) fn content(&self) -> impl Iterator<Item = (&Token, &str)> {
        let counts = |token: &&Token| match token.kind {
            TokenKind::Word => !STOP_WORDS.contains(&token.text.as_str()),
            TokenKind::Name | TokenKind::Mark => true,
            TokenKind::Number { .. } | TokenKind::Date { .. } => false,
        };
        self.tokens.iter().filter(counts).map(|token| (token, stem(&token.text)))
    }

    fn take(&mut self, (piece, at): (&str, usize), sentence: usize, starts: bool) {
        let surrounds = |c: char| {
            !c.is_alphanumeric() && !matches!(c, '%' | '°' | '$' | '€' | '£' | '/' | '@' | '#' | '_' | '+' | '-')
        };
        let trimmed = piece.trim_matches(surrounds).trim_end_matches(['-', '/', '+']);
        let trimmed = trimmed.strip_suffix("'s").or_else(|| trimmed.strip_suffix("’s")).unwrap_or(trimmed);
        // A sign alone says nothing, but for those that numbers count in.
        if trimmed.chars().all(|c| matches!(c, '#' | '@' | '_' | '+' | '-' | '/')) {
            return;
        }
        let start = at + (trimmed.as_ptr().addr() - piece.as_ptr().addr());
        let span = Some(start..start + trimmed.len());
        let lower = weekday(&trimmed.to_lowercase());
        let lower = if piece.eq_ignore_ascii_case("no.") { "number".to_owned() } else { lower };
        let mut push = |text: &str, kind: TokenKind, span: Option<Range<usize>>| {
            let listed = piece.ends_with(',');
            self.tokens.push(Token { text: text.to_owned(), kind, sentence, starts, listed, span });
        };
        if let Some(kind) = date(trimmed) {
            push(&lower, kind, span);
            if let Some((_, time)) = lower.split_once('t').filter(|(day, _)| day.len() == 10) {
                push(time.get(..5).unwrap_or(time), TokenKind::Mark, None);
                if time.ends_with('z') {
                    push("utc", TokenKind::Word, None);
                }
            }
        } else if let Some(kind) = number(&lower) {
            push(&lower, kind, span);
        } else if let Some(numbers) = joined(&lower) {
            for (text, kind) in numbers {
                push(&text, kind, None);
            }
        } else if is_mark(trimmed) {
            push(&lower, TokenKind::Mark, span);
        } else {
            // `e-mail` is one word.
            let whole = trimmed
                .split_once('-')
                .filter(|(short, _)| short.len() <= 2)
                .map(|(short, rest)| format!("{short}{rest}"));
            for part in
                whole.as_deref().unwrap_or(trimmed).split(['-', '/', ',', ':', '=']).filter(|part| !part.is_empty())
            {
                let lower = if part == trimmed { lower.clone() } else { weekday(&part.to_lowercase()) };
                let kind = number(&lower)
                    .unwrap_or_else(|| if is_name(part, starts) { TokenKind::Name } else { TokenKind::Word });
                push(&lower, kind, span.clone().filter(|_| part == trimmed));
            }
        }
    }

    /// `4 March 2026`, `March 4, 2026`, `March 2026`: a month with what stands beside it.
    fn join_dates(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            let Some(month) = month(&self.tokens[at].text) else {
                at += 1;
                continue;
            };
            let whole = |token: Option<&Token>| match token?.kind {
                TokenKind::Number { value, unit: None } if value.fract() == 0.0 => whole_of(value),
                TokenKind::Number { .. }
                | TokenKind::Word
                | TokenKind::Name
                | TokenKind::Mark
                | TokenKind::Date { .. } => None,
            };
            let day_of = |value: u16| u8::try_from(value).ok().filter(|day| (1..=31).contains(day));
            let year_of = |value: u16| (1000..=9999).contains(&value).then_some(value);
            // `one may` is no date.
            let is_figure = |token: &&Token| token.text.starts_with(|c: char| c.is_ascii_digit());
            let before = at.checked_sub(1).and_then(|before| self.tokens.get(before)).filter(is_figure);
            let before = whole(before).and_then(day_of);
            let mut end = at + 1;
            let mut day = before;
            if day.is_none() {
                day = whole(self.tokens.get(end)).and_then(day_of);
                end += usize::from(day.is_some());
            }
            let year = whole(self.tokens.get(end)).and_then(year_of);
            end += usize::from(year.is_some());
            // `may` alone is a verb.
            if day.is_none() && year.is_none() && self.tokens[at].text == "may" {
                at += 1;
                continue;
            }
            let start = if before.is_some() { at - 1 } else { at };
            let text = self.tokens[start..end].iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ");
            let span = joint(&self.tokens[start], &self.tokens[end - 1]);
            let token = Token { text, kind: TokenKind::Date { year, month, day }, span, ..self.tokens[at].clone() };
            self.tokens.splice(start..end, [token]);
            at = start + 1;
        }
    }

    /// `4:30 pm` is `16:30`, `7 pm` is `19:00`.
    fn join_times(&mut self) {
        let mut at = 0;
        for token in &mut self.tokens {
            let clock = match token.text.as_str() {
                "noon" | "midday" => "12:00",
                "midnight" => "00:00",
                _ => continue,
            };
            (token.text, token.kind) = (clock.to_owned(), TokenKind::Mark);
        }
        while at + 1 < self.tokens.len() {
            let half = match self.tokens[at + 1].text.as_str() {
                "pm" | "p.m" => Some(12),
                "am" | "a.m" => Some(0),
                _ => None,
            };
            let (hour, minute) = self.tokens[at].text.split_once(':').unwrap_or((&self.tokens[at].text, "00"));
            if let (Some(half), Ok(hour)) = (half, hour.parse::<u32>())
                && (1..=12).contains(&hour)
            {
                self.tokens[at].text = format!("{:02}:{minute}", hour % 12 + half);
                self.tokens[at].kind = TokenKind::Mark;
                self.tokens[at].span = joint(&self.tokens[at], &self.tokens[at + 1]);
                self.tokens.remove(at + 1);
            }
            at += 1;
        }
    }

    /// `6 min 11 s`: one span of time, in its smallest unit.
    fn join_spans(&mut self) {
        let span_of = |token: &Token| match token.kind {
            TokenKind::Number { value, unit: Some(unit) } if unit.dimension == "time" => Some((value, unit)),
            TokenKind::Number { .. } | TokenKind::Word | TokenKind::Name | TokenKind::Mark | TokenKind::Date { .. } => {
                None
            }
        };
        let mut at = 0;
        while at + 1 < self.tokens.len() {
            let (first, second) = (&self.tokens[at], &self.tokens[at + 1]);
            if let (false, Some((long, of)), Some((short, unit))) = (first.listed, span_of(first), span_of(second))
                && unit.factor < of.factor
            {
                let kind = TokenKind::Number { value: long * of.factor / unit.factor + short, unit: Some(unit) };
                let text = format!("{} {}", first.text, second.text);
                self.tokens[at] = Token { text, kind, span: joint(first, second), ..first.clone() };
                self.tokens.remove(at + 1);
            } else {
                at += 1;
            }
        }
    }

    /// `3 million`, `5 GB`: a number with what it counts in.
    fn join_scales(&mut self) {
        let mut at = 0;
        while at + 1 < self.tokens.len() {
            let (next, listed) = (self.tokens[at + 1].text.clone(), self.tokens[at + 1].listed);
            let span = joint(&self.tokens[at], &self.tokens[at + 1]);
            if let TokenKind::Number { value, unit } = &mut self.tokens[at].kind {
                if let Some((_, factor)) = SCALES.iter().find(|(word, _)| *word == next) {
                    *value *= factor;
                    (self.tokens[at].span, self.tokens[at].listed) = (span, listed);
                    self.tokens.remove(at + 1);
                    continue;
                }
                let is_vague = unit.is_none_or(|unit| unit.dimension == "degree");
                if is_vague && let Some(found) = unit_of(&next) {
                    *unit = Some(found);
                    (self.tokens[at].span, self.tokens[at].listed) = (span, listed);
                    self.tokens.remove(at + 1);
                    continue;
                }
            }
            at += 1;
        }
    }
}

/// Days and years are small.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked before")]
fn whole_of(value: f64) -> Option<u16> {
    (0.0..=9999.0).contains(&value).then_some(value as u16)
}

/// From the start of one to the end of the other.
fn joint(first: &Token, last: &Token) -> Option<Range<usize>> {
    Some(first.span.as_ref()?.start..last.span.as_ref()?.end)
}

fn month(word: &str) -> Option<u8> {
    let word = word.trim_end_matches('.');
    let found = MONTHS.iter().position(|month| {
        *month == word
            || (word.len() >= 3 && month.len() > 3 && (word == &month[..3] || word == "sept" && *month == "september"))
    })?;
    u8::try_from(found + 1).ok()
}

/// `2026-03-04`, with or without a time, `2026/03/04`, `2026-03`.
fn date(text: &str) -> Option<TokenKind> {
    let Some(day) = text.get(..10) else {
        let (year, month) = text.split_once('-').filter(|(year, month)| year.len() == 4 && month.len() == 2)?;
        let (year, month) = (year.parse().ok()?, month.parse().ok()?);
        return (1..=12).contains(&month).then_some(TokenKind::Date { year: Some(year), month, day: None });
    };
    if text.len() > 10 && !matches!(text.as_bytes()[10], b'T' | b't') {
        return None;
    }
    let mut parts = day.split(['-', '/']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if year.len() != 4 || month.len() != 2 || day.len() != 2 {
        return None;
    }
    let (year, month, day) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some(TokenKind::Date {
        year: Some(year),
        month,
        day: Some(day),
    })
}

/// `1,200`, `-3.5`, `21°C`, `50%`, `$12`, `3rd`, `5gb`, `seven`.
fn number(lower: &str) -> Option<TokenKind> {
    if let Some((_, value)) = NUMBER_WORDS.iter().find(|(word, _)| *word == lower) {
        return Some(TokenKind::Number { value: *value, unit: None });
    }
    let (currency, rest) = match lower.chars().next()? {
        '$' => (unit_of("usd"), &lower[1..]),
        '€' => (unit_of("eur"), lower.trim_start_matches('€')),
        '£' => (unit_of("gbp"), lower.trim_start_matches('£')),
        '+' | '#' | '~' => (None, &lower[1..]),
        _ => (None, lower),
    };
    let digits = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '-')).unwrap_or(rest.len());
    let (figure, suffix) = rest.split_at(digits);
    let figure = figure.trim_end_matches(['.', ',']);
    let well_formed = figure.bytes().any(|byte| byte.is_ascii_digit())
        && figure.matches('.').count() <= 1
        && figure.rfind('-').is_none_or(|at| at == 0)
        && figure.split(',').skip(1).all(|group| group.split('.').next().is_some_and(|group| group.len() == 3));
    if !well_formed {
        return None;
    }
    let value: f64 = figure.replace(',', "").parse().ok()?;
    match suffix {
        "" | "st" | "nd" | "rd" | "th" | "x" => Some(TokenKind::Number { value, unit: currency }),
        _ => {
            // `5 m` are metres, `€5m` are millions.
            let written = if suffix == "m" && currency.is_some() { "mn" } else { suffix };
            if let Some((_, factor)) = SCALES.iter().find(|(word, _)| *word == written) {
                return Some(TokenKind::Number { value: value * factor, unit: currency });
            }
            unit_of(suffix).map(|unit| TokenKind::Number { value, unit: Some(unit) })
        }
    }
}

/// `Wed` is `wednesday`, and so is `Wednesdays`.
fn weekday(word: &str) -> String {
    let word = word.strip_suffix('s').filter(|day| WEEKDAYS.contains(day)).unwrap_or(word);
    let full = WEEKDAYS.iter().find(|day| word.len() >= 3 && day.starts_with(word));
    full.map_or(word, |day| *day).to_owned()
}

/// `13-15`, `2-bedroom`, `twenty-seven`: a number with something behind it.
fn joined(lower: &str) -> Option<Vec<(String, TokenKind)>> {
    let (first, second) = lower.split_once(['-', '–'])?;
    let TokenKind::Number { value, unit: None } = number(first)? else {
        return None;
    };
    match number(second) {
        Some(TokenKind::Number { value: ones, unit }) if NUMBER_WORDS.iter().any(|(word, _)| *word == first) => {
            Some(vec![(lower.to_owned(), TokenKind::Number { value: value + ones, unit })])
        }
        Some(kind) => Some(vec![(first.to_owned(), number(first)?), (second.to_owned(), kind)]),
        None if second.chars().all(char::is_alphabetic) && !second.is_empty() => {
            Some(vec![(first.to_owned(), number(first)?), (second.to_owned(), TokenKind::Word)])
        }
        None => None,
    }
}

/// With phrases in one word.
fn replaced(text: &str) -> String {
    let mut text = text.to_owned();
    for (phrase, word) in PHRASES.iter() {
        while let Some(at) = text
            .to_lowercase()
            .find(phrase)
            .filter(|at| text.is_char_boundary(*at) && text.is_char_boundary(at + phrase.len()))
        {
            text.replace_range(at..at + phrase.len(), word);
        }
    }
    text
}

fn is_mark(text: &str) -> bool {
    let inner = |signs: &[char]| {
        text.char_indices().any(|(at, c)| at > 0 && at + c.len_utf8() < text.len() && signs.contains(&c))
    };
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let letters = text.chars().any(char::is_alphabetic);
    text.contains(['_', '@', '#'])
        || text.contains("::")
        || text.contains("://")
        || inner(&['.'])
        || (inner(&['/']) && !text.chars().all(|c| c.is_alphabetic() || c == '/'))
        || text.starts_with(['/', '#'])
        || (has_digit && inner(&[':']))
        || (has_digit && letters)
}

/// Capitals inside of a word or all over it, or at its beginning where no sentence begins.
fn is_name(word: &str, starts: bool) -> bool {
    let lower = word.to_lowercase();
    if ACRONYMS.contains(&lower.strip_suffix('s').unwrap_or(&lower)) {
        return false;
    }
    let mut characters = word.chars();
    let first = characters.next().is_some_and(char::is_uppercase);
    let inside = characters.any(char::is_uppercase);
    (inside && word.chars().count() > 1) || (first && !starts)
}
