//! How well a value of a certain sort serves a parameter, whatever stands around it.

use crate::planner::lexicon::is_unit_stem;
use crate::planner::parameter::{Kind, Parameter, Type};
use crate::planner::pattern::Pattern;
use crate::planner::span::{Found, Measure, Number, Span};
use crate::planner::words::is_in_capitals;

/// `None`: not at all.
pub(super) fn serves(parameter: &Parameter, span: &Span) -> Option<f64> {
    match parameter.of {
        Type::Integer | Type::Number => as_number(parameter, span),
        Type::String => {
            let worth = as_text(parameter, span);
            let is_free = matches!(span.found, Found::Name | Found::Quoted | Found::Chunk { .. } | Found::Identifier);
            if is_free && parameter.names_value(&span.text) { Some(worth.unwrap_or(0.0) + 1.2) } else { worth }
        }
        Type::Boolean | Type::Array | Type::Object | Type::Other => None,
    }
}

fn as_number(parameter: &Parameter, span: &Span) -> Option<f64> {
    let called = |names: &[&str]| parameter.is_called(names);
    if let Some(number) = span.number() {
        let is_word = matches!(span.found, Found::NumberWord(_));
        return counted(parameter, number, if is_word { 1.6 } else { 2.0 });
    }
    if let Found::Date(date) = &span.found {
        return date.year.filter(|_| called(&["year"])).map(|_| 2.2);
    }
    if let Found::Month { .. } = &span.found {
        return if called(&["year"]) { Some(2.2) } else { called(&["month"]).then_some(2.0) };
    }
    if span.time().is_some() {
        return called(&["hour", "minute", "second"]).then_some(1.8);
    }
    (span.found == Found::Quoted && span.text.parse::<f64>().is_ok()).then_some(2.0)
}

fn counted(parameter: &Parameter, number: &Number, base: f64) -> Option<f64> {
    let is_fraction = !number.is_whole() && number.measure != Measure::Percent;
    let has_unit = match &number.measure {
        Measure::Of(unit) => is_unit_stem(unit),
        Measure::Percent => true,
        Measure::None | Measure::Ordinal => false,
    };
    let too_large = parameter.maximum.is_some_and(|maximum| number.value > maximum);
    let too_small = parameter.minimum.is_some_and(|minimum| number.value < minimum);
    // A measure is no id.
    let is_id = parameter.is_called(&["id", "index", "identifier"]);
    if parameter.of == Type::Integer && is_fraction || is_id && has_unit || too_large || too_small {
        return None;
    }
    let mut worth = base;
    if number.measure == Measure::Ordinal {
        let ordered = ["century", "grade", "day", "floor", "position", "index", "n", "rank", "round"];
        worth = if parameter.is_called(&ordered) { 1.8 } else { 0.8 };
    }
    let counts_years = parameter.is_called(&["num", "number", "of"]) || parameter.said.contains("number of");
    if parameter.is_called(&["year"]) && parameter.name_set.len() <= 2 && !counts_years {
        worth += if number.is_year() { 1.5 } else { -0.5 };
    }
    let in_years = number.measure == Measure::Of("year".to_owned());
    let speaks_of_years = || parameter.is_called(&["year"]) || parameter.description_set.contains("year");
    Some(if in_years && speaks_of_years() { worth + 0.7 } else { worth })
}

fn as_text(parameter: &Parameter, span: &Span) -> Option<f64> {
    static FILE: Pattern = Pattern::new(r"\w\.[A-Za-z]\w{0,5}$");
    let (kind, found) = (parameter.kind, &span.found);
    let called = |names: &[&str]| parameter.is_called(names);
    if *found == Found::Path {
        return path(parameter, &span.text);
    }
    // "Prefer small commits" is no path.
    let is_sentence = || span.text.contains(' ') && !span.text.contains(['/', '\\']) && !FILE.is_match(&span.text);
    if kind == Kind::Path && *found == Found::Quoted && is_sentence() {
        return None;
    }
    if *found == Found::Unit {
        return called(&["unit", "scale", "currency", "measure", "measurement"]).then_some(2.2);
    }
    if matches!(found, Found::Json(_)) {
        return (kind == Kind::Text).then_some(3.0);
    }
    if *found == Found::Name && kind == Kind::Term && is_identifier(&span.text) {
        return Some(2.4);
    }
    if *found == Found::Name && kind == Kind::Id && called(&["symbol", "ticker", "code"]) {
        return Some(if is_in_capitals(&span.text) { 2.1 } else { 1.0 });
    }
    let is_year = matches!(found, Found::Number(number) if number.is_year());
    if is_year && called(&["year", "season"]) { Some(2.8) } else { base(kind, found) }
}

