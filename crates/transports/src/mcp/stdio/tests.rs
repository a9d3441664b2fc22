//! The ends of a session: what was asked is answered, whoever stops talking or reading first.

use std::sync::Arc;
use std::time::Duration;

use countersign_contract::{Access, Caller, NothingElse};
use countersign_host::{Gate, Metrics, NoApprover, Policy, Recorder};
use rmcp::model::{EmptyResult, JsonRpcMessage, RequestId, ServerResult};
use rmcp::transport::Transport as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::calls::{Calls, Slot, lock};
use super::{Lines, Output};
use crate::mcp::tests::catalog;
use crate::mcp::{Mcp, SealKey, StdioEnd, StdioStop};

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
        Box::pin(async move { mcp.serve_lines(ours_in, ours_out, caller, &StdioStop::default()).await.unwrap() });
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
    call_of(id, &json!({"name": "work", "arguments": {"milliseconds": 0}}), None)
}

/// With a token for progress it takes the SDK's way.
fn call_of(id: usize, call: &Value, progress: Option<&str>) -> String {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    if let Some(token) = progress {
        meta["progressToken"] = json!(token);
    }
    let mut params = call.clone();
    params["_meta"] = meta;
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
        let stop = StdioStop::default();
        let serving = Box::pin(mcp.serve_lines(ours_in, ours_out, caller, &stop));
        let serving = tokio::time::timeout(Duration::from_secs(10), serving);
        let signal = async {
            sleep(Duration::from_millis(200)).await;
            stop.asked.cancel();
        };
        let end = tokio::join!(serving, signal).0.unwrap().unwrap();
        assert_eq!(end, StdioEnd::Stopped, "{beginning}");
    }
}

#[tokio::test]
async fn an_answer_to_nothing_ends_nothing() {
    let stray = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    let answered = answers([stray, &call(2), stray, &call(3)].concat(), 1024 * 1024).await;
    assert_eq!(answered.iter().map(|answer| &answer["id"]).collect::<Vec<_>>(), [&json!(2), &json!(3)]);
}

/// A session, and its client's ends of the pipes.
struct Session {
    gate: Arc<Gate>,
    stop: StdioStop,
    input: DuplexStream,
    output: DuplexStream,
    serving: JoinHandle<StdioEnd>,
}

impl Session {
    async fn start(asked: &str, pipe: usize) -> Self {
        let (mcp, caller) = mcp();
        let (gate, stop) = (Arc::clone(mcp.gate()), StdioStop::default());
        let (mut input, ours_in) = tokio::io::duplex(1024 * 1024);
        let (ours_out, output) = tokio::io::duplex(pipe);
        input.write_all(asked.as_bytes()).await.unwrap();
        let told = stop.clone();
        let serving = async move { mcp.serve_lines(ours_in, ours_out, caller, &told).await.unwrap() };
        Self { gate, stop, input, output, serving: TaskTracker::new().spawn(serving) }
    }

    fn under_way(&self) -> i64 {
        self.gate.recorder().metrics.in_flight()
    }

    /// Reads so much at a time and then waits; the lines that came whole, and whether nothing is left of another.
    async fn read_slowly(mut output: DuplexStream, at_once: usize, pause: Duration) -> (Vec<Value>, bool) {
        let (mut text, mut part) = (Vec::new(), vec![0; at_once]);
        loop {
            match output.read(&mut part).await.unwrap() {
                0 => break,
                count => text.extend_from_slice(&part[..count]),
            }
            sleep(pause).await;
        }
        let whole = text.is_empty() || text.ends_with(b"\n");
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        (lines.filter_map(|line| serde_json::from_slice(line).ok()).collect(), whole)
    }
}

const HOUR: u64 = 3_600_000;

