//! A conversation with one server: which era it speaks, questions with answers that cannot be mixed up, and what it says
//! of its own accord. What the server asks of us is refused, because we declare nothing.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_contract::{Progress, ProgressUpdate};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::link::{LOCAL_ERROR, Link, LinkError, Message};
use crate::spec::ServerSpec;

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// A server of the older era may not answer a question that it does not know.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// To be connected altogether, and to list what there is.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Pages and tools of one server; more are not looked at.
const PAGES_MAX: usize = 50;
pub(crate) const TOOLS_MAX: usize = 2000;

/// How the protocol is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// A handshake, and a session after it.
    Legacy,
    /// Every request stands for itself.
    Modern,
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallFailure {
    #[error(transparent)]
    Link(#[from] LinkError),
    /// JSON-RPC's own.
    #[error("error {code}: {message}")]
    Refused { code: i64, message: String },
    #[error("no answer within {0:?}")]
    Late(Duration),
    #[error("the answer is none: {0}")]
    Garbled(&'static str),
}

/// Cheap to clone; over when the last one is dropped.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

struct Inner {
    link: Link,
    era: Era,
    server: Value,
    next_id: AtomicU64,
    waiting: Arc<Waiting>,
    ended: CancellationToken,
    tools_changed: Arc<Notify>,
}

/// Who waits for which answer. A request's id is also its progress token.
#[derive(Default)]
struct Waiting {
    requests: Mutex<HashMap<u64, Asked>>,
}

struct Asked {
    answer: oneshot::Sender<Result<Value, CallFailure>>,
    progress: Progress,
}

/// Takes its request back when nobody waits for it any more.
struct Taken<'a> {
    session: &'a Inner,
    id: u64,
    answered: bool,
}

/// Connects, in the era that is known or else whichever the server speaks.
pub async fn connect(spec: &ServerSpec, era: Option<Era>, tasks: &TaskTracker) -> Result<Session, CallFailure> {
    let connecting = async {
        match era {
            Some(Era::Legacy) => open(spec, tasks, Some(Era::Legacy)).await,
            Some(Era::Modern) | None => match open(spec, tasks, None).await {
                // Some old servers end themselves over a question they do not know.
                Err(CallFailure::Link(LinkError::Over(_))) => open(spec, tasks, Some(Era::Legacy)).await,
                opened => opened,
            },
        }
    };
    tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or(Err(CallFailure::Late(CONNECT_TIMEOUT)))
}

async fn open(spec: &ServerSpec, tasks: &TaskTracker, era: Option<Era>) -> Result<Session, CallFailure> {
    let (link, messages, ended) = Link::open(spec.name.as_str(), &spec.reach, tasks)?;
    let (waiting, tools_changed) = (Arc::new(Waiting::default()), Arc::new(Notify::new()));
    let (replies, replying) = mpsc::channel(16);
    tasks.spawn(listen(messages, Arc::clone(&waiting), Arc::clone(&tools_changed), replies, ended.clone()));
    let mut inner = Inner {
        link,
        era: Era::Modern,
        server: Value::Null,
        next_id: AtomicU64::new(1),
        waiting,
        ended,
        tools_changed,
    };
    inner.greet(era).await?;
    let inner = Arc::new(inner);
    tasks.spawn(reply(Arc::downgrade(&inner), replying));
    Ok(Session { inner })
}

impl Inner {
    async fn greet(&mut self, era: Option<Era>) -> Result<(), CallFailure> {
        if era != Some(Era::Legacy) {
            match self.ask("server/discover", Map::new(), PROBE_TIMEOUT, Progress::default()).await {
                Ok(found) if speaks_modern(&found) => {
                    self.server = found;
                    return Ok(());
                }
                Err(CallFailure::Link(error)) if matches!(error, LinkError::Over(_) | LinkError::Start(_)) => {
                    return Err(error.into());
                }
                Ok(_) | Err(_) => {}
            }
        }
        self.era = Era::Legacy;
        let hello = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client_info()});
        let Value::Object(hello) = hello else { return Err(CallFailure::Garbled("our own greeting")) };
        let welcome = self.ask("initialize", hello, CONNECT_TIMEOUT, Progress::default()).await?;
        let version = welcome.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if version.is_empty() {
            return Err(CallFailure::Garbled("a greeting without a version"));
        }
        self.link.agree(version);
        self.server = welcome;
        self.link.send(notification("notifications/initialized", json!({}))).await?;
        Ok(())
    }

    async fn ask(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        within: Duration,
        progress: Progress,
    ) -> Result<Value, CallFailure> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert("progressToken".to_owned(), id.into());
            if self.era == Era::Modern {
                meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), MODERN.into());
                meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), client_info());
                meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), json!({}));
            }
        }
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().insert(id, Asked { answer, progress });
        let mut taken = Taken { session: self, id, answered: false };
        let asked = async {
            self.link.send(request(id, method, params)).await?;
            tokio::select! {
                answer = answered => answer.unwrap_or(Err(LinkError::Over("the server is gone".to_owned()).into())),
                () = self.ended.cancelled() => Err(LinkError::Over("the server is gone".to_owned()).into()),
            }
        };
        let answer = tokio::time::timeout(within, asked).await.unwrap_or(Err(CallFailure::Late(within)));
        taken.answered = !matches!(answer, Err(CallFailure::Late(_)));
        answer
    }
}

impl Session {
    pub fn era(&self) -> Era {
        self.inner.era
    }

    /// The server's name and version, as it gives them.
    pub fn server_info(&self) -> &Value {
        let info = &self.inner.server["serverInfo"];
        if info.is_null() { &self.inner.server["_meta"]["io.modelcontextprotocol/serverInfo"] } else { info }
    }

