//! Clients that mean harm or have none to spare: slow ones, half-closed ones, far too many of them.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::env::{Server, TestEnv, wait_for};
use crate::http::{Answer, connect, exchange, exchange_half_closed, read_all};

#[test]
fn broken_requests_are_answered_or_closed_and_leave_nothing_behind() {
    // Nothing else may open files meanwhile, as an index does.
    let env = TestEnv::with_config("tools: [hello]\n");
    let server = env.serve();
    server.get("/healthz");
    let before = server.descriptors();
    let host = format!("host: {}\r\n", server.address);
    let long_header = format!("GET /healthz HTTP/1.1\r\n{host}x: {}\r\n\r\n", "y".repeat(300_000));
    let many_headers = format!("GET /healthz HTTP/1.1\r\n{host}{}\r\n", "a: b\r\n".repeat(200));
    let smuggled =
        format!("POST /mcp/tool/hello HTTP/1.1\r\n{host}content-length: 2\r\ncontent-length: 40\r\n\r\n{{}}");
    let lengths_and_chunks = format!(
        "POST /mcp/tool/hello HTTP/1.1\r\n{host}content-type: application/json\r\ncontent-length: 60\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
    );
    for (what, bytes, statuses) in [
        ("garbage", "\u{0}\u{1}\u{2}garbage\r\n\r\n".to_owned(), &[400][..]),
        ("TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\r\n\r\n".to_owned(), &[400]),
        ("an unknown version", format!("GET /healthz HTTP/9.9\r\n{host}\r\n"), &[400]),
        ("a header without end", long_header, &[400, 431]),
        ("two hundred headers", many_headers, &[400, 431]),
        ("no host", "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned(), &[400]),
        ("two hosts", format!("GET /healthz HTTP/1.1\r\n{host}{host}connection: close\r\n\r\n"), &[400]),
        ("two lengths", smuggled, &[400]),
        ("a length and chunks", lengths_and_chunks, &[200, 400]),
        (
            "a bad chunk",
            format!(
                "POST /mcp/tool/hello HTTP/1.1\r\n{host}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n"
            ),
            &[400],
        ),
    ] {
        let answer = exchange(server.address, bytes.as_bytes());
        let status = Answer::parse(&answer).map(|answer| answer.status);
        assert!(status.is_some_and(|status| statuses.contains(&status)), "{what}: {status:?}");
    }
    wait_for("descriptors to be given back", || (server.descriptors() <= before).then_some(()));
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn half_closed_connections_end() {
    let env = TestEnv::new();
    let server = env.serve();
    let host = format!("host: {}\r\n", server.address);
    let whole = format!("GET /healthz HTTP/1.1\r\n{host}\r\n");
    let start = Instant::now();
    let answer = exchange_half_closed(server.address, whole.as_bytes());
    assert_eq!(Answer::parse(&answer).map(|answer| answer.status), Some(200), "it can still read");
    for partial in [
        String::new(),
        "GET /heal".to_owned(),
        format!(
            "POST /mcp/tool/hello HTTP/1.1\r\n{host}content-type: application/json\r\ncontent-length: 50\r\n\r\n{{"
        ),
    ] {
        exchange_half_closed(server.address, partial.as_bytes());
    }
    assert!(start.elapsed() < Duration::from_secs(5), "none of them may be waited for");
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn slow_clients_are_cut_off_while_others_are_served() {
    let env = TestEnv::new();
    let server = env.serve();
    let start = Instant::now();
    let mut silent = connect(server.address);
    let mut dripping = connect(server.address);
    dripping.write_all(b"GET /healthz HTTP/1.1\r\nx: ").unwrap();
    let mut slow_body = connect(server.address);
    let head = format!(
        "POST /mcp/tool/hello HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{",
        server.address
    );
    slow_body.write_all(head.as_bytes()).unwrap();
    let drip = std::thread::spawn(move || {
        // A byte a second keeps no connection alive: the time counts in all.
        while start.elapsed() < Duration::from_secs(30) && dripping.write_all(b"y").is_ok() {
            std::thread::sleep(Duration::from_secs(1));
        }
        start.elapsed()
    });
    for _ in 0..20 {
        let asked = Instant::now();
        assert_eq!(server.get("/healthz").status, 200);
        assert!(asked.elapsed() < Duration::from_secs(2), "others must not notice");
    }
    silent.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    slow_body.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    read_all(&mut silent);
    assert!(start.elapsed() < Duration::from_secs(25), "a silent connection is closed");
    let refused = Answer::parse(&read_all(&mut slow_body)).unwrap();
    assert_eq!((refused.status, &refused.json()["code"]), (408, &"TIMEOUT".into()));
    assert!(drip.join().unwrap() < Duration::from_secs(25), "a dripping connection is closed");
}

#[test]
fn five_hundred_connections_do_not_exhaust_sixty_four_descriptors() {
    let env = TestEnv::new();
    let serve = env.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 64; exec \"$@\"", "sh"]).arg(serve.get_program()).args(serve.get_args());
    limited.current_dir(env.folder()).env_clear().env("PATH", "/usr/bin:/bin");
    let mut server = Server::start(limited);
    let mut connections: Vec<TcpStream> = Vec::new();
    for _ in 0..500 {
        // The kernel's queue may be full of others; they are refused one by one.
        if let Ok(stream) = TcpStream::connect_timeout(&server.address, Duration::from_secs(5)) {
            connections.push(stream);
        }
    }
    assert!(connections.len() > 100, "{}", connections.len());
    assert!(server.is_running() && server.descriptors() <= 64);
    let refused = connections.iter_mut().rev().find_map(|stream| {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Answer::parse(&read_all(stream))
    });
    let refused = refused.expect("those over the cap are told so");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    drop(connections);
    wait_for("the server to serve again", || {
        let answer = std::panic::catch_unwind(|| server.get("/healthz")).ok()?;
        (answer.status == 200).then_some(())
    });
    assert_eq!(server.post("/v1/tools/hello", "{}").status, 200, "calls and their records work as before");
}

#[test]
fn a_client_that_never_reads_costs_one_connection_and_no_more() {
    let env = TestEnv::new();
    let server = env.serve();
    let name = "x".repeat(1_000_000);
    let body = format!(r#"{{"name": "{name}"}}"#);
    let head = format!(
        "POST /mcp/tool/hello HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    let mut deaf = connect(server.address);
    deaf.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    for _ in 0..20 {
        // The server stops reading as soon as its own answers are not taken.
        if deaf.write_all(head.as_bytes()).and_then(|()| deaf.write_all(body.as_bytes())).is_err() {
            break;
        }
    }
    assert!(resident_megabytes(&server) < 100, "{} MB", resident_megabytes(&server));
    assert_eq!(server.get("/healthz").status, 200);
}

fn resident_megabytes(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
