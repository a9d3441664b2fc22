//! `countersign mcp` as its clients see it: one message a line, whatever is sent.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::env::{PATIENCE, TestEnv, wait_for};

/// More than a server on embedded defaults needs with every bound in use, and far less than what is thrown at it.
const BOUNDED_KB: u64 = 120_000;

/// A running `countersign mcp`. Killed when dropped.
pub(crate) struct Session {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
}

impl Session {
    pub(crate) fn start(env: &TestEnv, arguments: &[&str]) -> Self {
        let (mut child, output) = spawn(env, arguments);
        let input = child.stdin.take();
        let (sender, lines) = mpsc::sync_channel(16);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, input, lines }
    }

    fn send(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent =
            std::process::Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    pub(crate) fn send_json(&mut self, message: &Value) {
        self.send(&format!("{message}\n"));
    }

    /// Opens a session of the older era.
    pub(crate) fn initialize(&mut self, capabilities: &Value) {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
        self.send_json(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert!(self.next()["result"].is_object());
        self.send_json(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Everything on stdout is a message.
    pub(crate) fn next(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// One call that stands alone, and its answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta()});
        self.send(&format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})));
        self.next()
    }

    /// The same in a session of the older era.
    pub(crate) fn legacy_call(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.send_json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
        self.next()
    }

    /// Closes stdin; the exit code and how long the end took.
    pub(crate) fn end(mut self) -> (Option<i32>, Duration) {
        let start = Instant::now();
        drop(self.input.take());
        let status = wait_for("the session to end", || self.child.try_wait().unwrap());
        (status.code(), start.elapsed())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(env: &TestEnv, arguments: &[&str]) -> (Child, ChildStdout) {
    let mut command = env.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let output = child.stdout.take().unwrap();
    (child, output)
}

pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn call(id: &Value, name: &str) -> String {
    let params = json!({"name": "hello", "arguments": {"name": name}, "_meta": meta()});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}

fn resident_kb(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn bad_lines_are_answered_and_good_ones_go_on() {
    let env = TestEnv::new();
    let mut session = Session::start(&env, &["mcp", "--log-level", "trace"]);
    for (line, code) in [
        ("garbage", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":1", -32700),
        ("\u{0}\u{1}", -32700),
        ("[]", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"Method":"tools/list"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        ("7", -32600),
    ] {
        session.send(&format!("{line}\n"));
        assert_eq!(session.next()["error"]["code"], code, "{line}");
    }
    session.send("\n\r\n  \n");
    session.send(&call(&json!("a"), "Ann"));
    let answer = session.next();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!("a"), &json!(false)), "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["message"], "Hello, Ann!");
    let params = json!({"name": "hello", "arguments": {"name": 5, "x": 1}, "_meta": meta()});
    for (method, params, code) in [
        ("no/such", json!({"_meta": meta()}), -32601),
        ("prompts/list", json!({"_meta": meta()}), -32601),
        ("tools/call", json!({"name": "no_such_tool", "_meta": meta()}), -32602),
        ("tools/call", json!({"name": "hello", "arguments": [1], "_meta": meta()}), -32602),
        ("tools/list", json!({}), -32602),
    ] {
        session.send(&format!("{}\n", json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": params})));
        assert_eq!(session.next()["error"]["code"], code, "{method} {params}");
    }
    session.send(&format!("{}\n", json!({"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": params})));
    let refused = session.next();
    assert_eq!(refused["result"]["isError"], json!(true), "bad arguments are a result: {refused}");
    assert_eq!(refused["result"]["structuredContent"]["details"].as_array().unwrap().len(), 2, "{refused}");
}

#[test]
fn the_end_of_input_is_the_end() {
    for begun in ["", "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"t"] {
        let env = TestEnv::new();
        let mut session = Session::start(&env, &["mcp"]);
        session.send(begun);
        let (code, took) = session.end();
        assert_eq!(code, Some(0), "after {begun:?}");
        assert!(took < Duration::from_secs(2), "{took:?} after {begun:?}");
    }
    let env = TestEnv::new();
    let mut session = Session::start(&env, &["mcp"]);
    session.send(&call(&json!(1), "Ann"));
    drop(session.input.take());
    assert_eq!(session.next()["id"], 1, "what was asked before is answered");
}

#[test]
fn a_legacy_client_shakes_hands() {
    let env = TestEnv::new();
    let mut session = Session::start(&env, &["mcp"]);
    let client =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    session.send(&format!("{}\n", json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client})));
    let answer = session.next();
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
    assert!(answer["result"]["capabilities"]["tools"].is_object(), "{answer}");
    session.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    let params = json!({"name": "hello", "arguments": {"name": "Ann"}});
    session.send(&format!("{}\n", json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})));
    let answer = session.next();
    assert_eq!(answer["result"]["structuredContent"]["message"], "Hello, Ann!", "{answer}");
    assert_eq!(answer["result"]["resultType"], Value::Null, "that era does not know it");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn ten_thousand_requests_at_once_get_their_own_answers() {
    const REQUESTS: usize = 10_000;
    let env = TestEnv::with_config("log: {level: \"off\"}\naudit: off\n");
    let mut session = Session::start(&env, &["mcp"]);
    let mut input = session.input.take().unwrap();
    let writing = std::thread::spawn(move || {
        for number in 0..REQUESTS {
            input.write_all(call(&json!(number), &format!("n{number}")).as_bytes()).unwrap();
        }
        input
    });
    let mut answers = BTreeMap::new();
    for _ in 0..REQUESTS {
        let answer = session.next();
        let message = answer["result"]["structuredContent"]["message"].as_str().unwrap().to_owned();
        assert_eq!(answers.insert(answer["id"].as_u64().unwrap(), message), None, "answered twice");
    }
    for (number, message) in answers {
        assert_eq!(message, format!("Hello, n{number}!"));
    }
    let kb = resident_kb(session.child.id());
    assert!(kb < BOUNDED_KB, "{kb} kB");
    session.input = Some(writing.join().unwrap());
}

#[test]
fn an_id_that_is_under_way_is_not_taken_again() {
    let env = TestEnv::new();
    let mut session = Session::start(&env, &["mcp"]);
    let listen = json!({"notifications": {"toolsListChanged": true}, "_meta": meta()});
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": listen});
    session.send(&format!("{listen}\n"));
    let acknowledged = session.next();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    session.send(&call(&json!(1), "Ann"));
    let refused = session.next();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32600)), "{refused}");
    session.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n");
    session.send(&call(&json!(2), "Ann"));
    assert_eq!(session.next()["id"], 2);
    session.send(&call(&json!(1), "Bob"));
    assert_eq!(session.next()["result"]["structuredContent"]["message"], "Hello, Bob!", "the id is free again");
}

