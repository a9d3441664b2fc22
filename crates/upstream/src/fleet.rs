//! All servers that are connected, each kept on its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_contract::AnyTool;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::Level;
use crate::keeper::{Event, Keeping, Lasting, Line, ServerReport, Tried, keep};
use crate::spec::ServerSpec;

/// How long the end waits for programs to go.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(8);

/// Whoever falls further behind looks at everything again.
const EVENTS_KEPT: usize = 256;

#[derive(Debug)]
pub struct Fleet {
    servers: Mutex<Vec<Kept>>,
    level: Level,
    tasks: TaskTracker,
    events: broadcast::Sender<Event>,
    tried: watch::Sender<()>,
}

#[derive(Debug)]
struct Kept {
    line: Arc<Line>,
    stop: CancellationToken,
}

impl Fleet {
    /// Starts them all at once; nobody waits for any of them.
    pub fn start(specs: Vec<ServerSpec>, level: Level) -> Self {
        let fleet = Self {
            servers: Mutex::default(),
            level,
            tasks: TaskTracker::new(),
            events: broadcast::Sender::new(EVENTS_KEPT),
            tried: watch::Sender::default(),
        };
        fleet.replace(specs);
        fleet
    }

    /// Those that are the same go on, the others end or begin. Where only the rules are others, nothing is started anew: the
    /// server's tools are judged again.
    pub fn replace(&self, specs: Vec<ServerSpec>) {
        let mut servers = self.servers();
        let mut old = std::mem::take(&mut *servers);
        let mut others = false;
        for spec in specs {
            let is_it = |kept: &Kept| *kept.line.name() == spec.name && kept.line.spec().reach == spec.reach;
            let Some(index) = old.iter().position(is_it) else {
                // Whoever watches something of a server under this name goes on, and it may know who used it before.
                let before = old.iter().find(|kept| *kept.line.name() == spec.name);
                let lasting = before.map(|kept| kept.line.lasting().clone()).unwrap_or_default();
                servers.push(self.begin(spec, lasting));
                continue;
            };
            let kept = old.swap_remove(index);
            if *kept.line.spec() != spec {
                kept.line.judge_again_by(spec);
                others = true;
            }
            servers.push(kept);
        }
        if others || !old.is_empty() {
            for kept in &old {
                kept.stop.cancel();
            }
            for event in [Event::Condition, Event::Tools, Event::Prompts, Event::Resources] {
                // Nobody listens: nobody needs to know.
                drop(self.events.send(event));
            }
        }
    }

    fn begin(&self, spec: ServerSpec, lasting: Lasting) -> Kept {
        let (line, stop) = (Arc::new(Line::new(spec, self.level, lasting)), CancellationToken::new());
        let keeping = Keeping {
            level: self.level,
            tasks: self.tasks.clone(),
            stop: stop.clone(),
            events: self.events.clone(),
            tried: self.tried.clone(),
        };
        self.tasks.spawn(keep(Arc::clone(&line), keeping));
        Kept { line, stop }
    }

    fn servers(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tools that are admitted now, in the order of the servers.
    pub fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.servers().iter().flat_map(|kept| kept.line.tools()).collect()
    }

    pub fn reports(&self) -> Vec<ServerReport> {
        self.servers().iter().map(|kept| kept.line.report()).collect()
    }

    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    pub(crate) fn lines(&self) -> Vec<Arc<Line>> {
        self.servers().iter().map(|kept| Arc::clone(&kept.line)).collect()
    }

    /// The resources that somebody watches, by the names that they have here.
    pub fn watched(&self) -> Vec<String> {
        let of_line = |line: Arc<Line>| {
            let spec = line.spec();
            line.watched().uris().into_iter().map(move |uri| spec.uri_here(&uri))
        };
        self.lines().into_iter().flat_map(of_line).collect()
    }

    /// Until each server was tried once, with all that it has, or so long.
    pub async fn settle(&self, within: Duration) {
        self.all_tried(Tried::Wholly, within).await;
    }

    /// The same, but for tools alone: they are there before the rest, and some never say what else they have.
    pub async fn settle_tools(&self, within: Duration) {
        self.all_tried(Tried::Tools, within).await;
    }

    async fn all_tried(&self, so_far: Tried, within: Duration) {
        let mut tried = self.tried.subscribe();
        let all = tried.wait_for(|()| self.lines().iter().all(|line| line.tried() >= so_far));
        drop(tokio::time::timeout(within, all).await);
    }

    /// Ends them all.
    pub async fn close(&self) {
        for kept in &*self.servers() {
            kept.stop.cancel();
        }
        self.tasks.close();
        if tokio::time::timeout(CLOSE_TIMEOUT, self.tasks.wait()).await.is_err() {
            tracing::warn!("some upstream servers did not end in time");
        }
    }
}