#[tokio::test(start_paused = true)]
async fn what_still_runs_at_the_end_is_recorded() {
    for (end, within) in [("input", 6), ("signal", 2)] {
        let asked = call_of(1, &json!({"name": "work", "arguments": {"milliseconds": HOUR}}), None);
        let session = Session::start(&asked, 1024).await;
        sleep(Duration::from_millis(100)).await;
        assert_eq!(session.under_way(), 1, "{end}");
        let begun = Instant::now();
        let (gate, mut input) = (session.gate, Some(session.input));
        if end == "input" {
            input = None;
        } else {
            session.stop.asked.cancel();
        }
        session.serving.await.unwrap();
        assert_eq!(gate.recorder().metrics.in_flight(), 0, "{end}");
        assert!(begun.elapsed() <= Duration::from_secs(within), "{end}: {:?}", begun.elapsed());
        drop(input);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_but_steadily_gets_all_of_it() {
    let work = json!({"name": "work", "arguments": {"milliseconds": 0}});
    for progress in [None, Some("token")] {
        let asked: String = (0..200).map(|id| call_of(id, &work, progress)).collect();
        let session = Session::start(&asked, 64).await;
        drop(session.input);
        let begun = Instant::now();
        let reading = Session::read_slowly(session.output, 64, Duration::from_millis(100));
        let serving = async { (session.serving.await.unwrap(), Instant::now()) };
        let ((answered, whole), (end, ended)) = tokio::join!(reading, serving);
        let answers = answered.iter().filter(|answer| answer["result"]["isError"] == false).count();
        assert_eq!((answers, whole), (200, true), "{progress:?}");
        assert!(begun.elapsed() > Duration::from_secs(30), "that was not slow: {:?}", begun.elapsed());
        // What is written after that is written by nobody: the process is gone.
        assert!(ended.elapsed() < Duration::from_secs(1), "{progress:?}: {:?}", ended.elapsed());
        assert_eq!(end, StdioEnd::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_stops_reading_is_given_up() {
    let asked: String = (0..200).map(call).collect();
    let session = Session::start(&asked, 64).await;
    drop(session.input);
    let begun = Instant::now();
    session.serving.await.unwrap();
    assert!(begun.elapsed() <= Duration::from_secs(7), "{:?}", begun.elapsed());
    drop(session.output);
}

/// The first one lets a client have its answers if it goes on reading, though not for ever.
#[tokio::test(start_paused = true)]
async fn a_second_signal_ends_it_at_once() {
    let asked: String = (0..500).map(call).collect();
    let session = Session::start(&asked, 64).await;
    TaskTracker::new().spawn(Session::read_slowly(session.output, 16, Duration::from_millis(100)));
    sleep(Duration::from_secs(1)).await;
    session.stop.asked.cancel();
    sleep(Duration::from_secs(20)).await;
    assert!(!session.serving.is_finished(), "its client still reads");
    let second = Instant::now();
    session.stop.at_once.cancel();
    assert_eq!(session.serving.await.unwrap(), StdioEnd::Stopped);
    assert!(second.elapsed() < Duration::from_secs(1), "{:?}", second.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_report_after_the_end_of_the_input_does_not_keep_the_answer() {
    let work = json!({"name": "work", "arguments": {"milliseconds": 500}});
    let session = Session::start(&call_of(7, &work, Some("token")), 64 * 1024).await;
    sleep(Duration::from_millis(100)).await;
    drop(session.input);
    let begun = Instant::now();
    let (answered, _) = Session::read_slowly(session.output, 1024, Duration::ZERO).await;
    let last = answered.last().unwrap();
    assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(7), &json!(false)), "{answered:?}");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    session.serving.await.unwrap();
}

/// They are read no further until some of what was answered was written.
#[tokio::test]
async fn long_answers_that_nobody_reads_are_not_piled_up() {
    const COUNT: usize = 48;
    let fill = json!({"name": "fill", "arguments": {"bytes": 2_200_000}});
    let asked: String = (0..COUNT).map(|id| call_of(id, &fill, None)).collect();
    let session = Session::start(&asked, 1024).await;
    let calls = || session.gate.recorder().metrics.figures().iter().map(|tool| tool.calls).sum::<u64>();
    let mut before = u64::MAX;
    while calls() != before || before == 0 || session.under_way() > 0 {
        before = calls();
        sleep(Duration::from_millis(300)).await;
    }
    assert!(before <= 34, "{before} answers of 2.2 MB were made");
    drop(session.input);
    let mut lines = BufReader::with_capacity(64 * 1024, session.output).split(b'\n');
    let mut answered = 0;
    while let Some(line) = lines.next_segment().await.unwrap() {
        assert!(line.len() > 4_400_000, "{}", line.len());
        answered += 1;
    }
    assert_eq!(answered, COUNT);
}

/// The SDK's answer to a request that was taken back is not the answer to a call that has its id now.
#[tokio::test]
async fn an_answer_goes_out_only_under_its_own_place() {
    let call = CancellationToken::new();
    for (slot, goes_out) in [
        (Some(Slot { _permit: None, cancelled: None }), true),
        (Some(Slot { _permit: None, cancelled: Some(call) }), false),
        (None, false),
    ] {
        let (mcp, caller) = mcp();
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let (output, task) = Output::new(ours);
        let calls = Calls {
            shared: Arc::clone(&mcp.shared),
            caller,
            output,
            in_flight: Arc::default(),
            room: Arc::default(),
            under_way: TaskTracker::new(),
            over: CancellationToken::new(),
        };
        let (id, is_a_calls) = (RequestId::Number(1), slot.as_ref().is_some_and(|slot| slot.cancelled.is_some()));
        lock(&calls.in_flight).extend(slot.map(|slot| (id.clone(), slot)));
        let in_flight = Arc::clone(&calls.in_flight);
        let mut lines = Lines::new(tokio::io::empty(), calls);
        let empty = ServerResult::EmptyResult(EmptyResult {});
        lines.send(JsonRpcMessage::response(empty, id.clone())).await.unwrap();
        drop(lines);
        task.await;
        let mut text = String::new();
        theirs.read_to_string(&mut text).await.unwrap();
        assert_eq!(!text.is_empty(), goes_out, "{text}");
        assert_eq!(lock(&in_flight).contains_key(&id), is_a_calls, "the place of a call is the call's");
    }
}
