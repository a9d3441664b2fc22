//! A validator's findings in words for whoever has to correct the value: where, and what is wrong. Values are never
//! repeated; they may be long or secret.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::suggest::closest;

/// More than this helps nobody, and a list of a million wrong items must not become an answer of a million mistakes.
pub(super) const MAX_MISTAKES: usize = 64;

/// A path or message from outside may be of any length.
const MAX_CHARACTERS: usize = 400;

/// One thing that is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mistake {
    /// JSON Pointer to the place; empty for the whole value.
    pub path: String,
    pub message: String,
    /// The schema keyword that was broken, for looking up a document's own sentence.
    #[serde(skip)]
    pub keyword: String,
}

impl Mistake {
    pub(super) fn new(path: &str, message: &str, keyword: &str) -> Self {
        let cut = |text: &str| match text.char_indices().nth(MAX_CHARACTERS) {
            None => text.to_owned(),
            Some((end, _)) => format!("{}…", &text[..end]),
        };
        Self { path: cut(path), message: cut(message), keyword: keyword.to_owned() }
    }

    /// About a member that nobody declared; `close` may have been meant.
    pub(crate) fn unknown(place: &str, name: &str, close: Option<&str>) -> Self {
        let meant = close.map(|close| format!("; did you mean `{close}`?")).unwrap_or_default();
        Self::new(&below(place, name), &format!("is not known{meant}"), "additionalProperties")
    }

    /// About the value as a whole.
    pub(super) fn whole(message: &str) -> Self {
        Self::new("", message, "")
    }
}

pub(super) fn describe<'a>(schema: &Value, errors: impl Iterator<Item = ValidationError<'a>>) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    for error in errors {
        if mistakes.len() >= MAX_MISTAKES {
            mistakes.truncate(MAX_MISTAKES);
            let message = format!("more than {MAX_MISTAKES} mistakes; the rest is not listed");
            mistakes.push(Mistake::whole(&message));
            break;
        }
        describe_one(schema, &error, &mut mistakes);
    }
    mistakes
}

/// Of a value with too many parts to look for all its mistakes.
pub(super) fn describe_first(schema: &Value, error: Option<ValidationError<'_>>) -> Vec<Mistake> {
    let mut mistakes = describe(schema, error.into_iter());
    mistakes.push(Mistake::whole("has too many parts for further mistakes to be listed"));
    mistakes
}

fn describe_one(schema: &Value, error: &ValidationError<'_>, mistakes: &mut Vec<Mistake>) {
    let place = error.instance_path().as_str();
    let keyword = error.kind().keyword();
    let mut push = |path: &str, message: &str| mistakes.push(Mistake::new(path, message, keyword));
    #[expect(clippy::wildcard_enum_match_arm, reason = "the validator's own words do for all other keywords")]
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            push(&below(place, property.as_str().unwrap_or_default()), "is required");
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let declared = declared_names(schema, place);
            for name in unexpected.iter().take(MAX_MISTAKES) {
                mistakes.push(Mistake::unknown(place, name, closest(name, declared.iter().copied())));
            }
        }
        ValidationErrorKind::AnyOf { context } => match meant(place, context) {
            Some(errors) => errors.iter().take(MAX_MISTAKES).for_each(|error| describe_one(schema, error, mistakes)),
            None => push(place, "is not of any of the types that are allowed here"),
        },
        ValidationErrorKind::Enum { options } => push(place, &format!("must be one of {options}")),
        ValidationErrorKind::Constant { expected_value } => push(place, &format!("must be {expected_value}")),
        ValidationErrorKind::Pattern { pattern } => push(place, &format!("does not match `{pattern}`")),
        ValidationErrorKind::Format { format } => push(place, &format!("is not a valid {format}")),
        _ => {
            let words = error.masked_with("\u{0}").to_string();
            push(place, &words.trim_start_matches('\u{0}').trim_start().replace('\u{0}', "it"));
        }
    }
}

/// Of several ways to be right, the one that was tried: the value has its type.
fn meant<'a, 'e>(place: &str, ways: &'a [Vec<ValidationError<'e>>]) -> Option<&'a [ValidationError<'e>]> {
    let other_type = |error: &ValidationError<'_>| {
        error.instance_path().as_str() == place && matches!(error.kind(), ValidationErrorKind::Type { .. })
    };
    ways.iter().map(Vec::as_slice).find(|errors| !errors.iter().any(other_type))
}

/// The property names that the schema declares for the object at `place`.
fn declared_names<'a>(schema: &'a Value, place: &str) -> Vec<&'a str> {
    let mut part = schema;
    for step in place.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        let child = part.get("properties").and_then(|properties| properties.get(&name));
        let Some(child) = child.or_else(|| part.get("items")).or_else(|| part.get("additionalProperties")) else {
            return Vec::new();
        };
        part = child;
    }
    let properties = part.get("properties").and_then(Value::as_object);
    properties.map(|properties| properties.keys().map(String::as_str).collect()).unwrap_or_default()
}

pub(super) fn below(place: &str, name: &str) -> String {
    format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"))
}
