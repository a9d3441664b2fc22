//! MCP over Streamable HTTP as clients see it: requests that stand alone, sessions of the older era, and streams.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

use crate::env::{Server, TestEnv, wait_for};
use crate::http::{Answer, connect, request};
use crate::mcp_stdio::meta;

pub(crate) const BOTH: &str = "application/json, text/event-stream";

pub(crate) fn modern(server: &Server, method: &str, name: Option<&str>, params: Value) -> Answer {
    modern_with(server, method, name, params, meta())
}

/// With what the client says of itself.
pub(crate) fn modern_with(server: &Server, method: &str, name: Option<&str>, mut params: Value, meta: Value) -> Answer {
    params["_meta"] = meta;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", BOTH),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ];
    headers.extend(name.map(|name| ("mcp-name", name)));
    request(server.address, "POST", "/mcp", &headers, body.as_bytes())
}

/// The older era, with whatever else goes into the head.
fn legacy(server: &Server, body: &Value, more: &[(&str, &str)]) -> Answer {
    let mut headers = vec![("content-type", "application/json"), ("accept", BOTH)];
    headers.extend(more);
    request(server.address, "POST", "/mcp", &headers, body.to_string().as_bytes())
}

pub(crate) fn legacy_call(server: &Server, tool: &str, arguments: &Value) -> Value {
    legacy_ask(server, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

/// One question in a session of its own, which is closed after it; its answer.
pub(crate) fn legacy_ask(server: &Server, method: &str, params: &Value) -> Value {
    let version = ("mcp-protocol-version", "2025-11-25");
    let opened = legacy(server, &initialize(), &[]);
    let session = ("mcp-session-id", opened.header("mcp-session-id").unwrap());
    legacy(server, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &[session, version]);
    let body = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params});
    let answer = events(&legacy(server, &body, &[session, version])).pop().unwrap();
    assert_eq!(request(server.address, "DELETE", "/mcp", &[session, version], b"").status, 204);
    answer
}

fn initialize() -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

fn hello(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "hello", "arguments": {"name": "Ann"}}})
}

/// The messages in a stream of events.
fn events(answer: &Answer) -> Vec<Value> {
    let text = String::from_utf8_lossy(&answer.body);
    text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok()).collect()
}

#[test]
fn a_request_stands_alone_and_is_answered_in_json() {
    let env = TestEnv::new();
    let server = env.serve();
    let answer = modern(&server, "tools/call", Some("hello"), json!({"name": "hello", "arguments": {"name": "Ann"}}));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let result = &answer.json()["result"];
    assert_eq!(result["structuredContent"]["message"], "Hello, Ann!", "{result}");
    assert_eq!((&result["isError"], &result["resultType"]), (&json!(false), &json!("complete")));
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"], "the text is its twin");
    assert_eq!(answer.header("mcp-session-id"), None);

    let listed = modern(&server, "tools/list", None, json!({})).json();
    let (tools, ttl) = (&listed["result"]["tools"], &listed["result"]["ttlMs"]);
    assert!(tools[0]["outputSchema"].is_object() && tools[0]["title"].is_string() && ttl.is_u64(), "{listed}");
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], json!(true));
    let found = modern(&server, "server/discover", None, json!({})).json();
    assert!(found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    assert!(found["result"]["instructions"].is_string(), "{found}");
    assert_eq!(found["result"]["capabilities"]["prompts"], Value::Null, "not offered, not declared");

    let calls = env.log_lines(|lines| lines.iter().any(|line| line["event"] == "tool_call"));
    assert!(calls.iter().any(|line| line["wire"] == "mcp" && line["caller"] == "anonymous"), "{calls:?}");
}

#[test]
fn contracts_are_resources() {
    let env = TestEnv::new();
    let server = env.serve();
    let listed = modern(&server, "resources/list", None, json!({})).json();
    assert_eq!(listed["result"]["resources"][0]["uri"], "contract://hello", "{listed}");
    let uri = "contract://hello";
    let read = modern(&server, "resources/read", Some(uri), json!({"uri": uri})).json();
    let document: Value = serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert!(document["properties"]["input"].is_object(), "{document}");
    let missing = modern(&server, "resources/read", Some("contract://x"), json!({"uri": "contract://x"})).json();
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
    let templates = modern(&server, "resources/templates/list", None, json!({})).json();
    assert_eq!(templates["result"]["resourceTemplates"], json!([]));
}

#[test]
fn head_and_body_must_agree() {
    let env = TestEnv::new();
    let server = env.serve();
    let params = json!({"name": "hello", "_meta": meta()});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let send = |version: &str, method: &str, name: Option<&str>| {
        let mut headers = vec![("content-type", "application/json"), ("accept", BOTH)];
        headers.extend([("mcp-protocol-version", version), ("mcp-method", method)]);
        headers.extend(name.map(|name| ("mcp-name", name)));
        let answer = request(server.address, "POST", "/mcp", &headers, body.as_bytes());
        (answer.status, answer.json()["error"]["code"].as_i64())
    };
    assert_eq!(send("2026-07-28", "tools/call", Some("hello")), (200, None));
    assert_eq!(send("2026-07-28", "tools/list", Some("hello")), (400, Some(-32020)));
    assert_eq!(send("2026-07-28", "tools/call", Some("other")), (400, Some(-32020)));
    assert_eq!(send("2026-07-28", "tools/call", None), (400, Some(-32020)));
    assert_eq!(send("2025-11-25", "tools/call", Some("hello")), (400, Some(-32020)));
    let without_version =
        [("content-type", "application/json"), ("accept", BOTH), ("mcp-method", "tools/call"), ("mcp-name", "hello")];
    let answer = request(server.address, "POST", "/mcp", &without_version, body.as_bytes());
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32020)), "no version in the head");
    let future = body.replace("2026-07-28", "2099-01-01");
    let headers = [&without_version[..], &[("mcp-protocol-version", "2099-01-01")]].concat();
    let answer = request(server.address, "POST", "/mcp", &headers, future.as_bytes());
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32022)), "a version of the future");
    assert!(answer.json()["error"]["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28")));
    let unknown = modern(&server, "no/such", None, json!({}));
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!(-32601)));
    let unknown = modern(&server, "tools/call", Some("nothing"), json!({"name": "nothing"}));
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (200, &json!(-32602)));
}

