//! The only tasks of a process that write: one on SQLite, where what arrives while a commit is on its way to disk
//! shares the next one; several on PostgreSQL, where the server makes commits share a sync. Requests (jobs and synced entries) are written at once; batched entries wait for company, but not long. While the
//! database cannot be written, requests are refused, batched entries retained, and the writer tries again by itself.
//! While a write does not come to its end, batched entries are retained, too: nobody's read waits for the disk.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use countersign_contract::{AuditUnavailable, BoxFuture};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::audit::ChainWriter;
use super::commit::{CommitError, Committed, Done, Effect, Outcome, Request, Undo, WriteFailure, commit, job};
use super::place::{Connected, IfMissing, Place, connect};
use super::postgres;
use super::sql::Connection;
use crate::StoreError;
use crate::backlog::{BATCH_MAX, Backlog};
use crate::record::Draft;

/// Also the most that share one transaction on SQLite: more would make the first of them wait for the last.
const REQUESTS_MAX: usize = 256;

/// Connections that write on PostgreSQL, each opened when all before it are busy. There a transaction has one request:
/// two that change the same tasks in another order would wait for each other.
const POSTGRES_WRITERS: usize = 8;

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

/// The way to the writers. When the last one is gone, they write what is waiting and end.
#[derive(Debug, Clone)]
pub(crate) struct WriterHandle {
    lanes: Vec<Lane>,
    /// To the first.
    batched: mpsc::Sender<Draft>,
    shared: Arc<Shared>,
    /// Whether the database is a file of ours.
    embedded: bool,
}

/// The way to one of the writers.
#[derive(Debug, Clone)]
struct Lane {
    requests: mpsc::Sender<Request>,
    /// Callers who wait for it.
    waiting: Arc<AtomicUsize>,
}

/// A place in a lane, until the caller has the answer or went away.
struct Turn<'a>(&'a Lane);

#[derive(Debug, Default)]
struct Shared {
    /// Handles say that a batch is worth writing before its time.
    full: Notify,
    /// Pulled by [`WriterHandle::close`].
    closing: CancellationToken,
    /// The last commit of any writer succeeded.
    writable: AtomicBool,
    /// Whether it was said that the database cannot be written.
    complained: AtomicBool,
    /// Those of the writer that changed something, since the start.
    commits: AtomicU64,
}

impl WriterHandle {
    /// Ready when the job's changes and its audit entry are on disk. After an error nothing of the job is, except where
    /// the error says that it is [`CommitError::Unknown`].
    pub(crate) async fn commit<T, F>(&self, undo: Undo, work: F) -> Result<T, CommitError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<Done<T>, sqlx::Error>> + Send + 'static,
    {
        let (request, answered) = job(undo, work);
        let turn = self.take_turn();
        turn.0.requests.send(request).await.map_err(|_| CommitError::Unavailable)?;
        answered.await.unwrap_or(Err(CommitError::Unavailable))
    }

    pub(crate) async fn append_synced(&self, draft: Draft) -> Result<(), AuditUnavailable> {
        let (reply, answered) = tokio::sync::oneshot::channel();
        let turn = self.take_turn();
        turn.0.requests.send(Request::Entry(draft, reply)).await.map_err(|_| AuditUnavailable)?;
        answered.await.map_err(|_| AuditUnavailable)
    }

    /// In the first lane where nobody waits, or the one where the fewest do.
    fn take_turn(&self) -> Turn<'_> {
        let mut best = &self.lanes[0];
        let mut fewest = usize::MAX;
        for lane in &self.lanes {
            let waiting = lane.waiting.load(Ordering::Relaxed);
            if waiting < fewest {
                (best, fewest) = (lane, waiting);
            }
        }
        best.waiting.fetch_add(1, Ordering::Relaxed);
        Turn(best)
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

