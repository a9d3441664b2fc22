//! The shared corpus: rows of requests with what must come back. Rows for tools or wires that do not exist yet are
//! passed over; they take part as soon as their tool is in the catalog.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::env::{Server, TestEnv};
use crate::http::{Answer, request};
use crate::paths::plant;

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
    let env = planted();
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

#[test]
fn protocol_rows_hold_on_mcp_over_http() {
    let env = planted();
    let server = env.serve();
    let mut ran = 0;
    for row in rows(include_str!("../corpus/protocol.jsonl")).filter(|row| row["tool"] == "mcp-http") {
        let start = Instant::now();
        let answer = send(&server, &row);
        let took = start.elapsed();
        if let Some(limit) = row["max_ms"].as_u64() {
            // The limit is for a machine that does nothing else.
            assert!(took < Duration::from_millis(10 * limit), "{took:?}: {row}");
        }
        assert!(answer.status < 500, "{}: {row}", answer.status);
        if !row["status"].is_null() {
            let status = json!(answer.status);
            let allowed = row["status"].as_array().map_or(row["status"] == status, |list| list.contains(&status));
            assert!(allowed, "{status}: {row}");
        }
        if row["rpc_code"].is_number() {
            assert_eq!(answer.json()["error"]["code"], row["rpc_code"], "{row}");
        }
        let result = || answer.json()["result"].clone();
        match row["expect"].as_str().unwrap() {
            "allow" => {
                assert_eq!(result()["isError"], json!(false), "{row}");
                assert_eq!(answer.json()["id"], row["http"]["body"]["id"], "{row}");
                assert_eq!(answer.header("mcp-session-id"), None, "{row}");
            }
            "deny" => assert!(answer.status >= 400, "{row}"),
            "error" => assert!(answer.json()["error"].is_object() || result()["isError"] == json!(true), "{row}"),
            _ => assert_eq!(answer.header("access-control-allow-origin"), None, "{row}"),
        }
        ran += 1;
    }
    assert!(ran >= 29, "only {ran} rows ran");
}

#[test]
fn protocol_rows_hold_on_mcp_over_stdio() {
    let env = planted();
    let mut ran = 0;
    for row in rows(include_str!("../corpus/protocol.jsonl")).filter(|row| row["tool"] == "mcp-stdio") {
        let sent = generated(&row["stdio_b64"]);
        let mut command = env.command(&["mcp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let writing = std::thread::spawn(move || drop(input.write_all(&sent)));
        let output = child.wait_with_output().unwrap();
        writing.join().unwrap();
        assert_eq!(output.status.code(), Some(0), "{row}");
        let lines: Vec<Value> = output
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap_or_else(|error| panic!("{error} on stdout: {row}")))
            .collect();
        match (row["expect"].as_str().unwrap(), row["check"].as_str()) {
            (_, Some("stdio_eof")) => assert_eq!(lines, Vec::<Value>::new(), "{row}"),
            ("allow", _) => assert!(lines.len() == 1 && lines[0]["result"].is_object(), "{lines:?}: {row}"),
            ("deny", _) => assert!(lines.len() == 1 && lines[0]["error"].is_object(), "{lines:?}: {row}"),
            _ => {}
        }
        ran += 1;
    }
    assert!(ran >= 6, "only {ran} rows ran");
}

/// With the tree that the rows speak of.
fn planted() -> TestEnv {
    let env = TestEnv::with_config("root: repo\n");
    plant(env.folder());
    env
}

/// A payload that is described instead of written out.
fn generated(body: &Value) -> Vec<u8> {
    let bytes = BASE64.decode(body.as_str().unwrap()).unwrap();
    let described = str::from_utf8(&bytes).ok().and_then(|text| text.strip_prefix("{{")?.strip_suffix("}}"));
    let Some((kind, count)) = described.and_then(|text| text.split_once(':')) else { return bytes };
    let count: usize = count.parse().unwrap();
    match kind {
        "body" => vec![b'x'; count],
        "batch" => {
            let one = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
            format!("[{}]", vec![one; count].join(",")).into_bytes()
        }
        "json_number" => {
            let number = "9".repeat(count);
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"tools/list\"}}").into_bytes()
        }
        "json_nest" => [vec![b'['; count], vec![b']'; count]].concat(),
        other => panic!("unknown payload {other}"),
    }
}

fn send(server: &Server, row: &Value) -> Answer {
    let http = &row["http"];
    let headers = http["headers"].as_object().cloned().unwrap_or_default();
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
    let body = match (&row["raw_body"], &http["body"]) {
        (Value::String(raw), _) => raw.clone().into_bytes(),
        (_, Value::Null) if http["body_b64"].is_string() => generated(&http["body_b64"]),
        (_, Value::Null) => Vec::new(),
        (_, body) => body.to_string().into_bytes(),
    };
    let (method, path) = (http["method"].as_str().unwrap(), http["path"].as_str().unwrap());
    request(server.address, method, path, &headers, &body)
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
