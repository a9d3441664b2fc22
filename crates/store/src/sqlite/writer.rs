//! The one task of a process that writes. What arrives while a commit is on its way to disk shares the next one.
//!
//! Requests (jobs and synced entries) are written at once; batched entries wait for company, but not long. While the
//! database cannot be written, requests are refused, batched entries retained, and the writer tries again by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use countersign_contract::{AuditUnavailable, BoxFuture};
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::audit::ChainWriter;
use super::commit::{Answer, CommitError, Done, Request, WriteFailure, commit, job};
use super::connect::{FileIdentity, IfMissing, Place, connect};
use crate::StoreError;
use crate::backlog::Backlog;
use crate::record::Draft;

/// Also the most that share one transaction: more would make the first of them wait for the last.
const REQUESTS_MAX: usize = 256;

/// Callers wait when so many entries are waiting: a sixth of a second of full load.
const BATCHED_MAX: usize = 4096;

/// What a kill may lose of the record of reads: this long, or this many.
const FLUSH_AFTER: Duration = Duration::from_millis(100);
const FLUSH_AT: usize = 512;

/// How long retained entries wait for the next attempt; a request makes one at once.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The way to the writer. When the last one is gone, the writer writes what is waiting and ends.
#[derive(Debug, Clone)]
pub(crate) struct WriterHandle {
    requests: mpsc::Sender<Request>,
    batched: mpsc::Sender<Draft>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Handles say that a batch is worth writing before its time.
    full: Notify,
    /// Pulled by [`WriterHandle::close`].
    closing: CancellationToken,
    /// The writer says that its last commit failed.
    failing: AtomicBool,
    /// Made by the writer since the start.
    commits: AtomicU64,
}

impl WriterHandle {
    /// Ready when the job's changes and its audit entry are on disk, or nothing of it is.
    pub(crate) async fn commit<T, F>(&self, work: F) -> Result<T, CommitError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<Done<T>, sqlx::Error>> + Send + 'static,
    {
        let (request, answered) = job(work);
        self.requests.send(request).await.map_err(|_| CommitError::Unavailable)?;
        answered.await.unwrap_or(Err(CommitError::Unavailable))
    }

    pub(crate) async fn append_synced(&self, draft: Draft) -> Result<(), AuditUnavailable> {
        let (reply, answered) = tokio::sync::oneshot::channel();
        self.requests.send(Request::Entry(draft, reply)).await.map_err(|_| AuditUnavailable)?;
        answered.await.map_err(|_| AuditUnavailable)
    }

    pub(crate) async fn append_batched(&self, draft: Draft) -> Result<(), AuditUnavailable> {
        self.batched.send(draft).await.map_err(|_| AuditUnavailable)?;
        // The writer does not listen to this channel while a batch gathers, or every entry would wake it.
        if self.batched.max_capacity() - self.batched.capacity() >= FLUSH_AT {
            self.shared.full.notify_one();
        }
        Ok(())
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.shared.failing.load(Ordering::Relaxed)
    }

    pub(crate) fn commits(&self) -> u64 {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// From now on everything is refused; the writer ends when it has written what is waiting.
    pub(crate) fn close(&self) {
        self.shared.closing.cancel();
    }
}

pub(crate) struct Writer {
    place: Place,
    if_missing: IfMissing,
    /// Given up after a failure: SQLite may or may not have ended the transaction.
    connected: Option<Connected>,
    requests: mpsc::Receiver<Request>,
    batched: mpsc::Receiver<Draft>,
    shared: Arc<Shared>,
    chain: ChainWriter,
    backlog: Backlog,
    /// When the backlog is to be written; `None` while it is empty.
    due: Option<Instant>,
}

struct Connected {
    connection: SqliteConnection,
    identity: FileIdentity,
}

enum Wake {
    Write(Vec<Request>),
    Close,
}

impl Writer {
    pub(crate) async fn start(place: Place, if_missing: IfMissing) -> Result<(Self, WriterHandle), StoreError> {
        let (requests_in, requests) = mpsc::channel(REQUESTS_MAX);
        let (batched_in, batched) = mpsc::channel(BATCHED_MAX);
        let shared = Arc::new(Shared::default());
        let handle = WriterHandle { requests: requests_in, batched: batched_in, shared: Arc::clone(&shared) };
        let connected = Some(Connected::new(&place, if_missing).await?);
        let (chain, backlog) = (ChainWriter::new(), Backlog::default());
        let writer = Self { place, if_missing, connected, requests, batched, shared, chain, backlog, due: None };
        Ok((writer, handle))
    }

