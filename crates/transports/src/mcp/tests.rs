//! A whole session over a pair of pipes, with tools that take their time, ask and report.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_contract::{
    Access, AuditEntry, AuditEvent, AuditLog, AuditUnavailable, BoxFuture, CallContext, Caller, Code, Durability,
    Effect, NothingElse, Offers, ProgressUpdate, Provider, Question, Questions, Rejection, Tool, ToolError, Watching,
    typed,
};
use countersign_host::{Catalog, Change, Gate, Metrics, NoApprover, Policy, Recorder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio_util::task::TaskTracker;

use super::{Mcp, SealKey, StdioStop};

const PATIENCE: Duration = Duration::from_secs(10);

/// Reports three times, then takes as long as it is told to; if that is any time, it reports once more.
struct Work;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WorkInput {
    milliseconds: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Done {
    said: String,
}

impl Tool for Work {
    type Input = WorkInput;
    type Output = Done;

    const NAME: &'static str = "work";
    const TITLE: &'static str = "Work";
    const DESCRIPTION: &'static str = "Works";
    const EFFECT: Effect = Effect::ReadsLocal;

    async fn call(&self, ctx: &CallContext, input: WorkInput) -> Result<Done, ToolError> {
        for done in [1.0, 2.0, 3.0] {
            ctx.progress.report(ProgressUpdate { done, total: Some(3.0), message: None });
        }
        if input.milliseconds > 0 {
            tokio::time::sleep(Duration::from_millis(input.milliseconds)).await;
            ctx.progress.report(ProgressUpdate { done: 3.0, total: Some(3.0), message: None });
        }
        Ok(Done { said: "worked".to_owned() })
    }
}

/// Asks the person at the client.
struct Ask;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskInput {
    about: String,
}

impl Tool for Ask {
    type Input = AskInput;
    type Output = Done;

    const NAME: &'static str = "ask";
    const TITLE: &'static str = "Ask";
    const DESCRIPTION: &'static str = "Asks";
    const EFFECT: Effect = Effect::ReadsLocal;

    async fn call(&self, ctx: &CallContext, input: AskInput) -> Result<Done, ToolError> {
        let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}});
        let question = Question::Form { message: input.about, schema };
        let questions = Questions::from([("it".to_owned(), question)]);
        let answers = ctx.client.ask(questions, Some(json!("asked before"))).await?;
        let kept = ctx.client.state().map_or_else(|| "nothing".to_owned(), Value::to_string);
        Ok(Done { said: format!("{} after {kept}", answers["it"]["content"]["answer"]) })
    }
}

/// A long answer, a moment later.
struct Fill;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FillInput {
    bytes: usize,
}

impl Tool for Fill {
    type Input = FillInput;
    type Output = Done;

    const NAME: &'static str = "fill";
    const TITLE: &'static str = "Fill";
    const DESCRIPTION: &'static str = "Fills";
    const EFFECT: Effect = Effect::ReadsLocal;

    async fn call(&self, _ctx: &CallContext, input: FillInput) -> Result<Done, ToolError> {
        tokio::task::yield_now().await;
        Ok(Done { said: "x".repeat(input.bytes) })
    }
}

#[derive(Default)]
struct Events(Mutex<Vec<AuditEvent>>);

impl AuditLog for Events {
    fn append(&self, entry: AuditEntry, _durability: Durability) -> BoxFuture<'_, Result<(), AuditUnavailable>> {
        self.0.lock().unwrap().push(entry.event);
        Box::pin(async { Ok(()) })
    }
}

struct Bench {
    gate: Arc<Gate>,
    events: Arc<Events>,
    input: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

impl Bench {
    fn start() -> Self {
        Self::beside(Arc::new(NothingElse))
    }

    fn beside(provider: Arc<dyn Provider>) -> Self {
        let (events, tasks) = (Arc::new(Events::default()), TaskTracker::new());
        let recorder = Recorder {
            metrics: Arc::new(Metrics::new()),
            call_log: None,
            audit: Some(Arc::clone(&events) as _),
            tasks: tasks.clone(),
        };
        let gate = Arc::new(Gate::new(catalog(), Policy::default(), Arc::new(NoApprover), recorder));
        let mcp = Mcp::new(Arc::clone(&gate), provider, &SealKey::generate());
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (input, output) = tokio::io::split(ours);
        let caller = Arc::new(Caller { name: "test".into(), access: Access::All, approver: false });
        tasks.spawn(async move { mcp.serve_lines(input, output, caller, &StdioStop::default()).await.unwrap() });
        let (output, input) = tokio::io::split(theirs);
        Self { gate, events, input, lines: BufReader::new(output).lines() }
    }

