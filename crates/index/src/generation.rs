//! All that can be found at one moment. It never changes: a new one is made of the parts that stayed and those that
//! came, so that a search needs no lock and sees everything as of one moment.
//!
//! Texts are not here but in the store: only what the search itself needs.

use std::sync::Arc;

use countersign_repo::{Role, language_of, role_of};
use jiff::Timestamp;

use crate::bm25::{Bm25, QueryTerm, TermCounts};
use crate::chunk::{Chunk, Kind, Source};
use crate::matrix::Rows;
use crate::query::Query;
use crate::terms::Identifiers::{Parts, WholeAndParts};
use crate::terms::Vocabulary;

/// Names of files that only say that they are the main one of their folder: the folder's name is theirs.
const NAMED_BY_FOLDER: &[&str] = &["__init__", "__main__", "index", "init", "lib", "main", "mod"];

/// Folders with copies of other projects.
const VENDORED: &[&str] =
    &["bower_components", "node_modules", "site-packages", "third-party", "third_party", "vendor"];

/// One document: a file, a memory file, a day's commits. Shared by all generations that have it.
#[derive(Debug)]
pub struct Document {
    pub(crate) path: Option<Arc<str>>,
    pub(crate) standing: Standing,
    /// Numbers of the terms of the file's name and of its folder's.
    pub(crate) name: Box<[u32]>,
    pub(crate) folder: Box<[u32]>,
    pub(crate) entries: Box<[Entry]>,
    /// Where each chunk's terms end in the two lists below; they start where those of the one before end.
    ends: Box<[u32]>,
    terms: Box<[u32]>,
    counts: Box<[u8]>,
}

/// A chunk without its text.
#[derive(Debug)]
pub struct Entry {
    pub id: i64,
    pub source: Source,
    pub kind: Kind,
    pub symbol: Option<Box<str>>,
    /// In lower case.
    pub module: Option<Arc<str>>,
    pub date: Option<Timestamp>,
}

/// How a file stands to the question what the program does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    #[default]
    Proper,
    Test,
    Example,
    Generated,
    Vendored,
}

/// A document with what it has of vectors by now.
#[derive(Debug, Clone)]
pub struct Part {
    pub document: Arc<Document>,
    /// As many as the document has chunks.
    pub vectors: Arc<Rows>,
}

#[derive(Debug)]
pub struct Generation {
    pub(crate) parts: Vec<Part>,
    /// The number of each part's first chunk, and of chunks in all.
    pub(crate) starts: Vec<usize>,
    /// The part of each chunk.
    pub(crate) part_of: Vec<u32>,
    pub(crate) words: Arc<Bm25>,
    vocabulary: Arc<Vocabulary>,
}

impl Document {
    /// Chunks of one origin with their row ids, in order.
    pub fn new(vocabulary: &Vocabulary, chunks: impl IntoIterator<Item = (i64, Chunk)>) -> Self {
        let chunks: Vec<(i64, Chunk)> = chunks.into_iter().collect();
        let Place { path, standing, name, folder, terms: in_path } = Place::of(vocabulary, &chunks);
        let (mut entries, mut ends, mut terms, mut counts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (id, chunk) in chunks {
            let mut numbers = vocabulary.numbered(&chunk.text, WholeAndParts);
            numbers.extend(&in_path);
            numbers.extend(distinct(vocabulary.numbered(chunk.symbol.as_deref().unwrap_or_default(), WholeAndParts)));
            count(numbers, &mut terms, &mut counts);
            // A document is bounded by the size of a file that is read at all.
            ends.push(u32::try_from(terms.len()).unwrap_or(u32::MAX));
            entries.push(Entry::new(id, chunk));
        }
        let (entries, ends) = (entries.into(), ends.into());
        Self { path, standing, name, folder, entries, ends, terms: terms.into(), counts: counts.into() }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn term_counts(&self) -> impl Iterator<Item = TermCounts<'_>> + Clone {
        self.ends.iter().enumerate().map(|(chunk, &end)| {
            let start = chunk.checked_sub(1).map_or(0, |before| self.ends[before]);
            let bounds = start as usize..end as usize;
            TermCounts { terms: &self.terms[bounds.clone()], counts: &self.counts[bounds] }
        })
    }
}

impl Entry {
    fn new(id: i64, chunk: Chunk) -> Self {
        Self {
            id,
            source: chunk.source,
            kind: chunk.kind,
            symbol: chunk.symbol.map(Into::into),
            module: chunk.module.map(|module| module.to_lowercase().into()),
            date: chunk.date,
        }
    }

