//! Okapi BM25 over the tools: one bag of words for each, its fields weighted into the frequencies.

use std::collections::{BTreeMap, HashMap};

use super::lexicon::{BORDERS, synonyms};
use super::tool::Texts;
use super::words::{StopWords, is_misspelt, plain_words, stem, stems};

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// What a word counts that only means the same as one in the question, which tools have, too.
const SYNONYM_OF_KNOWN: f64 = 0.3;

/// What a preposition counts.
const TEMPORAL: f64 = 0.3;

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
        for (term, weight) in self.terms(query) {
            let Some(tools) = self.postings.get(&term) else { continue };
            let (count, with) = (to_f64(self.lengths.len()), to_f64(tools.len()));
            let rarity = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
            for &(tool, frequency) in tools {
                let norm = K1 * (1.0 - B + B * self.lengths[tool]);
                scores[tool] += weight * rarity * frequency * (K1 + 1.0) / (frequency + norm);
            }
        }
        let best = scores.iter().copied().fold(1e-9, f64::max);
        for score in &mut scores {
            *score /= best;
        }
        scores
    }

    /// With what each counts; in a fixed order, so that sums are the same each time.
    fn terms(&self, query: &str) -> BTreeMap<String, f64> {
        let mut terms: BTreeMap<String, f64> =
            stems(query, StopWords::Dropped).into_iter().map(|term| (term, 1.0)).collect();
        // "level 1" has nothing to do with a version.
        terms.retain(|term, _| !term.chars().all(|c| c.is_ascii_digit()));
        // Parameters are called so, and so is when something happens.
        for word in ["after", "before", "since", "until", "during", "between"] {
            terms.entry(word.to_owned()).and_modify(|weight| *weight = TEMPORAL);
        }
        let words = plain_words(query);
        for pair in words.windows(2) {
            let [one, other] = pair else { continue };
            // "check out" is `checkout`, "not staged" is `unstaged`, and "to-do" has synonyms.
            let (joined, denied) = (stem(&format!("{one}{other}")), stem(&format!("un{other}")));
            if self.postings.contains_key(&joined) || synonyms(&joined).next().is_some() {
                terms.insert(joined, 1.0);
            }
            let denies = ["not", "t", "dont", "didnt", "never", "havent"].contains(&one.as_str());
            if denies && self.postings.contains_key(&denied) {
                terms.insert(denied, 1.0);
                terms.remove(&stem(other));
            }
        }
        let mut added: Vec<(String, f64)> = Vec::new();
        for term in terms.keys() {
            let is_known = self.postings.contains_key(term);
            // A name in capitals has no synonyms.
            let others = synonyms(term).filter(|other| self.postings.contains_key(*other) && *other != term);
            let others = others.filter(|_| !query.contains(&term.to_uppercase()));
            let is_common = BORDERS.contains(term.as_str());
            let weight = if is_known || is_common { SYNONYM_OF_KNOWN } else { 1.0 };
            added.extend(others.filter(|_| weight > 0.0).map(|other| (other.clone(), weight)));
            if !is_known && synonyms(term).next().is_none() {
                let meant = self.postings.keys().filter(|known| is_misspelt(term, known)).min();
                added.extend(meant.map(|known| (known.clone(), 1.0)));
            }
        }
        for (term, weight) in added {
            terms.entry(term).or_insert(weight);
        }
        terms
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of tools or words")]
pub(super) fn to_f64(count: usize) -> f64 {
    count as f64
}
