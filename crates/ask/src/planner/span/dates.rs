//! Dates and times of day.

use regex::Captures;

use super::{Date, Finder, Found, Time};
use crate::planner::lexicon;
use crate::planner::pattern::Pattern;
use crate::planner::words::{char_at, is_word_char};

static ISO: Pattern = Pattern::new(r"\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2}))?Z?)?\b");
static NUMERIC: Pattern = Pattern::new(r"\b(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})\b");
static MONTH_FIRST: Pattern = Pattern::new(concat!(
    r"(?i)\b(?<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|",
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?",
    r"\s+(?:the\s+)?(?<day>\d{1,2})(?:st|nd|rd|th)?(?:\s*,?\s*(?:of\s+)?(?<year>\d{4}))?\b"
));
static DAY_FIRST: Pattern = Pattern::new(concat!(
    r"(?i)\b(?<day>\d{1,2})(?:st|nd|rd|th)?\s+(?:of\s+)?",
    r"(?<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|",
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?(?:\s*,?\s*(?<year>\d{4}))?\b"
));
static MONTH_OF_YEAR: Pattern = Pattern::new(concat!(
    r"(?i)\b(?<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|",
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?\s*,?\s+(?:of\s+)?(?<year>\d{4})\b"
));
/// "half past seven in the evening", "a quarter to 9", "twenty to six pm", "five o'clock".
static CLOCK: Pattern = Pattern::new(concat!(
    r"(?i)\b(?:(?:an? )?(?<part>half|quarter|five|ten|twenty|twenty-five|\d{1,2})(?: minutes?)? ",
    r"(?<side>past|to|after|before) )?",
    r"(?<hour>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2}|noon|midnight)",
    r"(?<clock> ?o['\u{2019}]?clock)?(?:,? (?:(?<half>am|pm|a\.m\.|p\.m\.)|",
    r"in the (?<day>morning|afternoon|evening)|at (?<night>night)))?",
    r"(?:\b|$)"
));
static TIME: Pattern = Pattern::new(concat!(
    r"(?i)\b(?<h12>\d{1,2})(?::(?<m12>\d{2}))?(?::(?<s12>\d{2}))?\s*(?<half>a\.m\.|p\.m\.|am\b|pm\b)",
    r"|\b(?<part_h>\d{1,2})(?::(?<part_m>\d{2}))? (?:o'clock )?in the (?<part>morning|afternoon|evening)\b",
    r"|\b(?<h>\d{1,2}):(?<m>\d{2})(?::(?<s>\d{2}))?\b|\b(?<word>noon|midnight)\b"
));
static RELATIVE: Pattern = Pattern::new(concat!(
    r"(?i)\b(?:today|tomorrow|yesterday|tonight|next (?:week|month|year|monday|tuesday|wednesday|thursday|friday|",
    r"saturday|sunday)|last (?:week|month|year)|",
    r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d+) (?:hour|day|week|month|year)s? ago)\b"
));

impl Finder<'_> {
    pub(super) fn dates(&mut self) {
        self.each(&ISO, |captures| iso(captures).map(Found::Date));
        self.each(&NUMERIC, |captures| numeric(captures).map(Found::Date));
        for pattern in [&MONTH_FIRST, &DAY_FIRST] {
            self.each(pattern, |captures| in_words(captures).map(Found::Date));
        }
        self.each(&MONTH_OF_YEAR, |captures| {
            Some(Found::Month {
                year: group(captures, "year")?,
                month: lexicon::month(captures.name("month")?.as_str())?,
            })
        });
        self.each(&CLOCK, |captures| clock(captures).map(Found::Time));
        self.each(&TIME, |captures| time(captures).map(Found::Time));
        self.each(&RELATIVE, |_| Some(Found::RelativeDate));
    }

    fn each(&mut self, pattern: &Pattern, read: impl Fn(&Captures<'_>) -> Option<Found>) {
        let text = self.text;
        for captures in pattern.captures_iter(text) {
            let Some(whole) = captures.get(0) else { continue };
            if self.is_free(&whole.range())
                && !goes_on(text, whole.end())
                && let Some(found) = read(&captures)
            {
                self.take(whole.range(), found);
            }
        }
    }
}

/// `June 5:30` is no day, `today.md` is a file.
fn goes_on(text: &str, end: usize) -> bool {
    let next = |at| char_at(text, at);
    next(end) == Some(':') && next(end + 1).is_some_and(|c| c.is_ascii_digit())
        || next(end) == Some('.') && next(end + 1).is_some_and(is_word_char)
}