    /// Whether the database can be written. For a file the last write says so, unless it failed; a server may have gone
    /// away since.
    pub(crate) async fn ping(&self) -> Result<(), CommitError> {
        if self.embedded && self.is_writable() && !self.batched.is_closed() {
            return Ok(());
        }
        let pinged = self.commit(Undo::ByItself, |connection| {
            Box::pin(async move {
                // A transaction that changes nothing takes the lock but needs no disk, so it would prove nothing.
                connection.query("UPDATE audit_anchor SET chains_opened = chains_opened").execute().await?;
                Ok(Done::changed((), None))
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

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(crate) struct Writer {
    requests: mpsc::Receiver<Request>,
    batched: mpsc::Receiver<Draft>,
    shared: Arc<Shared>,
    place: Place,
    /// `None` while it writes.
    session: Option<Session>,
    backlog: Backlog,
    /// When the backlog is to be written; `None` while it is empty.
    due: Option<Instant>,
    /// When the last attempt failed; `None` after one that did not.
    failed_at: Option<Instant>,
}

/// What a commit needs, apart from what is needed to listen meanwhile.
struct Session {
    place: Place,
    if_missing: IfMissing,
    /// Given up after a failure: the database may or may not have ended the transaction.
    connected: Option<Connected>,
    chain: ChainWriter,
}

enum Wake {
    Write(Vec<Request>),
    Close,
}

impl Writer {
    /// The first of them is connected; the others follow when they are needed.
    pub(crate) async fn start(place: Place, if_missing: IfMissing) -> Result<(Vec<Self>, WriterHandle), StoreError> {
        let mut connected = Some(connect(&place, if_missing).await?);
        let (count, embedded) = match place {
            Place::Folder(_) => (1, true),
            Place::Server(_) => (POSTGRES_WRITERS, false),
        };
        let shared = Arc::new(Shared::default());
        let (batched_in, batched) = mpsc::channel(BATCHED_MAX);
        let mut batched = Some(batched);
        let (mut writers, mut lanes) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for _ in 0..count {
            let (requests_in, requests) = mpsc::channel(REQUESTS_MAX);
            lanes.push(Lane { requests: requests_in, waiting: Arc::default() });
            writers.push(Self {
                requests,
                // Nothing ever comes to the others.
                batched: batched.take().unwrap_or_else(|| mpsc::channel(1).1),
                shared: Arc::clone(&shared),
                session: Some(Session {
                    chain: ChainWriter::new(&place),
                    place: place.clone(),
                    if_missing,
                    connected: connected.take(),
                }),
                place: place.clone(),
                backlog: Backlog::default(),
                due: None,
                failed_at: None,
            });
        }
        Ok((writers, WriterHandle { lanes, batched: batched_in, shared, embedded }))
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
                    self.backlog.push(draft);
                    self.due = Some(Instant::now() + FLUSH_AFTER);
                }
            }
        }
    }

    async fn with_those_waiting(&mut self, first: Request) -> Vec<Request> {
        let mut requests = vec![first];
        if matches!(self.place, Place::Server(_)) {
            return requests;
        }
        // Those who were answered by the last commit are about to ask again; one turn lets them share this one.
        tokio::task::yield_now().await;
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
            self.backlog.push(draft);
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
        for _ in 0..self.backlog.full_batches() {
            if let Err(failure) = self.attempt(Vec::new()).await {
                return self.fail(&failure);
            }
        }
        match self.attempt(requests).await {
            Ok(()) if self.backlog.is_empty() => self.due = None,
            Ok(()) => self.due = Some(Instant::now() + FLUSH_AFTER),
            Err(failure) => self.fail(&failure),
        }
    }

    async fn attempt(&mut self, requests: Vec<Request>) -> Result<(), WriteFailure> {
        let Some(mut session) = self.session.take() else { unreachable!("one attempt at a time") };
        let (mut backlog, mut meanwhile) = (std::mem::take(&mut self.backlog), Backlog::default());
        // In a box, because all who wait would carry it along.
        let work = Box::pin(async move {
            let written = session.write(&mut backlog, requests).await;
            (session, backlog, written)
        });
        let (session, backlog, written) = {
            let mut writing = pin!(where_it_may_block(&self.place, work));
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
        (self.session, self.backlog) = (Some(session), backlog);
        self.backlog.append(meanwhile);
        let Committed { answers, effect } = written?;
        if effect == Effect::Changed {
            self.shared.commits.fetch_add(1, Ordering::Relaxed);
            self.shared.writable.store(true, Ordering::Relaxed);
            self.failed_at = None;
            if self.shared.complained.swap(false, Ordering::Relaxed) {
                tracing::warn!("the database can be written again");
            }
        }
        for answer in answers {
            answer(Outcome::Kept);
        }
        Ok(())
    }

    fn fail(&mut self, failure: &WriteFailure) {
        self.shared.writable.store(false, Ordering::Relaxed);
        // What one request met, on a server, need not concern the next.
        let passing = matches!(failure, WriteFailure::Database(error) if postgres::is_passing(error));
        self.failed_at = (!passing).then(Instant::now);
        if !self.shared.complained.swap(true, Ordering::Relaxed) {
            let (cause, retained): (&dyn std::error::Error, _) = (failure, self.backlog.entries());
            tracing::error!(error = cause, retained, "the database cannot be written");
        }
        self.retry_later();
    }

    fn retry_later(&mut self) {
        self.due = (!self.backlog.is_empty()).then(|| Instant::now() + RETRY_AFTER);
    }

    async fn finish(mut self) -> u64 {
        self.requests.close();
        self.batched.close();
        // To the very end: a caller who has a place in the queue may be about to use it.
        while let Some(draft) = self.batched.recv().await {
            self.backlog.push(draft);
        }
        let mut requests = Vec::new();
        self.requests.recv_many(&mut requests, REQUESTS_MAX).await;
        if !requests.is_empty() || !self.backlog.is_empty() {
            self.write_now(requests).await;
        }
        if let Some(mut session) = self.session.take() {
            where_it_may_block(&self.place, async move { session.disconnect().await }).await;
        }
        self.backlog.entries()
    }
}

/// A statement on SQLite runs in the thread that asks for it, and waits there for the disk and for other processes.
async fn where_it_may_block<T: Send + 'static>(place: &Place, work: impl Future<Output = T> + Send + 'static) -> T {
    if matches!(place, Place::Server(_)) {
        return work.await;
    }
    let runtime = Handle::current();
    match tokio::task::spawn_blocking(move || runtime.block_on(work)).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends, and so does whoever waits here.
            Err(_) => std::future::pending().await,
        },
    }
}

impl Session {
    /// Without a connection after a failure.
    async fn write(&mut self, backlog: &mut Backlog, requests: Vec<Request>) -> Result<Committed, WriteFailure> {
        let written = self.try_to_write(backlog, requests).await;
        if written.is_err() {
            self.disconnect().await;
        }
        written
    }

    async fn try_to_write(&mut self, backlog: &mut Backlog, requests: Vec<Request>) -> Result<Committed, WriteFailure> {
        if let Some(connected) = &self.connected
            && !self.place.is_behind(connected)
        {
            // SQLite would go on writing to a file that nobody can open any more.
            tracing::error!(database = %self.place, "the database was removed or replaced");
            self.disconnect().await;
        }
        self.begin().await?;
        let Some(Connected { connection, .. }) = &mut self.connected else { unreachable!("it has just been used") };
        commit(connection, &mut self.chain, backlog, requests).await
    }

    /// Leaves a connection with a transaction.
    async fn begin(&mut self) -> Result<(), WriteFailure> {
        if let Some(connected) = &mut self.connected {
            match connected.connection.begin().await {
                // A server that was restarted; nothing was asked of it yet.
                Err(error) if matches!(self.place, Place::Server(_)) => {
                    tracing::debug!(%error, "the connection to the database is gone");
                    self.disconnect().await;
                }
                begun => return Ok(begun?),
            }
        }
        self.chain.doubt();
        let connected = self.connected.insert(connect(&self.place, self.if_missing).await?);
        Ok(connected.connection.begin().await?)
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
