//! Bearer tokens: who may call, and what they may know of.

use serde_json::json;

use crate::env::{TestEnv, stderr};
use crate::http::{Answer, request};

const CONFIG: &str = "
auth:
  tokens:
    - {name: ci, token: token-of-ci, tools: [hello]}
    - {name: all, token: token-for-all}
    - {name: guest, token: \"${GUEST_TOKEN:-token-of-guest}\", tools: []}
";

#[test]
fn without_a_known_token_nothing_but_health_answers() {
    let env = TestEnv::with_config(CONFIG);
    let server = env.serve();
    let ask = |path: &str, token: Option<&str>| -> Answer {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let headers: Vec<_> = bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        request(server.address, "GET", path, &headers, b"")
    };
    for path in ["/v1/tools", "/v1/tools/hello", "/v1/stats", "/openapi.json", "/metrics"] {
        for token in [None, Some("wrong"), Some("token-of-c"), Some("")] {
            let refused = ask(path, token);
            assert_eq!(refused.status, 401, "{path} with {token:?}");
            assert_eq!(refused.header("www-authenticate"), Some("Bearer"), "{path}");
            assert_eq!(refused.json()["code"], "ACCESS_DENIED", "{path}");
        }
        assert_ne!(ask(path, Some("token-of-ci")).status, 401, "{path}");
    }
    assert_eq!((ask("/healthz", None).status, ask("/readyz", None).status), (200, 200));
    assert_eq!((ask("/nowhere", None).status, ask("/nowhere", Some("token-of-ci")).status), (401, 404));
}

#[test]
fn a_tool_that_is_not_listed_for_a_caller_does_not_exist_for_it() {
    let env = TestEnv::with_config(CONFIG);
    let server = env.serve();
    let call = |token: &str| {
        let headers = [("content-type", "application/json"), ("authorization", token)];
        request(server.address, "POST", "/v1/tools/hello", &headers, b"{}")
    };
    assert_eq!(call("Bearer token-of-ci").status, 200);
    let hidden = call("Bearer token-of-guest");
    assert_eq!(hidden.status, 404);
    assert_eq!(
        hidden.json(),
        json!({"tool": "hello", "ok": false, "error": "Unknown tool: hello", "code": "NOT_FOUND"})
    );
    let headers = [("authorization", "Bearer token-of-guest")];
    let openapi = request(server.address, "GET", "/openapi.json", &headers, b"").json();
    assert!(openapi["paths"]["/v1/tools/hello"].is_null());
    assert_eq!(request(server.address, "GET", "/metrics", &headers, b"").status, 403, "metrics name every tool");
    let all = [("authorization", "Bearer token-for-all")];
    assert_eq!(request(server.address, "GET", "/metrics", &all, b"").status, 200);
}

#[test]
fn an_address_for_others_needs_tokens() {
    let env = TestEnv::new();
    let refused = env.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(1));
    let text = stderr(&refused);
    assert!(text.contains("auth.tokens") && text.contains("127.0.0.1"), "{text}");
    assert!(!env.path(".countersign").exists(), "nothing was started");
}

#[test]
fn tokens_are_in_no_log_and_no_output() {
    let env = TestEnv::with_config(CONFIG);
    let server = env.serve();
    let headers = [("content-type", "application/json"), ("authorization", "Bearer token-of-ci")];
    request(server.address, "POST", "/v1/tools/hello", &headers, b"{}");
    let lines = env.log_lines(|lines| lines.iter().any(|line| line["event"] == "tool_call"));
    assert!(lines.iter().any(|line| line["caller"] == "ci"), "{lines:?}");
    let shown = env.run(&["config", "show"]);
    let everything = format!("{lines:?}{}{}", String::from_utf8_lossy(&shown.stdout), stderr(&shown));
    assert!(!everything.contains("token-of-"), "{everything}");
}
