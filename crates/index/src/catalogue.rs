//! What this process has read of the index, and the generation that is made of it. Every process reads its own, whoever
//! wrote it; only what changed is read again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use countersign_store::{ContextRow, ContextRows, FileAccess, StoreError};
use tokio::sync::Mutex;

use crate::chunk::Chunk;
use crate::embed::from_bytes;
use crate::generation::{Document, Generation, Part};
use crate::matrix::Rows;
use crate::ranking::Accesses;
use crate::terms::Vocabulary;

type Digest = [u8; 32];

/// Origins and vectors that are read in one go: memory stays bounded.
const ORIGINS_AT_A_TIME: usize = 256;
const VECTORS_AT_A_TIME: usize = 512;

#[derive(Debug)]
pub(crate) struct Catalogue {
    rows: ContextRows,
    model: String,
    vocabulary: Arc<Vocabulary>,
    /// Of whoever reads; searches never wait for it.
    state: Mutex<State>,
    published: ArcSwap<Published>,
    accesses: ArcSwap<Accesses>,
}

#[derive(Debug, Default)]
struct State {
    /// `None` before the first look, and when the last one failed half-way.
    revision: Option<i64>,
    origins: BTreeMap<String, Held>,
    /// Vectors that were made here and are not published yet.
    fresh: HashMap<Digest, Vec<f32>>,
}

#[derive(Debug)]
struct Held {
    digest: Digest,
    document: Arc<Document>,
    /// Of the texts of its chunks.
    hashes: Box<[Digest]>,
    vectors: Arc<Rows>,
}

/// What is searched.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) generation: Generation,
    /// Of each chunk's text.
    hashes: Vec<Digest>,
}

impl Published {
    pub(crate) fn hash(&self, chunk: usize) -> Digest {
        self.hashes[chunk]
    }
}

impl Catalogue {
    pub(crate) fn new(rows: ContextRows, model: &str) -> Self {
        let vocabulary = Arc::new(Vocabulary::default());
        let generation = Generation::build(&vocabulary, Vec::new(), None);
        Self {
            rows,
            model: model.to_owned(),
            vocabulary,
            state: Mutex::default(),
            published: ArcSwap::from_pointee(Published { generation, hashes: Vec::new() }),
            accesses: ArcSwap::default(),
        }
    }

    pub(crate) fn published(&self) -> Arc<Published> {
        self.published.load_full()
    }

    /// Chunks that can be found.
    pub(crate) fn len(&self) -> usize {
        self.published.load().generation.len()
    }

    pub(crate) fn accesses(&self) -> Arc<Accesses> {
        self.accesses.load_full()
    }

    pub(crate) fn set_accesses(&self, accesses: &[FileAccess]) {
        let counted = accesses.iter().map(|access| (access.path.as_str(), access.count, access.last_at));
        self.accesses.store(Arc::new(Accesses::new(counted)));
    }

    /// Reads what changed in the store since the last time, by whomever.
    pub(crate) async fn sync(&self) -> Result<(), StoreError> {
        let mut state = self.state.lock().await;
        let revision = self.rows.revision().await?;
        if state.revision == Some(revision) {
            return Ok(());
        }
        state.revision = None;
        let changed = state.leave_changed(self.rows.origins().await?);
        let mut batches = changed.chunks(ORIGINS_AT_A_TIME);
        let mut read = self.rows_of(batches.clone().next()).await?;
        while let Some(names) = batches.next() {
            let (vocabulary, rows) = (Arc::clone(&self.vocabulary), read);
            // Texts are taken apart into words: work, not waiting. Meanwhile the next ones are read.
            let taken_apart = tokio::task::spawn_blocking(move || held(&vocabulary, rows));
            let (held, next) = tokio::join!(taken_apart, self.rows_of(batches.clone().next()));
            state.hold(names, held.unwrap_or_default(), &self.vocabulary);
            read = next?;
        }
        if self.len() == 0 {
            // Of a large index, words can be searched long before all vectors are there.
            self.make(&mut state);
        }
        self.read_vectors(&mut state).await?;
        state.revision = Some(revision);
        self.make(&mut state);
        Ok(())
    }

    async fn rows_of(&self, origins: Option<&[(String, Digest)]>) -> Result<Vec<ContextRow>, StoreError> {
        let Some(origins) = origins else { return Ok(Vec::new()) };
        let names: Vec<String> = origins.iter().map(|(name, _)| name.clone()).collect();
        self.rows.rows_of(&names).await
    }

    /// Whatever others have embedded meanwhile.
    async fn read_vectors(&self, state: &mut State) -> Result<(), StoreError> {
        let missing: Vec<Digest> = state.missing().map(|(_, hash)| hash).collect::<HashSet<_>>().into_iter().collect();
        for hashes in missing.chunks(VECTORS_AT_A_TIME) {
            for (hash, bytes) in self.rows.vectors(&self.model, hashes).await? {
                if let Some(vector) = from_bytes(&bytes) {
                    state.fresh.insert(hash, vector);
                }
            }
            // In between, so that full vectors do not pile up.
            state.apply_fresh();
        }
        Ok(())
    }

