//! `exports` and `imports` of a package: which files may stand for a name, whatever the condition.

use serde_json::Value;

use super::config::matches;

/// Deeper conditions than anybody writes.
const DEPTH_MAX: usize = 16;

/// Best first: types and sources before what is built.
pub(super) fn targets(table: &Value, key: &str) -> Vec<String> {
    let names_paths = table.as_object().is_some_and(|entries| entries.keys().all(|name| name.starts_with(['.', '#'])));
    if !names_paths {
        // The whole package, with or without conditions.
        return if key == "." { leaves(table, "") } else { Vec::new() };
    }
    let entries = table.as_object().into_iter().flatten();
    let fitting = entries.filter_map(|(pattern, value)| {
        let (rank, stands_for) = matches(pattern, key)?;
        Some((rank, stands_for, value))
    });
    fitting.max_by_key(|(rank, ..)| *rank).map_or_else(Vec::new, |(_, stands_for, value)| leaves(value, stands_for))
}

/// Every file below, with what the star stands for.
fn leaves(value: &Value, stands_for: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        match value {
            Value::String(target) => found.push(target.replace('*', stands_for)),
            Value::Array(several) if depth < DEPTH_MAX => {
                open.extend(several.iter().rev().map(|value| (value, depth + 1)));
            }
            Value::Object(conditions) if depth < DEPTH_MAX => {
                let ordered = |first: bool| {
                    let wanted = move |name: &&String| (matches!(name.as_str(), "types" | "source")) == first;
                    conditions.iter().filter(move |(name, _)| wanted(name)).map(|(_, value)| (value, depth + 1))
                };
                let both: Vec<_> = ordered(true).chain(ordered(false)).collect();
                open.extend(both.into_iter().rev());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::targets;

    #[test]
    fn conditions_and_patterns() {
        let table = json!({
            ".": {"import": "./dist/index.js", "types": "./dist/index.d.ts"},
            "./a/*": "./dist/a/*.js",
            "./a/b/*": ["./dist/b/*.js"],
            "./private/*": null,
        });
        assert_eq!(targets(&table, "."), ["./dist/index.d.ts", "./dist/index.js"]);
        assert_eq!(targets(&table, "./a/x"), ["./dist/a/x.js"]);
        assert_eq!(targets(&table, "./a/b/x"), ["./dist/b/x.js"]);
        assert!(targets(&table, "./private/x").is_empty() && targets(&table, "./y").is_empty());
        assert_eq!(targets(&json!("./i.js"), "."), ["./i.js"]);
        assert_eq!(targets(&json!({"default": "./i.js"}), "."), ["./i.js"]);
        assert!(targets(&json!("./i.js"), "./x").is_empty() && targets(&json!(null), ".").is_empty());
    }
}