#[test]
fn a_giant_line_is_refused_and_forgotten() {
    let env = TestEnv::new();
    let mut session = Session::start(&env, &["mcp"]);
    session.send(&"x".repeat(100_000_000));
    session.send("\n");
    let refused = session.next();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    session.send(&call(&json!(1), "Ann"));
    assert_eq!(session.next()["id"], 1, "the next line is a line again");
    let kb = resident_kb(session.child.id());
    assert!(kb < BOUNDED_KB, "{kb} kB");
}

#[test]
fn a_client_that_never_reads_is_not_read_either() {
    let env = TestEnv::new();
    let (mut child, output) = spawn(&env, &["mcp"]);
    let mut input = child.stdin.take().unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let writing = std::thread::spawn(move || {
        for number in 0..1_000_000 {
            if input.write_all(call(&json!(number), "Ann").as_bytes()).is_err() {
                return;
            }
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut before = usize::MAX;
    wait_for("the writer to be stopped", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = sent.load(Ordering::Relaxed);
        let stopped = now == before && now > 0;
        before = now;
        stopped.then_some(())
    });
    assert!(before < 10_000, "{before} requests were taken");
    let kb = resident_kb(child.id());
    assert!(kb < BOUNDED_KB, "{kb} kB");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(output);
    writing.join().unwrap();
}

#[test]
fn a_signal_ends_it_in_good_order() {
    for (signal, code) in [("TERM", 0), ("INT", 130)] {
        let env = TestEnv::new();
        let mut session = Session::start(&env, &["mcp"]);
        session.send(&call(&json!(1), "Ann"));
        session.next();
        let id = session.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        let status = wait_for("the session to end", || session.child.try_wait().unwrap());
        assert_eq!(status.code(), Some(code), "{signal}");
        assert!(env.run(&["audit", "verify"]).status.success());
    }
}

#[test]
fn a_call_that_the_end_cuts_off_is_recorded() {
    for signals in [&["TERM"][..], &["INT", "TERM"]] {
        let env = TestEnv::with_config("web_fetch: {allow_private_hosts: [\"127.0.0.1\"]}\n");
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut session = Session::start(&env, &["mcp"]);
        let arguments = json!({"url": format!("http://{}/", silent.local_addr().unwrap())});
        let params = json!({"name": "web-fetch", "arguments": arguments, "_meta": meta()});
        session.send_json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
        let _asked = silent.accept().unwrap();
        let begun = Instant::now();
        for signal in signals {
            session.signal(signal);
        }
        let status = wait_for("the session to end", || session.child.try_wait().unwrap());
        assert_eq!(status.code(), Some(if signals[0] == "INT" { 130 } else { 0 }), "{signals:?}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{signals:?}: {:?}", begun.elapsed());
        assert_eq!(env.json(&["audit", "verify", "--json"])["records"], json!(1), "{signals:?}");
    }
}

#[test]
fn the_short_way_and_the_sdks_way_say_the_same() {
    let env = TestEnv::new();
    env.write("long.txt", &"a \"quoted\" line\twith \\ and é\n".repeat(10_000));
    for legacy in [true, false] {
        let mut session = Session::start(&env, &["mcp"]);
        if legacy {
            session.initialize(&json!({}));
        }
        for (tool, arguments) in [
            ("read_repo_file", json!({"path": "long.txt"})),
            ("read_repo_file", json!({"path": ".env"})),
            ("read_repo_file", json!({"path": 7})),
            ("no_such_tool", json!({})),
        ] {
            let mut ask = |token: bool| {
                let mut meta = if legacy { json!({}) } else { meta() };
                if token {
                    // Whoever wants to hear of progress needs the SDK.
                    meta["progressToken"] = json!("t");
                }
                let mut params = json!({"name": tool, "arguments": arguments});
                if token || !legacy {
                    params["_meta"] = meta;
                }
                session.send_json(&json!({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params}));
                session.next()
            };
            let (short, sdk) = (ask(false), ask(true));
            assert!(
                short == sdk,
                "{tool} {arguments}, legacy {legacy}: {:.300} {:.300}",
                short.to_string(),
                sdk.to_string()
            );
        }
    }
}
