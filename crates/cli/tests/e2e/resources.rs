//! Resources and prompts of somebody else's server: who may watch them and for how long, and that having them is bounded and
//! recorded like a call of a tool.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::env::{Server, TestEnv, stdout, wait_for};
use crate::http::{Answer, connect, request};
use crate::mcp_http::BOTH;
use crate::mcp_stdio::meta;

/// A server that speaks `$ERA`, writes down in `$HEARD` what it hears, and does with a resource what its name says.
const TOY: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
about='"serverInfo":{"name":"toy","version":"1"},"capabilities":{"resources":{"subscribe":true},"prompts":{}}'
while IFS= read -r line; do
  printf '%s\n' "$line" >> "$HEARD"
  id=$(printf '%s' "$line" | sed -n 's/^{"id":\([0-9]*\).*/\1/p')
  complete='"resultType":"complete"'
  case "$ERA $line" in
    modern*'"method":"server/discover"'*) answer="{$complete,\"supportedVersions\":[\"2026-07-28\"],$about}" ;;
    *'"method":"server/discover"'*) say "\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}"; continue ;;
    *'"method":"initialize"'*) answer="{\"protocolVersion\":\"2025-11-25\",$about}" ;;
    *'"method":"tools/list"'*) answer="{$complete,\"tools\":[]}" ;;
    *'"method":"resources/list"'*) answer="{$complete,\"resources\":[{\"uri\":\"f://a\",\"name\":\"a\"},{\"uri\":\"f://b\",\"name\":\"b\"}]}" ;;
    *'"method":"resources/templates/list"'*) answer="{$complete,\"resourceTemplates\":[{\"uriTemplate\":\"do://{what}\",\"name\":\"do\"}]}" ;;
    *'"method":"prompts/list"'*) answer="{$complete,\"prompts\":[{\"name\":\"greet\"},{\"name\":\"slow\"}]}" ;;
    *'"method":"resources/subscribe"'*|*'"method":"resources/unsubscribe"'*) answer="{}" ;;
    *'"method":"subscriptions/listen"'*) say '"method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}'; continue ;;
    *'"uri":"do://die"'*) exit 1 ;;
    *'"uri":"do://nothing"'*|*'"name":"slow"'*) continue ;;
    *'"uri":"do://report"'*)
      token=$(printf '%s' "$line" | sed -n 's/.*"progressToken":\([0-9]*\).*/\1/p')
      say "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token,\"progress\":1,\"total\":2}"
      answer="{$complete,\"contents\":[]}" ;;
    *'"uri":"do://change'*)
      say '"method":"notifications/resources/updated","params":{"uri":"f://a"}'
      answer="{$complete,\"contents\":[]}" ;;
    *'"method":"resources/read"'*) answer="{$complete,\"contents\":[{\"uri\":\"f://a\",\"text\":\"hello\"}]}" ;;
    *'"method":"prompts/get"'*) answer="{$complete,\"description\":\"d\",\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"hello\"}}]}" ;;
    *) continue ;;
  esac
  say "\"id\":$id,\"result\":$answer"
done
"#;

const ERAS: [&str; 2] = ["legacy", "modern"];

/// The toy as `r`, and what else is configured.
struct World {
    env: TestEnv,
    server: Server,
    /// Of the first caller, where there are tokens.
    bearer: Option<String>,
}

