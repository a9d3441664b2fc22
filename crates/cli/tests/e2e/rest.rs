//! REST as documented, and every way of getting it wrong: a clear JSON error with the right status.

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::http::{exchange, request};

const JSON: (&str, &str) = ("content-type", "application/json");

#[test]
fn a_bad_request_gets_a_clear_error() {
    let env = TestEnv::new();
    let server = env.serve();
    let oversize = format!(r#"{{"args": {{"name": "{}"}}}}"#, "x".repeat(16 * 1024 * 1024));
    let deep = format!(r#"{{"args": {}"#, "[".repeat(200_000));
    let deep_arguments = format!(r#"{{"args": {{"name": {}1{}}}}}"#, "[".repeat(100), "]".repeat(100));
    for (what, headers, body, status, code, text) in [
        ("invalid JSON", &[JSON][..], &br#"{"args": {"#[..], 400, "VALIDATION_ERROR", "EOF while parsing"),
        ("no body", &[JSON], b"", 400, "VALIDATION_ERROR", "EOF while parsing"),
        ("trailing bytes", &[JSON], b"{} x", 400, "VALIDATION_ERROR", "trailing characters"),
        ("text/plain", &[("content-type", "text/plain")], b"{}", 415, "UNSUPPORTED_TYPE", "application/json"),
        ("no type", &[], b"{}", 415, "UNSUPPORTED_TYPE", "application/json"),
        ("two types", &[JSON, ("content-type", "text/plain")], b"{}", 415, "UNSUPPORTED_TYPE", "application/json"),
        ("oversize", &[JSON], oversize.as_bytes(), 413, "TOO_LARGE", "16777216 bytes"),
        ("200,000 levels", &[JSON], deep.as_bytes(), 400, "VALIDATION_ERROR", "recursion limit"),
        ("100 levels", &[JSON], deep_arguments.as_bytes(), 400, "VALIDATION_ERROR", "Invalid parameters"),
        ("invalid UTF-8", &[JSON], b"{\"args\": {\"name\": \"\xff\xfe\"}}", 400, "VALIDATION_ERROR", "unicode"),
        ("lone surrogate", &[JSON], br#"{"args": {"name": "\ud800"}}"#, 400, "VALIDATION_ERROR", "not valid JSON"),
        ("a key twice", &[JSON], br#"{"args": {"name": "a", "name": "b"}}"#, 400, "VALIDATION_ERROR", "appears twice"),
        ("args twice", &[JSON], br#"{"args": {}, "args": {}}"#, 400, "VALIDATION_ERROR", "appears twice"),
        ("a list", &[JSON], b"[]", 400, "VALIDATION_ERROR", "must be an object"),
        ("a text", &[JSON], b"\"x\"", 400, "VALIDATION_ERROR", "must be an object"),
        ("a stray key", &[JSON], br#"{"args": {}, "extra": 1}"#, 400, "VALIDATION_ERROR", "`extra`"),
        ("args not an object", &[JSON], br#"{"args": 7}"#, 400, "VALIDATION_ERROR", "Invalid parameters"),
        ("args null", &[JSON], br#"{"args": null}"#, 400, "VALIDATION_ERROR", "Invalid parameters"),
        ("unknown argument", &[JSON], br#"{"args": {"loud": true}}"#, 400, "VALIDATION_ERROR", "Invalid parameters"),
        ("wrong type", &[JSON], br#"{"args": {"name": 7}}"#, 400, "VALIDATION_ERROR", "Invalid parameters"),
        ("huge number", &[JSON], br#"{"args": {"name": 1e999}}"#, 400, "VALIDATION_ERROR", "number out of range"),
        ("bad origin", &[JSON, ("origin", "http://evil.test")], b"{}", 403, "ACCESS_DENIED", "origin"),
        ("bad host", &[JSON, ("host", "evil.test")], b"{}", 421, "ACCESS_DENIED", "evil.test"),
    ] {
        let answer = request(server.address, "POST", "/v1/tools/hello", headers, body);
        let result = answer.json();
        assert_eq!((answer.status, result["code"].as_str()), (status, Some(code)), "{what}: {result}");
        assert!(result["error"].as_str().unwrap().contains(text), "{what}: {result}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{what}");
    }
    assert_eq!(server.post("/v1/tools/hello", "{}").status, 200, "and it still serves");
}

#[test]
fn routes_that_do_not_exist_say_so_in_json() {
    let env = TestEnv::new();
    let server = env.serve();
    for (method, path, status) in [
        ("GET", "/nowhere", 404),
        ("GET", "/", 404),
        ("POST", "/v1/tools/", 404),
        ("POST", "/v1/tools/no_such_tool", 404),
        ("POST", "/mcp/tool/no_such_tool", 404),
        ("GET", "/v1/tools/no_such_tool", 404),
        ("POST", "/v1/tools/read_file/../hello", 404),
        ("POST", "/v1/tools/%68ello%00", 404),
        ("POST", "/v1/tools/%ff", 404),
        ("POST", "/mcp/tool/%ff", 404),
        ("GET", "/v1/tools/%ff", 404),
        ("POST", "/v1/tools/hello/", 404),
        ("PUT", "/v1/tools/hello", 405),
        ("DELETE", "/v1/tools/hello", 405),
        ("GET", "/mcp/tool/hello", 405),
        ("POST", "/v1/tools", 405),
        ("POST", "/healthz", 405),
    ] {
        let answer = request(server.address, method, path, &[JSON], if method == "POST" { b"{}" } else { b"" });
        let result: Value = answer.json();
        assert_eq!(answer.status, status, "{method} {path}: {result}");
        assert!(result["error"].is_string() && result["code"].is_string(), "{method} {path}: {result}");
        assert_eq!(result["ok"].is_boolean(), path.starts_with("/v1/tools/"), "{method} {path}: {result}");
    }
    let unknown = server.post("/v1/tools/no_such_tool", "{}").json();
    let expected =
        json!({"tool": "no_such_tool", "ok": false, "error": "Unknown tool: no_such_tool", "code": "NOT_FOUND"});
    assert_eq!(unknown, expected);
}

#[test]
fn the_service_routes_answer() {
    let env = TestEnv::new();
    let server = env.serve();
    assert_eq!(server.get("/healthz").json(), json!({"status": "ok"}));
    assert_eq!(server.get("/readyz").json(), json!({"status": "ready"}));
    server.post("/v1/tools/hello", "{}");
    let stats = server.get("/v1/stats").json();
    assert_eq!((&stats["tools"][0]["tool"], &stats["tools"][0]["ok"]), (&json!("hello"), &json!(1)));
    let metrics = server.get("/metrics");
    assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let text = String::from_utf8(metrics.body).unwrap();
    assert!(text.contains(r#"countersign_tool_calls_total{tool="hello",outcome="ok"} 1"#), "{text}");
    let openapi = server.get("/openapi.json").json();
    assert_eq!(openapi["openapi"], "3.1.0");
    for path in ["/v1/tools/hello", "/mcp/tool/hello", "/v1/tools", "/v1/stats", "/healthz", "/readyz", "/metrics"] {
        assert!(openapi["paths"][path].is_object(), "{path}");
    }
}

#[test]
fn an_answer_names_its_request_and_a_rate_limit_its_wait() {
    let env = TestEnv::with_config("limits: {rate_per_minute: {hello: 2}}");
    let server = env.serve();
    let first = server.post("/v1/tools/hello", "{}");
    assert_eq!(first.header("x-request-id").map(str::len), Some(36));
    // A forwarded address is no new caller.
    let headers = [JSON, ("x-forwarded-for", "203.0.113.9")];
    assert_eq!(request(server.address, "POST", "/v1/tools/hello", &headers, b"{}").status, 200);
    let refused = request(server.address, "POST", "/v1/tools/hello", &headers, b"{}");
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json()["error"], "Rate limit exceeded for hello");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn pages_of_listed_origins_may_ask_and_read() {
    let env = TestEnv::with_config(
        "http: {allowed_origins: [\"http://app.example\"]}\nauth: {tokens: [{name: app, token: app-token}]}",
    );
    let server = env.serve();
    let asks = [("origin", "http://app.example"), ("access-control-request-method", "POST")];
    let preflight = request(server.address, "OPTIONS", "/v1/tools/hello", &asks, b"");
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("http://app.example"));
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("authorization"));
    let headers = [JSON, ("origin", "http://app.example"), ("authorization", "Bearer app-token")];
    let answer = request(server.address, "POST", "/v1/tools/hello", &headers, b"{}");
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("http://app.example")));
    let other = [("origin", "http://evil.test"), ("access-control-request-method", "POST")];
    let refused = request(server.address, "OPTIONS", "/v1/tools/hello", &other, b"");
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, None));
}

#[test]
fn one_connection_carries_many_requests() {
    let env = TestEnv::new();
    let server = env.serve();
    let one = format!(
        "POST /mcp/tool/hello HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}",
        server.address
    );
    let last = one.replace("content-type", "connection: close\r\ncontent-type");
    let answers = exchange(server.address, format!("{one}{one}{last}").as_bytes());
    assert_eq!(String::from_utf8_lossy(&answers).matches("Hello, World!").count(), 3);
}
