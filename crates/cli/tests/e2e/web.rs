//! `web-fetch` against an origin that tries everything: what must come back, what must not, and what must never be asked.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::env::{Server, TestEnv, wait_for};
use crate::origin::Origin;
use crate::rows::{Caller, WIRES, filled_in};

/// What no fetch may cost, in the memory of the server.
const MEMORY_KB: u64 = 64 * 1024;

/// Shorter than the default, so that what hangs does so for less.
const TIMEOUT: Duration = Duration::from_secs(3);

#[test]
fn rows_hold_on_every_wire() {
    let origin = Origin::start();
    let port = origin.port.to_string();
    for profile in ["web", "web_open", "web_names", "web_dns"] {
        let env = TestEnv::with_config(&config(profile, &origin));
        let mut callers = WIRES.map(|wire| (wire, Caller::start(&env, wire)));
        let mut ran = 0;
        for row in rows().filter(|row| row["profile"] == profile) {
            let row = filled_in(&row, &[("{{PORT}}", &port)]);
            for (wire, caller) in &mut callers {
                check(&row, wire, &origin, caller);
            }
            ran += 1;
        }
        assert!(ran >= if profile == "web" { 50 } else { 2 }, "only {ran} rows of {profile} ran");
    }
    let elsewhere: Vec<_> = origin.requests().into_iter().filter(|hit| hit["at"] != "127.0.0.1").collect();
    assert_eq!(elsewhere, Vec::<Value>::new(), "another address than the one that is allowed");
}

/// What the corpus's configurations say, with our own name server, so that nothing leaves the machine.
fn config(profile: &str, origin: &Origin) -> String {
    let keys = match profile {
        "web" => json!({"allowed_domains": ["127.0.0.1", "allowed.test"], "allow_private_hosts": ["127.0.0.1"]}),
        "web_open" => json!({}),
        "web_names" => json!({"allowed_domains": ["example.com", "nx.allowed.test"]}),
        _ => {
            let below = ["mixed", "private", "meta", "v6loop", "v6mapped", "cname", "nx", "rebind", "slowdns"];
            let mut allowed: Vec<String> = below.map(|name| format!("{name}.allowed.test")).into();
            allowed.extend(["allowed.test".to_owned(), "*.wild.test".to_owned()]);
            let private = ["allowed.test", "sub.wild.test", "a.b.wild.test"];
            json!({"allowed_domains": allowed, "allow_private_hosts": private})
        }
    };
    let mut web_fetch = keys;
    web_fetch["resolver"] = json!(format!("127.0.0.1:{}", origin.dns_port));
    web_fetch["timeout"] = json!(format!("{}s", TIMEOUT.as_secs()));
    json!({"web_fetch": web_fetch}).to_string()
}

fn rows() -> impl Iterator<Item = Value> {
    include_str!("../corpus/urls.jsonl").lines().map(|line| serde_json::from_str(line).unwrap())
}

fn check(row: &Value, wire: &str, origin: &Origin, caller: &mut Caller) {
    let before = origin.requests().len();
    let start = Instant::now();
    let (mut answer, mut unwanted) = (Value::Null, Vec::new());
    if let Some(steps) = row["steps"].as_array() {
        for step in steps {
            answer = caller.call("web-fetch", &step["input"]);
            let texts = step["must_not_contain"].as_array().cloned().unwrap_or_default();
            unwanted = texts.iter().map(|text| text.as_str().unwrap().to_owned()).collect();
        }
    } else {
        answer = caller.call("web-fetch", &row["input"]);
    }
    let took = start.elapsed();
    let text = answer.to_string();
    let context = format!("{wire}: {row}: {}", text.chars().take(600).collect::<String>());
    assert!(!text.contains("CANARY_") && unwanted.iter().all(|unwanted| !text.contains(unwanted)), "{context}");
    assert!(row["max_ms"].as_u64().is_none_or(|limit| took < Duration::from_millis(limit)), "{took:?}: {context}");
    assert_ne!(answer["code"], "INTERNAL_ERROR", "{context}");
    assert!(answer["code"].is_string() || answer["ok"] == json!(true), "{context}");
    let one_of = |expected: &Value, found: &Value| {
        expected.is_null() || expected == found || expected.as_array().is_some_and(|list| list.contains(found))
    };
    match row["expect"].as_str().unwrap() {
        "allow" => {
            assert_eq!(answer["code"], Value::Null, "{context}");
            for (key, value) in row["eq"].as_object().into_iter().flatten() {
                assert_eq!(answer[key], *value, "{context}");
            }
            assert!(text.contains(row["must_contain"].as_str().unwrap_or_default()), "{context}");
        }
        "any" => {
            let disallowed = answer["error"] == "Disallowed domain";
            assert!(row["check"] != "not_disallowed" || !disallowed, "{context}");
        }
        _ => {
            assert!(answer["code"].is_string(), "{context}");
            assert!(one_of(&row["code"], &answer["code"]) && one_of(&row["error"], &answer["error"]), "{context}");
            if row["error_re"].is_string() {
                let error = answer["error"].as_str().unwrap();
                let known = ["Network error: ", "Content size exceeds limit of 5 MB.", "Disallowed"];
                assert!(known.iter().any(|beginning| error.starts_with(beginning)), "{context}");
            }
        }
    }
    let since: Vec<Value> = origin.requests().into_iter().skip(before).collect();
    assert!(row["no_hit"] != json!(true) || since.is_empty(), "{since:?}: {context}");
    assert!(since.iter().all(|hit| hit["path"] != row["no_hit"]), "{since:?}: {context}");
}

