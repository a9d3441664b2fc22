//! Which chunks share words with a question, and how rare those words are: BM25 (Robertson and Zaragoza, "The
//! Probabilistic Relevance Framework", 2009) over numbered terms.
//!
//! Scores are shares of what a chunk could reach at most for the question, so that they mean the same for every
//! question.

/// How soon a repeated term stops counting. 1.2 to 2 measure alike.
const SATURATION: f32 = 1.5;

/// How much a long chunk's terms count less. Chunks differ little in length: .75 to .9 measure alike.
const LENGTH_PENALTY: f32 = 0.75;

/// A chunk's terms: each once, with how often it counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TermCounts<'a> {
    pub(crate) terms: &'a [u32],
    pub(crate) counts: &'a [u8],
}

/// For each term the chunks that have it, in one list each for chunks and counts: five bytes a pair.
#[derive(Debug)]
pub(crate) struct Bm25 {
    /// Where a term's pairs start; those of the next term start where they end.
    starts: Vec<u32>,
    chunks: Vec<u32>,
    counts: Vec<u8>,
    /// What length adds to the saturation of each chunk.
    dampings: Vec<f32>,
}

/// A term of a question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueryTerm {
    /// `None` for a term that no chunk has: it still counts among what could be reached.
    pub(crate) number: Option<u32>,
    pub(crate) weight: f32,
}

impl Bm25 {
    /// `vocabulary` is one more than the highest number of a term.
    pub(crate) fn build<'a>(vocabulary: usize, chunks: impl Iterator<Item = TermCounts<'a>> + Clone) -> Self {
        let (starts, lengths) = measure(vocabulary, chunks.clone());
        let pairs = starts.last().map_or(0, |&pairs| pairs as usize);
        let (mut listed, mut counts) = (vec![0; pairs], vec![0; pairs]);
        let mut next = starts.clone();
        for (chunk, TermCounts { terms, counts: own }) in (0_u32..).zip(chunks) {
            for (&term, &count) in terms.iter().zip(own) {
                let at = &mut next[term as usize];
                listed[*at as usize] = chunk;
                counts[*at as usize] = count;
                *at += 1;
            }
        }
        Self { starts, chunks: listed, counts, dampings: dampings(&lengths) }
    }

    pub(crate) fn len(&self) -> usize {
        self.dampings.len()
    }

    /// The share of what could be reached, 0 to 1, for every chunk.
    pub(crate) fn scores(&self, query: &[QueryTerm]) -> Vec<f32> {
        let mut scores = vec![0.0; self.len()];
        let attainable: f32 = query.iter().map(|term| term.weight * self.rarity(term.number)).sum();
        if attainable <= 0.0 {
            return scores;
        }
        for term in query {
            let weight = term.weight * self.rarity(term.number) / attainable;
            let (chunks, counts) = self.pairs(term.number);
            for (&chunk, &count) in chunks.iter().zip(counts) {
                let chunk = chunk as usize;
                let count = f32::from(count);
                scores[chunk] += weight * count / (count + self.dampings[chunk]);
            }
        }
        scores
    }

    /// The weight of a rare term, never below zero.
    pub(crate) fn rarity(&self, term: Option<u32>) -> f32 {
        let (all, having) = (to_f32(self.len()), to_f32(self.having(term).len()));
        ((all - having + 0.5) / (having + 0.5)).ln_1p()
    }

    /// Chunks that have a term, in order.
    pub(crate) fn having(&self, term: Option<u32>) -> &[u32] {
        self.pairs(term).0
    }

    fn pairs(&self, term: Option<u32>) -> (&[u32], &[u8]) {
        let bounds = term.and_then(|term| {
            let term = term as usize;
            Some(*self.starts.get(term)? as usize..*self.starts.get(term + 1)? as usize)
        });
        bounds.map_or((&[], &[]), |bounds| (&self.chunks[bounds.clone()], &self.counts[bounds]))
    }
}

/// Where each term's pairs will start, and how long each chunk is.
fn measure<'a>(vocabulary: usize, chunks: impl Iterator<Item = TermCounts<'a>>) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0_u32; vocabulary + 1];
    let mut lengths = Vec::with_capacity(chunks.size_hint().0);
    for TermCounts { terms, counts } in chunks {
        for &term in terms {
            starts[term as usize + 1] += 1;
        }
        lengths.push(counts.iter().map(|&count| u32::from(count)).sum());
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    (starts, lengths)
}

fn dampings(lengths: &[u32]) -> Vec<f32> {
    let total: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
    #[expect(clippy::cast_precision_loss, reason = "an average needs no more than a few digits")]
    let average = (total as f32 / lengths.len().max(1) as f32).max(1.0);
    #[expect(clippy::cast_precision_loss, reason = "a chunk has far fewer terms than an f32 has digits")]
    let damping = |length: &u32| SATURATION * (1.0 - LENGTH_PENALTY + LENGTH_PENALTY * *length as f32 / average);
    lengths.iter().map(damping).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a count of chunks: the logarithm of it is what matters")]
fn to_f32(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use super::{Bm25, QueryTerm, TermCounts};

    const CHUNKS: [(&[u32], &[u8]); 3] = [(&[0, 1], &[1, 1]), (&[0, 2], &[3, 1]), (&[0], &[1])];

    #[test]
    fn rare_terms_count_more_and_absent_ones_not_at_all() {
        let index = index();
        let scores = index.scores(&query(&[0, 1]));
        assert!(scores[0] > scores[1] && scores[1] > scores[2] && scores[2] > 0.0, "{scores:?}");
        assert_eq!(index.scores(&query(&[2])).iter().filter(|&&score| score > 0.0).count(), 1);
        assert_eq!(index.scores(&[]), [0.0; 3]);
    }

    #[test]
    fn a_score_is_a_share_of_what_could_be_reached() {
        let index = index();
        let both = index.scores(&query(&[1]))[0];
        let unknown = QueryTerm { number: None, weight: 1.0 };
        let one_of_two = index.scores(&[query(&[1])[0], unknown])[0];
        assert!(both < 1.0 && one_of_two < both / 2.0, "{both} {one_of_two}");
    }

    #[test]
    fn numbers_given_out_later_are_known_to_nobody() {
        assert_eq!(index().scores(&query(&[99])), [0.0; 3]);
    }

    fn index() -> Bm25 {
        Bm25::build(3, CHUNKS.iter().map(|&(terms, counts)| TermCounts { terms, counts }))
    }

    fn query(numbers: &[u32]) -> Vec<QueryTerm> {
        numbers.iter().map(|&number| QueryTerm { number: Some(number), weight: 1.0 }).collect()
    }
}