    /// Answers how many entries could not be written.
    pub(crate) async fn run(mut self) -> u64 {
        while let Wake::Write(requests) = self.wait().await {
            self.write(requests).await;
        }
        self.finish().await
    }

    async fn wait(&mut self) -> Wake {
        loop {
            let due = self.due;
            tokio::select! {
                biased;
                () = self.shared.closing.cancelled() => return Wake::Close,
                request = self.requests.recv() => return match request {
                    Some(first) => Wake::Write(self.with_those_waiting(first).await),
                    None => Wake::Close,
                },
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    return Wake::Write(Vec::new());
                }
                () = self.shared.full.notified(), if due.is_some() => {
                    if !self.shared.failing.load(Ordering::Relaxed) {
                        return Wake::Write(Vec::new());
                    }
                    self.take_batched();
                }
                Some(draft) = self.batched.recv(), if due.is_none() => {
                    self.backlog.push(draft);
                    self.due = Some(Instant::now() + FLUSH_AFTER);
                }
            }
        }
    }

    async fn with_those_waiting(&mut self, first: Request) -> Vec<Request> {
        // Those who were answered by the last commit are about to ask again; one turn lets them share this one.
        tokio::task::yield_now().await;
        let mut requests = vec![first];
        while requests.len() < REQUESTS_MAX
            && let Ok(request) = self.requests.try_recv()
        {
            requests.push(request);
        }
        requests
    }

    /// Whoever appended an entry before making a request finds it before the request's own in the chain.
    fn take_batched(&mut self) {
        for _ in 0..BATCHED_MAX {
            let Ok(draft) = self.batched.try_recv() else { break };
            self.backlog.push(draft);
        }
    }

    async fn write(&mut self, requests: Vec<Request>) {
        self.take_batched();
        match self.try_write(requests).await {
            Ok(answers) => {
                self.due = None;
                self.shared.commits.fetch_add(1, Ordering::Relaxed);
                if self.shared.failing.swap(false, Ordering::Relaxed) {
                    tracing::warn!("the database can be written again");
                }
                for answer in answers {
                    answer();
                }
            }
            Err(failure) => {
                self.due = (!self.backlog.is_empty()).then(|| Instant::now() + RETRY_AFTER);
                if !self.shared.failing.swap(true, Ordering::Relaxed) {
                    let cause: &dyn std::error::Error = &failure;
                    tracing::error!(error = cause, retained = self.backlog.entries(), "the database cannot be written");
                }
                self.disconnect().await;
            }
        }
    }

    async fn try_write(&mut self, requests: Vec<Request>) -> Result<Vec<Answer>, WriteFailure> {
        if let Some(connected) = &self.connected
            && self.place.identity().ok() != Some(connected.identity)
        {
            // SQLite would go on writing to a file that nobody can open any more.
            tracing::error!(database = %self.place.database().display(), "the database was removed or replaced");
            self.disconnect().await;
        }
        let connected = if let Some(connected) = &mut self.connected {
            connected
        } else {
            self.chain.doubt();
            self.connected.insert(Connected::new(&self.place, self.if_missing).await?)
        };
        commit(&mut connected.connection, &mut self.chain, &mut self.backlog, requests).await
    }

    async fn disconnect(&mut self) {
        if let Some(connected) = self.connected.take()
            && let Err(error) = connected.connection.close().await
        {
            tracing::debug!(%error, "the connection to the database did not close well");
        }
    }

    async fn finish(mut self) -> u64 {
        self.requests.close();
        self.batched.close();
        while let Some(draft) = self.batched.recv().await {
            self.backlog.push(draft);
        }
        let mut requests = Vec::new();
        self.requests.recv_many(&mut requests, REQUESTS_MAX).await;
        if !requests.is_empty() || !self.backlog.is_empty() {
            self.write(requests).await;
        }
        self.disconnect().await;
        self.backlog.entries()
    }
}

impl Connected {
    async fn new(place: &Place, if_missing: IfMissing) -> Result<Self, StoreError> {
        let connection = connect(place, if_missing).await?;
        let identity = place
            .identity()
            .map_err(|source| StoreError::Open { path: place.database().to_owned(), source: source.into() })?;
        Ok(Self { connection, identity })
    }
}

#[cfg(test)]
mod tests;
