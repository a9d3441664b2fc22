//! Hears of changes in the project: one watch for each folder that has something indexed in it, so that neither
//! `node_modules` nor a build folder costs anything. What is missed is found by the next full look.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::{EventKind, ModifyKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// Beyond this many paths it is everything that changed.
const PATHS_MAX: usize = 10_000;

/// Folders that are watched: the system has a limit for all programs together.
const FOLDERS_MAX: usize = 50_000;

/// What happened since somebody asked last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    Paths(BTreeSet<PathBuf>),
    /// More than can be told, or something was missed.
    TooMuch,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Following {
    /// Whether all folders could be watched.
    pub(crate) whole: bool,
    /// Whether there are folders among them that were not watched before: something may have come into them meanwhile.
    pub(crate) more: bool,
}

/// Dropped, it watches no more.
#[derive(Debug)]
pub(crate) struct Watch {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    heard: Mutex<Option<Heard>>,
    woken: Notify,
}

impl Watch {
    pub(crate) fn new() -> notify::Result<Self> {
        let shared = Arc::new(Shared::default());
        let hears = Arc::clone(&shared);
        let watcher = notify::recommended_watcher(move |event| hears.hear(event))?;
        Ok(Self { watcher, watched: BTreeSet::new(), shared })
    }

    /// Watches just these folders from now on.
    pub(crate) fn follow(&mut self, folders: BTreeSet<PathBuf>) -> Following {
        for gone in self.watched.difference(&folders) {
            // Where the folder is gone, so is its watch.
            let _ = self.watcher.unwatch(gone);
        }
        let mut following = Following { whole: folders.len() <= FOLDERS_MAX, more: false };
        let mut watched = BTreeSet::new();
        for folder in folders.into_iter().take(FOLDERS_MAX) {
            let known = self.watched.contains(&folder);
            if known || self.start(&folder) {
                following.more |= !known;
                watched.insert(folder);
            } else {
                following.whole = false;
            }
        }
        self.watched = watched;
        following
    }

    fn start(&mut self, folder: &Path) -> bool {
        match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => true,
            Err(error) => {
                tracing::debug!(%error, "a folder cannot be watched");
                false
            }
        }
    }

    /// Waits until something happens.
    pub(crate) async fn changed(&self) {
        loop {
            let woken = self.shared.woken.notified();
            if self.shared.heard().is_some() {
                return;
            }
            woken.await;
        }
    }

    /// All that happened; nothing of it comes again.
    pub(crate) fn take(&self) -> Option<Heard> {
        self.shared.heard().take()
    }
}

impl Shared {
    fn heard(&self) -> MutexGuard<'_, Option<Heard>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, event: notify::Result<notify::Event>) {
        let paths = match event {
            Ok(event) if event.need_rescan() => None,
            Ok(event) if is_change(event.kind) => Some(event.paths),
            Ok(_) => return,
            Err(_) => None,
        };
        let mut heard = self.heard();
        let known = match heard.take() {
            Some(Heard::TooMuch) => None,
            Some(Heard::Paths(known)) => Some(known),
            None => Some(BTreeSet::new()),
        };
        *heard = Some(match (known, paths) {
            (Some(mut known), Some(paths)) if known.len() + paths.len() <= PATHS_MAX => {
                known.extend(paths);
                Heard::Paths(known)
            }
            (None | Some(_), None | Some(_)) => Heard::TooMuch,
        });
        drop(heard);
        self.woken.notify_one();
    }
}

/// Reading a file is no change, nor is what only changes its times.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => false,
        EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => true,
    }
}
