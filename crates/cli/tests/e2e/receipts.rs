//! What receipts prove: genuine ones hold whatever is in them, invented ones are found where they are said to come from.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;

use countersign_contract::{
    AuditEntry, AuditEvent, AuditLog as _, Code, Digest, Durability, RequestId, canonical_json,
};
use countersign_store::Store;
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

/// With a digest that fits: anybody can write one.
fn sealed(mut receipt: Value) -> String {
    receipt.as_object_mut().unwrap().remove("digest");
    receipt["digest"] = json!(Digest::of_json(&receipt));
    String::from_utf8(canonical_json(&receipt)).unwrap() + "\n"
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

/// Whatever is invented about a question, the audit log or the receipts of the installation say otherwise.
#[test]
fn questions_that_went_otherwise_are_found() {
    for env in TestEnv::on_each_database() {
        let answer = ask(&env, &["delete task 7"]);
        assert_eq!(answer["failure"]["code"], "NOT_FOUND", "{answer}");
        let genuine: Value = serde_json::from_str(&show(&env, &answer["receipt"])).unwrap();
        let verify = |receipt: Value| {
            env.write("a.receipt", &sealed(receipt));
            env.run(&["receipts", "verify", "--json", "a.receipt"])
        };
        let changed = |changes: &[(&str, Value)]| {
            let mut changed = genuine.clone();
            for (path, to) in changes {
                *changed.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = to.clone();
            }
            changed
        };
        let output = verify(genuine.clone());
        let verified: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(verified["audit"], "agrees", "{}", stderr(&output));

        let invented = r#"{"data":{"deleted":true}}"#;
        let result = json!({"content": invented, "digest": Digest::of_bytes(invented.as_bytes())});
        let query = json!({"content": "list tasks", "digest": Digest::of_json(&json!("list tasks"))});
        let kept_by_the_log = [
            vec![("/receipt/call/outcome", json!("ok")), ("/receipt/call/result", result.clone())],
            vec![("/receipt/call/outcome", json!("ok"))],
            vec![("/receipt/call/outcome", json!("TIMEOUT"))],
            vec![("/receipt/caller", json!("mallory"))],
            vec![("/receipt/wire", json!("rest"))],
        ];
        let kept_as_receipt = [
            vec![("/receipt/at", json!("2020-01-01T00:00:00Z"))],
            vec![("/receipt/query", query)],
            vec![("/receipt/call/result", result)],
        ];
        for changes in kept_by_the_log.iter().chain(&kept_as_receipt) {
            let output = verify(changed(changes));
            assert_eq!(output.status.code(), Some(6), "{changes:?}: {}{}", stdout(&output), stderr(&output));
        }
        // Under an id that nobody knows here, only the audit log can tell.
        for changes in &kept_by_the_log {
            let mut forged = changed(changes);
            forged["receipt"]["id"] = json!(RequestId::generate());
            let output = verify(forged);
            assert_eq!(output.status.code(), Some(6), "{changes:?}: {}{}", stdout(&output), stderr(&output));
            assert!(stderr(&output).contains("audit log"), "{}", stderr(&output));
        }
    }
}

/// Of a question whose call failed, beside a log that has one record of that call, whatever it says.
#[test]
fn a_record_has_to_fit_the_outcome() {
    let env = TestEnv::new();
    let answer = ask(&env, &["delete task 7"]);
    let receipt = show(&env, &answer["receipt"]);
    let shown: Value = serde_json::from_str(&show(&env, &answer["request_id"])).unwrap();
    let failed: AuditEntry =
        serde_json::from_value(shown["records"].as_array().unwrap().last().unwrap()["entry"].clone()).unwrap();
    let called: Value = serde_json::from_str::<Value>(&receipt).unwrap()["receipt"]["call"].clone();
    let result: Digest = called["result"]["digest"].as_str().unwrap().parse().unwrap();
    let of = |event, code| AuditEntry { event, code, ..failed.clone() };
    for (entry, word) in [
        (failed.clone(), Some("agrees")),
        (of(AuditEvent::Intent, None), Some("begun")),
        (of(AuditEvent::Failed, None), None),
        (of(AuditEvent::Failed, Some(Code::Timeout)), None),
        (AuditEntry { result: Some(result), ..failed.clone() }, None),
        (of(AuditEvent::Answered, None), None),
        (AuditEntry { result: Some(result), ..of(AuditEvent::Answered, None) }, None),
        (of(AuditEvent::Asked, None), None),
        (of(AuditEvent::Abandoned, None), None),
        (AuditEntry { caller: "mallory".into(), ..failed.clone() }, None),
        (AuditEntry { wire: "rest".into(), ..failed.clone() }, None),
        (AuditEntry { arguments: result, ..failed.clone() }, None),
        (AuditEntry { contract: result, ..failed.clone() }, None),
    ] {
        let elsewhere = TestEnv::new();
        record(&elsewhere, entry.clone());
        elsewhere.write("a.receipt", &receipt);
        let output = elsewhere.run(&["receipts", "verify", "--json", "a.receipt"]);
        let said = serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default();
        assert_eq!(said["audit"].as_str(), word, "{entry:?}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(if word.is_some() { 0 } else { 6 }), "{entry:?}");
    }
}

fn record(env: &TestEnv, entry: AuditEntry) {
    let folder = env.path(".countersign");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let store = Store::open(folder.as_path()).await.unwrap();
        store.audit_log().append(entry, Durability::Synced).await.unwrap();
        store.close().await.unwrap();
    });
}

