//! Approvals as agents and people meet them: nobody but a person lets a call run, and then that call, once.

use serde_json::{Value, json};

use crate::env::{Server, TestEnv, stderr, stdout};
use crate::http::{Answer, request};
use crate::mcp_http::modern_with;
use crate::mcp_stdio::{Session, meta};

const TOOL: &str = "write_memory_entry";

const CONFIG: &str = "
auth:
  tokens:
    - {name: agent, token: token-of-agent}
    - {name: other, token: token-of-other}
    - {name: boss, token: token-of-boss, approver: true}
";

#[test]
fn an_approval_is_for_one_call_of_one_caller_with_these_arguments() {
    let env = TestEnv::with_config(CONFIG);
    let server = env.serve();
    let held = call(&server, "agent", &entry("first"));
    let (body, id) = (held.json(), approval_id(&held.json()["approval"]));
    assert_eq!((held.status, &body["code"], &body["ok"]), (202, &json!("APPROVAL_REQUIRED"), &json!(false)));
    let command = format!("countersign approvals approve {id}");
    assert!(body["error"].as_str().unwrap().contains(&command), "{body}");
    assert!(body["approval"]["command"].as_str().unwrap().starts_with(&command), "{body}");
    assert!(body["approval"]["expires_at"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{body}");
    let url = format!("http://{}/v1/approvals/{id}", server.address);
    assert_eq!(body["approval"]["url"], json!(url));
    let again = call(&server, "agent", &entry("first")).json();
    assert_eq!(approval_id(&again["approval"]), id, "asking twice holds one call");

    // The agent cannot decide, nor anybody without the role.
    for (token, status) in [(Some("agent"), 403), (Some("other"), 403), (Some("nobody"), 401), (None, 401)] {
        for decision in ["approve", "deny"] {
            assert_eq!(decide(&server, token, &id, decision).status, status, "{token:?}");
        }
        assert_eq!(ask(&server, "GET", "/v1/approvals", token, "").status, status, "{token:?}");
        assert_eq!(ask(&server, "GET", &format!("/v1/approvals/{id}"), token, "").status, status, "{token:?}");
    }
    let listed = ask(&server, "GET", "/v1/approvals", Some("boss"), "").json();
    assert_eq!((&listed["approvals"][0]["id"], &listed["approvals"][1]), (&json!(id), &Value::Null));
    assert!(listed["approvals"][0]["preview"].as_str().unwrap().contains(r#"{"e":"first"}"#), "{listed}");
    for body in ["{}", "{\"decision\":\"yes\"}", "{\"decision\":\"approve\",\"x\":1}", "[]", "\"approve\""] {
        let path = format!("/v1/approvals/{id}");
        assert_eq!(ask(&server, "POST", &path, Some("boss"), body).status, 400, "{body}");
    }
    for forged in ["000000000000", "x", "%2e%2e"] {
        assert_eq!(decide(&server, Some("boss"), forged, "approve").status, 404, "{forged}");
    }
    assert_eq!(call(&server, "agent", &entry("first")).status, 202, "nothing of that counted");
    assert_eq!(memory(&env), None);

    assert_eq!(decide(&server, Some("boss"), &id, "approve").json()["state"], "approved");
    assert_eq!(decide(&server, Some("boss"), &id, "approve").status, 400, "it is decided");
    assert_eq!(call(&server, "other", &entry("first")).status, 202, "another caller's");
    assert_eq!(call(&server, "agent", &entry("second")).status, 202, "other arguments");
    let mut smuggled = entry("first");
    smuggled["approved"] = json!(true);
    assert_eq!(call(&server, "agent", &smuggled).json()["code"], "VALIDATION_ERROR");
    assert_eq!(memory(&env), None);
    assert_eq!(call(&server, "agent", &entry("first")).status, 200);
    assert_eq!(call(&server, "agent", &entry("first")).status, 202, "an approval is used once");
    assert_eq!(memory(&env).as_deref(), Some("{\"e\":\"first\"}\n"));

    let export = stdout(&env.run(&["audit", "export"]));
    let decided = export.lines().find(|line| line.contains("\"event\":\"approved\"")).expect("the decision on record");
    assert!(
        decided.contains(&format!("\"approval\":\"{id}\"")) && decided.contains("\"caller\":\"boss\""),
        "{decided}"
    );
    let intent = export.lines().find(|line| line.contains("\"event\":\"intent\"")).expect("the call on record");
    assert!(intent.contains(&format!("\"approval\":\"{id}\"")), "what allowed it: {intent}");
}

#[test]
fn nobody_approves_a_call_of_their_own() {
    let env = TestEnv::with_config(CONFIG);
    let server = env.serve();
    let id = approval_id(&call(&server, "boss", &entry("mine")).json()["approval"]);
    assert_eq!(decide(&server, Some("boss"), &id, "approve").status, 403);
    assert_eq!(call(&server, "boss", &entry("mine")).status, 202);
    // Without tokens there is no approver, not even on loopback.
    let env = TestEnv::new();
    let server = env.serve();
    let held = server.post(&format!("/mcp/tool/{TOOL}"), &entry("mine").to_string()).json();
    let path = format!("/v1/approvals/{}", approval_id(&held["details"]));
    assert_eq!(server.post(&path, r#"{"decision":"approve"}"#).status, 403);
    assert_eq!(server.get("/v1/approvals").status, 403);
    assert_eq!(memory(&env), None);
}

#[test]
fn a_client_without_a_prompt_works_through_the_command_line() {
    let env = TestEnv::new();
    let mut session = Session::start(&env, &["mcp"]);
    let held = session.call(TOOL, &entry("one"));
    let held = &held["result"];
    assert_eq!((&held["isError"], &held["structuredContent"]["code"]), (&json!(true), &json!("APPROVAL_REQUIRED")));
    let id = approval_id(&held["structuredContent"]["details"]);
    let listed = stdout(&env.run(&["approvals"]));
    assert!(listed.contains(&id) && listed.contains(TOOL) && listed.contains("local"), "{listed}");
    let shown = stdout(&env.run(&["approvals", "show", &id]));
    assert!(
        shown.contains("pending") && shown.contains("│ Append to decisions.jsonl:\n│ {\"e\":\"one\"}\n(2 lines"),
        "{shown}"
    );
    let approved = env.run(&["approvals", "approve", &id]);
    assert!(approved.status.success() && stdout(&approved).starts_with("approved"), "{}", stderr(&approved));
    assert!(stdout(&approved).contains("│ {\"e\":\"one\"}"), "nobody approves unseen: {}", stdout(&approved));
    assert_eq!(session.call(TOOL, &entry("one"))["result"]["structuredContent"]["success"], json!(true));
    assert!(stdout(&env.run(&["approvals", "show", &id])).contains("used"));
    let again = env.run(&["approvals", "approve", &id]);
    assert_eq!(again.status.code(), Some(5), "{}", stderr(&again));

    let id = approval_id(&session.call(TOOL, &entry("two"))["result"]["structuredContent"]["details"]);
    env.json(&["approvals", "deny", &id, "--json"]);
    assert_eq!(session.call(TOOL, &entry("two"))["result"]["structuredContent"]["code"], "APPROVAL_DENIED");
    assert_eq!(memory(&env).as_deref(), Some("{\"e\":\"one\"}\n"));
    assert_eq!(env.json(&["approvals", "--json"]), json!({"approvals": []}));
    for (arguments, code) in [
        (&["approvals", "approve", "nonsense"][..], 1),
        (&["approvals", "approve", "000000000000"], 5),
        (&["approvals", "show", "000000000000"], 5),
        (&["approvals", "show", "000000000000", "--watch"], 1),
    ] {
        let failed = env.run(arguments);
        assert_eq!(failed.status.code(), Some(code), "{arguments:?}: {}", stderr(&failed));
        assert!(stderr(&failed).contains("hint:"), "{}", stderr(&failed));
    }
}

#[test]
fn a_modern_client_asks_and_calls_again() {
    let env = TestEnv::new();
    let server = env.serve();
    let asked = prompted(&server, &entry("one"), None);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (name, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    let message = question["params"]["message"].as_str().unwrap();
    assert!(
        message.contains("│ Append to decisions.jsonl:\n│ {\"e\":\"one\"}\n(2 lines") && message.contains("anonymous"),
        "{message}"
    );
    let state = asked["requestState"].as_str().unwrap();
    let answer = |action: &str, state: Option<&str>| json!({"responses": {name: {"action": action}}, "state": state});

    // Without the state, with another, with that of other arguments: nothing is written.
    let refused = prompted(&server, &entry("one"), Some(answer("accept", None)));
    assert_eq!(refused["structuredContent"]["code"], "VALIDATION_ERROR", "{refused}");
    let mut tampered = state.to_owned();
    tampered.replace_range(10..11, if &state[10..11] == "A" { "B" } else { "A" });
    for forged in [tampered.as_str(), "e30", ""] {
        let refused = raw(&server, &entry("one"), Some(answer("accept", Some(forged))));
        assert_eq!(refused["error"]["code"], json!(-32602), "{refused}");
    }
    let refused = raw(&server, &entry("other"), Some(answer("accept", Some(state))));
    assert_eq!(refused["error"]["code"], json!(-32602), "{refused}");
    let dismissed = prompted(&server, &entry("one"), Some(answer("cancel", Some(state))));
    assert_eq!(dismissed["structuredContent"]["code"], "APPROVAL_REQUIRED", "{dismissed}");
    assert_eq!(memory(&env), None);

    // Another process on the same data folder may hear the answer.
    let second = env.serve();
    let done = prompted(&second, &entry("one"), Some(answer("accept", Some(state))));
    assert_eq!(done["structuredContent"]["success"], json!(true), "{done}");
    let replayed = prompted(&server, &entry("one"), Some(answer("accept", Some(state))));
    assert_eq!(replayed["resultType"], "input_required", "the old answer is no answer to the new question: {replayed}");
    assert_eq!(memory(&env).as_deref(), Some("{\"e\":\"one\"}\n"));

    let asked = prompted(&server, &entry("two"), None);
    let name = asked["inputRequests"].as_object().unwrap().keys().next().unwrap();
    let declined = json!({"responses": {name: {"action": "decline"}}, "state": asked["requestState"]});
    let denied = prompted(&server, &entry("two"), Some(declined));
    assert_eq!(denied["structuredContent"]["code"], "APPROVAL_DENIED", "{denied}");
    assert_eq!(prompted(&server, &entry("two"), None)["structuredContent"]["code"], "APPROVAL_DENIED");
    let export = stdout(&env.run(&["audit", "export"]));
    for event in ["approved", "denied"] {
        let decided = export.lines().find(|line| line.contains(&format!("\"event\":\"{event}\""))).unwrap();
        assert!(decided.contains("\"wire\":\"client\""), "{decided}");
    }
}

#[test]
fn a_modern_clients_no_is_a_no_whatever_was_decided_elsewhere() {
    let env = TestEnv::new();
    let server = env.serve();
    let asked = prompted(&server, &entry("no"), None);
    let id = asked["inputRequests"].as_object().unwrap().keys().next().unwrap();
    env.json(&["approvals", "approve", id, "--json"]);
    let declined = json!({"responses": {id: {"action": "decline"}}, "state": asked["requestState"]});
    for said in [Some(declined), None] {
        let denied = prompted(&server, &entry("no"), said);
        assert_eq!(denied["structuredContent"]["code"], "APPROVAL_DENIED", "{denied}");
    }
    assert_eq!(memory(&env), None);
}

#[test]
fn an_older_client_is_asked_at_once() {
    let env = TestEnv::new();
    for (action, code) in
        [("accept", Value::Null), ("decline", json!("APPROVAL_DENIED")), ("cancel", json!("APPROVAL_REQUIRED"))]
    {
        let mut session = Session::start(&env, &["mcp"]);
        session.initialize(&json!({"elicitation": {}}));
        session.send_json(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {"name": TOOL, "arguments": entry(action)}}));
        let question = session.next();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("{{\"e\":\"{action}\"}}")), "{message}");
        session
            .send_json(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action, "content": {}}}));
        let answer = session.next();
        assert_eq!((&answer["id"], &answer["result"]["structuredContent"]["code"]), (&json!(7), &code), "{answer}");
    }
    // One that says it can ask, and then cannot.
    let mut session = Session::start(&env, &["mcp"]);
    session.initialize(&json!({"elicitation": {}}));
    session.send_json(&json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call",
        "params": {"name": TOOL, "arguments": entry("unable")}}));
    let question = session.next();
    let error = json!({"code": -32601, "message": "no"});
    session.send_json(&json!({"jsonrpc": "2.0", "id": question["id"], "error": error}));
    assert_eq!(session.next()["result"]["structuredContent"]["code"], "APPROVAL_REQUIRED");
    assert_eq!(memory(&env).as_deref(), Some("{\"e\":\"accept\"}\n"));
}

