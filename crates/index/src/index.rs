//! The index as the rest of the program sees it: kept up to date by one process of a data folder, searched by all.

use std::future::ready;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use countersign_contract::BoxFuture;
use countersign_repo::{ParentRule, PathPolicy, Root};
use countersign_store::{Accesses, ContextRows, StoreError};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::catalogue::Catalogue;
use crate::embed::{EmbedError, Embedder, Local};
use crate::lock::Lock;
use crate::refresh::{IndexError, Progress, Task, refresh};
use crate::sources::{Memory, Sources};

/// A process that lives for a moment should not begin what it cannot end; a search does not wait for it.
const START_AFTER: Duration = Duration::from_secs(1);

/// How often a process that does not index looks whether another one has, and whether it is gone.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

/// After an error of the database, the disk or the embedder.
const RETRY_AFTER: Duration = Duration::from_secs(15);

/// For an index that reads nothing.
static NOTHING: PathPolicy = PathPolicy { blocked: &[], parents: ParentRule::Component, max_bytes: 0 };

/// What an index is made of.
#[derive(Debug)]
pub struct Parts {
    pub rows: ContextRows,
    pub sources: Sources,
    /// For whoever waits, and for what can take its time.
    pub embedder: Arc<dyn Embedder>,
    pub in_background: Arc<dyn Embedder>,
    pub accesses: Accesses,
    /// Held by the one who indexes.
    pub lock: PathBuf,
}

#[derive(Debug)]
pub struct Index {
    pub(crate) rows: ContextRows,
    pub(crate) sources: Arc<Sources>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) in_background: Arc<dyn Embedder>,
    pub(crate) accesses: Accesses,
    lock: PathBuf,
    pub(crate) catalogue: Catalogue,
    /// How much of the project has been looked at.
    pub(crate) looked: watch::Sender<Looked>,
    /// Somebody searches.
    pub(crate) wanted: Notify,
}

/// What an empty index means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Looked {
    NotYet,
    /// There is an index, and it is being read.
    Reading,
    /// It says what the project was when it was made; files may be gone or ignored since.
    Before,
    /// Nothing newer is to come of this process soon: another one looks after the index, or the look failed.
    Settled,
    /// Everything was looked at by this process.
    AtAll,
}

/// How far a build is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Reading(Progress),
    Embedding { done: usize, of: usize },
}

/// What a build did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Built {
    pub progress: Progress,
    /// Chunks in the index now.
    pub chunks: usize,
    /// Texts that were embedded for it.
    pub embedded: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("another process keeps the index up to date")]
    Busy,
    #[error("the index cannot be locked")]
    Lock(#[source] io::Error),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Embed(#[from] EmbedError),
}

impl From<StoreError> for BuildError {
    fn from(error: StoreError) -> Self {
        Self::Index(error.into())
    }
}

impl Index {
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts { rows, sources, embedder, in_background, accesses, lock } = parts;
        let catalogue = Catalogue::new(rows.clone(), embedder.model());
        Arc::new(Self {
            rows,
            sources: Arc::new(sources),
            embedder,
            in_background,
            accesses,
            lock,
            catalogue,
            looked: watch::Sender::new(Looked::NotYet),
            wanted: Notify::new(),
        })
    }

    /// Where there is no database: contracts can be had without one, and nothing is found.
    pub fn nowhere(root: Arc<Root>) -> Arc<Self> {
        let embedder = Arc::new(Local::in_background());
        let folder = root.path().to_owned();
        let memory = Memory { folder: folder.clone(), ours: Vec::new(), shown: String::new() };
        Self::new(Parts {
            rows: ContextRows::nowhere(),
            sources: Sources { root, folder, policy: &NOTHING, excluded: &[], left_out: None, memory },
            embedder: Arc::clone(&embedder) as _,
            in_background: embedder,
            accesses: Accesses::nowhere(),
            lock: PathBuf::new(),
        })
    }

    /// Everything, here and now; resumed where an earlier run ended.
    pub async fn build(&self, mut each: impl FnMut(Stage) + Send) -> Result<Built, BuildError> {
        let Some(_lock) = Lock::take(&self.lock).map_err(BuildError::Lock)? else { return Err(BuildError::Busy) };
        let reading = |progress| -> BoxFuture<'_, ()> {
            each(Stage::Reading(progress));
            Box::pin(ready(()))
        };
        let progress = refresh(&self.sources, &self.rows, Task::Everything, reading).await?;
        // Nobody searches here, so nothing is read but what has no vector yet.
        let missing = self.rows.without_vectors(self.embedder.model()).await?;
        let embedded = self.embed(&*self.embedder, &missing, |done, of| each(Stage::Embedding { done, of })).await?;
        Ok(Built { progress, chunks: self.rows.count().await?, embedded })
    }

    /// Keeps the index up to date until it is told to stop: by indexing, or by following whoever does.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let work = async {
            tokio::select! {
                () = tokio::time::sleep(START_AFTER) => {}
                () = self.wanted.notified() => {}
            }
            loop {
                if let Err(error) = self.keep_up().await {
                    let cause: &(dyn std::error::Error + 'static) = &error;
                    tracing::warn!(error = cause, "the context index is not up to date; trying again");
                }
                // Questions need not wait for what may fail again.
                self.has_looked(Looked::Settled);
                tokio::time::sleep(RETRY_AFTER).await;
            }
        };
        tokio::select! {
            () = work => {}
            () = self.score() => {}
            () = stop.cancelled() => {}
        }
    }

    /// What is there already can be searched at once.
    async fn keep_up(&self) -> Result<(), BuildError> {
        if self.rows.revision().await? > 0 {
            self.has_looked(Looked::Reading);
        }
        loop {
            self.catalogue.sync().await?;
            let lock = Lock::take(&self.lock).map_err(BuildError::Lock)?;
            let Some(lock) = lock else {
                self.has_looked(Looked::Settled);
                tokio::time::sleep(FOLLOW_EVERY).await;
                continue;
            };
            if self.catalogue.len() > 0 {
                self.has_looked(Looked::Before);
            }
            return self.lead(lock).await;
        }
    }

    pub(crate) fn has_looked(&self, now: Looked) {
        self.looked.send_if_modified(|looked| {
            let news = *looked < now;
            *looked = now.max(*looked);
            news
        });
    }
}