/// A text that is nothing but a date.
pub(super) fn iso_date(text: &str) -> Option<Date> {
    let captures = ISO.captures(text)?;
    (captures.get(0)?.len() == text.len()).then(|| iso(&captures))?
}

fn iso(captures: &Captures<'_>) -> Option<Date> {
    let number = |at| captures.get(at).and_then(|group| group.as_str().parse().ok());
    let time = number(4).and_then(|hour| Some(Time { hour, minute: number(5)?, second: number(6).unwrap_or(0) }));
    let year = captures.get(1)?.as_str().parse().ok()?;
    valid(Date { year: Some(year), month: number(2)?, day: number(3)?, time })
}

/// The American order, unless that cannot be.
fn numeric(captures: &Captures<'_>) -> Option<Date> {
    let number = |at| captures.get(at).and_then(|group| group.as_str().parse::<i8>().ok());
    let (first, second) = (number(1)?, number(2)?);
    let (month, day) = if first > 12 { (second, first) } else { (first, second) };
    valid(Date { year: Some(captures.get(3)?.as_str().parse().ok()?), month, day, time: None })
}

fn in_words(captures: &Captures<'_>) -> Option<Date> {
    let month = lexicon::month(captures.name("month")?.as_str())?;
    valid(Date { year: group(captures, "year"), month, day: group(captures, "day")?, time: None })
}

fn valid(date: Date) -> Option<Date> {
    ((1..=12).contains(&date.month) && (1..=31).contains(&date.day)).then_some(date)
}

fn time(captures: &Captures<'_>) -> Option<Time> {
    let half = |hour: i8, afternoon: bool| hour % 12 + if afternoon { 12 } else { 0 };
    let or_zero = |name| group::<i8>(captures, name).unwrap_or(0);
    let time = if let Some(sign) = captures.name("half") {
        let hour = half(group(captures, "h12")?, sign.as_str().starts_with(['p', 'P']));
        Time { hour, minute: or_zero("m12"), second: or_zero("s12") }
    } else if let Some(part) = captures.name("part") {
        let hour = half(group(captures, "part_h")?, !part.as_str().eq_ignore_ascii_case("morning"));
        Time { hour, minute: or_zero("part_m"), second: 0 }
    } else if let Some(word) = captures.name("word") {
        Time { hour: if word.as_str().eq_ignore_ascii_case("noon") { 12 } else { 0 }, minute: 0, second: 0 }
    } else {
        Time { hour: group(captures, "h")?, minute: group(captures, "m")?, second: or_zero("s") }
    };
    (time.hour < 25).then_some(time)
}

/// Where it cannot be just a number: with minutes in words, "o'clock", or the time of day behind a word.
fn clock(captures: &Captures<'_>) -> Option<Time> {
    let said = |name| captures.name(name).map(|found| found.as_str().to_lowercase());
    let number = |word: &str| match word {
        "noon" => Some(12.0),
        "midnight" => Some(0.0),
        _ => lexicon::number(word).or_else(|| word.parse().ok()),
    };
    let hour = said("hour")?;
    let in_digits = hour.starts_with(|c: char| c.is_ascii_digit());
    let named =
        said("clock").is_some() || !in_digits && ["half", "day", "night"].iter().any(|name| said(name).is_some());
    let afternoon = said("half").is_some_and(|half| half.starts_with('p'))
        || said("day").is_some_and(|day| day != "morning")
        || said("night").is_some();
    let halved = said("half").is_some() || said("day").is_some() || said("night").is_some();
    let part = said("part");
    let minutes = match part.as_deref() {
        None if named => 0.0,
        None => return None,
        Some("half") => 30.0,
        Some("quarter") => 15.0,
        Some("twenty-five") => 25.0,
        Some(word) => number(word)?,
    };
    let before = said("side").is_some_and(|side| side == "to" || side == "before");
    let hours = number(&hour)?;
    let hours = if halved { hours % 12.0 + if afternoon { 12.0 } else { 0.0 } } else { hours };
    let total = (hours * 60.0 + if before { -minutes } else { minutes }).rem_euclid(24.0 * 60.0);
    let whole = |value: f64| super::whole(value.trunc()).and_then(|value| i8::try_from(value).ok());
    (hours < 25.0 && minutes < 60.0).then_some(())?;
    Some(Time { hour: whole(total / 60.0)?, minute: whole(total % 60.0)?, second: 0 })
}

fn group<T: std::str::FromStr>(captures: &Captures<'_>, name: &str) -> Option<T> {
    captures.name(name)?.as_str().parse().ok()
}
