//! The one task of a process that writes. What arrives while a commit is on its way to disk shares the next one.
//!
//! Requests (jobs and synced entries) are written at once; batched entries wait for company, but not long. While the
//! database cannot be written, requests are refused, batched entries retained, and the writer tries again by itself.
//! While a write does not come to its end, batched entries are retained, too: nobody's read waits for the disk.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use countersign_contract::{AuditUnavailable, BoxFuture};
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::audit::ChainWriter;
use super::commit::{CommitError, Committed, Done, Effect, Outcome, Request, WriteFailure, commit, job};
use super::connect::{Connected, IfMissing, Place, connect};
use crate::StoreError;
use crate::backlog::{BATCH_MAX, Backlog};
use crate::record::Draft;

/// Also the most that share one transaction: more would make the first of them wait for the last.
const REQUESTS_MAX: usize = 256;

/// Callers wait when so many entries are waiting: some milliseconds of full load.
const BATCHED_MAX: usize = 4096;

/// The first entry of a batch waits no longer than this, and a batch of this size does not wait. A kill loses what is
/// waiting and what is being written: under full load, up to twice [`BATCHED_MAX`] records of reads.
const FLUSH_AFTER: Duration = Duration::from_millis(100);
const FLUSH_AT: usize = BATCH_MAX;

/// A write that takes longer is stuck: another process keeps the database locked, or the disk does not answer. From
/// then on batched entries are taken out of the queue, so that their callers do not wait with it.
const STALLED_AFTER: Duration = Duration::from_millis(500);

/// How long retained entries wait for the next attempt. A request makes one earlier, but not for this long: an attempt
/// costs milliseconds, and refusing must be cheap.
const RETRY_AFTER: Duration = Duration::from_secs(1);
const REFUSE_FOR: Duration = Duration::from_millis(50);

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
    /// The writer says that its last commit succeeded.
    writable: AtomicBool,
    /// Those of the writer that changed something, since the start.
    commits: AtomicU64,
}

impl WriterHandle {
    /// Ready when the job's changes and its audit entry are on disk. After an error nothing of the job is, except where
    /// the error says that it is [`CommitError::Unknown`].
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

    /// Hands the draft back where the queue is full.
    pub(crate) fn try_append_batched(&self, draft: Draft) -> Result<(), TrySendError<Draft>> {
        self.batched.try_send(draft)?;
        self.announce();
        Ok(())
    }

    pub(crate) async fn append_batched(&self, draft: Draft) -> Result<(), AuditUnavailable> {
        self.batched.send(draft).await.map_err(|_| AuditUnavailable)?;
        self.announce();
        Ok(())
    }

    /// The writer does not listen to the channel while a batch gathers, or every entry would wake it.
    fn announce(&self) {
        if self.batched.max_capacity() - self.batched.capacity() >= FLUSH_AT {
            self.shared.full.notify_one();
        }
    }

    /// Whether the database can be written. The disk is touched only where the last write does not say so.
    pub(crate) async fn ping(&self) -> Result<(), CommitError> {
        if self.is_writable() && !self.requests.is_closed() {
            return Ok(());
        }
        let pinged = self.commit(|connection| {
            Box::pin(async move {
                // A transaction that changes nothing takes the lock but needs no disk, so it would prove nothing.
                let update = sqlx::query("UPDATE audit_anchor SET chains_opened = chains_opened");
                update.execute(connection).await?;
                Ok(Done { value: (), audit: None })
            })
        });
        pinged.await
    }