impl World {
    fn new(era: &str, more: Value) -> Self {
        let env = TestEnv::new();
        let heard = env.path("heard").display().to_string();
        let toy = json!({"command": "sh", "args": ["-c", TOY], "env": {"ERA": era, "HEARD": heard}});
        let mut config = more;
        let bearer = config["auth"]["tokens"][0]["token"].as_str().map(|token| format!("Bearer {token}"));
        let server = &mut config["servers"]["r"];
        let own = server.take();
        *server = toy;
        for (key, value) in own.as_object().into_iter().flatten() {
            server[key] = value.clone();
        }
        env.write("countersign.yaml", &config.to_string());
        let server = env.serve();
        let world = Self { env, server, bearer };
        wait_for("the toy", || world.heard("prompts/list").first().cloned());
        // Each list is there when it comes.
        for (list, key, one) in [
            ("resources/list", "resources", "r+f://a"),
            ("resources/templates/list", "resourceTemplates", "r+do://{what}"),
            ("prompts/list", "prompts", "r__greet"),
        ] {
            wait_for(list, || {
                let listed = world.ask(list, None, json!({}), &[]).json();
                listed["result"][key].to_string().contains(one).then_some(())
            });
        }
        world
    }

    /// The messages of this method that the toy has heard.
    fn heard(&self, method: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.env.path("heard")).unwrap_or_default();
        let messages = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        messages.filter(|message: &Value| message["method"] == method).collect()
    }

    /// One request of the modern era.
    fn ask(&self, method: &str, name: Option<&str>, mut params: Value, more: &[(&str, &str)]) -> Answer {
        if params["_meta"].is_null() {
            params["_meta"] = meta();
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let mut headers = vec![("content-type", "application/json"), ("accept", BOTH)];
        headers.extend([("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)]);
        headers.extend(name.map(|name| ("mcp-name", name)));
        let bearer = self.bearer.iter().filter(|_| more.is_empty());
        headers.extend(bearer.map(|bearer| ("authorization", bearer.as_str())));
        headers.extend(more);
        request(self.server.address, "POST", "/mcp", &headers, body.as_bytes())
    }

    fn read(&self, uri: &str) -> Answer {
        self.ask("resources/read", Some(uri), json!({"uri": uri}), &[])
    }

    /// A request whose answer is read as it comes.
    fn open(&self, method: &str, name: Option<&str>, mut params: Value, more: &str) -> Stream {
        params["_meta"] = meta();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let (address, length) = (self.server.address, body.len());
        let name = name.map(|name| format!("mcp-name: {name}\r\n")).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: {BOTH}\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}{more}content-length: {length}\r\n\r\n"
        );
        let mut connection = connect(address);
        connection.write_all((head + &body).as_bytes()).unwrap();
        Stream { connection, heard: Vec::new(), all: Vec::new() }
    }

    fn listen(&self, uris: &[&str], more: &str) -> Stream {
        let params = json!({"notifications": {"resourceSubscriptions": uris}});
        let mut stream = self.open("subscriptions/listen", None, params, more);
        stream.hear_until("notifications/subscriptions/acknowledged");
        stream
    }

    /// What the toy is asked to tell of now, as far as it has heard.
    fn watched(&self, era: &str) -> Vec<String> {
        let uri = |message: &Value| message["params"]["uri"].as_str().unwrap_or_default().to_owned();
        if era == "modern" {
            let last = self.heard("subscriptions/listen").pop().unwrap_or_default();
            let cancelled = self.heard("notifications/cancelled");
            let over = cancelled.iter().any(|cancelled| cancelled["params"]["requestId"] == last["id"]);
            let uris = last["params"]["notifications"]["resourceSubscriptions"].as_array().cloned();
            let uris = uris.filter(|_| !over).unwrap_or_default();
            return uris.iter().map(|uri| uri.as_str().unwrap().to_owned()).collect();
        }
        let mut watched: Vec<_> = self.heard("resources/subscribe").iter().map(uri).collect();
        for over in self.heard("resources/unsubscribe") {
            let index = watched.iter().position(|watched| *watched == uri(&over)).unwrap();
            watched.remove(index);
        }
        watched
    }

    fn wait_until_watched(&self, era: &str, expected: &[&str]) {
        wait_for("subscriptions", || (self.watched(era) == expected).then_some(()));
    }

    /// The log's line about the last such call.
    fn recorded(&self, tool: &str, outcome: &str) -> Value {
        let is_it = |line: &&Value| line["tool"] == tool && line["outcome"] == outcome;
        let lines = self.env.log_lines(|lines| lines.iter().any(|line| is_it(&line)));
        lines.iter().rfind(is_it).unwrap().clone()
    }
}

struct Stream {
    connection: TcpStream,
    heard: Vec<u8>,
    all: Vec<u8>,
}

impl Stream {
    /// All up to this, which is then forgotten.
    fn hear_until(&mut self, what: &str) {
        let mut chunk = [0; 4096];
        loop {
            let text = String::from_utf8_lossy(&self.heard).into_owned();
            if let Some(place) = text.find(what) {
                self.heard.drain(..place + what.len());
                return;
            }
            let count = self.connection.read(&mut chunk).unwrap();
            assert!(count > 0, "the stream ended without {what}: {text}");
            self.heard.extend_from_slice(&chunk[..count]);
            self.all.extend_from_slice(&chunk[..count]);
        }
    }
}

/// A session of the older era.
struct Session<'a> {
    world: &'a World,
    id: String,
}

