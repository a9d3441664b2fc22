//! What is wrong with a value that a stranger made, told without a word of that stranger: whoever chooses the names of
//! members would otherwise speak to the model through the places of mistakes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::mistakes::Mistake;
use crate::visible;

/// Keywords whose mistakes are put in words of the schema alone.
const FROM_THE_SCHEMA: [&str; 20] = [
    "",
    "anyOf",
    "const",
    "contains",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "required",
    "type",
];

/// More than a list has items.
const INDEX_DIGITS_MAX: usize = 7;

/// The same mistakes; where several become one, it is there once.
pub(super) fn retold(schema: &Value, mistakes: &[Mistake]) -> Vec<Mistake> {
    let mut declared = BTreeSet::new();
    collect_names(schema, &mut declared);
    let mut told: Vec<Mistake> = Vec::new();
    for mistake in mistakes {
        let mistake = retell(&declared, mistake);
        if !told.contains(&mistake) {
            told.push(mistake);
        }
    }
    told
}

/// Wherever something is called that: the schema was judged as a whole.
fn collect_names<'a>(part: &'a Value, names: &mut BTreeSet<&'a str>) {
    match part {
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        Value::Object(members) => {
            let properties = members.get("properties").and_then(Value::as_object);
            names.extend(properties.into_iter().flatten().map(|(name, _)| name.as_str()));
            let required = members.get("required").and_then(Value::as_array);
            names.extend(required.into_iter().flatten().filter_map(Value::as_str));
            members.values().for_each(|member| collect_names(member, names));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn retell(declared: &BTreeSet<&str>, mistake: &Mistake) -> Mistake {
    let is_ours = |step: &&str| {
        let is_index = step.len() <= INDEX_DIGITS_MAX && step.bytes().all(|byte| byte.is_ascii_digit());
        let name = step.replace("~1", "/").replace("~0", "~");
        (is_index && !step.is_empty()) || declared.contains(name.as_str())
    };
    let steps: Vec<&str> = mistake.path.split('/').skip(1).collect();
    let known: Vec<&str> = steps.iter().copied().take_while(is_ours).collect();
    let keyword = mistake.keyword.as_str();
    let is_unknown_member = keyword == "additionalProperties" || keyword == "unevaluatedProperties";
    let message = match known.len() == steps.len() {
        _ if is_unknown_member => "has a member that is not declared".to_owned(),
        true if FROM_THE_SCHEMA.contains(&keyword) => mistake.message.clone(),
        true => format!("breaks `{keyword}`"),
        false if FROM_THE_SCHEMA.contains(&keyword) => {
            format!("has a member that is not declared, and {}", mistake.message)
        }
        false => format!("has a member that is not declared, and breaks `{keyword}`"),
    };
    let path: String = known.iter().map(|step| format!("/{step}")).collect();
    Mistake::new(&visible(&path), &visible(&message), keyword)
}