#[test]
fn a_no_is_a_no_whatever_was_decided_elsewhere() {
    let env = TestEnv::new();
    let mut session = Session::start(&env, &["mcp"]);
    session.initialize(&json!({"elicitation": {}}));
    let call = |id: u64| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": TOOL, "arguments": entry("no")}})
    };
    session.send_json(&call(1));
    let question = session.next();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    // The same call meanwhile is not asked about a second time.
    session.send_json(&call(2));
    let second = session.next();
    assert_eq!(
        (&second["id"], &second["result"]["structuredContent"]["code"]),
        (&json!(2), &json!("APPROVAL_REQUIRED"))
    );
    let id = approval_id(&second["result"]["structuredContent"]["details"]);
    env.json(&["approvals", "approve", &id, "--json"]);
    session.send_json(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}));
    let answer = session.next();
    assert_eq!(answer["result"]["structuredContent"]["code"], "APPROVAL_DENIED", "{answer}");
    assert_eq!(memory(&env), None);
    let export = stdout(&env.run(&["audit", "export"]));
    assert!(export.contains("\"event\":\"approved\"") && export.contains("\"event\":\"denied\""), "{export}");
}

#[test]
fn a_prompt_that_is_open_does_not_keep_the_server() {
    let env = TestEnv::new();
    let mut session = Session::start(&env, &["mcp"]);
    session.initialize(&json!({"elicitation": {}}));
    session.send_json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": TOOL, "arguments": entry("open")}}));
    assert_eq!(session.next()["method"], "elicitation/create");
    session.signal("TERM");
    // It may be told first that the question is taken back.
    let mut answer = session.next();
    while answer["id"] != json!(1) {
        answer = session.next();
    }
    // Told how else to go on, or that the call was ended: whichever comes first.
    let required = answer["result"]["structuredContent"]["code"] == json!("APPROVAL_REQUIRED");
    assert!(required || answer["error"].is_object(), "{answer}");
    let (code, took) = session.end();
    assert!(code == Some(0) && took < std::time::Duration::from_secs(4), "{code:?} {took:?}");
}

