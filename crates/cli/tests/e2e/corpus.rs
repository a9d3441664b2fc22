//! The shared corpus: rows of requests with what must come back. Rows for tools or wires that do not exist yet are
//! passed over; they take part as soon as their tool is in the catalog.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::env::{Server, TestEnv};
use crate::http::{Answer, request};

#[test]
fn tool_rows_hold_on_both_rest_faces() {
    let env = TestEnv::with_config("limits: {rate_per_minute: {hello: 0, read_file: 0}}\nfile_io: {root: data}\n");
    let server = env.serve();
    let known = known_tools(&server);
    let mut ran = 0;
    for row in rows(include_str!("../corpus/contracts.jsonl")) {
        let tool = row["tool"].as_str().unwrap();
        if !known.contains(tool) || row["check"].is_string() || row["profile"].is_string() {
            continue;
        }
        let enveloped = server.post(&format!("/v1/tools/{tool}"), &json!({"args": row["input"]}).to_string());
        let bare = server.post(&format!("/mcp/tool/{tool}"), &row["input"].to_string());
        let body = enveloped.json();
        if row["expect"] == "allow" {
            assert_eq!((enveloped.status, bare.status), (200, 200), "{row}");
            check_values(&row, &body["result"]);
            check_values(&row, &bare.json());
        } else {
            assert_eq!((enveloped.status, bare.status), (400, 400), "{row}");
            assert_eq!((&body["code"], &bare.json()["code"]), (&row["code"], &row["code"]), "{row}");
            assert!(body["error"].is_string() && body["ok"] == json!(false), "{row}");
        }
        ran += 1;
    }
    assert!(ran >= 7, "only {ran} rows ran");
}

#[test]
fn protocol_rows_hold_on_rest() {
    let env = TestEnv::new();
    let server = env.serve();
    let known = known_tools(&server);
    let mut ran = 0;
    for row in rows(include_str!("../corpus/protocol.jsonl")) {
        let http = &row["http"];
        let path = http["path"].as_str().unwrap_or_default();
        let tool = path.trim_start_matches("/v1/tools/").trim_start_matches("/mcp/tool/");
        // A row that expects a refusal of the tool itself needs the tool; others hold for any name.
        let needs_tool =
            row["status"].is_null() || row["expect"] == "allow" || row["why"] == "HTTP status follows the code";
        if row["tool"] != "rest-http" || path == "/v1/ask" || (needs_tool && !known.contains(tool)) {
            continue;
        }
        let answer = send(&server, &row);
        assert!(answer.status != 500, "{row}");
        if !row["status"].is_null() {
            let status = json!(answer.status);
            let allowed = row["status"].as_array().map_or(row["status"] == status, |list| list.contains(&status));
            assert!(allowed, "{status}: {row}");
        }
        if let Some(expected) = row["body_eq"].as_object() {
            let body = answer.json();
            assert!(expected.iter().all(|(key, value)| body[key] == *value), "{row}: {body}");
        }
        let error = row["expect"] == "deny" || row["expect"] == "error";
        assert!(!error || answer.json()["code"].is_string(), "a JSON error, not a page: {row}");
        ran += 1;
    }
    assert!(ran >= 18, "only {ran} rows ran");
}

fn send(server: &Server, row: &Value) -> Answer {
    let http = &row["http"];
    let headers = http["headers"].as_object().cloned().unwrap_or_default();
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
    let body = match (&row["raw_body"], &http["body"]) {
        (Value::String(raw), _) => raw.clone(),
        (_, Value::Null) => String::new(),
        (_, body) => body.to_string(),
    };
    let (method, path) = (http["method"].as_str().unwrap(), http["path"].as_str().unwrap());
    request(server.address, method, path, &headers, body.as_bytes())
}

fn check_values(row: &Value, result: &Value) {
    for (key, value) in row["eq"].as_object().into_iter().flatten() {
        assert_eq!(result[key], *value, "{row}");
    }
    for (key, kind) in row["out"].as_object().into_iter().flatten() {
        let right = match kind.as_str().unwrap() {
            "string" => result[key].is_string(),
            "datetime" => result[key].as_str().is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok()),
            other => panic!("unknown type {other} in {row}"),
        };
        assert!(right, "{key} in {result}: {row}");
    }
}

fn known_tools(server: &Server) -> BTreeSet<String> {
    let list = server.get("/v1/tools").json();
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn rows(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}