    /// Row ids and hashes of texts that have no vector, each text once.
    pub(crate) async fn missing(&self) -> Vec<(i64, Digest)> {
        let state = self.state.lock().await;
        let mut seen = HashSet::new();
        state.missing().filter(|(_, hash)| !state.fresh.contains_key(hash) && seen.insert(*hash)).collect()
    }

    /// New vectors, found from the next publication on.
    pub(crate) async fn take_vectors(&self, vectors: impl IntoIterator<Item = (Digest, Vec<f32>)>) {
        self.state.lock().await.fresh.extend(vectors);
    }

    pub(crate) async fn publish(&self) {
        let mut state = self.state.lock().await;
        if !state.fresh.is_empty() {
            self.make(&mut state);
        }
    }

    fn make(&self, state: &mut State) {
        state.apply_fresh();
        let parts = state.origins.values().map(|held| Part::new(Arc::clone(&held.document), Arc::clone(&held.vectors)));
        let before = self.published.load_full();
        let generation = Generation::build(&self.vocabulary, parts.collect(), Some(&before.generation));
        let hashes = state.origins.values().flat_map(|held| held.hashes.iter().copied()).collect();
        self.published.store(Arc::new(Published { generation, hashes }));
    }
}

impl State {
    /// Leaves out what is gone or changed, and says what has to be read.
    fn leave_changed(&mut self, origins: Vec<(String, Digest)>) -> Vec<(String, Digest)> {
        let now: HashMap<&String, &Digest> = origins.iter().map(|(name, digest)| (name, digest)).collect();
        self.origins.retain(|name, held| now.get(name) == Some(&&held.digest));
        origins.into_iter().filter(|(name, _)| !self.origins.contains_key(name)).collect()
    }

    fn hold(&mut self, names: &[(String, Digest)], held: Vec<(String, Held)>, vocabulary: &Vocabulary) {
        let digests: BTreeMap<&String, Digest> = names.iter().map(|(name, digest)| (name, *digest)).collect();
        for (name, mut held) in held {
            held.digest = digests.get(&name).copied().unwrap_or_default();
            self.origins.insert(name, held);
        }
        for (name, digest) in names {
            // One without rows is one that says nothing, and known as such.
            self.origins.entry(name.clone()).or_insert_with(|| Held::empty(vocabulary, *digest));
        }
    }

    fn missing(&self) -> impl Iterator<Item = (i64, Digest)> {
        self.origins.values().flat_map(|held| {
            let rows = held.document.entries().iter().zip(&held.hashes).enumerate();
            rows.filter(|(row, _)| !held.vectors.has(*row)).map(|(_, (entry, hash))| (entry.id, *hash))
        })
    }

    fn apply_fresh(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        for held in self.origins.values_mut() {
            let lacks = |(row, hash): (usize, &Digest)| {
                (!held.vectors.has(row)).then(|| self.fresh.get(hash)).flatten().map(|vector| (row, vector.as_slice()))
            };
            let found: Vec<(usize, &[f32])> = held.hashes.iter().enumerate().filter_map(lacks).collect();
            if !found.is_empty() {
                held.vectors = Arc::new(held.vectors.with(&found));
            }
        }
        self.fresh.clear();
    }
}

impl Held {
    fn empty(vocabulary: &Vocabulary, digest: Digest) -> Self {
        let document = Arc::new(Document::new(vocabulary, []));
        Self { digest, document, hashes: Box::default(), vectors: Arc::default() }
    }
}

/// By origin; a row that cannot be read is one of a later version, and left out.
fn held(vocabulary: &Vocabulary, rows: Vec<ContextRow>) -> Vec<(String, Held)> {
    let mut by_origin: BTreeMap<String, Vec<(i64, Chunk, Digest)>> = BTreeMap::new();
    for ContextRow { id, origin, ordinal: _, text_hash, body } in rows {
        if let Ok(chunk) = serde_json::from_str(&body) {
            by_origin.entry(origin).or_default().push((id, chunk, text_hash));
        }
    }
    let held = |(name, rows): (String, Vec<(i64, Chunk, Digest)>)| {
        let hashes: Box<[Digest]> = rows.iter().map(|(_, _, hash)| *hash).collect();
        let chunks = rows.into_iter().map(|(id, chunk, _)| (id, chunk));
        let document = Arc::new(Document::new(vocabulary, chunks));
        let vectors = Arc::new(Rows::without_vectors(hashes.len()));
        (name, Held { digest: Digest::default(), document, hashes, vectors })
    };
    by_origin.into_iter().map(held).collect()
}
