//! What receipts prove: genuine ones hold whatever is in them, invented ones are found where they are said to come from.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::env::{TestEnv, stderr, stdout, wait_for};
use crate::upstreams::TOY;

fn ask(env: &TestEnv, question: &[&str]) -> Value {
    let output = env.run(&[&["ask", "--json"], question].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{question:?}: {}", stderr(&output)))
}

/// The record of a read is written a moment later.
fn show(env: &TestEnv, id: &Value) -> String {
    wait_for("the receipt", || {
        let output = env.run(&["receipts", "show", id.as_str().unwrap()]);
        output.status.success().then(|| stdout(&output))
    })
}

#[test]
fn results_with_any_numbers_verify_and_replay() {
    let number = json!({"type": "number"});
    let names = ["whole", "nothing", "huge", "long", "tenth", "largest", "negative", "beyond"];
    let properties: Value = names.iter().map(|name| ((*name).to_owned(), number.clone())).collect();
    let tool = json!({
        "name": "measure", "description": "Measures the temperature",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "object", "properties": properties, "required": names},
        "annotations": {"readOnlyHint": true},
    });
    let result = json!({"content": [], "isError": false, "structuredContent": {
        "whole": 20.0, "nothing": -0.0, "huge": 1e300, "long": 1e16, "tenth": 0.1, "largest": u64::MAX,
        "negative": i64::MIN, "beyond": 123_456_789_012_345_678_901_234_567_890_f64,
    }});
    let toy = json!({"command": "sh", "args": ["-c", TOY],
        "env": {"TOOLS": json!([tool]).to_string(), "RESULT": result.to_string()}});
    let env = TestEnv::with_config(&json!({"servers": {"toy": toy}}).to_string());
    let answer = ask(&env, &["--summary", "measure the temperature"]);
    assert_eq!(answer["result"].to_string(), result["structuredContent"].to_string(), "{answer}");
    assert!(!answer["summary"]["bullets"].as_array().unwrap().is_empty(), "{answer}");
    let receipt = show(&env, &answer["receipt"]);
    env.write("a.receipt", &receipt);
    let verified = env.json(&["receipts", "verify", "--json", "a.receipt"]);
    assert_eq!(verified, json!({"verified": true, "audit": "agrees"}));
    assert_eq!(env.json(&["receipts", "replay", "--json", "a.receipt"])["changed"], 0);
}

#[test]
fn what_was_supplied_at_the_terminal_is_replayed() {
    let env = TestEnv::new();
    ask(&env, &["add a task called 'write the docs'"]);
    let mut terminal = File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let stdin = File::options().read(true).write(true).open(OsStr::from_bytes(name.as_bytes()));
    terminal.write_all(b"1\n").unwrap();
    let mut command = env.command(&["ask", "complete the task"]);
    let output = command.stdin(Stdio::from(stdin.unwrap())).output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success() && said.contains("`complete_task` fits; `task_id` was asked for."), "{said}");
    assert!(!said.contains("does not say"), "{said}");
    let newest = &env.json(&["receipts", "--json"])["receipts"][0]["id"];
    env.write("a.receipt", &show(&env, newest));
    assert_eq!(env.json(&["receipts", "verify", "--json", "a.receipt"])["audit"], "agrees");
    assert_eq!(env.json(&["receipts", "replay", "--json", "a.receipt"])["changed"], 0);
}