#[test]
fn a_session_belongs_to_the_one_who_opened_it() {
    let env = TestEnv::with_config("auth: {tokens: [{name: ann, token: ann-token}, {name: bob, token: bob-token}]}");
    let server = env.serve();
    let (ann, bob) = (("authorization", "Bearer ann-token"), ("authorization", "Bearer bob-token"));
    let version = ("mcp-protocol-version", "2025-11-25");
    let anybody = legacy(&server, &initialize(), &[]);
    assert_eq!((anybody.status, anybody.header("www-authenticate")), (401, Some("Bearer")));
    let opened = legacy(&server, &initialize(), &[ann]);
    assert_eq!(opened.status, 200);
    assert_eq!(events(&opened)[0]["result"]["protocolVersion"], "2025-11-25");
    let session = ("mcp-session-id", opened.header("mcp-session-id").unwrap());
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(legacy(&server, &ready, &[ann, session, version]).status, 202);

    let called = legacy(&server, &hello(2), &[ann, session, version]);
    assert_eq!(events(&called)[0]["result"]["structuredContent"]["message"], "Hello, Ann!");
    assert_eq!(legacy(&server, &hello(3), &[bob, session, version]).status, 404, "to bob it is not there");
    assert_eq!(legacy(&server, &hello(4), &[ann, version]).status, 400, "without a session there is none");
    let ping = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"});
    assert_eq!(events(&legacy(&server, &ping, &[ann, session, version]))[0]["result"], json!({}));

    let close = |who| request(server.address, "DELETE", "/mcp", &[who, session, version], b"").status;
    assert_eq!((close(bob), close(ann), close(ann)), (404, 204, 404));
    assert_eq!(legacy(&server, &hello(6), &[ann, session, version]).status, 404, "it is over");
    let log = env.log_lines(|lines| lines.iter().any(|line| line["session"].is_string()));
    assert!(log.iter().any(|line| line["session"] == session.1 && line["caller"] == "ann"), "{log:?}");
}

#[test]
fn sessions_are_bounded() {
    let env = TestEnv::with_config("log: {level: \"off\"}\naudit: off\n");
    let server = env.serve();
    let mut refused = 0;
    for _ in 0..1100 {
        match legacy(&server, &initialize(), &[]).status {
            200 => {}
            503 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!(refused, 1100 - 1024);
    assert_eq!(modern(&server, "tools/list", None, json!({})).status, 200, "others are not affected");
}

#[test]
fn plain_refusals_are_json_like_everywhere() {
    let env = TestEnv::new();
    let server = env.serve();
    for (method, headers, status) in [
        ("GET", &[("mcp-protocol-version", "2026-07-28")][..], 405),
        ("DELETE", &[("mcp-protocol-version", "2026-07-28")], 405),
        ("PUT", &[], 405),
        ("POST", &[], 415),
        ("POST", &[("content-type", "application/json"), ("content-encoding", "gzip")], 415),
        ("POST", &[("content-type", "application/json"), ("accept", "text/html")], 406),
    ] {
        let answer = request(server.address, method, "/mcp", headers, b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}");
        assert_eq!(answer.status, status, "{method} {headers:?}");
        assert!(answer.json()["error"].is_string(), "{method} {headers:?}");
    }
}

#[test]
fn a_subscription_streams_until_the_server_stops() {
    let env = TestEnv::new();
    let server = env.serve();
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta()});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}).to_string();
    let mut stream = connect(server.address);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: {BOTH}\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\ncontent-length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut heard = Vec::new();
    let mut hear_until = |what: &str| {
        let mut chunk = [0; 4096];
        while !String::from_utf8_lossy(&heard).contains(what) {
            let count = stream.read(&mut chunk).unwrap();
            assert!(count > 0, "the stream ended without {what}: {}", String::from_utf8_lossy(&heard));
            heard.extend_from_slice(&chunk[..count]);
        }
    };
    hear_until("notifications/subscriptions/acknowledged");
    if std::env::var_os("COUNTERSIGN_LONG").is_some() {
        // Longer than a connection may take for its next request.
        std::thread::sleep(Duration::from_secs(20));
        assert_eq!(server.get("/healthz").status, 200);
    }
    let start = std::time::Instant::now();
    server.signal("TERM");
    hear_until("\"resultType\":\"complete\"");
    assert_eq!(server.wait(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(5), "a listener does not hold up the end: {:?}", start.elapsed());
}

#[test]
fn clients_that_go_away_leave_nothing_behind() {
    // Nothing else may open files meanwhile, as an index does.
    let env = TestEnv::with_config("tools: [hello]\n");
    let server = env.serve();
    server.get("/healthz");
    let before = server.descriptors();
    for _ in 0..50 {
        let mut stream = connect(server.address);
        let head = format!("POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n", server.address);
        stream.write_all(format!("{head}content-length: 500\r\n\r\n{{\"jsonrpc\"").as_bytes()).unwrap();
    }
    wait_for("descriptors to be given back", || (server.descriptors() <= before).then_some(()));
    assert_eq!(server.get("/healthz").status, 200);
}
