//! Keeps one server connected: finds out what it offers, notices when it goes, and brings it back, but not without end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_contract::{AnyTool, Code, Contract, Rejection, ToolError};
use serde_json::Value;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::{Judged, Level, Verdict, judge};
use crate::header_args;
use crate::offered::{self, Offered};
use crate::session::{CallFailure, Era, Session, Watched, connect};
use crate::spec::{Reach, ServerName, ServerSpec};
use crate::tool::UpstreamTool;

/// Between attempts: doubled each time, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// After so many failures in a row it is said to be down; it is still tried, now and then.
const FAILURES_MAX: u32 = 5;

/// A connection that has lasted so long was a good one.
const GOOD_AFTER: Duration = Duration::from_secs(30);

const LIST_TIMEOUT: Duration = Duration::from_secs(20);

const METHOD_NOT_FOUND: i64 = -32601;

/// Between looking at a server's lists twice.
const RELIST_PAUSE: Duration = Duration::from_millis(200);

/// The way to a server, whether or not it is there at the moment.
#[derive(Debug)]
pub(crate) struct Line {
    spec: ServerSpec,
    level: Level,
    state: Mutex<State>,
    watched: Watched,
}

#[derive(Debug, Default)]
struct State {
    session: Option<Session>,
    condition: Condition,
    judged: Vec<Judged>,
    offered: Arc<Offered>,
    error: Option<String>,
    restarts: u32,
    greeting: Duration,
    /// Whether a first attempt has ended, either way.
    tried: bool,
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
    /// How many servers were tried once.
    pub(crate) tried: watch::Sender<usize>,
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

impl Keeping {
    fn announce(&self, event: Event) {
        // Nobody listens: nobody needs to know.
        drop(self.events.send(event));
    }

