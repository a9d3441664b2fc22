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
fn a_file_that_is_emptied_or_moved_away_opens_no_door() {
    let config = "auth: {tokens: [{name: old, token: old-token}]}\n";
    let env = TestEnv::with_config(config);
    let server = env.serve();
    let says = |words: &str| {
        env.log_lines(|lines| {
            lines.iter().any(|line| line["message"].as_str().is_some_and(|text| text.contains(words)))
        })
    };
    env.write("countersign.yaml", "");
    says("has no tokens");
    assert_eq!(server.get("/v1/tools").status, 401);
    std::fs::rename(env.path("countersign.yaml"), env.path("elsewhere.yaml")).unwrap();
    says("is gone");
    assert_eq!(server.get("/v1/tools").status, 401);
    // The file is still followed when it comes back.
    env.write("countersign.yaml", &config.replace("old-token", "new-token"));
    let headers = [("authorization", "Bearer new-token")];
    wait_for("the new token to count", || {
        (request(server.address, "GET", "/v1/tools", &headers, b"").status == 200).then_some(())
    });
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