impl<'a> Session<'a> {
    fn open(world: &'a World) -> Self {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let headers = [("content-type", "application/json"), ("accept", BOTH)];
        let opened = request(world.server.address, "POST", "/mcp", &headers, hello.to_string().as_bytes());
        let session = Self { world, id: opened.header("mcp-session-id").unwrap().to_owned() };
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn send(&self, message: &Value) -> Answer {
        let headers = [("content-type", "application/json"), ("accept", BOTH)];
        let headers = [&headers[..], &self.own()].concat();
        request(self.world.server.address, "POST", "/mcp", &headers, message.to_string().as_bytes())
    }

    fn own(&self) -> [(&str, &str); 2] {
        [("mcp-session-id", &self.id), ("mcp-protocol-version", "2025-11-25")]
    }

    fn ask(&self, method: &str, uri: &str) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": {"uri": uri}});
        let answer = self.send(&message);
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let mut message = text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok());
        message.next_back().unwrap_or_else(|| panic!("{text}"))
    }

    fn close(self) {
        assert_eq!(request(self.world.server.address, "DELETE", "/mcp", &self.own(), b"").status, 204);
    }
}

#[test]
fn a_listener_hears_of_the_resources_it_names_until_it_goes() {
    for era in ERAS {
        let world = World::new(era, json!({}));
        let mut listener = world.listen(&["r+f://a"], "");
        world.wait_until_watched(era, &["f://a"]);
        assert_eq!(world.read("r+do://change").status, 200);
        listener.hear_until("\"uri\":\"r+f://a\"");
        drop(listener);
        world.wait_until_watched(era, &[]);
    }
}

#[test]
fn a_resource_is_watched_as_long_as_anybody_watches_it() {
    for era in ERAS {
        let world = World::new(era, json!({}));
        let (one, other) = (Session::open(&world), Session::open(&world));
        for session in [&one, &other, &one] {
            assert_eq!(session.ask("resources/subscribe", "r+f://a")["result"], json!({}));
        }
        assert_eq!(world.watched(era), ["f://a"], "once for all");
        assert_eq!(one.ask("resources/unsubscribe", "r+f://a")["result"], json!({}));
        let mut listener = world.listen(&["r+f://a"], "");
        other.close();
        assert_eq!(world.read("r+do://change").status, 200);
        listener.hear_until("\"uri\":\"r+f://a\"");
        assert_eq!(world.watched(era), ["f://a"], "one is left");
        drop(listener);
        world.wait_until_watched(era, &[]);
    }
}

#[test]
fn a_session_that_was_closed_watches_nothing() {
    let world = World::new("legacy", json!({}));
    let session = Session::open(&world);
    for uri in ["r+f://a", "r+f://b"] {
        assert_eq!(session.ask("resources/subscribe", uri)["result"], json!({}));
    }
    world.wait_until_watched("legacy", &["f://a", "f://b"]);
    session.close();
    world.wait_until_watched("legacy", &[]);
}

