//! Keeps one server connected: notices when it goes, and brings it back, but not without end.

mod attending;
mod watches;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_contract::{AnyTool, Code, Contract, Rejection, ToolError};
use serde_json::Value;
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::attending::attend;
use self::watches::Watches;
use crate::admission::{Judged, Level, Verdict};
use crate::header_args;
use crate::offered::Offered;
use crate::session::{Era, Session, Users};
use crate::spec::{Reach, ServerName, ServerSpec};
use crate::tool::UpstreamTool;

/// Between attempts: doubled each time, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// After so many failures in a row it is said to be down; it is still tried, now and then.
const FAILURES_MAX: u32 = 5;

/// A connection that has lasted so long was a good one.
const GOOD_AFTER: Duration = Duration::from_secs(30);

/// The way to a server, whether or not it is there at the moment.
#[derive(Debug)]
pub(crate) struct Line {
    name: ServerName,
    level: Level,
    state: Mutex<State>,
    rules_changed: Notify,
    lasting: Lasting,
}

/// What outlasts sessions, and goes on with the next server of the same name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lasting {
    watched: Watches,
    users: Users,
}

#[derive(Debug)]
struct State {
    spec: Arc<ServerSpec>,
    session: Option<Session>,
    condition: Condition,
    /// Whether what was judged is of this session, and by the rules that hold.
    is_known: bool,
    judged: Vec<Judged>,
    offered: Arc<Offered>,
    /// Why it is gone.
    error: Option<String>,
    /// What of one that is there cannot be had, and why.
    missing: BTreeMap<&'static str, String>,
    restarts: u32,
    greeting: Duration,
    /// The lists that had an answer, or none in time.
    looked_at: BTreeSet<&'static str>,
    tried: Tried,
}

/// How far a first attempt has come; one that failed is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Tried {
    #[default]
    NotYet,
    /// Its tools are known.
    Tools,
    /// What there is beside them is known, too, or why it is not.
    Wholly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Condition {
    #[default]
    Connecting,
    Ready,
    /// Gone, and about to be tried again.
    Waiting,
    /// Gone for good, as far as can be told; tried now and then.
    Down,
}

/// How a server does, for people.
#[derive(Debug, Clone)]
pub struct ServerReport {
    pub name: ServerName,
    pub condition: Condition,
    pub era: Option<Era>,
    /// As the server says of itself; nothing is checked.
    pub server_info: Option<Value>,
    /// Why it is gone; or, of one that is there, what of it cannot be had.
    pub error: Option<String>,
    pub restarts: u32,
    /// How long it took to be connected and to list its tools.
    pub greeting: Duration,
    pub judged: Vec<Judged>,
}

/// What a keeper needs beside its server.
#[derive(Debug, Clone)]
pub(crate) struct Keeping {
    pub(crate) level: Level,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    pub(crate) events: broadcast::Sender<Event>,
    /// Some server was tried, as its line says.
    pub(crate) tried: watch::Sender<()>,
}

/// What is no longer as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A server came or went.
    Condition,
    Tools,
    Prompts,
    Resources,
    /// One resource, by its URI here.
    Resource(String),
}

impl State {
    fn what_is_missing(&self) -> Option<String> {
        let whys: Vec<_> = self.missing.values().map(String::as_str).collect();
        (!whys.is_empty()).then(|| whys.join("; "))
    }
}

impl Keeping {
    fn announce(&self, event: Event) {
        // Nobody listens: nobody needs to know.
        drop(self.events.send(event));
    }

    fn note_attempt(&self, line: &Line, tried: Tried) {
        let before = {
            let mut state = line.state();
            let before = state.tried;
            state.tried = before.max(tried);
            before
        };
        if before < tried {
            self.tried.send_replace(());
        }
    }
}

impl Line {
    pub(crate) fn new(spec: ServerSpec, level: Level, lasting: Lasting) -> Self {
        let name = spec.name.clone();
        let state = State {
            spec: Arc::new(spec),
            session: None,
            condition: Condition::default(),
            is_known: false,
            judged: Vec::new(),
            offered: Arc::default(),
            error: None,
            missing: BTreeMap::new(),
            restarts: 0,
            greeting: Duration::ZERO,
            looked_at: BTreeSet::new(),
            tried: Tried::default(),
        };
        Self { name, level, state: state.into(), rules_changed: Notify::new(), lasting }
    }