/// The table for what needs no second look.
fn base(kind: Kind, found: &Found) -> Option<f64> {
    let worth = match (kind, found) {
        (Kind::Url, Found::Url)
        | (Kind::Email, Found::Email)
        | (Kind::Path, Found::Path)
        | (Kind::Date, Found::Date(_))
        | (Kind::Time, Found::Time(_))
        | (Kind::Text | Kind::Term, Found::Quoted)
        | (Kind::Currency, Found::Currency) => 3.0,
        (Kind::Place | Kind::Name, Found::Name) | (Kind::Id, Found::Identifier | Found::Quoted) => 2.5,
        (Kind::Name | Kind::Any, Found::Quoted) | (Kind::Term, Found::Code) => 2.4,
        (Kind::Date, Found::RelativeDate) | (Kind::Term, Found::Identifier) => 2.2,
        (Kind::Path | Kind::Place, Found::Quoted)
        | (Kind::Date, Found::Month { .. })
        | (Kind::Id, Found::Number(_))
        | (Kind::Any, Found::Name | Found::Identifier) => 2.0,
        (Kind::Term, Found::Path) | (Kind::Name, Found::Identifier) => 1.8,
        (Kind::Url | Kind::Category, Found::Quoted)
        | (Kind::Path, Found::Url)
        | (Kind::Id | Kind::Term, Found::Name) => 1.5,
        (Kind::Name | Kind::Any, Found::Path)
        | (Kind::Term, Found::Chunk { .. })
        | (Kind::Category, Found::Name | Found::Identifier) => 1.2,
        (Kind::Any, Found::Chunk { .. }) => 1.1,
        (Kind::Email | Kind::Date | Kind::Time | Kind::Currency, Found::Quoted)
        | (Kind::Place | Kind::Name | Kind::Category, Found::Chunk { .. }) => 1.0,
        (Kind::Any, Found::Url) => 0.6,
        (Kind::Path, Found::Identifier)
        | (Kind::Id, Found::Path)
        | (Kind::Glob, Found::Quoted)
        | (Kind::Term, Found::Url) => 0.5,
        (Kind::Place, Found::Identifier)
        | (Kind::Id | Kind::Currency, Found::Chunk { .. })
        | (Kind::Text, Found::Url)
        | (Kind::Any, Found::Number(_) | Found::Date(_)) => 0.3,
        _ => return None,
    };
    Some(worth)
}

fn path(parameter: &Parameter, path: &str) -> Option<f64> {
    static HOST: Pattern = Pattern::new(r"^[\w-]+(?:\.[\w-]+)+/");
    static DOMAIN: Pattern =
        Pattern::new(r"(?i)^[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|io|dev|app|info|eu|uk|de|fr|ch|at|nl|jp|us)$");
    static FROM_ROOT: Pattern = Pattern::new(r"^(?:[/~\\]|\.{1,2}(?:[/\\]|$)|[A-Za-z]:)");
    static FILE: Pattern = Pattern::new(r"\w\.[A-Za-z]\w{0,5}$");
    let (is_pattern, is_here) = (path.contains('*'), [".", ".."].contains(&path));
    if parameter.kind == Kind::Glob {
        return Some(if is_pattern { 3.2 } else { 1.4 });
    }
    if parameter.kind == Kind::Url {
        return (HOST.is_match(path) || DOMAIN.is_match(path)).then_some(1.5);
    }
    if parameter.kind == Kind::Path && is_pattern && !parameter.is_called(&["pattern", "glob"]) {
        return None;
    }
    let worth = base(parameter.kind, &Found::Path)?;
    let folders = ["repo", "dir", "directory", "folder", "root", "workspace", "repository", "project"];
    if parameter.is_called(&folders) {
        let from_root = FROM_ROOT.is_match(path);
        // Any other path says more.
        if is_here {
            return Some(worth - 0.5);
        }
        return match (FILE.is_match(path), from_root) {
            // `notes.md` is no folder.
            (true, false) => None,
            (true, true) => Some(worth - 0.2),
            (false, false) => Some(worth),
            (false, true) => Some(worth + 0.8),
        };
    }
    let is_name = matches!(parameter.kind, Kind::Name | Kind::Any);
    if is_here && parameter.kind != Kind::Path {
        return None;
    }
    let has_root = FROM_ROOT.is_match(path) && !path.starts_with('.');
    Some(if is_name && has_root { worth - 0.8 } else { worth })
}

/// As programs write names: `camelCase`, `snake_case`.
fn is_identifier(text: &str) -> bool {
    static CAMEL: Pattern = Pattern::new("[a-z][A-Z]");
    text.contains('_') || CAMEL.is_match(text)
}
