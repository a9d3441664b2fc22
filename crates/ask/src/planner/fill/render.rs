//! A value as a parameter wants it: numbers, dates in the form that the description asks for, cities with their states.

use jiff::civil::Date as Day;
use jiff::{Span as Days, ToSpan as _};
use regex::Captures;
use serde_json::Value;

use super::expression::as_regex;
use crate::planner::lexicon::land_of;
use crate::planner::parameter::{Kind, Parameter, Type};
use crate::planner::pattern::Pattern;
use crate::planner::question::Question;
use crate::planner::span::{Date, Found, Measure, Number, Span, Time, to_json, whole};
use crate::planner::words::stem;

/// With an ending.
static FILE: Pattern = Pattern::new(r"\w\.[A-Za-z]\w{0,5}$");

pub(super) fn render(parameter: &Parameter, span: &Span, question: &Question, today: Day) -> Value {
    if parameter.is_number() {
        return number(parameter, span);
    }
    let text = match &span.found {
        Found::Date(date) => {
            let time = date.time.or_else(|| time_beside(span, question));
            write_date(parameter, &Date { time, ..*date }, today)
        }
        Found::Month { year, month } if parameter.description.to_lowercase().contains("yyyy-mm") => {
            format!("{year:04}-{month:02}")
        }
        Found::RelativeDate => relative(parameter, &span.text, today),
        Found::Time(time) => write_time(parameter, *time, &span.text),
        Found::Number(number) | Found::NumberWord(number) => number.to_json().to_string(),
        Found::Url if !span.text.contains("://") => format!("https://{}", span.text),
        // Everything below a folder.
        Found::Path if parameter.kind == Kind::Glob && !FILE.is_match(&span.text) && !span.text.contains('*') => {
            format!("{}/**", span.text.trim_end_matches('/'))
        }
        Found::Path if parameter.kind == Kind::Url => format!("https://{}", span.text),
        Found::Name if matches!(parameter.kind, Kind::Place | Kind::Any) => place(parameter, span, question),
        Found::Chunk { .. } => without_own_name(parameter, &span.text),
        Found::Quoted | Found::Code | Found::Identifier | Found::Path => as_regex(parameter, span, question),
        Found::Json(_)
        | Found::Url
        | Found::Email
        | Found::Month { .. }
        | Found::Currency
        | Found::Unit
        | Found::Zone
        | Found::Name => span.text.clone(),
    };
    text.into()
}

fn number(parameter: &Parameter, span: &Span) -> Value {
    let called = |name| parameter.is_called(&[name]);
    let value = if let Some(number) = span.number() {
        share(parameter, number)
    } else if let Some(time) = span.time() {
        f64::from(if called("hour") {
            time.hour
        } else if called("minute") {
            time.minute
        } else {
            time.second
        })
    } else if let Found::Date(date) = &span.found {
        f64::from(date.year.unwrap_or_default())
    } else if let Found::Month { year, month } = &span.found {
        f64::from(if called("year") { *year } else { i16::from(*month) })
    } else {
        span.text.parse().unwrap_or_default()
    };
    if parameter.of == Type::Integer { whole(value.trunc()).map_or(Value::Null, Value::from) } else { to_json(value) }
}

/// Five percent are 0.05, unless percent are asked for.
fn share(parameter: &Parameter, number: &Number) -> f64 {
    static PERCENT: Pattern = Pattern::new("percent|%");
    static FRACTION: Pattern = Pattern::new(r"decimal|fraction|\b0\.\d");
    let is_share = number.measure == Measure::Percent && parameter.of == Type::Number;
    let wants_share = || !PERCENT.is_match(&parameter.said) || FRACTION.is_match(&parameter.said);
    if is_share && wants_share() { (number.value * 1e8).round() / 1e10 } else { number.value }
}

/// A time that stands close to a date.
fn time_beside(date: &Span, question: &Question) -> Option<Time> {
    let close = |span: &&Span| {
        let behind = span.range.start.abs_diff(date.range.end) < 25;
        behind || date.range.start.checked_sub(span.range.end).is_some_and(|gap| gap < 12)
    };
    let time = |span: &Span| Some((span.range.start.abs_diff(date.range.end), span.time()?));
    question.spans.iter().filter(close).filter_map(time).min_by_key(|(gap, _)| *gap).map(|(_, time)| time)
}

