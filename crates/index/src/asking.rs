//! One question, from its words to the pieces of the project that answer it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_store::StoreError;
use jiff::Timestamp;
use uuid::Uuid;

use crate::catalogue::Published;
use crate::chunk::{Chunk, Kind};
use crate::embed::{EmbedError, from_bytes, to_bytes};
use crate::index::{Index, Looked};
use crate::query::Query;
use crate::ranking::{Circumstances, Hit};
use crate::search::{Filter, Found, Search};
use crate::weights::Weights;

/// A question that comes before the project was looked at waits this long for it; then what is there has to do.
const FIRST_LOOK: Duration = Duration::from_millis(1200);

/// An index that was made before is worth waiting for: a large one takes seconds to read. Its words come first. Then it
/// is compared with the project, so that no text of files is shown that are gone or ignored by now.
const CATCHING_UP: Duration = Duration::from_millis(3500);

/// A service that takes longer for a query is no help: a search may take five seconds at most.
const QUERY_PATIENCE: Duration = Duration::from_secs(4);

/// What is embedded while somebody waits may take this long together.
const ON_DEMAND: Duration = Duration::from_millis(500);

/// Results that are read beyond the limit, for those that are gone by then.
const SPARE: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub query: String,
    /// Only discoveries of this kind.
    pub kind: Option<Kind>,
    pub module: Option<String>,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The best first.
    pub pieces: Vec<Piece>,
    /// How many chunks are relevant, returned or not.
    pub total: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Stays the same as long as place and content do.
    pub id: Uuid,
    /// From 0 to 1.
    pub score: f32,
    pub chunk: Chunk,
}

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// Everything was looked at, and nothing was there.
    #[error("there is nothing to search")]
    Nothing,
    #[error("the index is not made yet")]
    NotYet,
    #[error("the query cannot be embedded")]
    Query(#[source] EmbedError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Index {
    pub async fn search(&self, asked: &Asked) -> Result<Answer, SearchError> {
        self.first_look().await;
        let published = self.catalogue.published();
        if published.generation.is_empty() {
            let looked = *self.looked.borrow();
            return Err(if looked == Looked::AtAll { SearchError::Nothing } else { SearchError::NotYet });
        }
        let vector = self.embed_query(&asked.query).await.map_err(SearchError::Query)?;
        let question = Arc::new(Question {
            query: Query::new(&asked.query),
            vector,
            filter: Filter::new(asked.kind, asked.module.as_deref()),
            weights: Weights::default(),
        });
        let found =
            on_a_thread(&published, &question, |published, question| published.generation.find(&question.search()));
        let Some(found) = found.await else { return Err(SearchError::NotYet) };
        let total = found.total;
        let exact = self.exact(&published, &found).await?;
        let (accesses, limit) = (self.catalogue.accesses(), asked.limit + SPARE);
        let ranked = on_a_thread(&published, &question, move |published, question| {
            let circumstances = Circumstances { exact: &exact, accesses: &accesses, now: Timestamp::now() };
            found.rank(&published.generation, &question.search(), &circumstances, limit)
        });
        let hits = ranked.await.unwrap_or_default();
        let pieces = self.pieces(&hits, asked.limit).await?;
        Ok(Answer { total: total.max(pieces.len()), pieces })
    }

    /// Whoever asks first makes it begin.
    async fn first_look(&self) {
        let mut looked = self.looked.subscribe();
        if *looked.borrow() == Looked::NotYet {
            self.wanted.notify_one();
            // What there is by then has to do.
            let _ = tokio::time::timeout(FIRST_LOOK, looked.wait_for(|looked| *looked != Looked::NotYet)).await;
        }
        let now = *looked.borrow();
        if now == Looked::Reading || now == Looked::Before {
            let _ = tokio::time::timeout(CATCHING_UP, looked.wait_for(|looked| *looked > Looked::Before)).await;
        }
    }

    async fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError> {
        let query = [query.to_owned()];
        match tokio::time::timeout(QUERY_PATIENCE, self.embedder.embed(&query)).await {
            Ok(vectors) => Ok(vectors?.into_iter().next().unwrap_or_default()),
            Err(_) => Err(EmbedError::Remote("the embedding service did not answer in time".to_owned())),
        }
    }

    /// Full vectors of what is looked at closely: from the store, or made now where there is none yet.
    async fn exact(&self, published: &Published, found: &Found) -> Result<HashMap<usize, Vec<f32>>, SearchError> {
        let model = self.embedder.model();
        let hashes: Vec<_> = found.rescore.iter().map(|&chunk| published.hash(chunk)).collect();
        let stored: HashMap<_, _> = self.rows.vectors(model, &hashes).await?.into_iter().collect();
        let of = |&chunk: &usize| Some((chunk, from_bytes(stored.get(&published.hash(chunk))?)?));
        let mut exact: HashMap<usize, Vec<f32>> = found.rescore.iter().filter_map(of).collect();
        if !found.lacking.is_empty() {
            let embedding = self.embed_now(published, &found.lacking);
            match tokio::time::timeout(ON_DEMAND, embedding).await {
                Ok(Ok(vectors)) => exact.extend(vectors),
                // Their words have to do.
                Ok(Err(error)) => tracing::debug!(%error, "nothing is embedded on demand"),
                Err(_) => {}
            }
        }
        Ok(exact)
    }

    async fn embed_now(&self, published: &Published, lacking: &[usize]) -> Result<Vec<(usize, Vec<f32>)>, SearchError> {
        let rows: Vec<_> =
            lacking.iter().map(|&chunk| (published.generation.entry(chunk).id, published.hash(chunk))).collect();
        let (hashes, texts): (Vec<_>, Vec<_>) = self.texts_of(&rows).await?.into_iter().unzip();
        let vectors = self.embedder.embed(&texts).await.map_err(SearchError::Query)?;
        let kept = hashes.iter().copied().zip(vectors.iter().map(|vector| to_bytes(vector))).collect();
        self.rows.keep_vectors(self.embedder.model(), kept).await?;
        let made: HashMap<_, _> = hashes.iter().copied().zip(vectors.iter().cloned()).collect();
        self.catalogue.take_vectors(hashes.into_iter().zip(vectors)).await;
        let of = |&chunk: &usize| Some((chunk, made.get(&published.hash(chunk))?.clone()));
        Ok(lacking.iter().filter_map(of).collect())
    }

    /// With their texts; what was changed or removed meanwhile is left out.
    async fn pieces(&self, hits: &[Hit], limit: usize) -> Result<Vec<Piece>, StoreError> {
        let ids: Vec<i64> = hits.iter().map(|hit| hit.id).collect();
        let bodies: HashMap<i64, String> = self.rows.bodies(&ids).await?.into_iter().collect();
        let piece = |hit: &Hit| {
            let chunk: Chunk = serde_json::from_str(bodies.get(&hit.id)?).ok()?;
            Some(Piece { id: id_of(&chunk), score: hit.score.clamp(0.0, 1.0), chunk })
        };
        Ok(hits.iter().filter_map(piece).take(limit).collect())
    }
}

