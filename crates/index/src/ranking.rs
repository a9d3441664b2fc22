//! The order of results: relevance of chunk and file, and the rules that make a list of chunks an answer. What each
//! rule weighs is in `weights.rs`.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::chunk::{Kind, Source};
use crate::generation::{Document, Entry, Generation, Standing};
use crate::matrix::cosine;
use crate::query::{Fit, Manner};
use crate::search::{Candidate, Found, Search};
use crate::weights::{OFTEN, RECENCY_HALF_LIFE_DAYS, SEVERAL_AMONG, SEVERAL_MAX, STEEPNESS, Weights};

const SECONDS_A_DAY: f32 = 86_400.0;

/// One result. The row has everything else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub id: i64,
    /// Between 0 and 1, and the same for the same likeness whatever the question was.
    pub score: f32,
}

/// What the search itself cannot know.
#[derive(Debug)]
pub struct Circumstances<'a> {
    /// Full vectors of chunks, by number, of as many as there are.
    pub exact: &'a HashMap<usize, Vec<f32>>,
    pub accesses: &'a Accesses,
    pub now: Timestamp,
}

/// Which files are read, and how often.
#[derive(Debug, Default)]
pub struct Accesses {
    by_path: HashMap<Box<str>, (i64, Timestamp)>,
}

impl Accesses {
    /// Path, how often, and when last.
    pub fn new<'p>(counted: impl IntoIterator<Item = (&'p str, i64, Timestamp)>) -> Self {
        Self { by_path: counted.into_iter().map(|(path, count, last)| (path.into(), (count, last))).collect() }
    }

    /// From 0 for what nobody reads to 1.
    fn of(&self, path: &str, now: Timestamp) -> f32 {
        self.by_path.get(path).map_or(0.0, |&(count, last)| {
            #[expect(clippy::cast_precision_loss, reason = "a large count is as good as a larger one")]
            let count = count.max(0) as f32;
            count / (count + OFTEN) * recency(last, now)
        })
    }
}

impl Found {
    /// The best first, at most `limit`. The best may be weak, and its score says so: where there is little to find, little
    /// is better than nothing.
    pub fn rank(
        mut self,
        generation: &Generation,
        search: &Search<'_>,
        circumstances: &Circumstances<'_>,
        limit: usize,
    ) -> Vec<Hit> {
        self.rescore_with(search.vector, circumstances.exact);
        let rules = Rules::new(generation, search, circumstances, &self);
        let related = |candidate: &&Candidate| {
            candidate.definition.is_some()
                || candidate.in_file(self.words_share, search.weights.file) > 0.0
                || candidate.relevance(self.words_share) > 0.0
        };
        let mut ranked: Vec<(f32, Candidate)> = self
            .pool
            .iter()
            .filter(related)
            .map(|candidate| (rules.apply(candidate, self.words_share), *candidate))
            .collect();
        sort(&mut ranked);
        let mut seen: HashMap<u32, i32> = HashMap::new();
        for (score, candidate) in &mut ranked {
            if decays(generation.entry(candidate.chunk)) {
                let times = seen.entry(generation.part_of[candidate.chunk]).or_default();
                *score *= search.weights.repeated.powi(*times);
                *times += 1;
            }
        }
        sort(&mut ranked);
        let hit = |(score, candidate): (f32, Candidate)| Hit {
            id: generation.entry(candidate.chunk).id,
            score: 1.0 - (-STEEPNESS * score.max(0.0)).exp(),
        };
        ranked.into_iter().take(limit).map(hit).collect()
    }

    fn rescore_with(&mut self, vector: Option<&[f32]>, exact: &HashMap<usize, Vec<f32>>) {
        let Some(vector) = vector else { return };
        for candidate in &mut self.pool {
            if let Some(exact) = exact.get(&candidate.chunk).filter(|exact| exact.len() == vector.len()) {
                candidate.close = cosine(exact, vector);
            }
        }
    }
}

fn sort(ranked: &mut [(f32, Candidate)]) {
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.chunk.cmp(&other.1.chunk)));
}

/// Pieces of one text stand for each other; discoveries that happen to be in one file do not.
fn decays(entry: &Entry) -> bool {
    match entry.kind {
        Kind::Code | Kind::Note => true,
        Kind::Pattern | Kind::Rule | Kind::Decision | Kind::Issue | Kind::Session => false,
    }
}

/// What holds for all candidates of one question.
struct Rules<'a> {
    generation: &'a Generation,
    search: &'a Search<'a>,
    circumstances: &'a Circumstances<'a>,
    /// Known terms of the question, and how rare each is, as a share of all of them.
    terms: Vec<(u32, f32)>,
    /// Relevance of further chunks of each part.
    several: HashMap<u32, f32>,
}