#[test]
fn out_of_band_does_not_count_the_clients_answer() {
    let env = TestEnv::with_config("approval: {write_memory_entry: out_of_band, hello: client}\n");
    let server = env.serve();
    let held = prompted(&server, &entry("one"), None);
    assert_eq!(held["structuredContent"]["code"], "APPROVAL_REQUIRED", "{held}");
    let id = approval_id(&held["structuredContent"]["details"]);
    let answer = json!({"responses": {&id: {"action": "accept"}}, "state": null});
    assert_eq!(prompted(&server, &entry("one"), Some(answer))["structuredContent"]["code"], "APPROVAL_REQUIRED");
    assert_eq!(memory(&env), None);
    // Any tool can be put under approval; one that wants it cannot be let off.
    assert_eq!(server.post("/mcp/tool/hello", "{}").status, 202);
    let env = TestEnv::with_config("approval: {write_memory_entry: never}\n");
    let refused = env.run(&["serve"]);
    assert!(refused.status.code() == Some(1) && stderr(&refused).contains(TOOL), "{}", stderr(&refused));
}

#[test]
fn nobody_is_asked_about_what_would_be_refused() {
    let env = TestEnv::new();
    let server = env.serve();
    for (arguments, code) in [
        (json!({"file": "decisions.jsonl", "entry": "{not json"}), "VALIDATION_ERROR"),
        (json!({"file": "best_practices.md", "entry": "é".repeat(10_000)}), "TOO_LARGE"),
    ] {
        assert_eq!(prompted(&server, &arguments, None)["structuredContent"]["code"], code);
    }
    assert_eq!(env.json(&["approvals", "--json"]), json!({"approvals": []}));
    // What hides in the text is shown to whoever decides.
    let hidden = json!({"file": "best_practices.md", "entry": "safe\u{202e}\u{1b}[2Jtext"});
    let asked = prompted(&server, &hidden, None).to_string();
    assert!(asked.contains(r"safe\\u{202e}\\u{1b}[2Jtext"), "{asked}");
}

