//! Which files are read, how often and when last. Whoever reads does not wait for it: reads are counted in memory and
//! written together a moment later. A `kill -9` loses that moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::StoreError;
use crate::db::{CommitError, Done, Reader, Undo, WriterHandle, accesses};

/// How long reads wait for company, and for the next attempt while the database cannot be written.
const WRITE_AFTER: Duration = Duration::from_secs(1);

/// Files that wait to be written; beyond them new ones are not counted.
const WAITING_MAX: usize = 10_000;

/// What one transaction takes along, so that nobody else's write waits for long.
const BATCH_MAX: usize = 256;

/// PostgreSQL's indexes take no longer keys. Longer paths are not counted.
const KEY_MAX_BYTES: usize = 2000;

/// The reads of one repository's files, by every process on one database.
#[derive(Debug, Clone)]
pub struct Accesses(Option<Arc<Counter>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAccess {
    /// Relative to the root.
    pub path: String,
    pub count: i64,
    pub last_at: Timestamp,
}

#[derive(Debug)]
struct Counter {
    scope: Arc<str>,
    reader: Arc<Reader>,
    writer: WriterHandle,
    tasks: Writing,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Count and last time by path.
    read: BTreeMap<String, (i64, Timestamp)>,
    /// Whether somebody is about to write them.
    expected: bool,
}

/// What is being written, of all that count: for the store, which waits for it at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writing {
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl Writing {
    /// Nobody waits for company any more.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Accesses {
    pub(crate) fn new(scope: Arc<str>, reader: Arc<Reader>, writer: WriterHandle, tasks: Writing) -> Self {
        Self(Some(Arc::new(Counter { scope, reader, writer, tasks, waiting: Mutex::default() })))
    }

    /// Where there is no database: contracts can be had without one, and nothing is counted.
    pub fn nowhere() -> Self {
        Self(None)
    }

    /// Counts one read of a file. Never waits, and never fails anybody's call.
    pub fn record(&self, path: &str) {
        let Some(counter) = &self.0 else { return };
        if counter.scope.len() + path.len() > KEY_MAX_BYTES {
            return;
        }
        let now = Timestamp::now();
        let mut waiting = counter.waiting();
        if let Some((count, last_at)) = waiting.read.get_mut(path) {
            (*count, *last_at) = (*count + 1, now);
        } else if waiting.read.len() < WAITING_MAX {
            waiting.read.insert(path.to_owned(), (1, now));
        }
        if !waiting.expected {
            waiting.expected = true;
            counter.tasks.tasks.spawn(Arc::clone(counter).write());
        }
    }

    /// Those read last, first; without what is not written yet.
    pub async fn newest(&self, limit: i64) -> Result<Vec<FileAccess>, StoreError> {
        match &self.0 {
            Some(counter) => counter.reader.newest_accesses(&counter.scope, limit).await,
            None => Ok(Vec::new()),
        }
    }
}

impl Counter {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Until nothing is waiting, or the store closes.
    async fn write(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.tasks.closing.cancelled() => {}
                () = tokio::time::sleep(WRITE_AFTER) => {}
            }
            let written = self.write_all().await;
            let mut waiting = self.waiting();
            if waiting.read.is_empty() || (written.is_err() && self.tasks.closing.is_cancelled()) {
                waiting.expected = false;
                return;
            }
        }
    }

    async fn write_all(&self) -> Result<(), CommitError> {
        loop {
            let batch = self.take_batch();
            if batch.is_empty() {
                return Ok(());
            }
            let (scope, read) = (Arc::clone(&self.scope), batch.clone());
            let written = self.writer.commit(Undo::BySavepoint, move |connection| {
                Box::pin(async move {
                    accesses::add(connection, &scope, &read).await?;
                    Ok(Done::changed((), None))
                })
            });
            match written.await {
                Ok(()) => {}
                Err(error @ CommitError::Unavailable) => {
                    self.put_back(batch);
                    return Err(error);
                }
                // To write them again could count them twice, or fail for ever.
                Err(error @ (CommitError::Statement(_) | CommitError::Unknown)) => {
                    tracing::warn!(error = &error as &(dyn std::error::Error + 'static), "reads were not counted");
                }
            }
        }
    }

    fn take_batch(&self) -> Vec<FileAccess> {
        let mut waiting = self.waiting();
        let rest = waiting.read.keys().nth(BATCH_MAX).cloned().map(|first| waiting.read.split_off(&first));
        let batch = std::mem::replace(&mut waiting.read, rest.unwrap_or_default());
        batch.into_iter().map(|(path, (count, last_at))| FileAccess { path, count, last_at }).collect()
    }

    fn put_back(&self, batch: Vec<FileAccess>) {
        let mut waiting = self.waiting();
        for FileAccess { path, count, last_at } in batch {
            let (known, last) = waiting.read.entry(path).or_insert((0, last_at));
            (*known, *last) = (*known + count, last_at.max(*last));
        }
    }
}

#[cfg(test)]
mod tests;