impl<'a> Rules<'a> {
    fn new(
        generation: &'a Generation,
        search: &'a Search<'a>,
        circumstances: &'a Circumstances<'a>,
        found: &Found,
    ) -> Self {
        let terms = generation.query_terms(search.query);
        let rarities: Vec<f32> = terms.iter().map(|term| generation.words.rarity(term.number)).collect();
        let sum = rarities.iter().sum::<f32>().max(f32::MIN_POSITIVE);
        let known = terms.iter().zip(rarities).filter_map(|(term, rarity)| Some((term.number?, rarity / sum)));
        let (terms, several) = (known.collect(), several(generation, found));
        Self { generation, search, circumstances, terms, several }
    }

    fn apply(&self, candidate: &Candidate, words_share: f32) -> f32 {
        let weights = self.search.weights;
        let entry = self.generation.entry(candidate.chunk);
        let part = self.generation.part(candidate.chunk);
        let mut score = self.fresh_and_read(entry, &part.document);
        match entry.source {
            Source::Code => {
                let several = self.several.get(&self.generation.part_of[candidate.chunk]).copied().unwrap_or(0.0);
                score += candidate.in_file(words_share, weights.file)
                    + self.definition(candidate.definition)
                    + weights.several * several
                    + weights.file_name * self.named(&part.document.name)
                    + weights.folder_name * self.named(&part.document.folder);
                score * penalty(part.document.standing, entry, weights)
            }
            Source::Discovery | Source::Session => {
                let note = if entry.kind == Kind::Note { weights.note } else { 1.0 };
                (score + candidate.relevance(words_share)) * note
            }
        }
    }

    fn definition(&self, fit: Option<Fit>) -> f32 {
        let weights = self.search.weights;
        match (&self.search.query.manner, fit) {
            (_, None) => 0.0,
            (Manner::Symbol(_), Some(Fit::Exact)) => weights.definition + weights.exact_definition,
            (Manner::Symbol(_), Some(Fit::Loose)) => weights.definition,
            (Manner::Prose(_), Some(_)) => weights.mentioned_definition,
        }
    }

    /// How much of a name is in the question, and how much of the question that is. The root, because a question has
    /// many words and a name has few.
    fn named(&self, name: &[u32]) -> f32 {
        let in_question = |term: &u32| self.terms.iter().find(|(number, _)| number == term).map(|&(_, share)| share);
        let shares: Vec<f32> = name.iter().filter_map(in_question).collect();
        if shares.is_empty() { 0.0 } else { ratio(shares.len(), name.len()) * shares.iter().sum::<f32>().sqrt() }
    }

    fn fresh_and_read(&self, entry: &Entry, document: &Document) -> f32 {
        let weights = self.search.weights;
        let recent = entry.date.map_or(0.0, |date| recency(date, self.circumstances.now));
        let now = self.circumstances.now;
        let accessed = document.path.as_deref().map_or(0.0, |path| self.circumstances.accesses.of(path, now));
        weights.recent * recent + weights.accessed * accessed
    }
}

/// The mean of the best few after the first: a file that has more to say on it is more likely the place.
fn several(generation: &Generation, found: &Found) -> HashMap<u32, f32> {
    let is_code = |candidate: &&Candidate| generation.entry(candidate.chunk).source == Source::Code;
    let by_itself = |candidate: &Candidate| (candidate.relevance(found.words_share), *candidate);
    let mut by_itself: Vec<(f32, Candidate)> = found.pool.iter().filter(is_code).map(by_itself).collect();
    sort(&mut by_itself);
    let mut seen: HashMap<u32, (u8, f32)> = HashMap::new();
    for (relevance, candidate) in by_itself.into_iter().take(SEVERAL_AMONG) {
        let (times, sum) = seen.entry(generation.part_of[candidate.chunk]).or_default();
        if (1..=SEVERAL_MAX).contains(times) {
            *sum += relevance / f32::from(SEVERAL_MAX);
        }
        *times = times.saturating_add(1);
    }
    seen.into_iter().map(|(part, (_, sum))| (part, sum)).collect()
}

fn penalty(standing: Standing, entry: &Entry, weights: &Weights) -> f32 {
    match standing {
        Standing::Proper if entry.is_test() => weights.test,
        Standing::Proper => 1.0,
        Standing::Test => weights.test,
        Standing::Example => weights.example,
        Standing::Generated => weights.generated,
        Standing::Vendored => weights.vendored,
    }
}

/// 1 now, half after the half-life; nothing comes from the future.
fn recency(date: Timestamp, now: Timestamp) -> f32 {
    let age = now.duration_since(date).as_secs_f32().max(0.0) / SECONDS_A_DAY;
    (-age / RECENCY_HALF_LIFE_DAYS).exp2()
}

#[expect(clippy::cast_precision_loss, reason = "a name has few words")]
fn ratio(part: usize, whole: usize) -> f32 {
    part as f32 / whole as f32
}

#[cfg(test)]
mod tests;
