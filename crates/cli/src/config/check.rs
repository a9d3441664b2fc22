//! The merged value against the schema: every mistake in words for whoever wrote the file, then what is wrong is taken
//! out, so that the rest can be looked at in the same run.

use std::collections::HashSet;

use countersign_contract::{Mistake, Schema};
use serde_json::{Map, Value};

use super::layers::{Aim, Layers, mistake};
use super::mistakes::ConfigMistake;
use super::pointer;
use super::shape::Shape;
use super::typing;
use super::values::{ALL_PATTERN, DATABASE_PATTERN, DURATION_PATTERN, EMBEDDED_PATTERN, SIZE_PATTERN};
use super::yaml::Quoting;

/// The validator lists up to 64 mistakes a round; a file with more than this many rounds of them is not worth reading.
const MAX_ROUNDS: usize = 8;

/// What a pattern means to people.
const PATTERNS: [(&str, &str); 5] = [
    (ALL_PATTERN, "must be `all` or a list of tool names"),
    (DATABASE_PATTERN, "must be `sqlite` or begin with `postgres://`"),
    (DURATION_PATTERN, "must be a duration with its unit, such as `30s`, `500ms` or `2m`"),
    (EMBEDDED_PATTERN, "must be `embedded`, or a map with `url` and `model`"),
    (SIZE_PATTERN, "must be a number of bytes, or a size such as `4MiB`"),
];

/// Adds what the schema finds to `mistakes`; `layers.value` fits the schema afterwards.
pub(super) fn check(schema: &Schema, layers: &mut Layers, mistakes: &mut Vec<ConfigMistake>) {
    // One complaint per place: where the text itself was wrong, the schema's is only an echo of it, and a list where a
    // word is expected breaks both `type` and `enum`.
    let mut known: HashSet<String> = mistakes.iter().map(|mistake| mistake.key.clone()).collect();
    let shape = Shape::of(schema.raw());
    let mut found = schema.mistakes(&layers.value);
    for one in &found {
        let steps = pointer::steps(&one.path);
        let unknown = matches!(one.keyword.as_str(), "additionalProperties" | "unevaluatedProperties");
        let place = layers.place(&steps, if unknown { Aim::Key } else { Aim::Value });
        let described = mistake(place, &steps, words(one, &steps, shape, &layers.value));
        if known.insert(described.key.clone()) {
            mistakes.push(described);
        }
    }
    for _ in 0..MAX_ROUNDS {
        if found.is_empty() {
            return;
        }
        // All are found before the first goes: a place that is gone looks like a place that never was.
        let parts: HashSet<Vec<String>> = found.iter().filter_map(|one| smallest_part(&layers.value, one)).collect();
        for part in parts {
            take_out(&mut layers.value, &part);
        }
        found = schema.mistakes(&layers.value);
    }
    layers.value = Value::Object(Map::new());
}

fn words(mistake: &Mistake, steps: &[String], shape: Shape<'_>, value: &Value) -> String {
    let part = shape.at(steps);
    let bound = |keyword: &str| part.keyword(keyword).raw().map(Value::to_string);
    let choices = part.choices();
    let reworded = match mistake.keyword.as_str() {
        "type" => Some(type_words(part, value.pointer(&mistake.path))),
        "enum" | "oneOf" if !choices.is_empty() => Some(format!("must be {}", one_of(&choices))),
        "minimum" => bound("minimum").map(|bound| format!("must be at least {bound}")),
        "maximum" => bound("maximum").map(|bound| format!("must be at most {bound}")),
        "pattern" => {
            let pattern = part.keyword("pattern").raw().and_then(Value::as_str);
            let meaning = PATTERNS.iter().find(|(known, _)| Some(*known) == pattern);
            meaning.map(|(_, words)| (*words).to_owned())
        }
        "additionalProperties" => unknown_words(mistake, steps, shape),
        _ => None,
    };
    reworded.unwrap_or_else(|| mistake.message.clone())
}

/// Only where there is more to say than the validator knows.
fn unknown_words(mistake: &Mistake, steps: &[String], shape: Shape<'_>) -> Option<String> {
    let (name, parents) = steps.split_last()?;
    let parent = shape.at(parents);
    let levels: Vec<&str> = name.split('.').collect();
    if let Some((last, above)) = levels.split_last()
        && !above.is_empty()
        && parent.at(&levels).raw().is_some_and(Value::is_object)
    {
        return Some(format!("is not known: keys are nested, so write `{last}` below `{}`", above.join("`, `")));
    }
    let nothing_alike = mistake.message == "is not known";
    nothing_alike.then(|| format!("is not known; the keys here are {}", listed(&parent.names(), "and")))
}

fn type_words(part: Shape<'_>, written: Option<&Value>) -> String {
    let kinds = part.kinds();
    let expected: Vec<&str> = kinds.iter().filter(|kind| **kind != "null").map(|kind| kind_words(kind)).collect();
    let expected = expected.join(" or ");
    let found = match written {
        Some(Value::String(text)) if is_quoted(text, part) => return format!("must be {expected}, without quotes"),
        None | Some(Value::Null) => "nothing",
        Some(Value::Bool(_)) => "`true` or `false`",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a text",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "a map",
    };
    format!("must be {expected}, not {found}")
}

/// Whether the text would be right if it were not a text.
fn is_quoted(text: &str, part: Shape<'_>) -> bool {
    let kinds = part.kinds();
    match typing::typed(text, Quoting::Plain, part) {
        Value::Number(_) => kinds.contains(&"integer"),
        Value::Bool(_) => kinds.contains(&"boolean"),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

fn kind_words(kind: &str) -> &str {
    match kind {
        "string" => "a text",
        "integer" => "a whole number",
        "boolean" => "`true` or `false`",
        "array" => "a list",
        "object" => "a map of keys and values",
        other => other,
    }
}

fn one_of(choices: &[&str]) -> String {
    match choices {
        [only] => format!("`{only}`"),
        several => format!("one of {}", listed(several, "or")),
    }
}

/// "`a`, `b` and `c`".
fn listed(names: &[&str], last: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((end, [])) => end.clone(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
        None => String::new(),
    }
}

/// The smallest part whose absence cannot be mistaken for something else: a member of a map. A list goes as a whole,
/// because the numbers of its other items must not change.
fn smallest_part(value: &Value, mistake: &Mistake) -> Option<Vec<String>> {
    // The validator's remark that it stopped listing is about no place.
    if mistake.keyword.is_empty() {
        return None;
    }
    let mut steps = pointer::steps(&mistake.path);
    let mut part = value;
    let mut length = 0;
    for step in &steps {
        let Some(child) = part.as_object().and_then(|members| members.get(step)) else { break };
        part = child;
        length += 1;
    }
    steps.truncate(length);
    Some(steps)
}

fn take_out(value: &mut Value, steps: &[String]) {
    let Some((last, parents)) = steps.split_last() else {
        *value = Value::Object(Map::new());
        return;
    };
    let parent = parents.iter().try_fold(value, |value, step| value.get_mut(step));
    if let Some(members) = parent.and_then(Value::as_object_mut) {
        members.remove(last);
    }
}
