//! The call log: one record per call, without secrets.

use std::fs;

use serde_json::{Value, json};

use crate::env::TestEnv;

#[test]
fn every_call_leaves_one_line() {
    let env = TestEnv::new();
    let server = env.serve();
    let id = server.post("/v1/tools/hello", r#"{"args": {"name": "Ann"}}"#).header("x-request-id").unwrap().to_owned();
    server.post("/mcp/tool/hello", r#"{"password": "hunter2"}"#);
    let lines = env.log_lines(|lines| lines.iter().filter(|line| line["event"] == "tool_call").count() == 2);
    let (first, second) = (&lines[0], &lines[1]);
    assert_eq!(first["request_id"], json!(id));
    for (key, value) in [
        ("tool", json!("hello")),
        ("caller", json!("anonymous")),
        ("wire", json!("rest")),
        ("parameters", json!({"name": "Ann"})),
        ("success", json!(true)),
        ("outcome", json!("ok")),
    ] {
        assert_eq!(first[key], value, "{key}");
    }
    assert!(first["duration_ms"].as_f64().unwrap() > 0.0 && first["result_size"].as_u64().unwrap() > 40, "{first}");
    assert_eq!((&second["outcome"], &second["success"]), (&json!("VALIDATION_ERROR"), &json!(false)));
    assert_eq!(second["parameters"], json!({"name": "World", "password": "***"}));
}

#[test]
fn without_log_and_audit_nothing_is_written() {
    let env = TestEnv::with_config("log: {level: off}\naudit: off\n");
    let server = env.serve();
    assert_eq!(server.post("/v1/tools/hello", "{}").status, 200);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert!(!env.path(".countersign/countersign.log").exists());
    assert_eq!(env.json(&["audit", "verify", "--json"])["records"], json!(0));
}

#[test]
fn an_error_is_logged_with_what_led_to_it() {
    let env = TestEnv::new();
    fs::create_dir(env.path("data")).unwrap();
    env.write("data/file", "");
    let server = env.serve();
    let input = json!({"command": "write_file", "path": "file/below", "content": "new"});
    let answer = server.post("/mcp/tool/file-io", &input.to_string()).json();
    assert_eq!(answer["code"], json!("IO_ERROR"), "{answer}");
    let of_the_write = |line: &&Value| line["message"] == "cannot write a file of the sandbox";
    let lines = env.log_lines(|lines| lines.iter().any(|line| of_the_write(&line)));
    let error = lines.iter().find(of_the_write).unwrap()["error"].as_str().unwrap();
    let reason = error.strip_prefix("the file cannot be written: ");
    assert!(reason.is_some_and(|reason| reason.contains("os error")), "{error}");
}
