//! From a question to the chunks that are worth a closer look: all chunks that the filter admits are compared with the
//! question's words and its vector, nothing is sampled.

use std::thread;

use crate::chunk::{Kind, Source};
use crate::generation::{Entry, Generation, Part};
use crate::matrix::Probe;
use crate::query::{Fit, Manner, Query};
use crate::terms::terms_of;
use crate::weights::{CLOSE_BY_WORDS, CLOSER_BY_WORDS, EMBEDDED_ON_DEMAND, POOL, RELEVANT, RESCORED, Weights};

/// From here on a second thread is worth starting: it halves a few milliseconds.
const CHUNKS_FOR_TWO_THREADS: usize = 20_000;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    pub query: &'a Query,
    /// Without one, words decide alone.
    pub vector: Option<&'a [f32]>,
    pub filter: &'a Filter,
    pub weights: &'a Weights,
}

/// What may be found at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    kind: Option<Kind>,
    /// In lower case.
    module: Option<String>,
}

/// What is worth a closer look.
#[derive(Debug, Clone)]
pub struct Found {
    /// Best first.
    pub(crate) pool: Vec<Candidate>,
    /// How many chunks are relevant, whether they are in the pool or not.
    pub total: usize,
    /// Share of words against vectors for this question.
    pub(crate) words_share: f32,
    /// Chunks, by number, whose full vectors make the order more precise.
    pub rescore: Vec<usize>,
    /// Chunks that are likely results but have no vector yet, likeliest first.
    pub lacking: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) chunk: usize,
    /// Share of what BM25 could reach.
    pub(crate) words: f32,
    /// Cosine of the chunk and of its file's middle.
    pub(crate) close: f32,
    pub(crate) file_close: f32,
    pub(crate) definition: Option<Fit>,
}

impl Filter {
    pub fn new(kind: Option<Kind>, module: Option<&str>) -> Self {
        Self { kind, module: module.map(str::to_lowercase) }
    }

    fn admits(&self, entry: &Entry) -> bool {
        self.kind.is_none_or(|kind| entry.kind == kind)
            && self.module.as_deref().is_none_or(|module| entry.module.as_deref() == Some(module))
    }
}

impl Candidate {
    /// By itself, from 0 to 1.
    pub(crate) fn relevance(&self, words_share: f32) -> f32 {
        (1.0 - words_share) * self.close.max(0.0) + words_share * self.words
    }

    /// With what its file is about.
    pub(crate) fn in_file(&self, words_share: f32, file_share: f32) -> f32 {
        let close = (1.0 - file_share) * self.close.max(0.0) + file_share * self.file_close.max(0.0);
        (1.0 - words_share) * close + words_share * self.words
    }
}

impl Generation {
    /// Takes milliseconds of one or two cores; never waits.
    pub fn find(&self, search: &Search<'_>) -> Found {
        let weights = search.weights;
        let words_share = match search.query.manner {
            Manner::Symbol(_) => weights.words_in_names,
            Manner::Prose(_) => weights.words_in_prose,
        };
        let words = self.words.scores(&self.query_terms(search.query));
        let cosines = self.cosines(search.vector);
        let definitions = self.definitions(search.query);
        let mut total = 0;
        let mut all = Vec::new();
        for (chunk, &words) in words.iter().enumerate() {
            let candidate = self.candidate(chunk, words, &cosines);
            let relevant = candidate.relevance(words_share) >= RELEVANT;
            // Of what has no vector yet nobody knows how close it is.
            let unknown = search.vector.is_some() && !self.has_vector(chunk);
            let related = relevant || unknown || words > 0.0 || candidate.file_close > 0.0;
            if related && search.filter.admits(self.entry(chunk)) {
                total += usize::from(relevant);
                all.push((candidate.in_file(words_share, weights.file), candidate));
            }
        }
        let by_relevance = |one: &(f32, Candidate), other: &(f32, Candidate)| {
            other.0.total_cmp(&one.0).then(one.1.chunk.cmp(&other.1.chunk))
        };
        if all.len() > POOL {
            all.select_nth_unstable_by(POOL, by_relevance);
            // Definitions are worth a look wherever they are, but a name may be defined in every file.
            let mut rest = all.split_off(POOL);
            rest.retain(|(_, candidate)| definitions[candidate.chunk].is_some());
            let fit = |(_, candidate): &(f32, Candidate)| definitions[candidate.chunk];
            rest.sort_by(|one, other| fit(other).cmp(&fit(one)).then_with(|| by_relevance(one, other)));
            all.extend(rest.into_iter().take(POOL));
        }
        all.sort_by(by_relevance);
        let mut pool: Vec<Candidate> = all.into_iter().map(|(_, candidate)| candidate).collect();
        for candidate in &mut pool {
            candidate.definition = definitions[candidate.chunk];
        }
        let (rescore, lacking) = self.wanted(&pool, search.vector.is_some());
        Found { pool, total, words_share, rescore, lacking }
    }