/// Path, code (none for success) and what the answer must have in it.
const TRICKS: [(&str, Option<&str>, &str); 45] = [
    ("/ok", None, "OK_origin"),
    ("/redir_rel", None, "OK_origin"),
    ("/redir3", None, "OK_origin"),
    ("/hops/5", None, "OK_origin"),
    ("/hops/6", Some("NETWORK_ERROR"), "more than 5 redirects"),
    ("/redir_loop", Some("NETWORK_ERROR"), "redirects"),
    ("/redir_20", Some("NETWORK_ERROR"), "redirects"),
    ("/redir_private", Some("ACCESS_DENIED"), "Disallowed domain"),
    ("/redir_v6", Some("ACCESS_DENIED"), "Disallowed domain"),
    ("/redir_rebind", Some("ACCESS_DENIED"), "Disallowed domain"),
    ("/redir_scheme_rel", Some("ACCESS_DENIED"), "Disallowed domain"),
    ("/redir_file", Some("ACCESS_DENIED"), "Disallowed protocol"),
    ("/redir_bad", Some("NETWORK_ERROR"), "no URL"),
    ("/redir_nolocation", Some("UPSTREAM_ERROR"), "Request failed with status code: 302"),
    ("/401_basic", Some("UPSTREAM_ERROR"), "Request failed with status code: 401"),
    ("/500", Some("UPSTREAM_ERROR"), "Request failed with status code: 500"),
    ("/204", None, r#""bytes":0"#),
    ("/charset", None, "café"),
    ("/utf8", None, "naïve"),
    ("/ctype_upper", None, "TEXT/PLAIN"),
    ("/ctype_garbage", None, r#""content":"x""#),
    ("/ansi", None, "OK "),
    ("/no_length", None, "OK_close"),
    ("/png_as_text", Some("UNSUPPORTED_TYPE"), "Unsupported content type"),
    ("/no_ctype_bin", Some("UNSUPPORTED_TYPE"), "Unsupported content type"),
    ("/octet", Some("UNSUPPORTED_TYPE"), "application/octet-stream"),
    ("/msword", Some("UNSUPPORTED_TYPE"), "application/msword"),
    ("/nul_text", Some("UNSUPPORTED_TYPE"), "Unsupported content type"),
    ("/exact5m", None, r#""bytes":5242880"#),
    ("/gzip_exact5m", None, r#""bytes":5242880"#),
    ("/over5m", Some("TOO_LARGE"), "Content size exceeds limit of 5 MB."),
    ("/over5m_chunked", Some("TOO_LARGE"), "Content size exceeds limit of 5 MB."),
    ("/gzip_over5m", Some("TOO_LARGE"), "Content size exceeds limit of 5 MB."),
    ("/gzip_bomb", Some("TOO_LARGE"), "Content size exceeds limit of 5 MB."),
    ("/gzip_bomb_nested", Some("TOO_LARGE"), "Content size exceeds limit of 5 MB."),
    ("/lie_big", Some("TOO_LARGE"), "Content size exceeds limit of 5 MB."),
    ("/infinite", Some("TOO_LARGE"), "Content size exceeds limit of 5 MB."),
    ("/br_claim", Some("NETWORK_ERROR"), "content coding"),
    ("/gzip_trunc", Some("NETWORK_ERROR"), "content coding"),
    ("/huge_header", Some("NETWORK_ERROR"), "Network error: "),
    ("/many_headers", Some("NETWORK_ERROR"), "Network error: "),
    ("/http09", Some("NETWORK_ERROR"), "Network error: "),
    ("/bad_status", Some("NETWORK_ERROR"), "Network error: "),
    ("/drip", Some("TIMEOUT"), "Network error: timed out after 3s"),
    ("/never", Some("TIMEOUT"), "Network error: timed out after 3s"),
];

#[test]
fn whatever_the_origin_does_is_answered_in_time_and_within_memory() {
    let origin = Origin::start();
    let env = TestEnv::with_config(&config("web", &origin));
    let server = env.serve();
    fetch(&server, &url(&origin, "/ok"));
    let before = memory_kb(&server, "VmRSS:");
    for (path, code, words) in TRICKS {
        let start = Instant::now();
        let answer = fetch(&server, &url(&origin, path));
        let text = answer.to_string();
        let shown: String = text.chars().take(600).collect();
        assert_eq!(answer["code"].as_str(), code, "{path}: {shown}");
        assert!(text.contains(words) && !text.contains("CANARY_"), "{path}: {shown}");
        assert!(start.elapsed() < 2 * TIMEOUT, "{path}");
    }
    // All at once cost no more, since what is too large is let go before it is whole.
    std::thread::scope(|scope| {
        for path in ["/gzip_bomb", "/gzip_bomb_nested", "/deflate_bomb", "/infinite"].repeat(2) {
            let (server, url) = (&server, url(&origin, path));
            scope.spawn(move || assert_eq!(fetch(server, &url)["code"], "TOO_LARGE"));
        }
    });
    let most = memory_kb(&server, "VmHWM:");
    assert!(most < before + MEMORY_KB, "{before} kB before, {most} kB at most");
    let elsewhere: Vec<_> = origin.requests().into_iter().filter(|hit| hit["at"] != "127.0.0.1").collect();
    assert_eq!(elsewhere, Vec::<Value>::new());
}

#[test]
fn names_lead_where_their_addresses_may() {
    let origin = Origin::start();
    let env = TestEnv::with_config(&config("web_dns", &origin));
    let server = env.serve();
    // The first answer about it is public; whoever asks again gets another.
    let questions = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for kind in [1, 28] {
        let mut question =
            b"\x07\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06rebind\x07allowed\x04test\x00\x00".to_vec();
        question.extend([kind, 0, 1]);
        questions.send_to(&question, ("127.0.0.1", origin.dns_port)).unwrap();
    }
    wait_for("the name server", || (origin.hits().len() >= 2).then_some(()));
    for (host, code) in [
        ("allowed.test", None),
        ("ALLOWED.test.", None),
        ("sub.wild.test", None),
        ("a.b.wild.test", None),
        ("other.wild.test", Some("ACCESS_DENIED")),
        ("wild.test", Some("ACCESS_DENIED")),
        ("sub.allowed.test", Some("ACCESS_DENIED")),
        ("rebind.allowed.test", Some("ACCESS_DENIED")),
        ("mixed.allowed.test", Some("ACCESS_DENIED")),
        ("private.allowed.test", Some("ACCESS_DENIED")),
        ("meta.allowed.test", Some("ACCESS_DENIED")),
        ("v6loop.allowed.test", Some("ACCESS_DENIED")),
        ("v6mapped.allowed.test", Some("ACCESS_DENIED")),
        ("cname.allowed.test", Some("ACCESS_DENIED")),
        ("nx.allowed.test", Some("NETWORK_ERROR")),
        ("slowdns.allowed.test", Some("TIMEOUT")),
    ] {
        let before = origin.requests().len();
        let answer = fetch(&server, &format!("http://{host}:{}/ok", origin.port));
        assert_eq!(answer["code"].as_str(), code, "{host}: {answer}");
        assert_eq!(origin.requests().len() - before, usize::from(code.is_none()), "{host}");
    }
    // A redirect between two names that are both allowed.
    assert_eq!(fetch(&server, &format!("http://allowed.test:{}/redir_rel", origin.port))["content"], "OK_origin");
}

#[test]
fn the_machine_itself_is_not_public_by_any_of_its_names() {
    let env = TestEnv::new();
    let server = env.serve();
    let own = server.address;
    for host in ["localhost", "LOCALHOST.", "a.b.localhost", "127.0.0.1", "[::1]", "0", "[::ffff:127.0.0.1]"] {
        let answer = fetch(&server, &format!("http://{host}:{}/healthz", own.port()));
        assert_eq!(
            (&answer["code"], &answer["error"]),
            (&json!("ACCESS_DENIED"), &json!("Disallowed domain")),
            "{host}"
        );
    }
}

#[test]
fn the_environment_names_no_proxy() {
    let origin = Origin::start();
    let env = TestEnv::with_config(&config("web", &origin));
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let mut command = env.command(&["serve", "--listen", "127.0.0.1:0"]);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(name, &address);
    }
    let server = Server::start(command);
    assert_eq!(fetch(&server, &url(&origin, "/ok"))["content"], "OK_origin");
    // It does not answer what is no HTTP.
    assert_eq!(fetch(&server, &url(&origin, "/ok").replace("http:", "https:"))["code"], "TIMEOUT");
    assert!(proxy.accept().is_err(), "somebody came");
}

#[test]
fn what_may_be_fetched_changes_without_a_restart() {
    let origin = Origin::start();
    let env = TestEnv::with_config("web_fetch: {allow_private_hosts: [127.0.0.1]}\n");
    let server = env.serve();
    let page = url(&origin, "/ok");
    assert_eq!(fetch(&server, &page)["content"], "OK_origin");
    // A connection is kept; it does not keep the permission.
    env.write("countersign.yaml", "web_fetch: {allow_private_hosts: []}\n");
    wait_for("the new list to count", || (fetch(&server, &page)["code"] == "ACCESS_DENIED").then_some(()));
    let lines = env.log_lines(|lines| lines.iter().any(|line| line["keys"] == json!("web_fetch")));
    assert!(
        lines.iter().all(|line| !line["message"].as_str().is_some_and(|text| text.contains("restart"))),
        "{lines:?}"
    );
}

/// The request is all there is: nothing of ours goes along, nothing of an earlier answer, and no part of the URL twice.
#[test]
fn nothing_goes_out_but_the_request() {
    let origin = Origin::start();
    let env = TestEnv::with_config(&config("web", &origin));
    let server = env.serve();
    assert_eq!(fetch(&server, &url(&origin, "/set_cookie"))["headers"]["set-cookie"], "a=OK_cookie_value");
    fetch(&server, &url(&origin, "/echo_headers?a=%0d%0aX-Injected:%201&b=ü#fragment"));
    let heads: Vec<_> = origin.requests().iter().map(|hit| hit["head"].as_str().unwrap().to_owned()).collect();
    let head = heads.last().unwrap().to_ascii_lowercase();
    let (line, headers) = head.split_once("\r\n").unwrap();
    assert_eq!(line, "get /echo_headers?a=%0d%0ax-injected:%201&b=%c3%bc http/1.1");
    let names: Vec<_> =
        headers.split("\r\n").filter_map(|header| header.split_once(':')).map(|(name, _)| name).collect();
    assert_eq!(names, ["host", "user-agent", "accept", "accept-encoding"]);
}

/// A page that never ends, and a caller who goes away: so does the connection.
#[test]
fn a_caller_who_goes_away_takes_the_fetch_along() {
    let env = TestEnv::with_config("web_fetch: {allow_private_hosts: [127.0.0.1]}\n");
    let server = env.serve();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let body = json!({"url": format!("http://{}/", listener.local_addr().unwrap())}).to_string();
    let mut caller = crate::http::connect(server.address);
    let head = "POST /mcp/tool/web-fetch HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    write!(caller, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let (mut fetching, _) = listener.accept().unwrap();
    fetching.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nbeginning").unwrap();
    drop(caller);
    let start = Instant::now();
    wait_for("the connection to close", || fetching.write_all(b" and more").is_err().then_some(()));
    assert!(start.elapsed() < Duration::from_secs(10));
}

fn fetch(server: &Server, url: &str) -> Value {
    server.post("/mcp/tool/web-fetch", &json!({"url": url}).to_string()).json()
}

fn url(origin: &Origin, path: &str) -> String {
    format!("http://127.0.0.1:{}{path}", origin.port)
}

fn memory_kb(server: &Server, key: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