#[test]
fn a_caller_cannot_hold_calls_without_end() {
    let env = TestEnv::new();
    let server = env.serve();
    let call = |n: usize| server.post(&format!("/mcp/tool/{TOOL}"), &entry(&n.to_string()).to_string());
    let held: Vec<Answer> = (0..66).map(call).collect();
    assert_eq!((held[63].status, held[64].status, held[65].status), (202, 429, 429));
    assert!(held[64].header("retry-after").is_some());
    // To be denied makes no room for the same in other words.
    let id = approval_id(&held[0].json()["details"]);
    env.json(&["approvals", "deny", &id, "--json"]);
    assert_eq!(call(66).status, 429);
    let id = approval_id(&held[1].json()["details"]);
    env.json(&["approvals", "approve", &id, "--json"]);
    assert_eq!((call(1).status, call(66).status), (200, 202));
}

fn entry(text: &str) -> Value {
    json!({"file": "decisions.jsonl", "entry": json!({"e": text}).to_string()})
}

fn approval_id(details: &Value) -> String {
    details["approval_id"].as_str().unwrap_or_else(|| panic!("no id in {details}")).to_owned()
}

fn memory(env: &TestEnv) -> Option<String> {
    std::fs::read_to_string(env.path(".claude/memory/decisions.jsonl")).ok()
}