    fn candidate(&self, chunk: usize, words: f32, cosines: &Cosines) -> Candidate {
        let by_words = || if words > 0.0 { CLOSE_BY_WORDS + CLOSER_BY_WORDS * words } else { 0.0 };
        let close = cosines.chunks.get(chunk).copied().flatten().unwrap_or_else(by_words);
        // Only code is ordered by files: memory files and the like are lists of things that have little to do with each
        // other.
        let file_close = match self.entry(chunk).source {
            Source::Code => cosines.parts.get(self.part_of[chunk] as usize).copied().filter(|&close| close != 0.0),
            Source::Discovery | Source::Session => None,
        };
        Candidate { chunk, words, close, file_close: file_close.unwrap_or(close), definition: None }
    }

    /// What to read full vectors of, and what to embed.
    fn wanted(&self, pool: &[Candidate], has_vector: bool) -> (Vec<usize>, Vec<usize>) {
        if !has_vector {
            return (Vec::new(), Vec::new());
        }
        let rescore = pool
            .iter()
            .take(RESCORED)
            .filter(|candidate| self.has_vector(candidate.chunk))
            .map(|candidate| candidate.chunk)
            .collect();
        let mut lacking: Vec<&Candidate> = pool.iter().filter(|candidate| !self.has_vector(candidate.chunk)).collect();
        lacking.sort_by(|one, other| other.words.total_cmp(&one.words).then(one.chunk.cmp(&other.chunk)));
        (rescore, lacking.into_iter().take(EMBEDDED_ON_DEMAND).map(|candidate| candidate.chunk).collect())
    }

    /// For each chunk of code whether it defines a name in the question: in each file the first that fits best, since
    /// what comes after it continues the definition or adds to it.
    fn definitions(&self, query: &Query) -> Vec<Option<Fit>> {
        let mut definitions = vec![None; self.len()];
        for name in query.names() {
            // Whoever defines it has it among its terms.
            let Some(term) = terms_of(&name.last).into_iter().next() else { continue };
            let mut best: Vec<(u32, Fit, usize)> = Vec::new();
            // They come in order, so that those of one part are next to each other.
            for chunk in self.having(&term).iter().map(|&chunk| chunk as usize) {
                let entry = self.entry(chunk);
                let symbol = entry.symbol.as_deref().filter(|_| entry.source == Source::Code);
                let Some(fit) = symbol.and_then(|symbol| name.fit(symbol)) else { continue };
                let part = self.part_of[chunk];
                match best.last_mut() {
                    Some(last) if last.0 == part && last.1 >= fit => {}
                    Some(last) if last.0 == part => *last = (part, fit, chunk),
                    _ => best.push((part, fit, chunk)),
                }
            }
            for (_, fit, chunk) in best {
                definitions[chunk] = definitions[chunk].max(Some(fit));
            }
        }
        definitions
    }

    fn cosines(&self, vector: Option<&[f32]>) -> Cosines {
        let Some(probe) = vector.map(Probe::new) else { return Cosines::default() };
        let mut cosines = Cosines { chunks: vec![None; self.len()], parts: vec![0.0; self.parts.len()] };
        if self.len() < CHUNKS_FOR_TWO_THREADS {
            scan(&self.parts, &probe, &mut cosines.chunks, &mut cosines.parts);
            return cosines;
        }
        let half = self.part_of[self.len() / 2] as usize;
        let (parts, other_parts) = self.parts.split_at(half);
        let (chunks, other_chunks) = cosines.chunks.split_at_mut(self.starts[half]);
        let (files, other_files) = cosines.parts.split_at_mut(half);
        thread::scope(|scope| {
            scope.spawn(|| scan(other_parts, &probe, other_chunks, other_files));
            scan(parts, &probe, chunks, files);
        });
        cosines
    }
}

/// Nothing in them without a question's vector.
#[derive(Debug, Default)]
struct Cosines {
    /// `None` for a chunk that has no vector yet.
    chunks: Vec<Option<f32>>,
    /// 0 for a part that has none at all.
    parts: Vec<f32>,
}

fn scan(parts: &[Part], probe: &Probe, chunks: &mut [Option<f32>], files: &mut [f32]) {
    let mut start = 0;
    for (part, file) in parts.iter().zip(files) {
        let end = start + part.document.entries.len();
        let own = &mut chunks[start..end];
        *file = part.vectors.scan(probe, |row, cosine| {
            if let Some(place) = own.get_mut(row) {
                *place = Some(cosine);
            }
        });
        start = end;
    }
}
