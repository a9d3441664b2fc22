//! The shared corpus on contracts: calls on every wire, and what is published, as each row's `check` has it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use countersign_contract::Schema;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::mcp_http::{legacy_ask, modern};
use crate::mcp_stdio::{Session, meta};
use crate::paths::plant;
use crate::rows::{self, Caller, WIRES};

/// Has tests of its own: limits (`rest.rs`, `grep.rs`, `read_file.rs`), which take their minute.
const ELSEWHERE: [&str; 2] = ["rate_limit", "rate_key"];

#[test]
fn calls_hold_on_every_wire() {
    for wire in WIRES {
        let env = TestEnv::with_config("root: repo\nlimits: {rate_per_minute: {hello: 0, read_file: 0}}\n");
        plant(env.folder());
        let mut caller = Caller::start(&env, wire);
        let mut ran = 0;
        for row in all().iter().filter(|row| row["check"].is_null() || row["check"] == "schema_ok") {
            let tool = row["tool"].as_str().unwrap();
            let answer = caller.call(tool, &row["input"]);
            rows::check(row, wire, &answer);
            // What `/v1/tools` refuses has an envelope around it.
            if row["check"] == "schema_ok" && (wire != "v1" || row["expect"] == "allow") {
                let published = caller.server.get(&format!("/v1/tools/{tool}")).json()["outputSchema"].take();
                let mistakes = Schema::compile(published).unwrap().mistakes(&answer);
                assert!(mistakes.is_empty(), "{wire}: {mistakes:?}: {row}");
            }
            ran += 1;
        }
        assert_eq!(ran, 13, "{wire}");
    }
}

#[test]
fn what_is_published_holds() {
    let env = TestEnv::new();
    let server = env.serve();
    server.post("/v1/tools/hello", r#"{"args": {}}"#);
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = |file: &str| fs::read_to_string(here.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut checked = BTreeSet::new();
    for row in all().iter().filter(|row| row["check"].is_string() && row["check"] != "schema_ok") {
        let check = row["check"].as_str().unwrap();
        let tool = row["input"]["tool"].as_str().unwrap_or_default();
        let named = || row["input"]["tools"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        match check {
            "mcp_tool_list" => {
                for (wire, listed) in tool_lists(&env) {
                    for name in named() {
                        let tool = listed.iter().find(|tool| tool["name"] == *name);
                        let tool = tool.unwrap_or_else(|| panic!("{wire}: no {name}"));
                        let object = json!("object");
                        let kinds = (&tool["inputSchema"]["type"], &tool["outputSchema"]["type"]);
                        assert_eq!(kinds, (&object, &object), "{wire}: {name}");
                    }
                }
            }
            "contract_get" => {
                let shown = server.get(&format!("/v1/tools/{tool}")).json();
                for key in ["name", "description", "inputSchema", "outputSchema", "constraints", "examples"] {
                    assert!(!shown[key].is_null(), "{key}: {row}");
                }
                let output = &shown["outputSchema"];
                assert_eq!(
                    (&output["type"], output["oneOf"].as_array().unwrap().len()),
                    (&json!("object"), 2),
                    "{row}"
                );
            }
            "contract_file" => {
                let contract: Value = serde_json::from_str(&text(&format!("contracts/{tool}.json"))).unwrap();
                assert!(contract.as_object().is_some_and(|members| !members.is_empty()), "{row}");
            }
            "repo_file" => {
                let page = text(row["input"]["path"].as_str().unwrap());
                assert!(named().all(|name| page.contains(name)), "{row}");
            }
            "get" => {
                let shown = server.get(row["input"]["path"].as_str().unwrap()).json();
                let paths = shown["paths"].as_object().unwrap();
                for face in ["/v1/tools/hello", "/mcp/tool/hello"] {
                    assert!(paths.contains_key(face), "{face}: {:?}", paths.keys());
                }
            }
            "log_fields" => {
                let is_call = |line: &Value| line["event"] == "tool_call" && line["tool"] == "hello";
                let lines = env.log_lines(|lines| lines.iter().any(is_call));
                let line = lines.into_iter().find(is_call).unwrap();
                assert!(line["duration_ms"].is_number() && line["outcome"].is_string(), "{line}");
            }
            other => assert!(ELSEWHERE.contains(&other), "nobody knows how to check `{other}`"),
        }
        checked.insert(check.to_owned());
    }
    assert_eq!(checked.len(), 8, "{checked:?}");
}

/// As each wire of MCP lists them.
fn tool_lists(env: &TestEnv) -> Vec<(&'static str, Vec<Value>)> {
    let server = env.serve();
    let over_stdio = |params: Value, older: bool| {
        let mut session = Session::start(env, &["mcp"]);
        if older {
            session.initialize(&json!({}));
        }
        session.send_json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}));
        session.next()
    };
    let answers = [
        ("modern", modern(&server, "tools/list", None, json!({})).json()),
        ("legacy", legacy_ask(&server, "tools/list", &json!({}))),
        ("stdio", over_stdio(json!({"_meta": meta()}), false)),
        ("stdio-legacy", over_stdio(json!({}), true)),
    ];
    let tools = |answer: Value| answer["result"]["tools"].as_array().unwrap().clone();
    answers.into_iter().map(|(wire, answer)| (wire, tools(answer))).collect()
}

fn all() -> Vec<Value> {
    include_str!("../corpus/contracts.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
