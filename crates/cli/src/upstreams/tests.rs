//! What is made of news that came faster than anybody could hear them.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use countersign_contract::{Access, Caller, Provider as _};
use countersign_host::{Catalog, Change, Gate, Metrics, NoApprover, Policy, Recorder};
use countersign_upstream::{Fleet, Level, Reach, ServerSpec};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;

use super::{OwnTools, Upstreams};

const PATIENCE: Duration = Duration::from_secs(20);

/// A server over HTTP with one resource, which takes note of whoever watches it.
async fn toy(tasks: &TaskTracker) -> ServerSpec {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let connections = tasks.clone();
    tasks.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve(stream));
        }
    });
    ServerSpec::new("r".parse().unwrap(), Reach::Http { url, headers: [].into() })
}

async fn serve(stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut length, mut line) = (0, String::new());
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line).await.unwrap_or_default() == 0 {
                return;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let about = json!({"name": "toy", "version": "1"});
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                let capabilities = json!({"resources": {"subscribe": true}});
                json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": about})
            }
            "tools/list" => json!({"tools": []}),
            "resources/list" => json!({"resources": [{"uri": "f://a", "name": "a"}]}),
            "resources/templates/list" => json!({"resourceTemplates": []}),
            "resources/subscribe" => json!({}),
            _ => Value::Null,
        };
        let (status, answer) = match (&message["id"], &result) {
            // It has nothing to tell of its own accord.
            _ if message.is_null() => ("405 x", Value::Null),
            (Value::Null, _) => ("202 x", Value::Null),
            (id, Value::Null) => {
                ("200 x", json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}}))
            }
            (id, result) => ("200 x", json!({"jsonrpc": "2.0", "id": id, "result": result})),
        };
        let body = if answer.is_null() { String::new() } else { answer.to_string() };
        let kind = "content-type: application/json";
        let head = format!("HTTP/1.1 {status}\r\n{kind}\r\ncontent-length: {}\r\n\r\n", body.len());
        if stream.write_all((head + &body).as_bytes()).await.is_err() {
            return;
        }
    }
}

fn gate() -> Gate {
    let recorder =
        Recorder { metrics: Arc::new(Metrics::new()), call_log: None, audit: None, tasks: TaskTracker::new() };
    Gate::new(Catalog::default(), Policy::default(), Arc::new(NoApprover), recorder)
}

#[tokio::test]
async fn whoever_falls_behind_announces_all_that_may_have_changed() {
    let toy = toy(&TaskTracker::new()).await;
    let fleet = Arc::new(Fleet::start(vec![toy.clone()], Level::Strict));
    fleet.settle(PATIENCE).await;
    let caller = Caller { name: "ann".into(), access: Access::All, approver: false };
    let watching = fleet.watch(&caller, "r+f://a").await.unwrap();
    let upstreams =
        Upstreams { own: OwnTools(Vec::new()), fleet: Arc::clone(&fleet), followed: AtomicBool::new(false) };
    let gate = gate();
    let mut follow = pin!(upstreams.follow(&gate));
    // What has happened so far is heard.
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut follow).await.is_err());
    let mut changes = gate.changes().listen();
    // Each takes one away, and says so four times.
    for _ in 0..100 {
        let reach = Reach::Http { url: "http://127.0.0.1:9/".to_owned(), headers: [].into() };
        fleet.replace(vec![toy.clone(), ServerSpec::new("s".parse().unwrap(), reach)]);
        fleet.replace(vec![toy.clone()]);
    }
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut follow).await.is_err());
    let mut announced = Vec::new();
    while let Ok(change) = changes.try_recv() {
        announced.push(change);
    }
    for change in [Change::Tools, Change::Prompts, Change::Resources, Change::Resource("r+f://a".to_owned())] {
        assert_eq!(announced.iter().filter(|announced| **announced == change).count(), 1, "{announced:?}");
    }
    drop(watching);
    fleet.close().await;
}
