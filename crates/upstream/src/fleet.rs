//! All servers that are connected, each kept on its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use countersign_contract::AnyTool;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::Level;
use crate::keeper::{Keeping, Line, ServerReport, keep};
use crate::spec::ServerSpec;

/// How long the end waits for programs to go.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(8);

#[derive(Debug)]
pub struct Fleet {
    servers: Mutex<Vec<Kept>>,
    level: Level,
    tasks: TaskTracker,
    changed: watch::Sender<u64>,
    tried: watch::Sender<usize>,
}

#[derive(Debug)]
struct Kept {
    spec: ServerSpec,
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
            changed: watch::Sender::new(0),
            tried: watch::Sender::new(0),
        };
        fleet.replace(specs);
        fleet
    }

    /// Those that are the same go on, the others end or begin.
    pub fn replace(&self, specs: Vec<ServerSpec>) {
        let mut servers = self.servers();
        let mut old = std::mem::take(&mut *servers);
        for spec in specs {
            match old.iter().position(|kept| kept.spec == spec) {
                Some(index) => servers.push(old.swap_remove(index)),
                None => servers.push(self.begin(spec)),
            }
        }
        if !old.is_empty() {
            for kept in &old {
                kept.stop.cancel();
            }
            self.changed.send_modify(|count| *count += 1);
        }
    }

    fn begin(&self, spec: ServerSpec) -> Kept {
        let (line, stop) = (Arc::new(Line::new(spec.name.clone())), CancellationToken::new());
        let keeping = Keeping {
            level: self.level,
            tasks: self.tasks.clone(),
            stop: stop.clone(),
            changed: self.changed.clone(),
            tried: self.tried.clone(),
        };
        self.tasks.spawn(keep(spec.clone(), Arc::clone(&line), keeping));
        Kept { spec, line, stop }
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

    /// Changes whenever the tools are others.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
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
