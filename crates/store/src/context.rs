//! What the context index keeps: pieces of a project, by where they come from, and vectors of their texts.
//!
//! An origin has all rows of one content or none, so whoever is killed goes on where the digests say. A change is many
//! transactions, so that nobody else's write waits for long. Everything may be written again; nothing happens then.

use std::sync::Arc;

use countersign_contract::BoxFuture;
use jiff::Timestamp;

use crate::StoreError;
use crate::db::approvals::Found;
use crate::db::{CommitError, Connection, Done, Reader, Undo, WriterHandle, context};

/// What one transaction takes along, so that nobody else's write waits for long: so many origins, rows of theirs, and
/// bytes of those, or a single origin.
const ORIGINS_MAX: usize = 64;
const ROWS_MAX: usize = 2000;
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Of some kilobytes each, for the same reason.
const VECTORS_MAX: usize = 512;

/// SHA-256 or another hash of that size.
pub type Digest = [u8; 32];

/// What can be found of one repository, by every process on one database.
#[derive(Debug, Clone)]
pub struct ContextRows(Option<Place>);

#[derive(Debug, Clone)]
struct Place {
    scope: Arc<str>,
    reader: Arc<Reader>,
    writer: WriterHandle,
}

/// All rows of one origin, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginRows {
    /// A path or the like, of any length; it has no NUL in it, which PostgreSQL does not take.
    pub name: String,
    /// Of the content that the rows were made of, and of how they were made.
    pub digest: Digest,
    pub rows: Vec<NewRow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRow {
    /// Of what is embedded: where it is the same, so is the vector.
    pub text_hash: Digest,
    /// JSON, in which a NUL is written as `\u0000`.
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRow {
    /// Never given to another row.
    pub id: i64,
    pub origin: String,
    /// From 0, within the origin.
    pub ordinal: i64,
    pub text_hash: Digest,
    pub body: String,
}

impl ContextRows {
    pub(crate) fn new(scope: Arc<str>, reader: Arc<Reader>, writer: WriterHandle) -> Self {
        Self(Some(Place { scope, reader, writer }))
    }

    /// Where there is no database: contracts can be had without one. There is nothing, and nothing can be kept.
    pub fn nowhere() -> Self {
        Self(None)
    }

    /// All names and digests, in the order of the names.
    pub async fn origins(&self) -> Result<Vec<(String, Digest)>, StoreError> {
        match &self.0 {
            Some(place) => place.reader.context_origins(&place.scope).await,
            None => Ok(Vec::new()),
        }
    }

    /// New rows in the place of the old ones. An origin that has this digest already stays as it is: another process
    /// may have been first. After an error some origins are replaced and the others are as they were.
    pub async fn replace(&self, mut origins: Vec<OriginRows>) -> Result<(), StoreError> {
        let place = self.place()?;
        // Of two by the same name the later one counts.
        origins.reverse();
        origins.sort_by(|one, other| one.name.cmp(&other.name));
        origins.dedup_by(|one, other| one.name == other.name);
        for batch in batches(origins) {
            let scope = Arc::clone(&place.scope);
            let replaced = place.commit(Undo::BySavepoint, move |connection| {
                Box::pin(async move { Ok(context::replace(connection, &scope, &batch).await?.done(())) })
            });
            replaced.await?;
        }
        Ok(())
    }

    /// Origins with all their rows; those that are not there are no mistake.
    pub async fn remove(&self, mut names: Vec<String>) -> Result<(), StoreError> {
        let place = self.place()?;
        while !names.is_empty() {
            let batch = take_batch(&mut names, ORIGINS_MAX);
            let scope = Arc::clone(&place.scope);
            let removed = place.commit(Undo::BySavepoint, move |connection| {
                Box::pin(async move { Ok(context::remove(connection, &scope, &batch).await?.done(())) })
            });
            removed.await?;
        }
        Ok(())
    }

    /// In the order of the origins' names and of the ordinals. The caller asks for as many as it has room for.
    pub async fn rows_of(&self, origins: &[String]) -> Result<Vec<ContextRow>, StoreError> {
        match &self.0 {
            Some(place) => place.reader.context_rows(&place.scope, origins).await,
            None => Ok(Vec::new()),
        }
    }

    /// Of those that are still there, in no order.
    pub async fn bodies(&self, ids: &[i64]) -> Result<Vec<(i64, String)>, StoreError> {
        match &self.0 {
            Some(place) => place.reader.context_bodies(ids).await,
            None => Ok(Vec::new()),
        }
    }

    /// Grows whenever rows or vectors are changed through this scope, by any process. Whoever reads it before the rows
    /// may have newer rows, and never older ones.
    pub async fn revision(&self) -> Result<i64, StoreError> {
        match &self.0 {
            Some(place) => place.reader.context_revision(&place.scope).await,
            None => Ok(0),
        }
    }

    /// How many rows there are.
    pub async fn count(&self) -> Result<usize, StoreError> {
        match &self.0 {
            Some(place) => Ok(usize::try_from(place.reader.context_count(&place.scope).await?).unwrap_or_default()),
            None => Ok(0),
        }
    }

    /// Texts that the model has no vector for, each once, with the id of a row that has it.
    pub async fn without_vectors(&self, model: &str) -> Result<Vec<(i64, Digest)>, StoreError> {
        match &self.0 {
            Some(place) => place.reader.context_without_vectors(&place.scope, model).await,
            None => Ok(Vec::new()),
        }
    }

    /// Of those that there are, in no order; whichever scope they were made for.
    pub async fn vectors(&self, model: &str, hashes: &[Digest]) -> Result<Vec<(Digest, Vec<u8>)>, StoreError> {
        match &self.0 {
            Some(place) => place.reader.context_vectors(model, hashes).await,
            None => Ok(Vec::new()),
        }
    }

    /// A vector that is there already stays as it is.
    pub async fn keep_vectors(&self, model: &str, mut vectors: Vec<(Digest, Vec<u8>)>) -> Result<(), StoreError> {
        let place = self.place()?;
        vectors.sort_unstable_by_key(|(hash, _)| *hash);
        let model: Arc<str> = model.into();
        while !vectors.is_empty() {
            let batch = take_batch(&mut vectors, VECTORS_MAX);
            let (scope, model) = (Arc::clone(&place.scope), Arc::clone(&model));
            let kept = place.commit(Undo::BySavepoint, move |connection| {
                Box::pin(async move { Ok(context::keep_vectors(connection, &scope, &model, &batch).await?.done(())) })
            });
            kept.await?;
        }
        Ok(())
    }

    /// Forgets the vectors of all models whose text no scope has had for 30 days. Looks at most once a day, whichever
    /// process asks first; so it may be asked at any time.
    pub async fn drop_unused_vectors(&self) -> Result<(), StoreError> {
        let place = self.place()?;
        let now = Timestamp::now();
        let begun = place.commit(Undo::ByItself, move |connection| {
            Box::pin(async move {
                let found = context::begin_sweep(connection, now).await?;
                Ok(found.done(found))
            })
        });
        let mut next = match begun.await? {
            Found::Changed => Some(context::BEFORE_ALL),
            Found::AsItWas => None,
        };
        while let Some(after) = next {
            let swept = place.commit(Undo::BySavepoint, move |connection| {
                Box::pin(async move {
                    let (next, found) = context::sweep(connection, after, now).await?;
                    Ok(found.done(next))
                })
            });
            next = swept.await?;
        }
        Ok(())
    }

    fn place(&self) -> Result<&Place, StoreError> {
        self.0.as_ref().ok_or(StoreError::Unwritable)
    }
}

impl Place {
    /// Whether a change whose commit failed was made does not matter: it can be written again.
    async fn commit<T, F>(&self, undo: Undo, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut Connection) -> BoxFuture<'c, Result<Done<T>, sqlx::Error>> + Send + 'static,
    {
        self.writer.commit(undo, work).await.map_err(|error| {
            // What else there is concerns everyone who writes, and was told.
            if matches!(error, CommitError::Statement(_)) {
                let cause: &(dyn std::error::Error + 'static) = &error;
                tracing::error!(error = cause, "the context index cannot be written");
            }
            StoreError::Unwritable
        })
    }
}

/// For one transaction each. Origins stay whole.
fn batches(origins: Vec<OriginRows>) -> Vec<Vec<OriginRows>> {
    let mut batches: Vec<Vec<OriginRows>> = Vec::new();
    let (mut rows, mut bytes) = (0, 0);
    for origin in origins {
        rows += origin.rows.len();
        bytes += size(&origin);
        match batches.last_mut() {
            Some(batch) if batch.len() < ORIGINS_MAX && rows <= ROWS_MAX && bytes <= BYTES_MAX => batch.push(origin),
            Some(_) | None => {
                (rows, bytes) = (origin.rows.len(), size(&origin));
                batches.push(vec![origin]);
            }
        }
    }
    batches
}

fn size(origin: &OriginRows) -> usize {
    origin.rows.iter().map(|row| row.body.len()).sum()
}

fn take_batch<T>(waiting: &mut Vec<T>, most: usize) -> Vec<T> {
    let rest = waiting.split_off(most.min(waiting.len()));
    std::mem::replace(waiting, rest)
}

#[cfg(test)]
mod tests;
