//! One transaction for everything that arrived together, and so one sync.
//!
//! Jobs that share one have a savepoint each: one that fails undoes itself and nobody else. Nobody is told of success here; the
//! writer does that once the transaction is on disk. A request that is dropped unanswered tells its caller by that
//! that nothing of it was kept.

use std::fmt;
use std::panic::AssertUnwindSafe;

use countersign_contract::{AuditEntry, BoxFuture};
use futures_util::FutureExt as _;
use tokio::sync::oneshot;

use super::audit::ChainWriter;
use super::sql::{Connection, is_statement_failure};
use crate::StoreError;
use crate::backlog::Backlog;
use crate::record::Draft;

/// What a job leaves behind.
#[derive(Debug)]
pub(crate) struct Done<T> {
    value: T,
    /// Chained in the same commit, so that neither exists without the other.
    audit: Option<AuditEntry>,
    effect: Effect,
}

/// How a job is undone that fails among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undo {
    /// It has one statement that changes something, and a statement that fails has changed nothing.
    ByItself,
    BySavepoint,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CommitError {
    /// Nothing of the job was kept; its neighbours were.
    #[error("a statement failed")]
    Statement(#[source] sqlx::Error),
    /// Nothing of the job was kept. The log has the cause.
    #[error("the database cannot be written")]
    Unavailable,
    /// The commit itself failed: whether the job was kept shows only when the database is read again.
    #[error("the database did not say whether it kept the change")]
    Unknown,
}

/// Why a transaction is not known to have been kept; but for [`Self::Commit`], nothing of it was.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteFailure {
    #[error("there is no connection to the database")]
    Connect(#[from] StoreError),
    #[error("the database refused the transaction")]
    Database(#[from] sqlx::Error),
    #[error("the transaction was not committed, or may have been")]
    Commit(#[source] sqlx::Error),
    #[error("this process's audit chain was changed from outside")]
    ChainChanged,
    #[error("a job panicked, and took its neighbours along")]
    Panicked,
    #[error("a gap cannot be put into words")]
    Gap(#[from] fmt::Error),
    #[error("no number is left for another audit chain: {highest} is taken")]
    NoChainLeft { highest: i64 },
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Kept,
    Unknown,
}

pub(super) struct Committed {
    pub(super) answers: Vec<Answer>,
    pub(super) effect: Effect,
}

/// Whether there was anything to bring to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Changed,
    Nothing,
}

impl<T> Done<T> {
    pub(crate) fn changed(value: T, audit: Option<AuditEntry>) -> Self {
        Self { value, audit, effect: Effect::Changed }
    }

    pub(crate) fn looked(value: T) -> Self {
        Self { value, audit: None, effect: Effect::Nothing }
    }
}

impl<T> Done<Option<T>> {
    /// Where there was something to change.
    pub(crate) fn if_found(value: Option<T>, audit: Option<AuditEntry>) -> Self {
        if value.is_some() { Self::changed(value, audit) } else { Self::looked(value) }
    }
}

pub(super) enum Request {
    Entry(Draft, oneshot::Sender<()>),
    Job(Job, Undo),
}

pub(super) type Job = Box<dyn for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<Ran, Abort>> + Send>;
pub(super) type Answer = Box<dyn FnOnce(Outcome) + Send>;

pub(super) struct Ran {
    audit: Option<Draft>,
    answer: Answer,
    effect: Effect,
}

pub(super) enum Abort {
    /// The job has its answer already: nothing that comes after can change it.
    Job,
    Batch(sqlx::Error),
}

/// A job must hand back the database's errors rather than go on: some of them end the transaction it runs in.
pub(super) fn job<T, F>(undo: Undo, work: F) -> (Request, oneshot::Receiver<Result<T, CommitError>>)
where
    T: Send + 'static,
    F: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<Done<T>, sqlx::Error>> + Send + 'static,
{
    let (reply, answered) = oneshot::channel();
    let job: Job = Box::new(move |connection| {
        Box::pin(async move {
            let refuse = |reply: oneshot::Sender<_>, error| {
                drop(reply.send(Err(CommitError::Statement(error))));
                Err(Abort::Job)
            };
            match work(connection).await {
                Ok(Done { value, audit, effect }) => match audit.as_ref().map(Draft::of_entry).transpose() {
                    Ok(audit) => {
                        let answer = Box::new(move |outcome| {
                            drop(reply.send(match outcome {
                                Outcome::Kept => Ok(value),
                                Outcome::Unknown => Err(CommitError::Unknown),
                            }));
                        });
                        Ok(Ran { audit, answer, effect })
                    }
                    // What it changed is there; only all together can it be undone.
                    Err(error) => Err(Abort::Batch(sqlx::Error::Encode(error.into()))),
                },
                Err(error) if is_statement_failure(&error) => refuse(reply, error),
                Err(error) => Err(Abort::Batch(error)),
            }
        })
    });
    (Request::Job(job, undo), answered)
}

/// In the transaction that was begun. Takes a batch of the backlog along, in front of the requests.
pub(super) async fn commit(
    connection: &mut Connection,
    chain: &mut ChainWriter,
    backlog: &mut Backlog,
    requests: Vec<Request>,
) -> Result<Committed, WriteFailure> {
    if let Some(already_there) = chain.resume(connection).await? {
        backlog.settle(already_there);
    }
    let mut answers = Vec::with_capacity(requests.len());
    let mut entries = Vec::with_capacity(requests.len());
    let alone = requests.len() == 1;
    let mut effect = Effect::Nothing;
    for request in requests {
        let ran = match request {
            Request::Entry(draft, reply) => Some(entry(draft, reply)),
            Request::Job(job, _) if alone => {
                let ran = run(connection, job, Undo::BySavepoint).await?;
                if ran.is_none() {
                    // Nothing else is in it yet: undoing all undoes the job.
                    connection.control("ROLLBACK").await?;
                    return Ok(Committed { answers, effect: Effect::Nothing });
                }
                ran
            }
            Request::Job(job, undo @ Undo::ByItself) => run(connection, job, undo).await?,
            Request::Job(job, Undo::BySavepoint) => run_among_others(connection, job).await?,
        };
        if let Some(ran) = ran {
            if ran.effect == Effect::Changed {
                effect = Effect::Changed;
            }
            entries.extend(ran.audit);
            answers.push(ran.answer);
        }
    }
    let (drafts, gap) = backlog.batch();
    let gap = gap.map(Draft::of_gap).transpose()?;
    let carried = backlog.carried();
    let drafts: Vec<&Draft> = drafts.chain(&gap).chain(&entries).collect();
    let extended = chain.extend(connection, carried, &drafts).await?;
    if extended.is_some() {
        effect = Effect::Changed;
    }
    if let Err(error) = connection.control("COMMIT").await {
        for answer in answers {
            answer(Outcome::Unknown);
        }
        return Err(WriteFailure::Commit(error));
    }
    chain.confirm(extended);
    backlog.settle(carried);
    Ok(Committed { answers, effect })
}

fn entry(draft: Draft, reply: oneshot::Sender<()>) -> Ran {
    Ran {
        effect: Effect::Changed,
        audit: Some(draft),
        // Whoever went away while waiting needs no answer; whoever is not answered takes it for a failure.
        answer: Box::new(move |outcome| {
            if outcome == Outcome::Kept {
                reply.send(()).unwrap_or_default();
            }
        }),
    }
}

/// `None` where the job failed and was undone.
async fn run_among_others(connection: &mut Connection, job: Job) -> Result<Option<Ran>, WriteFailure> {
    connection.control("SAVEPOINT job").await?;
    let ran = run(connection, job, Undo::BySavepoint).await?;
    if ran.is_none() {
        connection.control("ROLLBACK TO job").await?;
    }
    connection.control("RELEASE job").await?;
    Ok(ran)
}

/// `None` where the job failed and must be undone.
async fn run(connection: &mut Connection, job: Job, undo: Undo) -> Result<Option<Ran>, WriteFailure> {
    // The writer serves the whole process and must survive one job's panic.
    let outcome = AssertUnwindSafe(async { job(connection).await }).catch_unwind().await;
    match outcome {
        Ok(Ok(ran)) => Ok(Some(ran)),
        Ok(Err(Abort::Batch(error))) => Err(error.into()),
        Err(_) if undo == Undo::ByItself => Err(WriteFailure::Panicked),
        Ok(Err(Abort::Job)) | Err(_) => Ok(None),
    }
}