    /// The same server, with other rules: what was judged by the old ones is gone at once.
    pub(crate) fn judge_again_by(&self, spec: ServerSpec) {
        let mut state = self.state();
        state.spec = Arc::new(spec);
        state.is_known = false;
        state.judged = Vec::new();
        state.offered = Arc::default();
        self.rules_changed.notify_one();
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    pub(crate) fn tried(&self) -> Tried {
        self.state().tried
    }

    pub(crate) fn spec(&self) -> Arc<ServerSpec> {
        Arc::clone(&self.state().spec)
    }

    pub(crate) fn name(&self) -> &ServerName {
        &self.name
    }

    pub(crate) fn connected(&self) -> Result<Session, ToolError> {
        let error = || format!("The server `{}` is not connected", self.name);
        self.session().ok_or_else(|| Rejection::new(Code::Unavailable, error()).into())
    }

    pub(crate) fn offered(&self) -> Arc<Offered> {
        Arc::clone(&self.state().offered)
    }

    pub(crate) fn watched(&self) -> &Watches {
        &self.lasting.watched
    }

    pub(crate) fn lasting(&self) -> &Lasting {
        &self.lasting
    }

    pub(crate) fn session(&self) -> Option<Session> {
        self.state().session.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tools(self: &Arc<Self>) -> Vec<Arc<dyn AnyTool>> {
        let state = self.state();
        let tool = |judged: &Judged| {
            let contract: Arc<Contract> = match &judged.verdict {
                Verdict::Admitted { contract, .. } => Arc::clone(contract),
                Verdict::Refused(_) | Verdict::LeftOut => return None,
            };
            let headers = match &state.spec.reach {
                Reach::Http { .. } => header_args::find(contract.input.raw()).unwrap_or_default(),
                Reach::Program { .. } => Vec::new(),
            };
            let tool = UpstreamTool { contract, own_name: judged.name.clone(), line: Arc::clone(self), headers };
            Some(Arc::new(tool) as Arc<dyn AnyTool>)
        };
        state.judged.iter().filter_map(tool).collect()
    }

    pub(crate) fn report(&self) -> ServerReport {
        let state = self.state();
        ServerReport {
            name: self.name.clone(),
            condition: state.condition,
            era: state.session.as_ref().map(Session::era),
            server_info: state.session.as_ref().map(|session| session.server_info().clone()),
            error: state.error.clone().or_else(|| state.what_is_missing()),
            restarts: state.restarts,
            greeting: state.greeting,
            judged: state.judged.clone(),
        }
    }
}

/// Until it is told to stop.
pub(crate) async fn keep(line: Arc<Line>, keeping: Keeping) {
    let (mut failures, mut era) = (0_u32, None);
    loop {
        let begun = Instant::now();
        let outcome = tokio::select! {
            outcome = attend(&line, &keeping, &mut era) => outcome,
            () = keeping.stop.cancelled() => break,
        };
        let was_ready = line.session().is_some();
        failures = if was_ready && begun.elapsed() >= GOOD_AFTER { 1 } else { failures + 1 };
        let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(16)).min(LONGEST_PAUSE);
        {
            let mut state = line.state();
            state.session = None;
            state.is_known = false;
            state.restarts += 1;
            state.condition = if failures >= FAILURES_MAX { Condition::Down } else { Condition::Waiting };
            state.error = Some(outcome.clone());
        }
        keeping.note_attempt(&line, Tried::Wholly);
        keeping.announce(Event::Condition);
        tracing::warn!(server = %line.name, error = outcome, ?pause, failures, "an upstream server is gone");
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = keeping.stop.cancelled() => break,
        }
        line.state().condition = Condition::Connecting;
    }
    let session = line.state().session.take();
    if let Some(session) = session {
        session.close();
    }
}

#[cfg(test)]
mod tests;