    fn is_writable(&self) -> bool {
        self.shared.writable.load(Ordering::Relaxed)
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
    requests: mpsc::Receiver<Request>,
    batched: mpsc::Receiver<Draft>,
    shared: Arc<Shared>,
    session: Session,
    /// When the backlog is to be written; `None` while it is empty.
    due: Option<Instant>,
    /// When the last attempt failed; `None` after one that did not.
    failed_at: Option<Instant>,
}

/// What a commit needs, apart from what is needed to listen meanwhile.
struct Session {
    place: Place,
    if_missing: IfMissing,
    /// Given up after a failure: SQLite may or may not have ended the transaction.
    connected: Option<Connected>,
    chain: ChainWriter,
    backlog: Backlog,
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
        let connected = Some(connect(&place, if_missing).await?);
        let (chain, backlog) = (ChainWriter::new(), Backlog::default());
        let session = Session { place, if_missing, connected, chain, backlog };
        Ok((Self { requests, batched, shared, session, due: None, failed_at: None }, handle))
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
                    if self.failed_at.is_none() {
                        return Wake::Write(Vec::new());
                    }
                    self.take_batched().await;
                }
                Some(draft) = self.batched.recv(), if due.is_none() => {
                    self.session.backlog.push(draft);
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
    async fn take_batched(&mut self) {
        if self.batched.is_empty() {
            return;
        }
        let mut drafts = Vec::with_capacity(self.batched.len());
        self.batched.recv_many(&mut drafts, BATCHED_MAX).await;
        for draft in drafts {
            self.session.backlog.push(draft);
        }
    }

    async fn write(&mut self, requests: Vec<Request>) {
        self.take_batched().await;
        if self.failed_at.is_none_or(|at| at.elapsed() >= REFUSE_FOR) {
            self.write_now(requests).await;
        } else if self.due.is_none() {
            self.retry_later();
        }
    }

    /// In as many transactions as it takes; the requests share the last one.
    async fn write_now(&mut self, requests: Vec<Request>) {
        for _ in 0..self.session.backlog.full_batches() {
            if let Err(failure) = self.attempt(Vec::new()).await {
                return self.fail(&failure).await;
            }
        }
        match self.attempt(requests).await {
            Ok(()) if self.session.backlog.is_empty() => self.due = None,
            Ok(()) => self.due = Some(Instant::now() + FLUSH_AFTER),
            Err(failure) => self.fail(&failure).await,
        }
    }

    async fn attempt(&mut self, requests: Vec<Request>) -> Result<(), WriteFailure> {
        let mut meanwhile = Backlog::default();
        let written = {
            let mut writing = pin!(self.session.write(requests));
            let patience = if self.failed_at.is_none() { STALLED_AFTER } else { Duration::ZERO };
            let mut stalled = pin!(tokio::time::sleep(patience));
            loop {
                tokio::select! {
                    biased;
                    written = &mut writing => break written,
                    () = &mut stalled, if !stalled.is_elapsed() => {}
                    Some(draft) = self.batched.recv(), if stalled.is_elapsed() => meanwhile.push(draft),
                }
            }
        };
        self.session.backlog.append(meanwhile);
        let Committed { answers, effect } = written?;
        if effect == Effect::Changed {
            self.shared.commits.fetch_add(1, Ordering::Relaxed);
            self.shared.writable.store(true, Ordering::Relaxed);
            if self.failed_at.take().is_some() {
                tracing::warn!("the database can be written again");
            }
        }
        for answer in answers {
            answer(Outcome::Kept);
        }
        Ok(())
    }

    async fn fail(&mut self, failure: &WriteFailure) {
        self.shared.writable.store(false, Ordering::Relaxed);
        if self.failed_at.replace(Instant::now()).is_none() {
            let (cause, retained): (&dyn std::error::Error, _) = (failure, self.session.backlog.entries());
            tracing::error!(error = cause, retained, "the database cannot be written");
        }
        self.retry_later();
        self.session.disconnect().await;
    }

    fn retry_later(&mut self) {
        self.due = (!self.session.backlog.is_empty()).then(|| Instant::now() + RETRY_AFTER);
    }

    async fn finish(mut self) -> u64 {
        self.requests.close();
        self.batched.close();
        // To the very end: a caller who has a place in the queue may be about to use it.
        while let Some(draft) = self.batched.recv().await {
            self.session.backlog.push(draft);
        }
        let mut requests = Vec::new();
        self.requests.recv_many(&mut requests, REQUESTS_MAX).await;
        if !requests.is_empty() || !self.session.backlog.is_empty() {
            self.write_now(requests).await;
        }
        self.session.disconnect().await;
        self.session.backlog.entries()
    }
}

impl Session {
    async fn write(&mut self, requests: Vec<Request>) -> Result<Committed, WriteFailure> {
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
            self.connected.insert(connect(&self.place, self.if_missing).await?)
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
}

#[cfg(test)]
mod tests;
