//! Questions without a model: at the terminal, over REST, and what is left of them.

use std::fs;

use serde_json::{Value, json};

use crate::env::{TestEnv, stderr, stdout, wait_for};

const README: &str = "# Project\n\nWe use SQLite because it needs no server.\nApprovals expire after ten minutes.\n";

/// The answer of a question at the terminal, whatever it is.
fn ask(env: &TestEnv, question: &[&str]) -> Value {
    let output = env.run(&[&["ask", "--json"], question].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{question:?}: {}", stderr(&output)))
}

#[test]
fn a_question_becomes_one_call() {
    for env in TestEnv::on_each_database() {
        env.write("README.md", README);
        let answer = ask(&env, &["add a task called 'write the docs'"]);
        assert_eq!((&answer["plan"]["tool"], &answer["ok"]), (&json!("add_task"), &json!(true)), "{answer}");
        assert_eq!(answer["result"]["data"]["title"], "write the docs", "{answer}");
        let answer = ask(&env, &["which", "tasks", "are", "open?"]);
        assert_eq!(answer["plan"]["arguments"], json!({"status": "pending"}), "{answer}");
        assert_eq!(answer["result"]["data"].as_array().unwrap().len(), 1, "{answer}");
        let answer = ask(&env, &["--summary", "read README.md"]);
        let bullets = answer["summary"]["bullets"].as_array().unwrap();
        assert!(
            bullets.iter().any(|bullet| bullet["claim"] == "We use SQLite because it needs no server."),
            "{answer}"
        );
        for bullet in bullets {
            let pointed = answer["result"].pointer(bullet["pointer"].as_str().unwrap());
            assert!(pointed.is_some(), "{bullet}");
        }
    }
}

#[test]
fn refusals_say_why_and_what_is_near() {
    let env = TestEnv::new();
    let answer = ask(&env, &["what is the meaning of life"]);
    assert_eq!(answer["ok"], json!(false));
    assert!(!answer["refusal"]["nearest"].as_array().unwrap().is_empty(), "{answer}");
    let answer = ask(&env, &["complete the task"]);
    assert_eq!(answer["refusal"]["missing"], json!(["task_id"]), "{answer}");
    let output = env.run(&["ask", "complete the task"]);
    assert_eq!(output.status.code(), Some(5));
    assert!(stderr(&output).contains("task_id"), "{}", stderr(&output));
    assert_eq!(env.run(&["ask", "  "]).status.code(), Some(1));
    let long = "x".repeat(5000);
    assert!(stderr(&env.run(&["ask", &long])).contains("more than 4000 characters"));
    let explained = ask(&env, &["--explain", "which tasks are open?"]);
    let best = &explained["plan"]["candidates"][0];
    assert!(best["score"].is_number() && best["parts"]["meaning"].is_number(), "{best}");
}

/// A list of tasks would look like an answer, and nothing would have been done.
#[test]
fn what_sounds_like_a_request_to_add_is_done_or_refused() {
    let env = TestEnv::new();
    for question in
        ["can I add a task: buy milk", "could I add a task called buy milk", "can we add a task to buy milk?"]
    {
        let answer = ask(&env, &[question]);
        assert_eq!((&answer["plan"]["tool"], &answer["ok"]), (&json!("add_task"), &json!(true)), "{answer}");
        assert_eq!(answer["result"]["data"]["title"], "buy milk", "{answer}");
    }
    for question in [
        "can I delete task 1?",
        "can I add a due date to a task?",
        "should I add a task: buy milk?",
        "how can I add a task called buy milk?",
        "could we add a task called \"x\" or is that forbidden?",
        "Can I add a task: \"buy milk\"? Just tell me yes or no.",
        "Can I add a task called \"foo\" or would that break things?",
    ] {
        let answer = ask(&env, &[question]);
        assert_eq!((&answer["ok"], answer["refusal"].is_object()), (&json!(false), true), "{question}: {answer}");
    }
}

#[test]
fn callers_ask_within_what_they_may_use() {
    let config = json!({"auth": {"tokens": [
        {"name": "ci", "token": "token-of-ci", "tools": ["hello"]},
        {"name": "all", "token": "token-of-all"},
    ]}});
    let env = TestEnv::with_config(&config.to_string());
    let server = env.serve();
    let post = |token: &str, body: &Value| {
        let bearer = format!("Bearer {token}");
        let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
        crate::http::request(server.address, "POST", "/v1/ask", &headers, body.to_string().as_bytes())
    };
    let greet = json!({"query": "say hello to Ann"});
    let tasks = json!({"query": "list_tasks"});
    let answer = post("token-of-ci", &greet);
    assert_eq!((answer.status, &answer.json()["result"]["message"]), (200, &json!("Hello, Ann!")), "{}", answer.json());
    let answer = post("token-of-ci", &tasks).json();
    assert_eq!(answer["ok"], json!(false), "{answer}");
    assert!(!answer.to_string().replace("\"query\":\"list_tasks\"", "").contains("list_tasks"), "{answer}");
    assert_eq!(post("token-of-all", &tasks).json()["plan"]["tool"], "list_tasks");
    assert_eq!(post("nobody", &greet).status, 401);
    for body in
        [json!({}), json!({"query": 5}), json!({"query": "a", "tool": "hello"}), json!([]), json!({"query": " "})]
    {
        let answer = post("token-of-all", &body);
        assert_eq!((answer.status, &answer.json()["code"]), (400, &json!("VALIDATION_ERROR")), "{body}");
    }
    assert_eq!(server.get("/v1/ask").status, 401);
}

#[test]
fn a_call_that_waits_for_a_person_waits_here_too() {
    let env = TestEnv::with_config("approval: {list_tasks: out_of_band}");
    let server = env.serve();
    let answer = server.post("/v1/ask", r#"{"query": "list my tasks", "summary": true}"#);
    let body = answer.json();
    assert_eq!((answer.status, &body["failure"]["code"]), (202, &json!("APPROVAL_REQUIRED")), "{body}");
    assert!(body.get("summary").is_none() && body.get("result").is_none(), "{body}");
}

#[test]
fn receipts_are_kept_handed_on_and_replayed() {
    for env in TestEnv::on_each_database() {
        let answer = ask(&env, &["--summary", "say hello to Ann"]);
        let (id, request) = (answer["receipt"].as_str().unwrap(), answer["request_id"].as_str().unwrap());
        assert_eq!(env.json(&["receipts", "--json"])["receipts"][0]["id"], id);
        for name in [id, request] {
            // The record of a read is written a moment later.
            let shown = wait_for("the receipt", || {
                let output = env.run(&["receipts", "show", name]);
                output.status.success().then(|| stdout(&output))
            });
            env.write("a.receipt", &shown);
            let verified = env.json(&["receipts", "verify", "--json", "a.receipt"]);
            assert_eq!(verified, json!({"verified": true, "audit": "agrees"}), "{name}");
            let elsewhere = TestEnv::with_config("approval: {hello: client}");
            elsewhere.write("a.receipt", &shown);
            let verified = elsewhere.json(&["receipts", "verify", "--json", "a.receipt"]);
            assert_eq!(verified["audit"], "elsewhere", "{name}");
            elsewhere.write("b.receipt", &shown.replacen("local", "somebody", 1));
            let broken = elsewhere.run(&["receipts", "verify", "b.receipt"]);
            assert_eq!(broken.status.code(), Some(6), "{}", stderr(&broken));
            assert_eq!(env.json(&["receipts", "replay", "--json", "a.receipt"])["changed"], 0, "{name}");
            if name == id {
                let output = elsewhere.run(&["receipts", "replay", "--json", "a.receipt"]);
                assert_eq!(output.status.code(), Some(6));
                let replayed: Value = serde_json::from_slice(&output.stdout).unwrap();
                let changed =
                    replayed["steps"].as_array().unwrap().iter().filter(|step| step["now"] != step["recorded"]);
                let changed: Vec<_> = changed.map(|step| step["check"].as_str().unwrap()).collect();
                assert_eq!(changed, ["approval"], "{replayed}");
            }
        }
        assert_eq!(env.run(&["receipts", "show", "nothing"]).status.code(), Some(5));
    }
}

#[test]
fn receipts_keep_digests_only_where_that_is_wished() {
    let env = TestEnv::with_config("receipts: {content: digests, keep: 1h}");
    let answer = ask(&env, &["say hello to Kunigunde"]);
    let shown = stdout(&env.run(&["receipts", "show", answer["receipt"].as_str().unwrap()]));
    assert!(shown.contains("blake3:") && !shown.contains("Kunigunde"), "{shown}");
    env.write("a.receipt", &shown);
    assert_eq!(env.json(&["receipts", "verify", "--json", "a.receipt"])["verified"], json!(true));
    let database = fs::read(env.path(".countersign/countersign.db")).unwrap();
    let log = fs::read(env.path(".countersign/countersign.db-wal")).unwrap_or_default();
    let kept =
        String::from_utf8_lossy(&database).contains("Kunigunde") || String::from_utf8_lossy(&log).contains("Kunigunde");
    assert!(!kept, "nothing of it is in the database");
}
