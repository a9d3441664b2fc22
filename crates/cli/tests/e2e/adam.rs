//! Adam's document: its configuration, its own command lines, its log, and the rows on `adam-sys-audit`.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::env::{TestEnv, wait_for};
use crate::origin::Pages;
use crate::rows::{Caller, WIRES, filled_in};

const TOOL: &str = "adam-sys-audit";

/// As the document has it.
const FETCH: &str = r#"curl -X POST http://127.0.0.1:8000/v1/tools/web-fetch \
  -H "Content-Type: application/json" \
  -d '{"args": {"url": "https://example.com"}}'"#;

/// As the document has them.
const LINES: [&str; 3] = [
    r#"curl -X POST http://127.0.0.1:8000/v1/tools/file-io \
  -H "Content-Type: application/json" \
  -d '{"args": {"command": "read_file", "path": "my-notes.txt"}}'"#,
    r#"curl -X POST http://127.0.0.1:8000/v1/tools/file-io \
  -H "Content-Type: application/json" \
  -d '{"args": {"command": "write_file", "path": "new-file.txt", "content": "Hello from Adam!"}}'"#,
    r#"curl -X POST http://127.0.0.1:8000/v1/tools/adam-sys-audit \
  -H "Content-Type: application/json" \
  -d '{"args": {"command": "list_hardware"}}'"#,
];

/// The ready-made configuration, under its own name: nobody says where it is.
fn adam() -> TestEnv {
    let env = TestEnv::new();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/adam.yaml");
    fs::copy(file, env.path("adam.yaml")).unwrap();
    env
}

#[test]
fn the_documents_own_lines_work() {
    let env = adam();
    fs::create_dir(env.path("data")).unwrap();
    env.write("data/my-notes.txt", "Water the plants.\n");
    let server = env.serve();
    let answers = LINES.map(|line| run(line, server.address));
    let expected = json!({"tool": "file-io", "ok": true, "result": {"ok": true, "contents": "Water the plants.\n"}});
    assert_eq!(answers[0], expected);
    assert_eq!(answers[1], json!({"tool": "file-io", "ok": true, "result": {"ok": true, "bytes_written": 16}}));
    assert_eq!(fs::read_to_string(env.path("data/new-file.txt")).unwrap(), "Hello from Adam!");
    assert_eq!((&answers[2]["tool"], &answers[2]["ok"]), (&json!(TOOL), &json!(true)));
    assert_eq!(answers[2]["result"]["os"], "linux");
    let failed = run(&LINES[0].replace("my-notes.txt", "nope.txt"), server.address);
    assert_eq!(failed, json!({"tool": "file-io", "ok": false, "error": "File not found", "code": "NOT_FOUND"}));
    let lines = wait_for("the log", || {
        let text = fs::read_to_string(env.path("adam.log")).ok()?;
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let calls: Vec<_> = lines.into_iter().filter(|line| line["event"] == "tool_call").collect();
        (calls.len() == 4).then_some(calls)
    });
    let tools: Vec<_> = lines.iter().map(|line| (&line["tool"], &line["success"])).collect();
    let (io, yes, no) = (json!("file-io"), json!(true), json!(false));
    assert_eq!(tools, [(&io, &yes), (&io, &yes), (&json!(TOOL), &yes), (&io, &no)]);
    assert!(!env.path(".countersign/countersign.log").exists());
}

/// But for the host: tests ask nobody but this machine, which has to be allowed first.
#[test]
fn the_documents_line_for_a_page_works() {
    let env = adam();
    let config = fs::read_to_string(env.path("adam.yaml")).unwrap();
    let allowed = "web_fetch: {allow_private_hosts: [127.0.0.1]}";
    env.write("adam.yaml", &config.replace("web_fetch: {allowed_domains: []}", allowed));
    let server = env.serve();
    let pages = Pages::serve(&[("https://example.com/", "<p>Example Domain</p>")]);
    let line = pages.instead_of_the_web(&json!(FETCH.replace("example.com", "example.com/")));
    let answer = run(line.as_str().unwrap(), server.address);
    assert_eq!((&answer["tool"], &answer["ok"]), (&json!("web-fetch"), &json!(true)), "{answer}");
    let result = &answer["result"];
    assert_eq!((&result["ok"], &result["status"], &result["bytes"]), (&json!(true), &json!(200), &json!(21)));
    assert_eq!(result["content"], "<p>Example Domain</p>");
}