    fn note_attempt(&self, line: &Line) {
        if !std::mem::replace(&mut line.state().tried, true) {
            self.tried.send_modify(|tried| *tried += 1);
        }
    }
}

impl Line {
    pub(crate) fn new(spec: ServerSpec, level: Level) -> Self {
        Self { spec, level, state: Mutex::default(), watched: Watched::default() }
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    pub(crate) fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    pub(crate) fn name(&self) -> &ServerName {
        &self.spec.name
    }

    pub(crate) fn connected(&self) -> Result<Session, ToolError> {
        let error = || format!("The server `{}` is not connected", self.spec.name);
        self.session().ok_or_else(|| Rejection::new(Code::Unavailable, error()).into())
    }

    pub(crate) fn offered(&self) -> Arc<Offered> {
        Arc::clone(&self.state().offered)
    }

    pub(crate) fn watched(&self) -> &Watched {
        &self.watched
    }

    pub(crate) fn session(&self) -> Option<Session> {
        self.state().session.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tools(self: &Arc<Self>) -> Vec<Arc<dyn AnyTool>> {
        let tool = |judged: &Judged| {
            let contract: Arc<Contract> = match &judged.verdict {
                Verdict::Admitted { contract, .. } => Arc::clone(contract),
                Verdict::Refused(_) | Verdict::LeftOut => return None,
            };
            let headers = match &self.spec.reach {
                Reach::Http { .. } => header_args::find(contract.input.raw()).unwrap_or_default(),
                Reach::Program { .. } => Vec::new(),
            };
            let tool = UpstreamTool { contract, own_name: judged.name.clone(), line: Arc::clone(self), headers };
            Some(Arc::new(tool) as Arc<dyn AnyTool>)
        };
        self.state().judged.iter().filter_map(tool).collect()
    }

    pub(crate) fn report(&self) -> ServerReport {
        let state = self.state();
        ServerReport {
            name: self.spec.name.clone(),
            condition: state.condition,
            era: state.session.as_ref().map(Session::era),
            server_info: state.session.as_ref().map(|session| session.server_info().clone()),
            error: state.error.clone(),
            restarts: state.restarts,
            greeting: state.greeting,
            judged: state.judged.clone(),
        }
    }
}

/// Until it is told to stop.
pub(crate) async fn keep(line: Arc<Line>, keeping: Keeping) {
    let (spec, mut failures, mut era) = (&line.spec, 0_u32, None);
    loop {
        let begun = Instant::now();
        let outcome = tokio::select! {
            outcome = attend(spec, &line, &keeping, &mut era) => outcome,
            () = keeping.stop.cancelled() => break,
        };
        let was_ready = line.session().is_some();
        failures = if was_ready && begun.elapsed() >= GOOD_AFTER { 1 } else { failures + 1 };
        let pause = FIRST_PAUSE.saturating_mul(1 << failures.min(16)).min(LONGEST_PAUSE);
        {
            let mut state = line.state();
            state.session = None;
            state.restarts += 1;
            state.condition = if failures >= FAILURES_MAX { Condition::Down } else { Condition::Waiting };
            state.error = Some(outcome.to_string());
        }
        keeping.note_attempt(&line);
        keeping.announce(Event::Condition);
        tracing::warn!(server = %spec.name, error = %outcome, ?pause, failures, "an upstream server is gone");
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

/// Connects and stays; answers why it is over.
async fn attend(spec: &ServerSpec, line: &Arc<Line>, keeping: &Keeping, era: &mut Option<Era>) -> CallFailure {
    let begun = Instant::now();
    let session = match connect(spec, *era, &keeping.tasks).await {
        Ok(session) => session,
        Err(failure) => {
            // It may have been replaced by another version.
            *era = None;
            return failure;
        }
    };
    // Whoever still asks something holds on to it.
    let _closing = session.close_at_last();
    *era = Some(session.era());
    session.follow(line.watched(), &keeping.tasks);
    loop {
        let listed = async {
            let tools = match session.list("tools/list", "tools", LIST_TIMEOUT).await {
                // Some have tools without saying so.
                Err(CallFailure::Refused { code: METHOD_NOT_FOUND, .. }) if !session.declares("tools") => Vec::new(),
                tools => tools?,
            };
            Ok((tools, offered::list(spec, &session, LIST_TIMEOUT).await?))
        };
        let (tools, offered) = match listed.await {
            Ok(listed) => listed,
            Err(failure) => return failure,
        };
        // A long list takes its time, and nobody else should have to wait for it.
        let (judged_by, level) = (spec.clone(), keeping.level);
        match tokio::task::spawn_blocking(move || judge(&judged_by, level, &tools)).await {
            Ok(judged) => take(line, keeping, &session, judged, offered, begun.elapsed()),
            Err(_) => return CallFailure::Garbled("a list of tools that cannot be judged"),
        }
        loop {
            tokio::select! {
                () = session.lists_changed() => break,
                uri = session.updated() => keeping.announce(Event::Resource(spec.uri_here(&uri))),
                why = session.ended() => return why,
            }
        }
        // A server that never stops saying so is not asked without a pause.
        tokio::time::sleep(RELIST_PAUSE).await;
    }
}

fn take(line: &Arc<Line>, keeping: &Keeping, session: &Session, judged: Vec<Judged>, offered: Offered, took: Duration) {
    let spec = &line.spec;
    let known: Vec<_> = line.state().judged.iter().map(|tool| tool.digest).collect();
    for tool in judged.iter().filter(|tool| !known.contains(&tool.digest)) {
        if let Verdict::Refused(reasons) = &tool.verdict {
            let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
            let name = countersign_contract::visible(&tool.name);
            tracing::warn!(server = %spec.name, tool = &*name, reasons = reasons.join("; "), "a tool is refused");
        }
    }
    let (was, is, before) = {
        let mut state = line.state();
        let was: Vec<_> = state.judged.iter().map(|tool| tool.digest).collect();
        let is: Vec<_> = judged.iter().map(|tool| tool.digest).collect();
        let first = state.session.is_none();
        state.session = Some(session.clone());
        state.condition = Condition::Ready;
        state.error = None;
        state.judged = judged;
        if first {
            state.greeting = took;
        }
        (was, is, std::mem::replace(&mut state.offered, Arc::new(offered)))
    };
    let offered = line.offered();
    tracing::info!(server = %spec.name, tools = is.len(), "an upstream server is connected");
    keeping.note_attempt(line);
    keeping.announce(Event::Condition);
    if was != is {
        keeping.announce(Event::Tools);
    }
    if before.prompts != offered.prompts {
        keeping.announce(Event::Prompts);
    }
    if (&before.resources, &before.templates) != (&offered.resources, &offered.templates) {
        keeping.announce(Event::Resources);
    }
}

#[cfg(test)]
mod tests;
