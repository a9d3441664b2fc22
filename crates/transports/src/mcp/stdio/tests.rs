//! The ends of a session: what was asked is answered, whoever stops talking or reading first.

use std::sync::Arc;
use std::time::Duration;

use countersign_contract::{Access, Caller, NothingElse};
use countersign_host::{Gate, Metrics, NoApprover, Policy, Recorder};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::task::TaskTracker;

use crate::mcp::tests::catalog;
use crate::mcp::{Mcp, SealKey, StdioEnd};

fn mcp() -> (Mcp, Arc<Caller>) {
    let recorder =
        Recorder { metrics: Arc::new(Metrics::new()), call_log: None, audit: None, tasks: TaskTracker::new() };
    let gate = Arc::new(Gate::new(catalog(), Policy::default(), Arc::new(NoApprover), recorder));
    let caller = Caller { name: "test".into(), access: Access::All, approver: false };
    (Mcp::new(gate, Arc::new(NothingElse), &SealKey::generate()), Arc::new(caller))
}

/// What comes back for this input, on a pipe that holds so many bytes; read only when all was written.
async fn answers(input: String, pipe: usize) -> Vec<Value> {
    let (mcp, caller) = mcp();
    let (theirs_in, ours_in) = tokio::io::duplex(pipe);
    let (ours_out, mut theirs_out) = tokio::io::duplex(pipe);
    let serving =
        Box::pin(async move { mcp.serve_lines(ours_in, ours_out, caller, std::future::pending()).await.unwrap() });
    let mut theirs_in = theirs_in;
    let talking = async move {
        theirs_in.write_all(input.as_bytes()).await.unwrap();
        drop(theirs_in);
    };
    let mut text = String::new();
    let reading = async {
        tokio::task::yield_now().await;
        theirs_out.read_to_string(&mut text).await.unwrap();
    };
    tokio::join!(serving, talking, reading);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn call(id: usize) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "work", "arguments": {"milliseconds": 0}, "_meta": meta});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}

#[tokio::test]
async fn what_was_asked_before_the_end_is_answered() {
    for count in [1, 30, 500] {
        let asked: String = (0..count).map(call).collect();
        let answered = answers(asked, 1024 * 1024).await;
        let mut ids: Vec<u64> = answered.iter().filter_map(|answer| answer["id"].as_u64()).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..count as u64), "{} of {count}", answered.len());
    }
}

#[tokio::test]
async fn no_refusal_is_lost_where_the_client_reads_slowly() {
    let asked: String = (0..600).map(|id| if id % 2 == 0 { call(id) } else { "{garbage\n".to_owned() }).collect();
    let answered = answers(asked, 4096).await;
    let refused = answered.iter().filter(|answer| answer["error"]["code"] == -32700).count();
    assert_eq!((answered.len(), refused), (600, 300));
}

/// What it has sent is read no further, but a signal ends us all the same.
#[tokio::test]
async fn a_client_that_does_not_read_cannot_keep_us() {
    let client =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client});
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for beginning in [String::new(), format!("{begin}\n{begun}\n")] {
        let (mcp, caller) = mcp();
        let (mut theirs_in, ours_in) = tokio::io::duplex(1024 * 1024);
        // Nobody reads it.
        let (ours_out, _theirs_out) = tokio::io::duplex(64);
        theirs_in.write_all(beginning.as_bytes()).await.unwrap();
        theirs_in.write_all("{garbage\n".repeat(20_000).as_bytes()).await.unwrap();
        let signal = tokio::time::sleep(Duration::from_millis(200));
        let serving = Box::pin(mcp.serve_lines(ours_in, ours_out, caller, signal));
        let end = tokio::time::timeout(Duration::from_secs(10), serving).await.unwrap().unwrap();
        assert_eq!(end, StdioEnd::Stopped, "{beginning}");
    }
}

#[tokio::test]
async fn an_answer_to_nothing_ends_nothing() {
    let stray = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    let answered = answers([stray, &call(2), stray, &call(3)].concat(), 1024 * 1024).await;
    assert_eq!(answered.iter().map(|answer| &answer["id"]).collect::<Vec<_>>(), [&json!(2), &json!(3)]);
}
