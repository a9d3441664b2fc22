//! `countersign search QUERY`: `context_search` for a person at a terminal.

use std::fmt::Write as _;

use countersign_transports::exit_code;
use serde_json::{Map, Value};

use super::call::{call_once, outcome};
use crate::args::{Common, SearchArguments};
use crate::failure::{CommandError, CommandResult};
use crate::output::{self, Format};
use crate::wiring;

/// Lines of each result; `read_file` has the rest.
const LINES_MAX: usize = 8;

pub(super) fn run(common: &Common, arguments: &SearchArguments) -> CommandResult {
    let reply = call_once(common, "context_search", |_| Ok(Value::Object(tool_arguments(arguments))))?;
    match (wiring::format(common), &reply.failure) {
        (Format::Json, _) => output::print_json(Format::Json, &reply.structured)?,
        (Format::Text, None) => output::print(&shown(&reply.structured))?,
        (Format::Text, Some(failure)) => {
            return Err(CommandError::message(exit_code(failure.code), explained(&reply.structured)));
        }
    }
    outcome(&reply)
}

/// The failure's sentence, what is wrong where, and what else could be done.
fn explained(failure: &Value) -> String {
    let word = |key: &str| failure[key].as_str();
    let mut text = format!("{} ({})", word("error").unwrap_or_default(), word("code").unwrap_or_default());
    for mistake in failure["details"].as_array().into_iter().flatten() {
        let said = |key: &str| mistake[key].as_str().unwrap_or_default();
        let _ = write!(text, "\n  {}: {}", said("path"), said("message"));
    }
    for more in ["details", "message", "action", "suggestion", "fallback"].into_iter().filter_map(word) {
        let _ = write!(text, "\n  {more}");
    }
    text
}

fn tool_arguments(arguments: &SearchArguments) -> Map<String, Value> {
    let SearchArguments { query, kind, module, limit } = arguments;
    let given = [
        ("query", Some(Value::from(query.join(" ")))),
        ("type", kind.clone().map(Value::from)),
        ("module", module.clone().map(Value::from)),
        ("limit", limit.map(Value::from)),
    ];
    given.into_iter().filter_map(|(name, value)| value.map(|value| (name.to_owned(), value))).collect()
}

/// Where it is, what it is and how well it fits; then how it begins.
fn shown(found: &Value) -> String {
    let results = found["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = String::new();
    for result in results {
        let word = |key: &str| result[key].as_str();
        let lines = result["lines"].as_array().and_then(|lines| lines.first()).and_then(Value::as_u64);
        let place = match (word("path"), lines) {
            (Some(path), Some(line)) => format!("{path}:{line}"),
            (Some(path), None) => path.to_owned(),
            (None, _) => word("session").unwrap_or_default().to_owned(),
        };
        let score = result["score"].as_f64().unwrap_or_default();
        let _ = writeln!(text, "{score:.2}  {:<9} {place}", word("type").unwrap_or_default());
        let content = word("content").unwrap_or_default();
        for line in content.lines().take(LINES_MAX) {
            let _ = writeln!(text, "      {line}");
        }
        if content.lines().count() > LINES_MAX {
            text.push_str("      …\n");
        }
        text.push('\n');
    }
    let total = found["totalFound"].as_u64().unwrap_or_default();
    let milliseconds = found["searchTime"].as_u64().unwrap_or_default();
    let _ = writeln!(text, "{} of {total} in {milliseconds} ms", results.len());
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{explained, shown};

    #[test]
    fn failures_say_what_is_wrong_and_what_else_there_is() {
        let mistakes = json!([{"path": "/limit", "message": "must be at least 1"}]);
        for (failure, text) in [
            (
                json!({"error": "Invalid parameters", "code": "VALIDATION_ERROR", "details": mistakes}),
                "Invalid parameters (VALIDATION_ERROR)\n  /limit: must be at least 1",
            ),
            (
                json!({"error": "No query", "code": "UPSTREAM_ERROR", "details": "down", "fallback": "Use grep"}),
                "No query (UPSTREAM_ERROR)\n  down\n  Use grep",
            ),
        ] {
            assert_eq!(explained(&failure), text);
        }
    }

    #[test]
    fn results_are_shown_as_places_and_beginnings() {
        let long: String = (1..=10).map(|line| format!("line {line}\n")).collect();
        let found = json!({
            "results": [
                {"type": "code", "content": long, "score": 0.815, "path": "src/a.rs", "lines": [7, 16]},
                {"type": "session", "content": "Fix the parser", "score": 0.4, "session": "session-2025-01-15-0a1b2c3d"},
            ],
            "totalFound": 12,
            "searchTime": 9,
        });
        let text = shown(&found);
        assert!(text.starts_with("0.81  code      src/a.rs:7\n      line 1\n"), "{text}");
        assert!(text.contains("line 8\n      …\n\n") && !text.contains("line 9"), "{text}");
        assert!(text.contains("session-2025-01-15-0a1b2c3d\n      Fix the parser\n"), "{text}");
        assert!(text.ends_with("2 of 12 in 9 ms\n"), "{text}");
    }
}
