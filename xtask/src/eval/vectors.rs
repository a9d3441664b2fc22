//! Vectors of texts, kept in a file between runs: making them takes minutes, reading them a moment.

use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use countersign_contract::BoxFuture;
use countersign_index::{EmbedError, Embedder, Local};

use crate::talk;
use crate::workspace::Workspace;

/// Texts between two looks at how far it is.
const AT_A_TIME: usize = 200;

#[derive(Debug)]
pub(super) struct Vectors {
    embedder: Local,
    kept_in: PathBuf,
    by_text: HashMap<String, Vec<f32>>,
}

impl Vectors {
    /// The file is named after the model: another one makes other vectors.
    pub(super) fn open(workspace: &Workspace) -> anyhow::Result<Self> {
        let embedder = Local::on_all_cores();
        let folder = workspace.peers().join("eval");
        fs::create_dir_all(&folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        let kept_in = folder.join(format!("{}.vectors", embedder.model().replace('/', "-")));
        let bytes = fs::read(&kept_in).unwrap_or_default();
        let (mut by_text, mut rest) = (HashMap::new(), &bytes[..]);
        while let Some((text, vector, after)) = take(rest) {
            by_text.insert(text, vector);
            rest = after;
        }
        // The last one may be cut short, when somebody was impatient.
        fs::write(&kept_in, &bytes[..bytes.len() - rest.len()])?;
        Ok(Self { embedder, kept_in, by_text })
    }

    /// One for each text.
    pub(super) fn of(&mut self, texts: &[String]) -> anyhow::Result<Vec<Vec<f32>>> {
        let mut seen = HashSet::new();
        let missing: Vec<String> = texts
            .iter()
            .filter(|text| !self.by_text.contains_key(*text) && seen.insert(text.as_str()))
            .cloned()
            .collect();
        let mut file = OpenOptions::new().append(true).open(&self.kept_in)?;
        for (number, some) in missing.chunks(AT_A_TIME).enumerate() {
            if missing.len() > AT_A_TIME {
                talk::note(format_args!("embedding {} of {} texts", number * AT_A_TIME, missing.len()));
            }
            for (text, vector) in some.iter().zip(self.embedder.embed_now(some)?) {
                file.write_all(&record(text, &vector)?)?;
                self.by_text.insert(text.clone(), vector);
            }
        }
        texts.iter().map(|text| self.by_text.get(text).cloned().context("a text has no vector")).collect()
    }
}

/// The same for whoever wants an embedder.
#[derive(Debug)]
pub(super) struct Kept {
    model: String,
    dimensions: Option<usize>,
    vectors: Mutex<Vectors>,
}

impl Kept {
    pub(super) fn new(vectors: Vectors) -> Self {
        let (model, dimensions) = (vectors.embedder.model().to_owned(), vectors.embedder.dimensions());
        Self { model, dimensions, vectors: Mutex::new(vectors) }
    }
}

impl Embedder for Kept {
    fn model(&self) -> &str {
        &self.model
    }

    fn dimensions(&self) -> Option<usize> {
        self.dimensions
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let made = vectors.of(texts).map_err(|err| EmbedError::Local(format!("{err:#}")));
        Box::pin(std::future::ready(made))
    }
}

/// Both with their lengths in front.
fn record(text: &str, vector: &[f32]) -> anyhow::Result<Vec<u8>> {
    let mut bytes = u32::try_from(text.len())?.to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes.extend(u32::try_from(vector.len())?.to_le_bytes());
    bytes.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
    Ok(bytes)
}

/// The first record, and what comes after it.
fn take(bytes: &[u8]) -> Option<(String, Vec<f32>, &[u8])> {
    let (length, rest) = take_length(bytes)?;
    let (text, rest) = rest.split_at_checked(length)?;
    let (length, rest) = take_length(rest)?;
    let (values, rest) = rest.split_at_checked(length.checked_mul(size_of::<f32>())?)?;
    let value = |bytes: &[u8]| Some(f32::from_le_bytes(bytes.try_into().ok()?));
    let vector = values.chunks_exact(size_of::<f32>()).map(value).collect::<Option<_>>()?;
    Some((String::from_utf8(text.to_vec()).ok()?, vector, rest))
}

fn take_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    Some((usize::try_from(u32::from_le_bytes(*length)).ok()?, rest))
}