#[test]
fn a_server_that_comes_back_is_told_again_and_watchers_look_again() {
    for era in ERAS {
        let world = World::new(era, json!({}));
        let mut listener = world.listen(&["r+f://a"], "");
        world.wait_until_watched(era, &["f://a"]);
        fs::remove_file(world.env.path("heard")).unwrap();
        drop(world.read("r+do://die"));
        world.wait_until_watched(era, &["f://a"]);
        // Nobody knows what happened meanwhile.
        listener.hear_until("\"uri\":\"r+f://a\"");
        wait_for("the toy", || (world.read("r+do://change").json()["result"].is_object()).then_some(()));
        listener.hear_until("\"uri\":\"r+f://a\"");
    }
}

#[test]
fn a_server_that_is_configured_anew_is_told_as_well() {
    let world = World::new("legacy", json!({}));
    let mut listener = world.listen(&["r+f://a"], "");
    world.wait_until_watched("legacy", &["f://a"]);
    fs::remove_file(world.env.path("heard")).unwrap();
    let config = fs::read_to_string(world.env.path("countersign.yaml")).unwrap();
    world.env.write("countersign.yaml", &config.replace("\"ERA\"", "\"OTHER\":\"\",\"ERA\""));
    world.wait_until_watched("legacy", &["f://a"]);
    listener.hear_until("\"uri\":\"r+f://a\"");
    drop(listener);
    world.wait_until_watched("legacy", &[]);
}

