//! What the one process does that indexes: everything once, then whatever changes, and vectors in between.

use std::collections::{BTreeSet, HashMap};
use std::future::ready;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_contract::BoxFuture;
use countersign_repo::Stop;
use countersign_store::StoreError;

use crate::chunk::{Chunk, text_to_embed};
use crate::embed::{Embedder, to_bytes};
use crate::index::{BuildError, Index, Looked};
use crate::lock::Lock;
use crate::refresh::{IndexError, Task, refresh};
use crate::watch::{Following, Heard, Watch};

/// A save is often several events, and a checkout thousands.
const DEBOUNCE: Duration = Duration::from_millis(250);

/// However busy the tree is, something is done about it.
const DEBOUNCE_MAX: Duration = Duration::from_secs(1);

/// Everything is looked at again, in case something was missed; more often where not everything can be watched.
const LOOK_AGAIN: Duration = Duration::from_mins(10);
const LOOK_AGAIN_UNWATCHED: Duration = Duration::from_secs(30);

/// While much is new, what there is so far can be searched.
const PUBLISH_EVERY: Duration = Duration::from_millis(500);

/// New vectors wait this long for company: each time the whole generation is made anew.
const PUBLISH_VECTORS_EVERY: Duration = Duration::from_secs(5);

/// Texts that are embedded together: what a kill costs, and how long a change waits at most.
const EMBED_AT_A_TIME: usize = 16;

/// Files that are read again and again, and how often that is looked at.
const SCORED_FILES: i64 = 500;
const SCORE_EVERY: Duration = Duration::from_secs(30);

impl Index {
    /// Until something fails. The lock is held all the while.
    pub(crate) async fn lead(&self, _lock: Lock) -> Result<(), BuildError> {
        let mut watch = Watch::new().inspect_err(|error| tracing::warn!(%error, "changes cannot be watched")).ok();
        // What changes while everything is looked at is heard of.
        self.follow(watch.as_mut()).await?;
        self.bring_up_to_date(Task::Everything).await?;
        self.has_looked(Looked::AtAll);
        if let Err(error) = self.rows.drop_unused_vectors().await {
            tracing::debug!(%error, "unused vectors stay for now");
        }
        loop {
            let Following { whole, more } = self.follow(watch.as_mut()).await?;
            let again = if whole { LOOK_AGAIN } else { LOOK_AGAIN_UNWATCHED };
            let task = tokio::select! {
                // New folders may have been filled before they were watched.
                () = ready(()), if more => Task::Changed(BTreeSet::new()),
                heard = next_change(watch.as_ref()) => self.task_for(heard),
                () = tokio::time::sleep(again) => Task::Everything,
                failed = self.fill_and_wait() => return failed,
            };
            self.bring_up_to_date(task).await?;
        }
    }

    async fn follow(&self, watch: Option<&mut Watch>) -> Result<Following, IndexError> {
        let Some(watch) = watch else { return Ok(Following::default()) };
        Ok(watch.follow(self.folders().await?))
    }