    async fn send(&mut self, message: Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn call(&mut self, id: u64, mut params: Value, capabilities: Value, progress: Option<&str>) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        if let Some(token) = progress {
            params["_meta"]["progressToken"] = json!(token);
        }
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
    }

    async fn initialize(&mut self) {
        let client =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        self.send(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client})).await;
        assert_eq!(self.next().await["result"]["protocolVersion"], "2025-06-18");
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    async fn listen(&mut self, notifications: Value) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"notifications": notifications, "_meta": meta});
        self.send(json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})).await;
        assert_eq!(self.next().await["method"], "notifications/subscriptions/acknowledged");
    }

    async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await.unwrap().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn until_recorded(&self, event: AuditEvent) {
        let recorded = async {
            while !self.events.0.lock().unwrap().contains(&event) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, recorded).await.unwrap();
    }
}

pub(super) fn catalog() -> Catalog {
    Catalog::new(vec![typed(Work).unwrap(), typed(Ask).unwrap(), typed(Fill).unwrap()]).unwrap()
}

#[tokio::test]
async fn a_call_that_is_taken_back_ends() {
    let mut bench = Bench::start();
    bench.call(1, json!({"name": "work", "arguments": {"milliseconds": 60_000}}), json!({}), None).await;
    while bench.gate.recorder().metrics.in_flight() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    bench.send(cancelled).await;
    bench.until_recorded(AuditEvent::Abandoned).await;
    bench.call(1, json!({"name": "work", "arguments": {"milliseconds": 0}}), json!({}), None).await;
    let answer = bench.next().await;
    assert_eq!(answer["result"]["structuredContent"]["said"], "worked", "nothing came for the first: {answer}");
    // Too late, and before the SDK has seen anything: neither is the end.
    let late = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    bench.send(late).await;
    bench.call(2, json!({"name": "work", "arguments": {"milliseconds": 0}}), json!({}), Some("token")).await;
    let mut answer = bench.next().await;
    while answer["id"] != 2 {
        answer = bench.next().await;
    }
    assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
}

#[tokio::test]
async fn progress_comes_in_order_and_before_the_answer() {
    let mut bench = Bench::start();
    let call = json!({"name": "work", "arguments": {"milliseconds": 0}});
    bench.call(1, call, json!({}), Some("token")).await;
    for done in [1.0, 2.0, 3.0] {
        let report = bench.next().await;
        assert_eq!(report["method"], "notifications/progress", "{report}");
        assert_eq!(
            (&report["params"]["progress"], &report["params"]["progressToken"]),
            (&json!(done), &json!("token"))
        );
    }
    assert_eq!(bench.next().await["id"], 1);
}

#[tokio::test]
async fn capabilities_that_are_none_are_refused() {
    let mut bench = Bench::start();
    for (capabilities, code) in [
        (json!({"elicitation": {}}), Value::Null),
        (json!({"elicitation": 5}), json!(-32602)),
        (json!({"roots": []}), json!(-32602)),
    ] {
        let call = json!({"name": "work", "arguments": {"milliseconds": 0}});
        bench.call(1, call, capabilities.clone(), None).await;
        assert_eq!(bench.next().await["error"]["code"], code, "{capabilities}");
    }
}

