//! All servers that are connected, each kept on its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_contract::AnyTool;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::Level;
use crate::keeper::{Event, Keeping, Line, ServerReport, keep};
use crate::session::Watched;
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
    tried: watch::Sender<usize>,
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
            tried: watch::Sender::new(0),
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
                // Whoever watches something of a server under this name goes on.
                let before = old.iter().find(|kept| *kept.line.name() == spec.name);
                let watched = before.map(|kept| kept.line.watched().clone()).unwrap_or_default();
                servers.push(self.begin(spec, watched));
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

    fn begin(&self, spec: ServerSpec, watched: Watched) -> Kept {
        let (line, stop) = (Arc::new(Line::new(spec, self.level, watched)), CancellationToken::new());
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

    /// Until each server was tried once, or so long.
    pub async fn settle(&self, within: Duration) {
        let count = self.servers().len();
        let mut tried = self.tried.subscribe();
        drop(tokio::time::timeout(within, tried.wait_for(|tried| *tried >= count)).await);
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
