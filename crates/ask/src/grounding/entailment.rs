//! How far a claim follows from its evidence, by a model that data/grounding/teach.py has trained: a transformer reads both
//! together, and at the end each word of the claim is held against those of the evidence it attends to. The same text has
//! the same score everywhere; a score alone never lets a claim pass.

use std::sync::OnceLock;

use countersign_index::{EmbedError, Encoder, Integers, Local, Parameters, TOKENS_MAX};

static WEIGHTS: &[u8] = include_bytes!("../../data/grounding/head.bin.zst");

/// The same numbers as in nets.py.
const LAYERS: usize = 12;
const HIDDEN: usize = 64;
const ALIGNED: usize = 128;
const LOOKS: usize = 4;
const COMPARED: usize = 64;
const CLAIM_MAX: usize = 96;
const WIDTH: usize = Local::WIDTH;

/// Tokens that mark the ends of a text; between two texts the last one does.
const MARKS: usize = 3;

/// Above 0 it follows rather than not.
pub(super) fn score(local: &Local, claim: &str, evidence: &str) -> Result<f32, EmbedError> {
    let (pair, net) = (Pair::of(claim, evidence)?, Net::shared()?);
    let states = local.states(&net.encoder, &pair.tokens, &mut |states| net.mark_sides(&pair.sides, states))?;
    Ok(net.judge(&pair.sides, &states))
}

/// Evidence and claim as one text.
struct Pair {
    tokens: Vec<u32>,
    /// 1 for those of the claim, 0 for those of the evidence, and 2 more where the other side has it as well.
    sides: Vec<usize>,
}

impl Pair {
    fn of(claim: &str, evidence: &str) -> Result<Self, EmbedError> {
        let (claim, evidence) = (Local::tokens(&plain(claim))?, Local::tokens(&plain(evidence))?);
        let inner = |tokens: &[u32]| tokens.get(1..tokens.len().saturating_sub(1)).unwrap_or_default().to_vec();
        let (start, end) = (claim.first().copied(), claim.last().copied());
        let (mut claim, mut evidence) = (inner(&claim), inner(&evidence));
        claim.truncate(CLAIM_MAX);
        evidence.truncate(TOKENS_MAX - MARKS - claim.len());
        let shared = |token: &u32, others: &[u32]| 2 * usize::from(others.contains(token));
        let mut sides = vec![0];
        sides.extend(evidence.iter().map(|token| shared(token, &claim)));
        sides.push(0);
        sides.extend(claim.iter().map(|token| 1 + shared(token, &evidence)));
        sides.push(1);
        let tokens = start.into_iter().chain(evidence).chain(end).chain(claim).chain(end).collect();
        Ok(Self { tokens, sides })
    }
}

/// As nets.py has it: without escapes, quotation marks and underlines, with single spaces.
fn plain(text: &str) -> String {
    let text = super::evidence::unescaped(text).replace(['"', '_'], " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A matrix, row after row, and what is added.
struct Layer {
    columns: usize,
    matrix: Vec<f32>,
    bias: Vec<f32>,
}

impl Layer {
    fn read(weights: &mut Parameters, rows: usize, columns: usize) -> Result<Self, String> {
        let matrix = Self::matrix(weights, rows, columns)?;
        Ok(Self { columns, matrix, bias: weights.floats(columns)? })
    }

    fn without_bias(weights: &mut Parameters, rows: usize, columns: usize) -> Result<Self, String> {
        Ok(Self { columns, matrix: Self::matrix(weights, rows, columns)?, bias: vec![0.0; columns] })
    }

    /// Small integers, then a scale for each column.
    fn matrix(weights: &mut Parameters, rows: usize, columns: usize) -> Result<Vec<f32>, String> {
        let (small, scales) = (weights.integers(rows * columns)?, weights.floats(columns)?);
        Ok(small.into_iter().zip(scales.iter().cycle()).map(|(small, scale)| f32::from(small) * scale).collect())
    }

    fn apply(&self, row: &[f32], out: &mut Vec<f32>) {
        out.clear();
        out.extend_from_slice(&self.bias);
        for (value, weights) in row.iter().zip(self.matrix.chunks_exact(self.columns)) {
            for (sum, weight) in out.iter_mut().zip(weights) {
                *sum += value * weight;
            }
        }
    }
}

struct Net {
    encoder: Encoder,
    sides: Vec<f32>,
    alignment: Alignment,
    first: Layer,
    last: Layer,
}

impl Net {
    /// The one for the whole process; who comes while it is being loaded waits.
    fn shared() -> Result<&'static Self, EmbedError> {
        static SHARED: OnceLock<Result<Net, String>> = OnceLock::new();
        SHARED.get_or_init(Self::load).as_ref().map_err(|error| EmbedError::Local(error.clone()))
    }

    fn load() -> Result<Self, String> {
        let mut weights = Parameters::of(WEIGHTS, Integers::Halves)?;
        let encoder = Encoder::read(&mut weights, LAYERS)?;
        let sides = weights.floats(4 * WIDTH)?;
        let alignment = Alignment::read(&mut weights)?;
        let first = Layer::read(&mut weights, 3 * WIDTH + 2 * COMPARED, HIDDEN)?;
        let last = Layer { columns: 1, matrix: weights.floats(HIDDEN)?, bias: weights.floats(1)? };
        weights.end()?;
        Ok(Self { encoder, sides, alignment, first, last })
    }

    fn mark_sides(&self, sides: &[usize], states: &mut [f32]) {
        for (side, state) in sides.iter().zip(states.chunks_exact_mut(WIDTH)) {
            let mark = self.sides.chunks_exact(WIDTH).nth(*side).unwrap_or_default();
            state.iter_mut().zip(mark).for_each(|(value, mark)| *value += mark);
        }
    }

    /// From the first token, and the mean and the most of those of the claim, as they are and as they compare.
    fn judge(&self, sides: &[usize], states: &[f32]) -> f32 {
        let mut pooled = states.get(..WIDTH).unwrap_or_default().to_vec();
        let of_claim = sides.iter().zip(states.chunks_exact(WIDTH)).filter(|(side, _)| *side % 2 == 1);
        pool(of_claim.map(|(_, state)| state), WIDTH, &mut pooled);
        let compared = self.alignment.compare(sides, states);
        pool(compared.chunks_exact(COMPARED), COMPARED, &mut pooled);
        let (mut hidden, mut score) = (Vec::new(), Vec::new());
        self.first.apply(&pooled, &mut hidden);
        for value in &mut hidden {
            *value = value.tanh();
        }
        self.last.apply(&hidden, &mut score);
        score.first().copied().unwrap_or(f32::MIN)
    }
}

/// The mean and the most of some rows.
fn pool<'r>(rows: impl Iterator<Item = &'r [f32]>, width: usize, pooled: &mut Vec<f32>) {
    let (mut sum, mut most, mut count) = (vec![0.0_f32; width], vec![-1e4_f32; width], 0.0_f32);
    for row in rows {
        count += 1.0;
        for ((sum, most), value) in sum.iter_mut().zip(&mut most).zip(row) {
            *sum += value;
            *most = most.max(*value);
        }
    }
    pooled.extend(sum.iter().map(|sum| sum / count.max(1.0)));
    pooled.extend(most);
}

