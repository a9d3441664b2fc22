//! `docs/configuration.md`: every key of the configuration, from its schema.

use serde_json::Value;

const HEAD: &str = "<!-- Generated from the configuration's types by `cargo xtask codegen`; do not edit. -->
# Configuration

YAML, every key optional. The file is `--config FILE`, else `$COUNTERSIGN_CONFIG`, else `countersign.yaml`, else
`adam.yaml` in the current folder; without one the defaults hold. Relative paths are relative to the file's folder.
`${VAR}` and `${VAR:-default}` are filled in from the environment inside any value. `COUNTERSIGN_HTTP__LISTEN` sets
`http.listen` on top of the file, and so on for every key; flags win over both. Unknown keys are mistakes.
`countersign config check` reports all mistakes at once, `countersign config show` what holds. The same as a JSON Schema
for editors: [`contracts/config.schema.json`](../contracts/config.schema.json).

This version refuses `auth.oauth`: it is not available yet. `contracts.overlays` and `contracts.lockfile` are checked
and have no effect.

| key | default | meaning |
|---|---|---|
";

pub(super) fn markdown(schema: &Value) -> String {
    let mut page = HEAD.to_owned();
    write_rows(&mut page, "", schema);
    page
}

fn write_rows(page: &mut String, above: &str, schema: &Value) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let key = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        if let Some(meaning) = property["description"].as_str() {
            page.push_str(&format!("| `{key}` | {} | {} |\n", default(property), cell(meaning)));
        }
        write_rows(page, &key, property);
        write_rows(page, &format!("{key}[]"), &property["items"]);
        write_rows(page, &format!("{key}.<name>"), &property["additionalProperties"]);
    }
}

/// Sections and keys without a default show none: their parts do.
fn default(property: &Value) -> String {
    match &property["default"] {
        Value::Null => String::new(),
        Value::Object(_) if property["properties"].is_object() => String::new(),
        Value::String(text) => format!("`{text}`"),
        value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => format!("`{value}`"),
    }
}

fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::markdown;

    #[test]
    fn every_key_has_a_row() {
        let page = markdown(&json!({"properties": {
            "http": {
                "description": "How to\nserve.",
                "default": {"listen": "x"},
                "properties": {"listen": {"description": "a|b", "default": "127.0.0.1:8000"}},
            },
            "list": {"items": {"properties": {"name": {"description": "Who."}}}, "description": "Some.", "default": []},
            "map": {"additionalProperties": {"properties": {"url": {"description": "Where."}}}, "description": "By name."},
        }}));
        let rows: Vec<_> = page.lines().skip_while(|line| !line.starts_with("|---")).skip(1).collect();
        assert_eq!(
            rows,
            [
                "| `http` |  | How to serve. |",
                "| `http.listen` | `127.0.0.1:8000` | a\\|b |",
                "| `list` | `[]` | Some. |",
                "| `list[].name` |  | Who. |",
                "| `map` |  | By name. |",
                "| `map.<name>.url` |  | Where. |",
            ]
        );
    }
}
