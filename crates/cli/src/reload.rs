//! Follows the configuration file: what can change while calls are served, changes; for the rest it says that a restart
//! is needed. A broken file changes nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use countersign_host::Gate;
use countersign_tools::Web;
use countersign_transports::Service;

use crate::args::Common;
use crate::config::{Config, changed_keys};
use crate::signals::ReloadSignal;
use crate::upstreams::Upstreams;
use crate::wiring;

/// Looking at the clock of one file costs nothing, works on every file system and sees through every way of saving.
const INTERVAL: Duration = Duration::from_secs(1);

/// What a new configuration is applied to.
pub(crate) struct Reloader {
    /// Names the file that was found at the start: following it must not lead to another one.
    pub(crate) common: Common,
    pub(crate) listen: Option<String>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) service: Arc<Service>,
    pub(crate) upstreams: Arc<Upstreams>,
    pub(crate) web: Arc<Web>,
    pub(crate) signal: ReloadSignal,
}

impl Reloader {
    /// Follows from the moment of the call, not of the first poll. Never ends by itself.
    pub(crate) fn follow(mut self, mut current: Config) -> impl Future<Output = ()> {
        let mut seen = Stamp::of(current.sources.file.as_deref());
        async move {
            loop {
                self.next_change(&current, &mut seen).await;
                if let Some(new) = self.apply(&current) {
                    current = new;
                }
            }
        }
    }

    async fn next_change(&mut self, current: &Config, seen: &mut Stamp) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {
                    let now = Stamp::of(current.sources.file.as_deref());
                    if now != *seen {
                        *seen = now;
                        return;
                    }
                }
                () = self.signal.next() => return,
            }
        }
    }

    fn apply(&self, current: &Config) -> Option<Config> {
        if let Some(file) = current.sources.file.as_deref().filter(|file| !file.exists()) {
            tracing::warn!(file = %file.display(), "the configuration file is gone; the last good one stays in force");
            return None;
        }
        let new = match wiring::load(&self.common, self.listen.clone()) {
            Ok(new) => new,
            Err(error) => {
                let mistakes = error.text();
                tracing::warn!(mistakes, "the changed configuration is not valid; the last good one stays in force");
                return None;
            }
        };
        // An editor that empties the file before it writes, or a slip, must not open the door to everybody.
        if new.tokens.is_empty() && !current.tokens.is_empty() {
            tracing::warn!("the changed configuration has no tokens: to serve without them, restart");
            return None;
        }
        let changed = changed_keys(current, &new);
        self.gate.replace_policy(wiring::policy(&new));
        self.upstreams.replace(&new);
        self.web.replace(new.web_fetch.clone());
        self.service.replace_auth(wiring::auth(&new));
        if !changed.applied.is_empty() {
            tracing::info!(keys = changed.applied.join(", "), "configuration applied");
        }
        if !changed.needs_restart.is_empty() {
            let keys = changed.needs_restart.join(", ");
            tracing::warn!(keys, "these changes in the configuration need a restart");
        }
        Some(new)
    }
}

/// What changes when a file is saved, whichever way it is saved.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(Option<(PathBuf, u64, SystemTime)>);

impl Stamp {
    fn of(file: Option<&Path>) -> Self {
        Self(file.and_then(|file| {
            let metadata = std::fs::metadata(file).ok()?;
            Some((file.to_owned(), metadata.len(), metadata.modified().ok()?))
        }))
    }
}