#[test]
fn what_a_caller_may_not_read_it_may_not_watch() {
    let tokens = json!([{"name": "all", "token": "all"}, {"name": "ci", "token": "ci", "tools": ["hello"]}]);
    let world = World::new("legacy", json!({"auth": {"tokens": tokens}}));
    let ci = [("authorization", "Bearer ci")];
    assert!(world.ask("resources/read", Some("r+f://a"), json!({"uri": "r+f://a"}), &ci).json()["error"].is_object());
    let opened = {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let headers = [("content-type", "application/json"), ("accept", BOTH), ci[0]];
        request(world.server.address, "POST", "/mcp", &headers, hello.to_string().as_bytes())
    };
    let own = [("mcp-session-id", opened.header("mcp-session-id").unwrap()), ("mcp-protocol-version", "2025-11-25")];
    let headers = [&[("content-type", "application/json"), ("accept", BOTH), ci[0]], &own[..]].concat();
    let send = |message: Value| {
        let answer = request(world.server.address, "POST", "/mcp", &headers, message.to_string().as_bytes());
        String::from_utf8_lossy(&answer.body).into_owned()
    };
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for uri in ["r+f://a", "r+f://nothing"] {
        let params = json!({"uri": uri});
        let answer = send(json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": params}));
        assert!(answer.contains("-32002"), "{answer}");
    }
    let mut listener = world.listen(&["r+f://a"], "authorization: Bearer ci\r\n");
    let mut allowed = world.listen(&["r+f://b", "r+f://a"], "authorization: Bearer all\r\n");
    wait_for("subscriptions", || (world.watched("legacy").len() == 2).then_some(()));
    assert_eq!(world.read("r+do://change").status, 200);
    allowed.hear_until("\"uri\":\"r+f://a\"");
    world.server.signal("TERM");
    listener.hear_until("\"resultType\":\"complete\"");
    assert!(!String::from_utf8_lossy(&listener.all).contains("resources/updated"));
}

#[test]
fn a_resource_that_does_not_come_ends_in_time_and_is_recorded() {
    for era in ERAS {
        let world = World::new(era, json!({"servers": {"r": {"timeout": "1s"}}}));
        let wanted =
            [("resources/read", "r+do://nothing", "r__resources.read"), ("prompts/get", "r__slow", "r__prompts.get")];
        for (method, name, tool) in wanted {
            let params = if method == "prompts/get" { json!({"name": name}) } else { json!({"uri": name}) };
            let late = world.ask(method, Some(name), params, &[]).json();
            assert_eq!(late["error"]["data"]["code"], "TIMEOUT", "{late}");
            let line = world.recorded(tool, "TIMEOUT");
            assert_eq!((&line["event"], &line["wire"]), (&json!("tool_call"), &json!("mcp")), "{line}");
        }
        wait_for("the requests to be taken back", || (world.heard("notifications/cancelled").len() >= 2).then_some(()));
        assert_eq!(world.read("r+f://a").json()["result"]["contents"][0]["text"], "hello");
        assert_eq!(world.recorded("r__resources.read", "ok")["parameters"], json!({"uri": "r+f://a"}));
        let greeting = world.ask("prompts/get", Some("r__greet"), json!({"name": "r__greet"}), &[]).json();
        assert_eq!(greeting["result"]["messages"][0]["content"]["text"], "hello", "{greeting}");
        assert_eq!(greeting["result"]["description"], "d");
        let metrics = String::from_utf8(world.server.get("/metrics").body).unwrap();
        for line in [
            r#"countersign_tool_calls_total{tool="r__resources.read",outcome="TIMEOUT"} 1"#,
            r#"countersign_tool_calls_total{tool="r__prompts.get",outcome="ok"} 1"#,
        ] {
            assert!(metrics.contains(line), "{line} in\n{metrics}");
        }
        wait_for("audit records", || {
            let entries = stdout(&world.env.run(&["audit", "export"]));
            (entries.contains("r__resources.read") && entries.contains("r__prompts.get")).then_some(())
        });
    }
}

#[test]
fn what_a_server_has_waits_for_the_person_that_its_tools_wait_for() {
    let world = World::new("legacy", json!({"servers": {"r": {"approval": "out_of_band"}}}));
    let held = world.read("r+f://a").json();
    assert_eq!(held["error"]["data"]["code"], "APPROVAL_REQUIRED", "{held}");
    let held = world.ask("prompts/get", Some("r__greet"), json!({"name": "r__greet"}), &[]).json();
    assert_eq!(held["error"]["data"]["code"], "APPROVAL_REQUIRED", "{held}");
    assert!(world.heard("resources/read").is_empty() && world.heard("prompts/get").is_empty());
}

#[test]
fn whoever_hangs_up_takes_the_reading_back() {
    let world = World::new("legacy", json!({}));
    let reading = world.open("resources/read", Some("r+do://nothing"), json!({"uri": "r+do://nothing"}), "");
    wait_for("the toy", || (!world.heard("resources/read").is_empty()).then_some(()));
    assert!(world.heard("notifications/cancelled").is_empty());
    drop(reading);
    wait_for("the request to be taken back", || (!world.heard("notifications/cancelled").is_empty()).then_some(()));
    world.recorded("r__resources.read", "abandoned");
}

#[test]
fn reading_counts_against_a_limit_and_progress_goes_on() {
    let world = World::new("legacy", json!({"limits": {"rate_per_minute": {"r__resources.read": 2}}}));
    let mut params = json!({"uri": "r+do://report"});
    params["_meta"] = meta();
    params["_meta"]["progressToken"] = json!("mine");
    let answer = world.ask("resources/read", Some("r+do://report"), params, &[]);
    let text = String::from_utf8_lossy(&answer.body);
    assert!(text.contains("notifications/progress") && text.contains("\"mine\""), "{text}");
    assert!(world.read("r+f://a").json()["result"].is_object());
    let refused = world.read("r+f://a").json();
    assert_eq!(refused["error"]["data"]["code"], "RATE_LIMITED", "{refused}");
    assert!(refused["error"]["data"]["details"]["retry_after_seconds"].is_u64(), "{refused}");
    assert_eq!(world.heard("resources/read").len(), 2, "the third never left");
    assert!(world.env.run(&["config", "check"]).status.success());
}
