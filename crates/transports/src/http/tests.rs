use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersign_contract::{
    AuditEntry, AuditEvent, AuditLog, AuditUnavailable, BoxFuture, CallContext, Durability, Effect, NothingElse, Tool,
    ToolError, typed,
};
use countersign_host::{Catalog, Gate, Metrics, NoApprover, Policy, Recorder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::{HttpLimits, HttpServer, REFUSAL, Unfinished};
use crate::{Auth, Guard, Guarded, Mcp, Readiness, SealKey, Service};

#[test]
fn the_refusal_is_as_long_as_it_says() {
    let (head, body) = REFUSAL.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
}

#[tokio::test]
async fn a_peer_that_goes_away_takes_its_call_with_it() {
    let bench = Bench::start(Duration::from_secs(5)).await;
    let mut stream = bench.ask(60_000).await;
    stream.shutdown().await.unwrap();
    drop(stream);
    bench.until_recorded(AuditEvent::Abandoned).await;
}

#[tokio::test]
async fn a_peer_that_closed_its_side_gets_a_quick_answer() {
    let bench = Bench::start(Duration::from_secs(5)).await;
    for milliseconds in [0, 100] {
        let mut stream = bench.ask(milliseconds).await;
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "after {milliseconds} ms: {answer}");
    }
}

#[tokio::test]
async fn calls_that_outlive_the_grace_period_are_recorded() {
    let bench = Bench::start(Duration::from_millis(100)).await;
    let _stream = bench.ask(60_000).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (ended, audit) = bench.stop().await;
    assert_eq!(ended, Unfinished(1));
    assert_eq!(audit.events(), [AuditEvent::Abandoned]);
}

/// Takes as long as it is told to.
struct Wait;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    milliseconds: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    waited: u64,
}

impl Tool for Wait {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "wait";
    const TITLE: &'static str = "Wait";
    const DESCRIPTION: &'static str = "Takes as long as it is told to.";
    const EFFECT: Effect = Effect::ReadsLocal;

    async fn call(&self, _ctx: &CallContext, input: Input) -> Result<Output, ToolError> {
        tokio::time::sleep(Duration::from_millis(input.milliseconds)).await;
        Ok(Output { waited: input.milliseconds })
    }
}

/// A real server on loopback with that one tool, and what it records.
struct Bench {
    address: std::net::SocketAddr,
    audit: Arc<Entries>,
    tasks: TaskTracker,
    shutdown: oneshot::Sender<()>,
    server: JoinHandle<Unfinished>,
}

impl Bench {
    async fn start(grace: Duration) -> Self {
        let (audit, tasks) = (Arc::new(Entries::default()), TaskTracker::new());
        let recorder = Recorder {
            metrics: Arc::new(Metrics::new()),
            call_log: None,
            audit: Some(Arc::clone(&audit) as _),
            tasks: tasks.clone(),
        };
        let catalog = Catalog::new(vec![typed(Wait).unwrap()]).unwrap();
        let gate = Arc::new(Gate::new(catalog, Policy::default(), Arc::new(NoApprover), recorder));
        let limits = HttpLimits { max_connections: 8, grace };
        let server = HttpServer::bind("127.0.0.1:0".parse().unwrap(), limits).await.unwrap();
        let address = server.address().unwrap();
        let guard = Guard::new(address, &[], &[]);
        let mcp = Mcp::new(gate, Arc::new(NothingElse), &SealKey::generate());
        let app = Guarded::new(Arc::new(Service::new(mcp, Auth::new(Vec::new()), guard, Arc::new(Ready), 1000)));
        let (shutdown, asked) = oneshot::channel::<()>();
        let asked = async { drop(asked.await) };
        let server = tasks.spawn(server.run(app, asked, std::future::pending()));
        Self { address, audit, tasks, shutdown, server }
    }

    /// Sends the call and leaves the connection open.
    async fn ask(&self, milliseconds: u64) -> TcpStream {
        let body = format!(r#"{{"milliseconds": {milliseconds}}}"#);
        let request = format!(
            "POST /mcp/tool/wait HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn until_recorded(&self, event: AuditEvent) {
        let recorded = async {
            while self.audit.events() != [event] {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), recorded).await.unwrap();
    }

    async fn stop(self) -> (Unfinished, Arc<Entries>) {
        self.shutdown.send(()).unwrap();
        let ended = self.server.await.unwrap();
        self.tasks.close();
        self.tasks.wait().await;
        (ended, self.audit)
    }
}

#[derive(Debug)]
struct Ready;

impl Readiness for Ready {
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[derive(Default)]
struct Entries(Mutex<Vec<AuditEvent>>);

impl Entries {
    fn events(&self) -> Vec<AuditEvent> {
        self.0.lock().unwrap().clone()
    }
}

impl AuditLog for Entries {
    fn append(&self, entry: AuditEntry, _durability: Durability) -> BoxFuture<'_, Result<(), AuditUnavailable>> {
        self.0.lock().unwrap().push(entry.event);
        Box::pin(std::future::ready(Ok(())))
    }
}