    async fn bring_up_to_date(&self, task: Task) -> Result<(), BuildError> {
        let mut published = Instant::now();
        let publish = |_| -> BoxFuture<'_, ()> {
            if published.elapsed() < PUBLISH_EVERY {
                return Box::pin(ready(()));
            }
            published = Instant::now();
            // What fails here fails again at the end.
            Box::pin(async { drop(self.catalogue.sync().await) })
        };
        refresh(&self.sources, &self.rows, task, publish).await?;
        self.catalogue.sync().await?;
        Ok(())
    }

    async fn folders(&self) -> Result<BTreeSet<PathBuf>, IndexError> {
        let sources = Arc::clone(&self.sources);
        let listed = tokio::task::spawn_blocking(move || {
            let places = sources.list(&Stop::default())?;
            Ok(sources.folders(places.iter()))
        });
        listed.await.map_err(io::Error::other)?
    }

    /// The history changes together with files that are none of the index's, so it is enough to know that it did.
    fn task_for(&self, heard: Heard) -> Task {
        let paths = match heard {
            Heard::Paths(paths) => paths,
            Heard::TooMuch => return Task::Everything,
        };
        let (history, files): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) =
            paths.into_iter().partition(|path| self.sources.is_history(path));
        let places: BTreeSet<_> = files.iter().filter_map(|path| self.sources.place_of(path)).collect();
        match (history.is_empty(), files.is_empty()) {
            (true, _) => Task::Changed(places),
            (false, true) => Task::History,
            (false, false) => Task::Everything,
        }
    }

    /// Ends only with an error: what is missing is embedded, then there is nothing to do.
    async fn fill_and_wait(&self) -> Result<(), BuildError> {
        let missing = self.catalogue.missing().await;
        self.embed(&*self.in_background, &missing, |_, _| {}).await?;
        std::future::pending().await
    }

    /// Embeds texts that have no vector yet. Whoever gives up on it loses a few.
    pub(crate) async fn embed(
        &self,
        embedder: &dyn Embedder,
        missing: &[(i64, [u8; 32])],
        mut each: impl FnMut(usize, usize),
    ) -> Result<usize, BuildError> {
        let (mut done, mut published) = (0, Instant::now());
        for batch in missing.chunks(EMBED_AT_A_TIME) {
            each(done, missing.len());
            let found = self.texts_of(batch).await?;
            let (hashes, texts): (Vec<_>, Vec<_>) = found.into_iter().unzip();
            let vectors = embedder.embed(&texts).await?;
            let rows = hashes.iter().copied().zip(vectors.iter().map(|vector| to_bytes(vector))).collect();
            self.rows.keep_vectors(embedder.model(), rows).await?;
            done += texts.len();
            self.catalogue.take_vectors(hashes.into_iter().zip(vectors)).await;
            if published.elapsed() >= PUBLISH_VECTORS_EVERY {
                self.catalogue.publish().await;
                published = Instant::now();
            }
        }
        self.catalogue.publish().await;
        Ok(done)
    }

    /// What the model reads of these rows; some may be gone by now.
    pub(crate) async fn texts_of(&self, rows: &[(i64, [u8; 32])]) -> Result<Vec<([u8; 32], String)>, StoreError> {
        let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
        let bodies: HashMap<i64, String> = self.rows.bodies(&ids).await?.into_iter().collect();
        let text = |(id, hash): &(i64, [u8; 32])| {
            let chunk: Chunk = serde_json::from_str(bodies.get(id)?).ok()?;
            Some((*hash, text_to_embed(&chunk)))
        };
        Ok(rows.iter().filter_map(text).collect())
    }

    /// Turns how often files are read into a small preference for them.
    pub(crate) async fn score(&self) {
        loop {
            match self.accesses.newest(SCORED_FILES).await {
                Ok(accesses) => self.catalogue.set_accesses(&accesses),
                Err(error) => tracing::debug!(%error, "reads cannot be counted in"),
            }
            tokio::time::sleep(SCORE_EVERY).await;
        }
    }
}

/// After a change it waits for the ones that come with it.
async fn next_change(watch: Option<&Watch>) -> Heard {
    let Some(watch) = watch else { return std::future::pending().await };
    watch.changed().await;
    let first = Instant::now();
    let mut heard = Heard::Paths(BTreeSet::new());
    loop {
        match (watch.take(), &mut heard) {
            (Some(Heard::Paths(more)), Heard::Paths(known)) => known.extend(more),
            (Some(_), _) => heard = Heard::TooMuch,
            (None, _) => {}
        }
        let quiet = tokio::time::timeout(DEBOUNCE, watch.changed()).await.is_err();
        if quiet || first.elapsed() >= DEBOUNCE_MAX {
            return heard;
        }
    }
}
