//! A conversation with one server: which era it speaks, questions with answers that cannot be mixed up, and what it says
//! of its own accord. What the server wants to know goes to the client of the call on whose behalf it asks, and to
//! nobody where that cannot be told.

mod listed;
mod listening;
mod subscribing;
mod users;
mod waiting;
mod watched;

use std::collections::BTreeSet;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use countersign_contract::{Capability, Client, Progress, Severity};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::listening::{Ears, Flood};
use self::subscribing::Noted;
use self::waiting::{Asked, Waiting, Word, outcome};
use crate::asking;
use crate::link::{Link, LinkError, Message, Request, Surroundings};
use crate::spec::{Reach, ServerSpec};
use crate::texts;

pub(crate) use self::users::{ANYBODY, Users};
pub(crate) use self::watched::Watched;

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// The older revisions: what differs between them makes no difference here.
const SPOKEN: [&str; 4] = [LEGACY, "2025-06-18", "2025-03-26", "2024-11-05"];

/// A server of the older era may not answer a question that it does not know.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Some are fetched before they start.
const GREETING_TIMEOUT: Duration = Duration::from_secs(30);

/// To be connected altogether, and to list what there is.
const CONNECT_TIMEOUT: Duration = Duration::from_mins(1);

/// Of what a server says it is called.
const INFO_MAX: usize = 100;

/// News of resources that wait to be passed on: of each that can be watched.
const UPDATES_KEPT: usize = watched::WATCHED_MAX;

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
    #[error("it speaks other versions: {}", .0.join(", "))]
    OtherVersion(Vec<String>),
    /// Of whoever is behind the call.
    #[error("it needs a client that can do more")]
    NeedsCapability(Capability),
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
    said: Arc<Said>,
    /// Resources that the server is to tell of, in the modern era.
    to_watch: watch::Sender<BTreeSet<String>>,
    /// Those that it was told to tell of, whatever it does about it.
    told: watch::Sender<BTreeSet<String>>,
}

/// What the server says of its own accord.
struct Said {
    lists_changed: Notify,
    updated: mpsc::Sender<String>,
    updates: tokio::sync::Mutex<mpsc::Receiver<String>>,
    /// Of what it is to tell, in the modern era.
    noted: Noted,
}

/// On whose behalf something is asked: who hears of progress and messages, and who can be asked back.
#[derive(Debug, Clone, Default)]
pub struct Errand {
    /// Its name; without one, it is ours.
    pub caller: Option<Arc<str>>,
    pub progress: Progress,
    pub client: Client,
    /// For the head of a request over HTTP.
    pub headers: Vec<(String, String)>,
}

/// Takes its request back when nobody waits for it any more.
struct Taken<'a> {
    session: &'a Inner,
    id: u64,
    answered: bool,
}

/// Connects, in the era that is known or else whichever the server speaks. `users` are those that the server has had.
pub(crate) async fn connect(
    spec: &ServerSpec,
    era: Option<Era>,
    users: &Users,
    tasks: &TaskTracker,
) -> Result<Session, CallFailure> {
    let connecting = async {
        match era {
            Some(Era::Legacy) => open(spec, Some(Era::Legacy), users, tasks).await,
            Some(Era::Modern) | None => match open(spec, None, users, tasks).await {
                // Some old servers end themselves over a question they do not know.
                Err(CallFailure::Link(LinkError::Over(_))) => open(spec, Some(Era::Legacy), users, tasks).await,
                opened => opened,
            },
        }
    };
    tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or(Err(CallFailure::Late(CONNECT_TIMEOUT)))
}