    /// Tests beside what they test: `tests::parses`, `test_parses`.
    pub(crate) fn is_test(&self) -> bool {
        let is_test = |name: &str| matches!(name, "test" | "tests") || name.starts_with("test_");
        self.symbol.as_deref().is_some_and(|symbol| symbol.split([':', '.', ',', ' ']).any(is_test))
    }
}

impl Part {
    pub fn new(document: Arc<Document>, vectors: Arc<Rows>) -> Self {
        Self { document, vectors }
    }
}

impl Generation {
    /// `before` lends what did not change: where only vectors came, words need no new index.
    pub fn build(vocabulary: &Arc<Vocabulary>, parts: Vec<Part>, before: Option<&Self>) -> Self {
        let mut starts = Vec::with_capacity(parts.len() + 1);
        let mut part_of = Vec::new();
        for (number, part) in (0_u32..).zip(&parts) {
            starts.push(part_of.len());
            part_of.resize(part_of.len() + part.document.entries.len(), number);
        }
        starts.push(part_of.len());
        let same = |one: &Part, other: &Part| Arc::ptr_eq(&one.document, &other.document);
        let words = match before {
            Some(before)
                if before.parts.len() == parts.len()
                    && before.parts.iter().zip(&parts).all(|(one, other)| same(one, other)) =>
            {
                Arc::clone(&before.words)
            }
            _ => {
                let chunks = parts.iter().flat_map(|part| part.document.term_counts());
                Arc::new(Bm25::build(vocabulary.len(), chunks))
            }
        };
        Self { parts, starts, part_of, words, vocabulary: Arc::clone(vocabulary) }
    }

    /// Chunks.
    pub fn len(&self) -> usize {
        self.part_of.len()
    }

    pub fn is_empty(&self) -> bool {
        self.part_of.is_empty()
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    pub(crate) fn part(&self, chunk: usize) -> &Part {
        &self.parts[self.part_of[chunk] as usize]
    }

    /// By its number in this generation.
    pub fn entry(&self, chunk: usize) -> &Entry {
        let part = self.part_of[chunk] as usize;
        &self.parts[part].document.entries[chunk - self.starts[part]]
    }

    pub(crate) fn has_vector(&self, chunk: usize) -> bool {
        let part = self.part_of[chunk] as usize;
        self.parts[part].vectors.has(chunk - self.starts[part])
    }

    pub(crate) fn query_terms(&self, query: &Query) -> Vec<QueryTerm> {
        let numbers = self.vocabulary.known(query.terms.iter().map(|(term, _)| &**term));
        numbers.into_iter().zip(&query.terms).map(|(number, &(_, weight))| QueryTerm { number, weight }).collect()
    }

    /// Chunks that have a term somewhere.
    pub(crate) fn having(&self, term: &str) -> &[u32] {
        self.vocabulary.known([term]).first().map_or(&[], |&number| self.words.having(number))
    }
}

/// What a path says.
#[derive(Debug, Default)]
struct Place {
    path: Option<Arc<str>>,
    standing: Standing,
    name: Box<[u32]>,
    folder: Box<[u32]>,
    terms: Vec<u32>,
}

impl Place {
    fn of(vocabulary: &Vocabulary, chunks: &[(i64, Chunk)]) -> Self {
        let Some(path) = chunks.first().and_then(|(_, chunk)| chunk.path.as_deref()) else { return Self::default() };
        // The first piece of code starts the file, where a generator leaves its mark.
        let start = chunks.iter().map(|(_, chunk)| chunk).find(|chunk| chunk.source == Source::Code);
        let (name, folder) = name_and_folder(path);
        Self {
            path: Some(path.into()),
            standing: Standing::of(path, start.map_or("", |chunk| &chunk.text)),
            name: distinct(vocabulary.numbered(name, Parts)).into(),
            folder: distinct(vocabulary.numbered(folder, Parts)).into(),
            terms: distinct(vocabulary.numbered(without_ending(path), WholeAndParts)),
        }
    }
}

impl Standing {
    fn of(path: &str, text: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        if lower.split('/').rev().skip(1).any(|folder| VENDORED.contains(&folder)) {
            return Self::Vendored;
        }
        match role_of(path, language_of(path, text), text) {
            Role::Test => Self::Test,
            Role::Example => Self::Example,
            Role::Generated => Self::Generated,
            Role::Core | Role::Config | Role::Docs | Role::Script | Role::Data | Role::Other => Self::Proper,
        }
    }
}

/// Of `routing/mod.rs`, `routing` is the name.
fn name_and_folder(path: &str) -> (&str, &str) {
    let mut parts = path.rsplit('/');
    let name = without_ending(parts.next().unwrap_or(path));
    let folder = parts.next().unwrap_or_default();
    if NAMED_BY_FOLDER.contains(&name) && !folder.is_empty() {
        (folder, parts.next().unwrap_or_default())
    } else {
        (name, folder)
    }
}

fn without_ending(path: &str) -> &str {
    let name = path.rfind('/').map_or(0, |slash| slash + 1);
    // The dot of a hidden file is no ending.
    path[name..].char_indices().skip(1).find(|&(_, c)| c == '.').map_or(path, |(dot, _)| &path[..name + dot])
}

fn distinct(mut numbers: Vec<u32>) -> Vec<u32> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Each once, with how often.
fn count(mut numbers: Vec<u32>, terms: &mut Vec<u32>, counts: &mut Vec<u8>) {
    numbers.sort_unstable();
    for same in numbers.chunk_by(|one, other| one == other) {
        terms.push(same[0]);
        counts.push(u8::try_from(same.len()).unwrap_or(u8::MAX));
    }
}
