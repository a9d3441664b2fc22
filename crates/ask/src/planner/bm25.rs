//! Okapi BM25 over the tools: one bag of words for each, its fields weighted into the frequencies.

use std::collections::{BTreeSet, HashMap};

use super::lexicon::synonyms;
use super::tool::Texts;
use super::words::{StopWords, plain_words, stem, stems};

const K1: f64 = 1.2;
const B: f64 = 0.75;

#[derive(Debug)]
pub(super) struct WordIndex {
    /// Tools that have a stem, and how much it counts there.
    postings: HashMap<String, Vec<(usize, f64)>>,
    /// Of each tool, against the mean.
    lengths: Vec<f64>,
}

impl WordIndex {
    pub(super) fn new(texts: &[Texts]) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = vec![0.0; texts.len()];
        for (tool, texts) in texts.iter().enumerate() {
            for (stem, weight) in texts.weighted() {
                lengths[tool] += weight;
                let tools = postings.entry(stem).or_default();
                match tools.last_mut() {
                    Some((last, counted)) if *last == tool => *counted += weight,
                    Some(_) | None => tools.push((tool, weight)),
                }
            }
        }
        let mean = lengths.iter().sum::<f64>() / to_f64(lengths.len().max(1));
        if mean > 0.0 {
            for length in &mut lengths {
                *length /= mean;
            }
        }
        Self { postings, lengths }
    }

    /// One for each tool, against the best: between 0 and 1.
    pub(super) fn scores(&self, query: &str) -> Vec<f64> {
        let mut scores = vec![0.0; self.lengths.len()];
        for term in self.terms(query) {
            let Some(tools) = self.postings.get(&term) else { continue };
            let (count, with) = (to_f64(self.lengths.len()), to_f64(tools.len()));
            let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
            for &(tool, frequency) in tools {
                let norm = K1 * (1.0 - B + B * self.lengths[tool]);
                scores[tool] += rarity * frequency * (K1 + 1.0) / (frequency + norm);
            }
        }
        let best = scores.iter().copied().fold(1e-9, f64::max);
        for score in &mut scores {
            *score /= best;
        }
        scores
    }

    /// In a fixed order, so that sums are the same each time.
    fn terms(&self, query: &str) -> BTreeSet<String> {
        let mut terms: BTreeSet<String> = stems(query, StopWords::Dropped).into_iter().collect();
        let words = plain_words(query);
        for pair in words.windows(2) {
            let [one, other] = pair else { continue };
            // "check out" is `checkout`, "not staged" is `unstaged`.
            let (joined, denied) = (stem(&format!("{one}{other}")), stem(&format!("un{other}")));
            if self.postings.contains_key(&joined) {
                terms.insert(joined);
            }
            if one == "not" && self.postings.contains_key(&denied) {
                terms.insert(denied);
                terms.remove(&stem(other));
            }
        }
        let unknown = terms.iter().filter(|term| !self.postings.contains_key(*term));
        // A name in capitals has no synonyms.
        let replaced = unknown.filter(|term| !query.contains(&term.to_uppercase()));
        let known = |synonym: &&&String| self.postings.contains_key(**synonym);
        let added: Vec<String> =
            replaced.flat_map(|term| synonyms(term).filter(|each| known(&each)).cloned()).collect();
        terms.extend(added);
        terms
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of tools or words")]
pub(super) fn to_f64(count: usize) -> f64 {
    count as f64
}