    /// Dropped, it takes the question back.
    pub async fn ask(
        &self,
        method: &str,
        params: Map<String, Value>,
        within: Duration,
        progress: Progress,
    ) -> Result<Value, CallFailure> {
        self.inner.ask(method, params, within, progress).await
    }

    /// Every tool as the server describes it, however badly.
    pub async fn tools(&self, within: Duration) -> Result<Vec<Value>, CallFailure> {
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let mut params = Map::new();
            if let Some(cursor) = cursor.take() {
                params.insert("cursor".to_owned(), cursor);
            }
            let mut page = self.ask("tools/list", params, within, Progress::default()).await?;
            match page.get_mut("tools").map(Value::take) {
                Some(Value::Array(more)) => tools.extend(more),
                _ => return Err(CallFailure::Garbled("a list of tools that is none")),
            }
            if tools.len() > TOOLS_MAX {
                return Err(CallFailure::Garbled("more tools than anybody has"));
            }
            match page.get_mut("nextCursor").map(Value::take) {
                Some(Value::String(next)) => cursor = Some(Value::String(next)),
                _ => return Ok(tools),
            }
        }
        Err(CallFailure::Garbled("a list of tools without an end"))
    }

    /// Resolves when the server says that its tools are others now.
    pub async fn tools_changed(&self) {
        self.inner.tools_changed.notified().await;
    }

    /// Resolves when the server is gone.
    pub async fn ended(&self) {
        self.inner.ended.cancelled().await;
    }

    pub fn close(&self) {
        self.inner.ended.cancel();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.session.waiting.lock().remove(&self.id);
        if !self.answered {
            let params = json!({"requestId": self.id, "reason": "nobody waits for it any more"});
            self.session.link.try_send(notification("notifications/cancelled", params));
        }
    }
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Asked>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An answer counts once, and only for what was asked.
    fn answer(&self, mut message: Message) {
        let id = message.get("id").and_then(Value::as_u64);
        let Some(asked) = id.and_then(|id| self.lock().remove(&id)) else {
            tracing::debug!("an answer to nothing that was asked");
            return;
        };
        let answer = if let Some(error) = message.remove(LOCAL_ERROR) {
            Err(LinkError::Unreachable(error.as_str().unwrap_or_default().to_owned()).into())
        } else if let Some(error) = message.get("error") {
            let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
            let text = error.get("message").and_then(Value::as_str).unwrap_or_default();
            Err(CallFailure::Refused { code, message: text.chars().take(1000).collect() })
        } else {
            message.remove("result").ok_or(CallFailure::Garbled("neither result nor error"))
        };
        // Whoever asked may be gone.
        drop(asked.answer.send(answer));
    }

    fn progress(&self, params: &Value) {
        let number = |key: &str| params.get(key).and_then(Value::as_f64);
        let token = params.get("progressToken").and_then(Value::as_u64);
        let Some((token, done)) = token.zip(number("progress")) else { return };
        let Some(progress) = self.lock().get(&token).map(|asked| asked.progress.clone()) else { return };
        let message = params.get("message").and_then(Value::as_str).map(crate::texts::cleaned);
        progress.report(ProgressUpdate { done, total: number("total"), message });
    }
}

/// Takes what comes, until the link is over; then nobody waits any more.
async fn listen(
    mut messages: mpsc::Receiver<Message>,
    waiting: Arc<Waiting>,
    tools_changed: Arc<Notify>,
    replies: mpsc::Sender<Message>,
    ended: CancellationToken,
) {
    loop {
        let message = tokio::select! {
            biased;
            message = messages.recv() => message,
            () = ended.cancelled() => None,
        };
        let Some(message) = message else { break };
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (None, _) => waiting.answer(message),
            (Some(method), Some(id)) if !id.is_null() => {
                let answer = match method {
                    "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                    _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}),
                };
                if let Value::Object(answer) = answer {
                    // A server that asks faster than it reads the answers gets fewer of them.
                    drop(replies.try_send(answer));
                }
            }
            (Some("notifications/tools/list_changed"), _) => tools_changed.notify_one(),
            (Some("notifications/progress"), _) => waiting.progress(message.get("params").unwrap_or(&Value::Null)),
            (Some(_), _) => {}
        }
    }
    ended.cancel();
    waiting.lock().clear();
}

async fn reply(session: std::sync::Weak<Inner>, mut replies: mpsc::Receiver<Message>) {
    while let Some(message) = replies.recv().await {
        let Some(session) = session.upgrade() else { return };
        if session.link.send(message).await.is_err() {
            return;
        }
    }
}

fn speaks_modern(found: &Value) -> bool {
    let versions = found.get("supportedVersions");
    versions.and_then(Value::as_array).is_some_and(|versions| versions.iter().any(|version| version == MODERN))
}

fn client_info() -> Value {
    json!({"name": "countersign", "version": env!("CARGO_PKG_VERSION")})
}

fn request(id: u64, method: &str, params: Map<String, Value>) -> Message {
    Map::from_iter([
        ("jsonrpc".to_owned(), "2.0".into()),
        ("id".to_owned(), id.into()),
        ("method".to_owned(), method.into()),
        ("params".to_owned(), Value::Object(params)),
    ])
}

fn notification(method: &str, params: Value) -> Message {
    Map::from_iter([
        ("jsonrpc".to_owned(), "2.0".into()),
        ("method".to_owned(), method.into()),
        ("params".to_owned(), params),
    ])
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Session").field("era", &self.inner.era).finish_non_exhaustive()
    }
}