/// By the shell and with `curl`, on the address that this server has.
fn run(line: &str, address: SocketAddr) -> Value {
    let line = line.replace("127.0.0.1:8000", &address.to_string()).replace("curl ", "curl --silent ");
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn countersign_yaml_comes_before_adam_yaml() {
    let env = adam();
    let listed = |env: &TestEnv| env.json(&["tools", "--json"])["tools"].as_array().unwrap().len();
    assert_eq!(listed(&env), 3);
    env.write("countersign.yaml", "tools: [hello]\n");
    assert_eq!(listed(&env), 1);
}

#[test]
fn audit_rows_hold_on_every_wire() {
    for wire in WIRES {
        let env = TestEnv::new();
        let mut caller = Caller::start(&env, wire);
        let mut ran = 0;
        for row in include_str!("../corpus/audit.jsonl").lines() {
            let row: Value = serde_json::from_str(row).unwrap();
            let what = format!("{wire}: {}", row["id"]);
            let start = Instant::now();
            match row["steps"].as_array() {
                Some(steps) => run_steps(&what, steps, &mut caller),
                None => check(&what, &row, &caller.call(TOOL, &filled_in(&row["input"], &[]))),
            }
            if let Some(limit) = row["max_ms"].as_u64() {
                // The limit is for a machine that does nothing else.
                assert!(start.elapsed() < Duration::from_millis(4 * limit), "{:?}: {what}", start.elapsed());
            }
            ran += 1;
        }
        assert!(ran >= 14, "only {ran} rows ran");
        let calls =
            |lines: &[Value]| lines.iter().filter(|line| line["tool"] == TOOL && line["event"] == "tool_call").count();
        assert!(calls(&env.log_lines(|lines| calls(lines) >= ran)) >= ran);
    }
}

/// The second step gets the first one's answer as its baseline.
fn run_steps(what: &str, steps: &[Value], caller: &mut Caller) {
    let mut baseline = Value::Null;
    for step in steps {
        let mut input = step["input"].clone();
        if input["baseline"].is_string() {
            input["baseline"] = baseline.clone();
        }
        let answer = caller.call(TOOL, &input);
        check(what, step, &answer);
        if step["check"] == "removed_nonempty" {
            assert_ne!(answer["changes"]["removed"], json!([]), "{what}");
        }
        baseline = answer;
        for (key, value) in step["patch"].as_object().into_iter().flatten() {
            baseline[key] = value.clone();
        }
    }
}

fn check(what: &str, row: &Value, answer: &Value) {
    assert_ne!(answer["code"], "INTERNAL_ERROR", "{what}");
    if row["expect"] == "any" {
        return;
    }
    if row["expect"] == "deny" {
        assert_eq!(answer["code"], row["code"], "{what}: {answer}");
        assert!(answer["details"].as_array().is_some_and(|details| !details.is_empty()), "{what}: {answer}");
        return;
    }
    assert_eq!(answer["code"], Value::Null, "{what}: {answer}");
    for (path, value) in row["eq"].as_object().into_iter().flatten() {
        assert_eq!(found(answer, path), [value], "{what}: {path} in {answer}");
    }
    for (path, kinds) in row["out"].as_object().into_iter().flatten() {
        let right = |value: &&Value| kinds.as_str().unwrap().split('|').any(|kind| is(value, kind));
        assert!(found(answer, path).iter().all(right), "{what}: {path} in {answer}");
    }
    assert!(answer.to_string().contains(row["must_contain"].as_str().unwrap_or_default()), "{what}: {answer}");
}

/// What `a.b` or `a[].b` leads to.
fn found<'a>(answer: &'a Value, path: &str) -> Vec<&'a Value> {
    path.split('.').fold(vec![answer], |values, step| match step.strip_suffix("[]") {
        Some(list) => values.into_iter().flat_map(|value| value[list].as_array().unwrap()).collect(),
        None => values.into_iter().map(|value| &value[step]).collect(),
    })
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("unknown type {other}"),
    }
}

#[test]
fn an_audit_names_nobody() {
    let env = TestEnv::new();
    let mut command = env.command(&["call", TOOL, "--json", "command=list_software"]);
    let output = command.env("USER", "markeruser").env("SOME_TOKEN", "markertoken").output().unwrap();
    let mut shown = String::from_utf8(output.stdout).unwrap();
    shown.push_str(&env.json(&["call", TOOL, "--json", "command=list_hardware"]).to_string());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = format!("/{}", host.trim());
    for secret in ["markeruser", "markertoken", &host, env.folder().to_str().unwrap()] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[test]
fn configured_packages_are_reported_and_checked() {
    let env = TestEnv::with_config("system_audit: {packages: [pip, no-such-package-at-all]}\n");
    let software = env.json(&["call", TOOL, "--json", "command=list_software"]);
    let packages: Vec<_> = software["packages"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(!packages.iter().any(|package| package.starts_with("no-such")), "{software}");
    let wrong = TestEnv::with_config("system_audit: {packages: ['--version', 'a b', '../x', '', fastapi]}\n");
    let refused = wrong.run(&["config", "check"]);
    assert!(!refused.status.success());
    let said = crate::env::stderr(&refused);
    for item in 0..4 {
        assert!(said.contains(&format!("system_audit.packages[{item}]")), "{item}: {said}");
    }
    assert!(!said.contains("packages[4]"), "{said}");
}