/// A question, ready for any thread.
struct Question {
    query: Query,
    vector: Vec<f32>,
    filter: Filter,
    weights: Weights,
}

impl Question {
    fn search(&self) -> Search<'_> {
        let vector = Some(self.vector.as_slice()).filter(|vector| !vector.is_empty());
        Search { query: &self.query, vector, filter: &self.filter, weights: &self.weights }
    }
}

/// Comparing with everything is work, not waiting. `None` if it panicked.
async fn on_a_thread<T: Send + 'static>(
    published: &Arc<Published>,
    question: &Arc<Question>,
    work: impl FnOnce(&Published, &Question) -> T + Send + 'static,
) -> Option<T> {
    let (published, question) = (Arc::clone(published), Arc::clone(question));
    tokio::task::spawn_blocking(move || work(&published, &question)).await.ok()
}

/// Of what and where it is; not of its date, which changes with every checkout.
fn id_of(chunk: &Chunk) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    let place = [&chunk.path, &chunk.session, &chunk.symbol].map(|part| part.as_deref().unwrap_or_default());
    for part in place.into_iter().chain([chunk.kind.as_str(), &chunk.text]) {
        hasher.update(part.as_bytes()).update(b"\0");
    }
    hasher.update(format!("{:?}", chunk.lines).as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