/// Which words of the evidence a word of the claim is held against, and what comes of it.
struct Alignment {
    asked: Layer,
    offered: Layer,
    given: Layer,
    own: Layer,
    compared: Layer,
}

impl Alignment {
    fn read(weights: &mut Parameters) -> Result<Self, String> {
        let mut layer = || Layer::without_bias(weights, WIDTH, ALIGNED);
        let (asked, offered, given, own) = (layer()?, layer()?, layer()?, layer()?);
        Ok(Self { asked, offered, given, own, compared: Layer::read(weights, 4 * ALIGNED, COMPARED)? })
    }

    /// A row for each token of the claim.
    fn compare(&self, sides: &[usize], states: &[f32]) -> Vec<f32> {
        let (mut offered, mut given) = (Vec::new(), Vec::new());
        let (mut asked, mut own, mut row, mut out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let of =
            |wanted: usize| sides.iter().zip(states.chunks_exact(WIDTH)).filter(move |(side, _)| *side % 2 == wanted);
        for (_, state) in of(0) {
            self.offered.apply(state, &mut row);
            offered.extend_from_slice(&row);
            self.given.apply(state, &mut row);
            given.extend_from_slice(&row);
        }
        for (_, state) in of(1) {
            self.asked.apply(state, &mut asked);
            self.own.apply(state, &mut own);
            let found = attended(&asked, &offered, &given);
            let pairs = || own.iter().zip(&found);
            let products = pairs().map(|(own, found)| own * found);
            let distances = pairs().map(|(own, found)| (own - found).abs());
            let all: Vec<f32> = own.iter().chain(&found).copied().chain(products).chain(distances).collect();
            self.compared.apply(&all, &mut row);
            out.extend(row.iter().map(|value| gelu(*value)));
        }
        out
    }
}

/// The mean of what is given, each look weighing it by how far what is offered is what was asked for.
fn attended(asked: &[f32], offered: &[f32], given: &[f32]) -> Vec<f32> {
    const WIDE: usize = ALIGNED / LOOKS;
    #[expect(clippy::cast_precision_loss, reason = "a small constant")]
    let scale = (WIDE as f32).sqrt().recip();
    let mut found = vec![0.0_f32; ALIGNED];
    for (look, (asked, found)) in asked.chunks_exact(WIDE).zip(found.chunks_exact_mut(WIDE)).enumerate() {
        let part = |row: &[f32]| row.get(look * WIDE..(look + 1) * WIDE).unwrap_or_default().to_vec();
        let fit = |row: &[f32]| part(row).iter().zip(asked).map(|(one, other)| one * other).sum::<f32>() * scale;
        let fits: Vec<f32> = offered.chunks_exact(ALIGNED).map(fit).collect();
        let most = fits.iter().copied().fold(f32::MIN, f32::max);
        let weights: Vec<f32> = fits.iter().map(|fit| (fit - most).exp()).collect();
        let all: f32 = weights.iter().sum();
        for (weight, row) in weights.iter().zip(given.chunks_exact(ALIGNED)) {
            found.iter_mut().zip(part(row)).for_each(|(sum, value)| *sum += weight / all * value);
        }
    }
    found
}

fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// Abramowitz and Stegun 7.1.26: off by no more than 1.5e-7.
fn erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let terms = [1.061_405_4_f32, -1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6];
    let sum = terms.into_iter().fold(0.0, |sum, term| (sum + term) * t);
    (1.0 - sum * (-x * x).exp()).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function() {
        for (x, expected) in [(0.0, 0.0), (0.5, 0.520_499_9), (-1.0, -0.842_700_8), (3.0, 0.999_977_9)] {
            assert!((erf(x) - expected).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn both_sides_know_what_they_share() {
        let pair = Pair::of("red cars", "cars").unwrap();
        assert_eq!(pair.sides, [0, 2, 0, 1, 3, 1]);
        assert_eq!(pair.tokens.len(), pair.sides.len());
        let long = Pair::of(&"word ".repeat(300), &"word ".repeat(300)).unwrap();
        assert_eq!(long.tokens.len(), TOKENS_MAX);
    }
}
