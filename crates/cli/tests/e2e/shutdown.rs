//! Stopping in good order: what is under way finishes, what is new is not taken, nothing is lost.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::env::{TestEnv, wait_for};
use crate::http::{Answer, connect, read_all};

#[test]
fn a_request_under_way_is_finished() {
    let env = TestEnv::new();
    let server = env.serve();
    let address = server.address;
    let mut slow = connect(address);
    let head = format!(
        "POST /mcp/tool/hello HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{"
    );
    slow.write_all(head.as_bytes()).unwrap();
    let mut idle = connect(address);
    idle.write_all(format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.signal("TERM");
    wait_for("the listener to close", || TcpStream::connect(address).is_err().then_some(()));
    slow.write_all(b"}").unwrap();
    let answer = Answer::parse(&read_all(&mut slow)).unwrap();
    assert_eq!((answer.status, &answer.json()["message"]), (200, &json!("Hello, World!")));
    let stopped = Instant::now();
    assert_eq!(server.wait(), Some(0));
    assert!(stopped.elapsed() < Duration::from_secs(5), "an idle connection must not delay the end");
    assert_eq!(env.json(&["audit", "verify", "--json"])["records"], json!(1), "the last call is recorded");
}

#[test]
fn the_grace_period_is_an_end() {
    let env = TestEnv::with_config("http: {grace: 300ms}");
    let server = env.serve();
    let mut stuck = connect(server.address);
    let head = format!(
        "POST /mcp/tool/hello HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{",
        server.address
    );
    stuck.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let asked = Instant::now();
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    let lines = env.log_lines(|lines| {
        lines.iter().any(|line| line["message"].as_str().is_some_and(|text| text.contains("grace")))
    });
    assert!(lines.iter().any(|line| line["unfinished"] == json!(1)), "{lines:?}");
}

#[test]
fn an_interrupt_has_its_own_exit_code() {
    let env = TestEnv::new();
    let server = env.serve();
    server.signal("INT");
    assert_eq!(server.wait(), Some(130));
}
