//! The configuration changes while calls are served.

use serde_json::json;

use crate::env::{TestEnv, wait_for};
use crate::http::request;

#[test]
fn tokens_and_limits_change_without_a_restart() {
    let env = TestEnv::with_config("auth: {tokens: [{name: old, token: old-token}]}");
    let server = env.serve();
    let status = |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
        request(server.address, "POST", "/v1/tools/hello", &headers, b"{}").status
    };
    assert_eq!((status("old-token"), status("new-token")), (200, 401));
    env.write(
        "countersign.yaml",
        "auth: {tokens: [{name: new, token: new-token}]}\nlimits: {rate_per_minute: {hello: 1}}\nroot: elsewhere\n",
    );
    wait_for("the new token to count", || (status("old-token") == 401).then_some(()));
    assert_eq!((status("new-token"), status("new-token")), (200, 429));
    let lines = env.log_lines(|lines| lines.iter().any(|line| line["keys"] == json!("root")));
    assert!(lines.iter().any(|line| line["keys"] == json!("auth, limits")), "{lines:?}");
}

#[test]
fn a_broken_file_changes_nothing() {
    let env = TestEnv::with_config("auth: {tokens: [{name: old, token: old-token}]}");
    let server = env.serve();
    env.write("countersign.yaml", "auth: {tokns: []}\n");
    server.signal("HUP");
    let lines = env.log_lines(|lines| lines.iter().any(|line| line["mistakes"].is_string()));
    let mistakes = lines.iter().find_map(|line| line["mistakes"].as_str()).unwrap();
    assert!(mistakes.contains("tokns") && mistakes.contains("tokens"), "{mistakes}");
    let headers = [("authorization", "Bearer old-token")];
    assert_eq!(request(server.address, "GET", "/v1/tools", &headers, b"").status, 200);
    assert_eq!(server.get("/v1/tools").status, 401, "the old tokens stay in force");
}