fn ask(server: &Server, method: &str, path: &str, token: Option<&str>, body: &str) -> Answer {
    let bearer = token.map(|token| format!("Bearer token-of-{token}"));
    let mut headers = vec![("content-type", "application/json")];
    headers.extend(bearer.iter().map(|bearer| ("authorization", bearer.as_str())));
    request(server.address, method, path, &headers, body.as_bytes())
}

fn call(server: &Server, token: &str, arguments: &Value) -> Answer {
    ask(server, "POST", &format!("/v1/tools/{TOOL}"), Some(token), &json!({"args": arguments}).to_string())
}

fn decide(server: &Server, token: Option<&str>, id: &str, decision: &str) -> Answer {
    ask(server, "POST", &format!("/v1/approvals/{id}"), token, &json!({"decision": decision}).to_string())
}

/// A call by a client that can ask its user, perhaps with what the user said.
fn raw(server: &Server, arguments: &Value, said: Option<Value>) -> Value {
    let mut params = json!({"name": TOOL, "arguments": arguments});
    if let Some(mut said) = said {
        params["inputResponses"] = said["responses"].take();
        if said["state"].is_string() {
            params["requestState"] = said["state"].take();
        }
    }
    let mut meta = meta();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    modern_with(server, "tools/call", Some(TOOL), params, meta).json()
}

fn prompted(server: &Server, arguments: &Value, said: Option<Value>) -> Value {
    let mut answer = raw(server, arguments, said);
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].take()
}