#[tokio::test]
async fn a_question_goes_to_the_client_and_comes_back_sealed() {
    let mut bench = Bench::start();
    let can = json!({"elicitation": {}});
    let asked = |about: &str| json!({"name": "ask", "arguments": {"about": about}});
    bench.call(1, asked("x"), can.clone(), None).await;
    let first = bench.next().await;
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    assert_eq!(first["result"]["inputRequests"]["it"]["method"], "elicitation/create", "{first}");
    bench.until_recorded(AuditEvent::Asked).await;
    let state = first["result"]["requestState"].as_str().unwrap().to_owned();
    let again = |about: &str, state: &str, answer: Value| {
        let mut call = asked(about);
        call["requestState"] = json!(state);
        call["inputResponses"] = json!({"it": answer});
        call
    };
    let answer = json!({"action": "accept", "content": {"answer": "yes"}});
    bench.call(2, again("x", &state, answer.clone()), can.clone(), None).await;
    let done = bench.next().await;
    assert_eq!(done["result"]["structuredContent"]["said"], "\"yes\" after \"asked before\"", "{done}");

    for (what, call) in [
        ("other arguments", again("y", &state, answer.clone())),
        ("a changed state", again("x", &state.replace('.', "_"), answer.clone())),
        ("an invented state", again("x", "rs1.e30.AAAA", answer)),
    ] {
        bench.call(3, call, can.clone(), None).await;
        assert_eq!(bench.next().await["error"]["code"], -32602, "{what}");
    }
    bench.call(4, again("x", &state, json!(5)), can, None).await;
    assert_eq!(bench.next().await["result"]["resultType"], "input_required", "what is no answer is asked again");
    bench.call(5, asked("x"), json!({}), None).await;
    assert_eq!(bench.next().await["error"]["code"], -32021, "a client that cannot be asked is not asked");
}

#[tokio::test]
async fn clients_of_both_eras_hear_of_changes() {
    let mut modern = Bench::start();
    modern.listen(json!({"toolsListChanged": true})).await;
    let mut legacy = Bench::start();
    legacy.initialize().await;
    for bench in [&mut modern, &mut legacy] {
        // The listener is there a moment after the answer that says so.
        let changed = async {
            loop {
                bench.gate.replace_catalog(catalog());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let line = tokio::select! {
            line = bench.lines.next_line() => line.unwrap().unwrap(),
            () = changed => String::new(),
        };
        let heard: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(heard["method"], "notifications/tools/list_changed", "{heard}");
    }
}

/// Resources that anybody may watch but the one that is called `secret`. Who watches holds on to the `Arc`.
#[derive(Default)]
struct Watched(Arc<()>);

impl Provider for Watched {
    fn offers(&self) -> Offers {
        Offers { resources: true, resource_updates: true, ..Offers::default() }
    }

    fn watch<'a>(&'a self, _caller: &'a Caller, uri: &'a str) -> BoxFuture<'a, Result<Watching, ToolError>> {
        Box::pin(async move {
            match uri {
                "a:secret" => Err(Rejection::new(Code::NotFound, "Resource not found").into()),
                _ => Ok(Watching::new(Arc::clone(&self.0))),
            }
        })
    }
}

impl Watched {
    async fn until(&self, count: usize) {
        let watched = async {
            while Arc::strong_count(&self.0) != count + 1 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, watched).await.unwrap();
    }
}

#[tokio::test]
async fn a_listener_watches_what_it_names_until_it_is_taken_back() {
    let watched = Arc::new(Watched::default());
    let mut bench = Bench::beside(Arc::clone(&watched) as _);
    bench.listen(json!({"resourceSubscriptions": ["a:one", "a:secret", "a:two"]})).await;
    watched.until(2).await;
    for uri in ["a:other", "a:secret", "a:two"] {
        bench.gate.changes().announce(Change::Resource(uri.to_owned()));
    }
    let heard = bench.next().await;
    assert_eq!(heard["params"]["uri"], "a:two", "{heard}");
    bench.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    watched.until(0).await;
}

#[tokio::test]
async fn a_session_watches_what_it_may_until_it_ends() {
    let watched = Arc::new(Watched::default());
    let mut bench = Bench::beside(Arc::clone(&watched) as _);
    bench.initialize().await;
    let ask = async |bench: &mut Bench, method: &str, uri: &str| {
        bench.send(json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": {"uri": uri}})).await;
        bench.next().await["error"]["code"].as_i64()
    };
    assert_eq!(ask(&mut bench, "resources/subscribe", "a:secret").await, Some(-32002));
    for _ in 0..2 {
        assert_eq!(ask(&mut bench, "resources/subscribe", "a:one").await, None);
    }
    watched.until(1).await;
    assert_eq!(ask(&mut bench, "resources/unsubscribe", "a:one").await, None);
    watched.until(0).await;
    for number in 0..257 {
        let refused = ask(&mut bench, "resources/subscribe", &format!("a:{number}")).await;
        assert_eq!(refused.is_some(), number == 256, "{number}");
    }
    watched.until(256).await;
    let ended = bench.input;
    drop((ended, bench.lines));
    watched.until(0).await;
}
