//! Input schemas in the form every client understands: one closed object, no choice at its root.

use serde_json::Value;

use super::Finding;
use super::tree::Tree;

/// Clients that turn schemas into function signatures refuse these at the root.
const CHOICES: [&str; 4] = ["oneOf", "anyOf", "allOf", "not"];

/// Generated beside the contracts, but not contracts.
const OTHERS: [&str; 2] = ["contracts/openapi.json", "contracts/config.schema.json"];

pub(super) fn inputs(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        let contract = file.path.strip_prefix("contracts/").and_then(|name| name.strip_suffix(".json"));
        if contract.is_none_or(|name| name.contains('/')) || OTHERS.contains(&file.path.as_str()) {
            continue;
        }
        let messages = match serde_json::from_str::<Value>(&file.text) {
            Ok(contract) => judge(contract.pointer("/properties/input").unwrap_or(&Value::Null)),
            Err(err) => vec![format!("not JSON: {err}")],
        };
        findings.extend(messages.into_iter().map(|message| Finding { path: file.path.clone(), line: 1, message }));
    }
    findings
}

fn judge(input: &Value) -> Vec<String> {
    let mut messages = Vec::new();
    for choice in CHOICES.into_iter().filter(|choice| input.get(choice).is_some()) {
        messages.push(format!("the input schema has `{choice}` at its root"));
    }
    if input.get("type") != Some(&Value::from("object")) {
        messages.push("the input schema is not `type: object`".to_owned());
    }
    if input.get("additionalProperties") != Some(&Value::from(false)) {
        messages.push("the input schema is not closed (`additionalProperties: false`)".to_owned());
    }
    messages
}