/// As its pattern (`YYYY-MM-DD`) or its example says, else as ISO 8601 does.
fn write_date(parameter: &Parameter, date: &Date, today: Day) -> String {
    static FORM: Pattern = Pattern::new(concat!(
        r"(?i)\b(yyyy|yy|dd?|mm?m?)([-/. ])(mm?m?|dd?|yyyy)([-/. ])(yyyy|yy|dd?|mm?)",
        r"(?:(?<between>[T ]|\s?at\s?)?'?T?'?(?<hours>hh?):mm(?<seconds>:ss)?(?<zone>z)?)?"
    ));
    static EXAMPLE: Pattern = Pattern::new(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b");
    static WITH_TIME: Pattern = Pattern::new(r"(?i)\d{4}-\d{2}-\d{2}[T ]\d|iso|datetime|date and time");
    let Date { year, month, day, time } = *date;
    let year = year.unwrap_or_else(|| today.year());
    if let Some(form) = FORM.captures(&parameter.description)
        && !form[1].eq_ignore_ascii_case(&form[3])
    {
        return written_as(&form, &Date { year: Some(year), ..*date });
    }
    if parameter.format.as_deref() == Some("date-time") || time.is_some() && WITH_TIME.is_match(&parameter.description)
    {
        let Time { hour, minute, second } = time.unwrap_or(MIDNIGHT);
        return format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    }
    match EXAMPLE.captures(&parameter.description) {
        Some(example) if example[1].parse::<u8>().is_ok_and(|first| first > 12) => {
            format!("{day:02}/{month:02}/{year:04}")
        }
        Some(_) => format!("{month:02}/{day:02}/{year:04}"),
        None => format!("{year:04}-{month:02}-{day:02}"),
    }
}

const MIDNIGHT: Time = Time { hour: 0, minute: 0, second: 0 };

fn written_as(form: &Captures<'_>, date: &Date) -> String {
    let year = date.year.unwrap_or_default();
    let part = |name: &str| match name.to_lowercase().as_str() {
        "yyyy" => format!("{year:04}"),
        "yy" => format!("{:02}", year % 100),
        "m" => date.month.to_string(),
        "dd" => format!("{:02}", date.day),
        "d" => date.day.to_string(),
        _ => format!("{:02}", date.month),
    };
    let mut written = [&part(&form[1]), &form[2], &part(&form[3]), &form[4], &part(&form[5])].concat();
    if form.name("hours").is_some() {
        let Time { hour, minute, second } = date.time.unwrap_or(MIDNIGHT);
        let is_iso = form.name("between").is_none_or(|between| between.as_str().eq_ignore_ascii_case("t"));
        written += &format!("{}{hour:02}:{minute:02}", if is_iso { 'T' } else { ' ' });
        if form.name("seconds").is_some() {
            written += &format!(":{second:02}");
        }
        written += if form.name("zone").is_some() { "Z" } else { "" };
    }
    written
}

fn write_time(parameter: &Parameter, time: Time, text: &str) -> String {
    static HALVES: Pattern = Pattern::new(r"(?i)12-hour|am/pm|\b[ap]m\b");
    let Time { hour, minute, second } = time;
    if HALVES.is_match(&parameter.description) && !parameter.description.contains("24") {
        text.to_owned()
    } else if parameter.said.contains("hh:mm:ss") {
        format!("{hour:02}:{minute:02}:{second:02}")
    } else {
        format!("{hour:02}:{minute:02}")
    }
}

/// A date, where the description asks for a form; else the words as they are.
fn relative(parameter: &Parameter, text: &str, today: Day) -> String {
    static FORM: Pattern = Pattern::new(r"(?i)yyyy|\d{4}-\d\d|format");
    let takes_words = parameter.said.contains("relative") || parameter.names_value(text);
    if takes_words || parameter.kind != Kind::Date || !FORM.is_match(&parameter.description) {
        return text.to_owned();
    }
    let Some(day) = day_of(&text.to_lowercase(), today) else { return text.to_owned() };
    write_date(parameter, &Date { year: Some(day.year()), month: day.month(), day: day.day(), time: None }, today)
}

fn day_of(words: &str, today: Day) -> Option<Day> {
    const WEEK: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let days: Days = match words {
        "today" | "tonight" => 0.days(),
        "tomorrow" => 1.days(),
        "yesterday" => -1.days(),
        "next week" => 7.days(),
        "last week" => -7.days(),
        _ => {
            let wanted = (0_i8..).zip(WEEK).find_map(|(day, name)| words.ends_with(name).then_some(day))?;
            ((wanted - today.weekday().to_monday_zero_offset() - 1).rem_euclid(7) + 1).days()
        }
    };
    today.checked_add(days).ok()
}

/// "City, ST": what is behind the comma belongs to it, unless only the city is asked for.
fn place(parameter: &Parameter, span: &Span, question: &Question) -> String {
    static CITY: Pattern = Pattern::new(r"\bcity\b");
    static MORE: Pattern = Pattern::new("(?i)state|country|,");
    static CITY_AND_STATE: Pattern = Pattern::new(r"(?i)city[^.]{0,12},\s*(?:state|country)");
    static COMMA: Pattern = Pattern::new(r"^,\s*$");
    static LISTED: Pattern = Pattern::new(r"^(?:\s*,?\s*(?:and|or)\s+|,\s*)$");
    let only_city = CITY.is_match(&parameter.said) && !MORE.is_match(&parameter.description);
    let mut behind =
        question.spans.iter().filter(|each| each.found == Found::Name && each.range.start >= span.range.end);
    if let Some(next) = behind.next()
        && COMMA.is_match(&question.text[span.range.end..next.range.start])
        && !only_city
    {
        let is_list =
            behind.next().is_some_and(|after| LISTED.is_match(&question.text[next.range.end..after.range.start]));
        if !is_list || next.text.chars().count() <= 3 {
            return format!("{}, {}", span.text, next.text);
        }
    }
    let wants_land = parameter.kind == Kind::Place && CITY_AND_STATE.is_match(&parameter.description);
    match land_of(&span.text).filter(|_| wants_land) {
        Some(land) => format!("{}, {land}", span.text),
        None => span.text.clone(),
    }
}

/// "the price category" for `category` is "price".
fn without_own_name(parameter: &Parameter, text: &str) -> String {
    let is_own = |word: &&str| parameter.name_set.contains(&stem(&word.to_lowercase()));
    let mut words: Vec<&str> = text.split(' ').collect();
    while words.len() > 1 && words.first().is_some_and(is_own) {
        words.remove(0);
    }
    while words.len() > 1 && words.last().is_some_and(is_own) {
        words.pop();
    }
    words.join(" ").trim_end_matches('.').to_owned()
}
