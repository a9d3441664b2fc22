//! Makes the rows in the store say what the project says now. Each origin is replaced as a whole or not at all, so
//! whoever is killed on the way leaves an older index, never a broken one.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use countersign_contract::BoxFuture;
use countersign_repo::Stop;
use countersign_store::{ContextRows, OriginRows, StoreError};
use tokio::sync::mpsc;

use crate::origin::Origin;
use crate::sources::{Look, Place, Sources};

/// What is read waits for the database in this many pieces, so that memory stays bounded.
const WAITING_MAX: usize = 64;

/// What one transaction takes along.
const BATCH_ORIGINS: usize = 64;
const BATCH_ROWS: usize = 1000;

/// Reading is parsing, too: more threads would keep everybody else from working.
const THREADS_MAX: usize = 4;

type Known = BTreeMap<String, [u8; 32]>;

#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("the repository cannot be read")]
    Unreadable(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the index was stopped")]
    Stopped,
}

/// How far it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files and days of history that were looked at, of so many.
    pub looked_at: usize,
    pub of: usize,
    /// Of these, new or changed.
    pub changed: usize,
    /// Chunks that were made of them.
    pub chunks: usize,
    /// Origins that are gone.
    pub removed: usize,
}

/// What there is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    Everything,
    /// What lies in these places; what is new or gone is found in any case.
    Changed(BTreeSet<Place>),
    History,
}

/// Brings the rows up to date. `each` hears of every batch that is in the store.
pub(crate) async fn refresh<'f>(
    sources: &Arc<Sources>,
    rows: &ContextRows,
    task: Task,
    mut each: impl FnMut(Progress) -> BoxFuture<'f, ()> + Send,
) -> Result<Progress, IndexError> {
    let known: Arc<Known> = Arc::new(rows.origins().await?.into_iter().collect());
    let stop = Stop::default();
    // Whoever gives up on this ends the threads, too.
    let _ended = StopOnDrop(stop.clone());
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let looking = {
        let (sources, known, stop) = (Arc::clone(sources), Arc::clone(&known), stop.clone());
        tokio::task::spawn_blocking(move || Looking { sources, known, stop, sender }.look(&task))
    };
    let mut writing = Writing { rows, receiver, progress: Progress::default(), batch: Vec::new(), rows_waiting: 0 };
    writing.write_all(&mut each).await?;
    let Seen { names, of_history, of_files } = looking.await.map_err(io::Error::other)??;
    let is_gone = |name: &&String| {
        let looked_for = if Origin::is_session(name) { of_history } else { of_files };
        looked_for && !names.contains(*name)
    };
    let gone: Vec<String> = known.keys().filter(is_gone).cloned().collect();
    writing.progress.removed = gone.len();
    if !gone.is_empty() {
        rows.remove(gone).await?;
    }
    each(writing.progress).await;
    Ok(writing.progress)
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// One step of whoever looks.
enum Step {
    /// This many will be looked at.
    Of(usize),
    LookedAt(Option<OriginRows>),
}

/// What there is, by the names that it has in the index.
struct Seen {
    names: BTreeSet<String>,
    /// Which of the two were looked for at all.
    of_files: bool,
    of_history: bool,
}

struct Looking {
    sources: Arc<Sources>,
    known: Arc<Known>,
    stop: Stop,
    sender: mpsc::Sender<Step>,
}

impl Looking {
    fn look(&self, task: &Task) -> Result<Seen, IndexError> {
        let (of_files, of_history) = match task {
            Task::Everything => (true, true),
            Task::Changed(_) => (true, false),
            Task::History => (false, true),
        };
        let mut names = BTreeSet::new();
        if of_files {
            self.files(task, &mut names)?;
        }
        if of_history {
            let sessions = self.sources.sessions(|origin| self.knows(origin), &self.stop);
            self.tell(Step::Of(sessions.len()))?;
            for (origin, rows) in sessions {
                names.insert(origin.name);
                self.tell(Step::LookedAt(rows))?;
            }
        }
        if self.stop.is_stopped() { Err(IndexError::Stopped) } else { Ok(Seen { names, of_files, of_history }) }
    }

    fn files(&self, task: &Task, names: &mut BTreeSet<String>) -> Result<(), IndexError> {
        let places = self.sources.list(&self.stop)?;
        let wanted = |place: &&Place| match task {
            Task::Everything | Task::History => true,
            Task::Changed(changed) => changed.contains(*place) || !self.known.contains_key(&self.sources.name(place)),
        };
        let wanted: Vec<&Place> = places.iter().filter(wanted).collect();
        self.tell(Step::Of(wanted.len()))?;
        names.extend(places.iter().map(|place| self.sources.name(place)));
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX).min(wanted.len());
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<String>, IndexError> {
            let mut nothing = Vec::new();
            while let Some(place) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                let rows = match self.sources.look(place, |origin| self.knows(origin)) {
                    Look::There(rows) => rows,
                    Look::Nothing => {
                        nothing.push(self.sources.name(place));
                        None
                    }
                };
                self.tell(Step::LookedAt(rows))?;
            }
            Ok(nothing)
        };
        let ends = std::thread::scope(|scope| {
            let others: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let join = |other: std::thread::ScopedJoinHandle<'_, _>| {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            others.into_iter().map(join).collect::<Vec<Result<Vec<String>, IndexError>>>()
        });
        for end in ends {
            // What cannot be read any more is gone, whatever the listing says.
            for name in end? {
                names.remove(&name);
            }
        }
        Ok(())
    }

    fn knows(&self, origin: &Origin) -> bool {
        self.known.get(&origin.name) == Some(&origin.digest)
    }

    fn tell(&self, step: Step) -> Result<(), IndexError> {
        if self.stop.is_stopped() {
            return Err(IndexError::Stopped);
        }
        self.sender.blocking_send(step).map_err(|_| IndexError::Stopped)
    }
}

struct Writing<'a> {
    rows: &'a ContextRows,
    receiver: mpsc::Receiver<Step>,
    progress: Progress,
    batch: Vec<OriginRows>,
    rows_waiting: usize,
}

impl Writing<'_> {
    async fn write_all<'f>(
        &mut self,
        each: &mut (impl FnMut(Progress) -> BoxFuture<'f, ()> + Send),
    ) -> Result<(), IndexError> {
        while let Some(step) = self.receiver.recv().await {
            match step {
                Step::Of(more) => self.progress.of += more,
                Step::LookedAt(rows) => {
                    self.progress.looked_at += 1;
                    if let Some(rows) = rows {
                        self.progress.changed += 1;
                        self.progress.chunks += rows.rows.len();
                        self.rows_waiting += rows.rows.len();
                        self.batch.push(rows);
                    }
                }
            }
            if self.batch.len() >= BATCH_ORIGINS || self.rows_waiting >= BATCH_ROWS {
                self.write().await?;
                each(self.progress).await;
            }
        }
        self.write().await
    }

    async fn write(&mut self) -> Result<(), IndexError> {
        self.rows_waiting = 0;
        if !self.batch.is_empty() {
            self.rows.replace(std::mem::take(&mut self.batch)).await?;
        }
        Ok(())
    }
}