async fn open(spec: &ServerSpec, era: Option<Era>, users: &Users, tasks: &TaskTracker) -> Result<Session, CallFailure> {
    let users = match &spec.reach {
        Reach::Http { .. } => users.clone(),
        // One that is started anew worked for nobody yet.
        Reach::Program { .. } => Users::default(),
    };
    let (updated, updates) = mpsc::channel(UPDATES_KEPT);
    let said = Said { lists_changed: Notify::new(), updated, updates: updates.into(), noted: Noted::default() };
    let (waiting, said) = (Arc::new(Waiting::of(spec.name.as_str(), users)), Arc::new(said));
    let (replies, replying) = mpsc::channel(16);
    let ears = Ears { waiting: Arc::clone(&waiting), said: Arc::clone(&said), replies, flood: Flood::default().into() };
    let ended = CancellationToken::new();
    let surroundings = Surroundings {
        tasks: tasks.clone(),
        ended: ended.clone(),
        server: spec.name.as_str().to_owned(),
        listener: Arc::new(ears),
    };
    let link = Link::open(&spec.reach, surroundings).await?;
    let (over, left) = (ended.clone(), Arc::clone(&waiting));
    tasks.spawn(async move {
        over.cancelled().await;
        // What has come was heard.
        left.end();
    });
    let mut inner = Inner {
        link,
        era: Era::Modern,
        server: Value::Null,
        next_id: AtomicU64::new(1),
        waiting,
        ended,
        said,
        to_watch: watch::Sender::default(),
        told: watch::Sender::default(),
    };
    inner.greet(era).await?;
    let inner = Arc::new(inner);
    tasks.spawn(listening::reply(Arc::downgrade(&inner), replying));
    if inner.era == Era::Modern {
        tasks.spawn(subscribing::subscribe(Arc::downgrade(&inner)));
    }
    Ok(Session { inner })
}

impl Inner {
    async fn greet(&mut self, era: Option<Era>) -> Result<(), CallFailure> {
        if era != Some(Era::Legacy) {
            let mut found = self.discover(PROBE_TIMEOUT).await;
            if matches!(&found, Err(CallFailure::OtherVersion(spoken)) if spoken.iter().any(|version| version == MODERN))
            {
                // It speaks it after all.
                found = self.discover(PROBE_TIMEOUT).await;
            }
            match found {
                Ok(found) if speaks_modern(&found) => {
                    self.server = found;
                    return Ok(());
                }
                Err(CallFailure::Link(error))
                    if matches!(error, LinkError::Over(_) | LinkError::Start(_) | LinkError::Nobody(_)) =>
                {
                    return Err(error.into());
                }
                Ok(_) | Err(_) => {}
            }
        }
        self.era = Era::Legacy;
        let capabilities = if self.link.tells_askers_apart() { json!({"elicitation": {}}) } else { json!({}) };
        let hello = json!({"protocolVersion": LEGACY, "capabilities": capabilities, "clientInfo": client_info()});
        let Value::Object(hello) = hello else { return Err(CallFailure::Garbled("our own greeting")) };
        let welcome = match self.ask("initialize", hello, GREETING_TIMEOUT, Errand::default()).await {
            // It was slow to start, and has found our first question meanwhile.
            Err(CallFailure::OtherVersion(_)) => {
                self.era = Era::Modern;
                self.server = self.discover(CONNECT_TIMEOUT).await?;
                return Ok(());
            }
            welcome => welcome?,
        };
        let version = welcome.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if !SPOKEN.contains(&version) {
            return Err(CallFailure::OtherVersion(vec![texts::cleaned(version).chars().take(20).collect()]));
        }
        self.link.agree(version);
        self.server = welcome;
        self.link.send(notification("notifications/initialized", json!({}))).await?;
        self.link.listen().await;
        Ok(())
    }

    async fn discover(&self, within: Duration) -> Result<Value, CallFailure> {
        self.ask("server/discover", Map::new(), within, Errand::default()).await
    }

    async fn ask(
        &self,
        method: &str,
        params: Map<String, Value>,
        within: Duration,
        errand: Errand,
    ) -> Result<Value, CallFailure> {
        self.ask_as(self.new_id(), method, params, within, errand).await
    }

    fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    async fn ask_as(
        &self,
        id: u64,
        method: &str,
        mut params: Map<String, Value>,
        within: Duration,
        errand: Errand,
    ) -> Result<Value, CallFailure> {
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert("progressToken".to_owned(), id.into());
            if self.era == Era::Modern {
                stamp(meta, &errand.client);
            }
        }
        let (asked, mut answered, mut words) = Asked::new(errand.progress, errand.caller);
        if !self.waiting.insert(id, asked) {
            return Err(self.gone());
        }
        let mut taken = Taken { session: self, id, answered: false };
        let asked = async {
            let request = Request { id, message: request(id, method, params), headers: &errand.headers };
            let mut answer = pin!(self.link.ask(request));
            let answer = loop {
                tokio::select! {
                    biased;
                    Some(word) = words.recv() => self.heard(word, &errand.client).await,
                    answer = &mut answered => break answer.unwrap_or_else(|_| Err(self.gone())),
                    answer = &mut answer => break answer.map_err(CallFailure::from).and_then(outcome),
                }
            };
            // What was said before the answer is heard before it.
            while let Ok(word) = words.try_recv() {
                self.heard(word, &errand.client).await;
            }
            answer
        };
        let answer = tokio::time::timeout(within, asked).await.unwrap_or(Err(CallFailure::Late(within)));
        taken.answered = !matches!(answer, Err(CallFailure::Late(_)));
        answer
    }

    /// Something that the server says, or asks, on behalf of this client.
    async fn heard(&self, word: Word, client: &Client) {
        match word {
            Word::Message(severity, message) => client.tell(severity, message).await,
            Word::Question { id, request } => {
                let answer = tokio::select! {
                    answer = asking::answer_at_once(client, request) => answer,
                    () = self.ended.cancelled() => return,
                };
                // Whoever is gone needs no answer.
                drop(self.link.send(response(&id, &answer)).await);
            }
        }
    }

    fn gone(&self) -> CallFailure {
        LinkError::Over(self.link.ending().unwrap_or_else(|| "the server went away".to_owned())).into()
    }

    fn declares(&self, capability: &str) -> bool {
        self.server["capabilities"][capability].is_object()
    }
}

/// What every request of the modern era says: what we speak, and what can be asked of whoever is behind it.
fn stamp(meta: &mut Map<String, Value>, client: &Client) {
    let mut capabilities = json!({});
    for (capability, name, what) in [
        (Capability::Elicitation, "elicitation", json!({"form": {}})),
        (Capability::Sampling, "sampling", json!({})),
        (Capability::Roots, "roots", json!({})),
    ] {
        if client.declares(capability) {
            capabilities[name] = what;
        }
    }
    meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), MODERN.into());
    meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), client_info());
    meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), capabilities);
    if let Some(severity) = client.wants() {
        let level = match severity {
            Severity::Debug => "debug",
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        meta.insert("io.modelcontextprotocol/logLevel".to_owned(), level.into());
    }
}

impl Session {
    pub fn era(&self) -> Era {
        self.inner.era
    }

    /// The server's name and version, as it gives them, cleaned and cut.
    pub fn server_info(&self) -> Value {
        let own = &self.inner.server["serverInfo"];
        let info = if own.is_null() { &self.inner.server["_meta"]["io.modelcontextprotocol/serverInfo"] } else { own };
        let said = |key: &str| -> String {
            let text: String = info[key].as_str().unwrap_or_default().chars().take(INFO_MAX).collect();
            texts::cleaned(&text)
        };
        json!({"name": said("name"), "version": said("version")})
    }

    /// Whether it says that it has tools, resources, prompts and the like.
    pub fn declares(&self, capability: &str) -> bool {
        self.inner.declares(capability)
    }

    /// Dropped, it takes the question back.
    pub async fn ask(
        &self,
        method: &str,
        params: Map<String, Value>,
        within: Duration,
        errand: Errand,
    ) -> Result<Value, CallFailure> {
        self.inner.ask(method, params, within, errand).await
    }

    /// Resolves when the server says that one of its lists is another now.
    pub async fn lists_changed(&self) {
        self.inner.said.lists_changed.notified().await;
    }

    /// The next resource that has changed, of those that are watched.
    pub async fn updated(&self) -> String {
        match self.inner.said.updates.lock().await.recv().await {
            Some(uri) => uri,
            None => std::future::pending().await,
        }
    }

    /// Resolves when the server is gone; answers why.
    pub async fn ended(&self) -> CallFailure {
        self.inner.ended.cancelled().await;
        self.inner.gone()
    }

    pub fn close(&self) {
        self.inner.ended.cancel();
    }

    /// Closed when this is dropped.
    pub(crate) fn close_at_last(&self) -> DropGuard {
        self.inner.ended.clone().drop_guard()
    }
}

impl Said {
    /// Nobody heard what happened for a while.
    fn may_have_changed(&self, watched: &BTreeSet<String>) {
        self.lists_changed.notify_one();
        for uri in watched {
            self.has_changed(uri.clone());
        }
    }

    fn has_changed(&self, uri: String) {
        // Those that are waiting say enough.
        drop(self.updated.try_send(uri));
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

fn response(id: &Value, result: &Value) -> Message {
    Map::from_iter([
        ("jsonrpc".to_owned(), "2.0".into()),
        ("id".to_owned(), id.clone()),
        ("result".to_owned(), result.clone()),
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
