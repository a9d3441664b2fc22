//! `${VAR}` and `${VAR:-default}` in values. They are replaced after parsing, so what a variable holds can never become
//! YAML; before parsing, their braces are only put out of the parser's sight, because `{token: ${TOKEN}}` is otherwise
//! not YAML.

use std::borrow::Cow;

use super::environment::{Environment, Lookup};

/// What stands for `{ } [ ] ,` inside `${…}` while the parser looks: one character each, so that columns stay.
const MASKS: [(char, char); 5] =
    [('{', '\u{F8F0}'), ('}', '\u{F8F1}'), ('[', '\u{F8F2}'), (']', '\u{F8F3}'), (',', '\u{F8F4}')];

/// Hides the braces of every `${…}` that ends on its line. `None` when the text already has one of the stand-ins.
pub(super) fn mask(text: &str) -> Option<Cow<'_, str>> {
    if text.contains(MASKS.map(|(_, mask)| mask)) {
        return None;
    }
    if !text.contains("${") {
        return Some(Cow::Borrowed(text));
    }
    let mut masked = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        masked.push_str(before);
        if !from[2..].starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            masked.push_str("${");
            rest = &from[2..];
            continue;
        }
        let (reference, after) = from.split_at(from.find(['}', '\n']).unwrap_or(from.len()));
        if let Some(after) = after.strip_prefix('}') {
            masked.extend(reference.chars().chain(['}']).map(|character| swap(character, Direction::Hide)));
            rest = after;
        } else {
            // No `}` on the rest of the line, so none for another `${` there: looking again would be quadratic.
            masked.push_str(reference);
            rest = after;
        }
    }
    masked.push_str(rest);
    Some(Cow::Owned(masked))
}

pub(super) fn unmask(text: &str) -> String {
    text.chars().map(|character| swap(character, Direction::Reveal)).collect()
}

#[derive(Clone, Copy)]
enum Direction {
    Hide,
    Reveal,
}

fn swap(character: char, direction: Direction) -> char {
    let pair = MASKS.into_iter().find(|(plain, mask)| match direction {
        Direction::Hide => *plain == character,
        Direction::Reveal => *mask == character,
    });
    match (pair, direction) {
        (None, _) => character,
        (Some((_, mask)), Direction::Hide) => mask,
        (Some((plain, _)), Direction::Reveal) => plain,
    }
}

/// The text with its variables replaced, if it has at most `room` bytes then, or everything that is wrong with them.
pub(super) fn expand(text: &str, environment: &Environment, room: usize) -> Result<String, Vec<String>> {
    let mut expanded = String::with_capacity(text.len());
    let mut wrong = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        if let Some(before) = before.strip_suffix('$') {
            expanded.push_str(before);
            expanded.push_str("${");
            rest = &from[2..];
            continue;
        }
        expanded.push_str(before);
        let Some(end) = from.find('}') else {
            wrong.push("`${` without `}`; write `$${` for the characters themselves".to_owned());
            return Err(wrong);
        };
        match value_of(&from[2..end], environment) {
            Ok(value) => expanded.push_str(&value),
            Err(message) => wrong.push(message),
        }
        rest = &from[end + 1..];
        if expanded.len() > room {
            return Err(vec!["the variables make the file too long: it may have 4 MiB with them".to_owned()]);
        }
    }
    expanded.push_str(rest);
    if wrong.is_empty() { Ok(expanded) } else { Err(wrong) }
}

fn value_of(reference: &str, environment: &Environment) -> Result<String, String> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    let first = |character: char| character.is_ascii_alphabetic() || character == '_';
    let named = name.starts_with(first) && name.chars().all(|character| first(character) || character.is_ascii_digit());
    if !named {
        return Err("`${…}` needs a variable's name: `${NAME}` or `${NAME:-default}`; write `$${` for the characters \
                    themselves"
            .to_owned());
    }
    if default.is_some_and(|default| default.contains("${")) {
        return Err(format!("the default of `${{{name}:-…}}` cannot have a variable in it"));
    }
    match (environment.look_up(name), default) {
        (Lookup::Text(value), Some(default)) => Ok(if value.is_empty() { default } else { value }.to_owned()),
        (Lookup::Text(value), None) => Ok(value.to_owned()),
        (Lookup::Unset, Some(default)) => Ok(default.to_owned()),
        (Lookup::Unset, None) => Err(format!(
            "the environment variable `{name}` is not set; set it, or give a default: `${{{name}:-default}}`"
        )),
        (Lookup::NotText, _) => Err(format!("the environment variable `{name}` is not UTF-8 text")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, expand, mask, unmask};

    #[test]
    fn variables_are_replaced() {
        let environment = Environment::from_pairs([("A", "1"), ("EMPTY", ""), ("BRACES", "${A}")]);
        for (text, expanded) in [
            ("", ""),
            ("no variables, $A and {A}", "no variables, $A and {A}"),
            ("${A}${A}", "11"),
            ("x${NONE:-y}z", "xyz"),
            ("${EMPTY}", ""),
            ("${EMPTY:-default}", "default"),
            ("${NONE:-}", ""),
            ("$${A} and ${A}", "${A} and 1"),
            // What a variable holds is not looked at again.
            ("${BRACES}", "${A}"),
        ] {
            assert_eq!(expand(text, &environment, 100).as_deref(), Ok(expanded), "{text}");
        }
        assert!(expand(&"${A}".repeat(101), &environment, 100).is_err());
        for (text, mistakes) in [("${NONE} ${NEITHER}", 2), ("${A", 1), ("${}", 1), ("${1}", 1), ("${A:-${B}}", 1)] {
            assert_eq!(expand(text, &environment, 100).map_err(|wrong| wrong.len()), Err(mistakes), "{text}");
        }
    }

    #[test]
    fn masking_keeps_every_character_in_place() {
        for text in ["{a: ${A}, b: ${B:-x,y[0]}}", "${", "${}", "${A\n}", "$${A}", "${A:-${B}}", "", "ü${A}"] {
            let masked = mask(text).unwrap();
            assert_eq!(masked.chars().count(), text.chars().count(), "{text}");
            assert_eq!(unmask(&masked), text);
        }
        assert!(!mask("{token: ${TOKEN}}").unwrap().contains("${"));
        assert!(mask("\u{F8F0}").is_none());
    }
}