#[test]
fn questions_without_a_call_are_held_against_what_is_kept() {
    let env = TestEnv::new();
    let answer = ask(&env, &["what is the meaning of life"]);
    let receipt = show(&env, &answer["receipt"]);
    env.write("a.receipt", &receipt);
    let verified = env.json(&["receipts", "verify", "--json", "a.receipt"]);
    assert_eq!(verified, json!({"verified": true, "audit": "kept"}));
    let mut forged: Value = serde_json::from_str(&receipt).unwrap();
    forged["receipt"]["caller"] = json!("mallory");
    env.write("b.receipt", &sealed(forged));
    let output = env.run(&["receipts", "verify", "b.receipt"]);
    assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
}

#[test]
fn calls_that_the_audit_log_has_otherwise_are_found() {
    let env = TestEnv::new();
    let answer = ask(&env, &["delete task 7"]);
    let genuine: Value = serde_json::from_str(&show(&env, &answer["request_id"])).unwrap();
    let records = genuine["records"].as_array().unwrap();
    let last = records.last().unwrap();
    assert_eq!(last["entry"]["event"], "failed", "{genuine}");
    let verify = |records: Vec<Value>| {
        let mut receipt = genuine.clone();
        receipt["records"] = json!(records);
        env.write("a.receipt", &sealed(receipt));
        let output = env.run(&["receipts", "verify", "a.receipt"]);
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let (code, said) = verify(records.clone());
    assert_eq!(code, Some(0), "{said}");
    for (path, to) in [
        ("/hash", json!("00".repeat(32))),
        ("/chain", json!(999)),
        ("/seq", json!(777)),
        ("/entry/event", json!("answered")),
        ("/entry/caller", json!("mallory")),
        ("/entry/duration_us", json!(1)),
    ] {
        let mut changed = records.clone();
        *changed.last_mut().unwrap().pointer_mut(path).unwrap() = to;
        let (code, said) = verify(changed);
        assert_eq!(code, Some(6), "{path}: {said}");
    }
    let mut invented = last.clone();
    (invented["seq"], invented["entry"]["caller"]) = (json!(1000), json!("mallory"));
    let (code, said) = verify([records.clone(), vec![invented]].concat());
    assert_eq!(code, Some(6), "{said}");
    let again = [records.clone(), vec![last.clone()]].concat();
    let (code, said) = verify(again);
    assert_eq!(code, Some(6), "{said}");
    if records.len() > 1 {
        let (code, said) = verify(records[..1].to_vec());
        assert_eq!(code, Some(6), "{said}");
    }
}

#[test]
fn what_cannot_be_read_is_not_taken_for_what_is_not_there() {
    let env = TestEnv::new();
    let answer = ask(&env, &["say hello to Ann"]);
    for id in [&answer["receipt"], &answer["request_id"]] {
        let receipt = show(&env, id);
        // Without configuration and data folder there is nothing to hold it against.
        let elsewhere = TestEnv::new();
        elsewhere.write("a.receipt", &receipt);
        let verified = elsewhere.json(&["receipts", "verify", "--json", "a.receipt"]);
        assert_eq!(verified, json!({"verified": true, "audit": "elsewhere"}));
        assert!(!elsewhere.path(".countersign").exists());
        elsewhere.write("bad.yaml", "databse: sqlite");
        for config in ["nonexistent.yaml", "bad.yaml"] {
            let output = elsewhere.run(&["receipts", "verify", "--json", "--config", config, "a.receipt"]);
            assert_eq!(output.status.code(), Some(1), "{config}: {}", stdout(&output));
        }
        // There is a database, but no way into it.
        fs::create_dir(elsewhere.path(".countersign")).unwrap();
        elsewhere.write(".countersign/countersign.db", &"damaged ".repeat(1000));
        let output = elsewhere.run(&["receipts", "verify", "--json", "a.receipt"]);
        assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
        let verified: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(verified, json!({"verified": true, "audit": "unreadable"}));
        assert!(stderr(&output).contains("countersign.db"), "{}", stderr(&output));
        let output = elsewhere.run(&["receipts", "verify", "a.receipt"]);
        assert!(stdout(&output).starts_with("verified: "), "{}", stdout(&output));
    }
}
