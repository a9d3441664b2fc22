//! How far a claim follows from its evidence, by the sentence model and what data/grounding/train.py has added to it:
//! both are read together, and behind each layer a small adapter shifts what the next one sees. The same text has the
//! same score everywhere; a score alone never lets a claim pass.

use std::sync::LazyLock;

use countersign_index::{EmbedError, Local, TOKENS_MAX};

static WEIGHTS: &[u8] = include_bytes!("../../data/grounding/head.bin");

/// The same numbers as in train.py.
const NARROW: usize = 64;
const HIDDEN: usize = 64;
const CLAIM_MAX: usize = 96;
const ADAPTERS: usize = Local::JOINTS - 1;
const WIDTH: usize = Local::WIDTH;

/// Tokens that mark the ends of a text; between two texts the last one does.
const MARKS: usize = 3;

static HEAD: LazyLock<Head> = LazyLock::new(|| Head::read(WEIGHTS));

/// Above 0 it follows rather than not.
pub(super) fn score(local: &Local, claim: &str, evidence: &str) -> Result<f32, EmbedError> {
    let pair = Pair::of(claim, evidence)?;
    let head = &*HEAD;
    let states = local.states(&pair.tokens, &mut |joint, states| match joint.checked_sub(1) {
        None => head.mark_sides(&pair.sides, states),
        Some(adapter) => head.adapt(adapter, states),
    })?;
    Ok(head.judge(&pair.sides, &states))
}

/// Evidence and claim as one text.
struct Pair {
    tokens: Vec<i32>,
    /// 1 for those of the claim, 0 for those of the evidence, and 2 more where the other side has it as well.
    sides: Vec<usize>,
}

impl Pair {
    fn of(claim: &str, evidence: &str) -> Result<Self, EmbedError> {
        let (claim, evidence) = (Local::tokens(&plain(claim))?, Local::tokens(&plain(evidence))?);
        let inner = |tokens: &[i32]| tokens.get(1..tokens.len().saturating_sub(1)).unwrap_or_default().to_vec();
        let (start, end) = (claim.first().copied(), claim.last().copied());
        let (mut claim, mut evidence) = (inner(&claim), inner(&evidence));
        claim.truncate(CLAIM_MAX);
        evidence.truncate(TOKENS_MAX - MARKS - claim.len());
        let shared = |token: &i32, others: &[i32]| 2 * usize::from(others.contains(token));
        let mut sides = vec![0];
        sides.extend(evidence.iter().map(|token| shared(token, &claim)));
        sides.push(0);
        sides.extend(claim.iter().map(|token| 1 + shared(token, &evidence)));
        sides.push(1);
        let tokens = start.into_iter().chain(evidence).chain(end).chain(claim).chain(end).collect();
        Ok(Self { tokens, sides })
    }
}

/// As train.py has it: without escapes, quotation marks and underlines, with single spaces.
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

struct Head {
    sides: Vec<f32>,
    down: Vec<Layer>,
    up: Vec<Layer>,
    first: Layer,
    last: Layer,
}

impl Head {
    fn read(bytes: &[u8]) -> Self {
        let mut rest = Rest(bytes);
        let sides = rest.floats(4 * WIDTH);
        let down: Vec<_> = (0..ADAPTERS).map(|_| rest.matrix(WIDTH, NARROW)).collect();
        let down_bias = rest.floats(ADAPTERS * NARROW);
        let up: Vec<_> = (0..ADAPTERS).map(|_| rest.matrix(NARROW, WIDTH)).collect();
        let up_bias = rest.floats(ADAPTERS * WIDTH);
        let layers = |matrices: Vec<Vec<f32>>, biases: &[f32], columns: usize| {
            let biases = biases.chunks_exact(columns).map(<[f32]>::to_vec);
            matrices.into_iter().zip(biases).map(|(matrix, bias)| Layer { columns, matrix, bias }).collect()
        };
        let first = Layer { columns: HIDDEN, matrix: rest.matrix(3 * WIDTH, HIDDEN), bias: rest.floats(HIDDEN) };
        let last = Layer { columns: 1, matrix: rest.floats(HIDDEN), bias: rest.floats(1) };
        Self { sides, down: layers(down, &down_bias, NARROW), up: layers(up, &up_bias, WIDTH), first, last }
    }

    fn mark_sides(&self, sides: &[usize], states: &mut [f32]) {
        for (side, state) in sides.iter().zip(states.chunks_exact_mut(WIDTH)) {
            let mark = self.sides.chunks_exact(WIDTH).nth(*side).unwrap_or_default();
            state.iter_mut().zip(mark).for_each(|(value, mark)| *value += mark);
        }
    }

    fn adapt(&self, adapter: usize, states: &mut [f32]) {
        let (Some(down), Some(up)) = (self.down.get(adapter), self.up.get(adapter)) else { return };
        let (mut inner, mut outer) = (Vec::new(), Vec::new());
        for state in states.chunks_exact_mut(WIDTH) {
            down.apply(state, &mut inner);
            for value in &mut inner {
                *value = gelu(*value);
            }
            up.apply(&inner, &mut outer);
            state.iter_mut().zip(&outer).for_each(|(value, shift)| *value += shift);
        }
    }

    /// From the first token, and the mean and the most of those of the claim.
    fn judge(&self, sides: &[usize], states: &[f32]) -> f32 {
        let mut pooled = states.get(..WIDTH).unwrap_or_default().to_vec();
        let (mut sum, mut most, mut count) = (vec![0.0_f32; WIDTH], vec![-1e4_f32; WIDTH], 0.0_f32);
        for (side, state) in sides.iter().zip(states.chunks_exact(WIDTH)).filter(|(side, _)| *side % 2 == 1) {
            debug_assert!(*side < 4);
            count += 1.0;
            for ((sum, most), value) in sum.iter_mut().zip(&mut most).zip(state) {
                *sum += value;
                *most = most.max(*value);
            }
        }
        pooled.extend(sum.iter().map(|sum| sum / count.max(1.0)));
        pooled.extend(most);
        let (mut hidden, mut score) = (Vec::new(), Vec::new());
        self.first.apply(&pooled, &mut hidden);
        for value in &mut hidden {
            *value = value.tanh();
        }
        self.last.apply(&hidden, &mut score);
        score.first().copied().unwrap_or(f32::MIN)
    }
}

/// What is left of the file. One that is too short gives zeros; a test reads the one there is to its end.
struct Rest<'b>(&'b [u8]);

impl Rest<'_> {
    fn floats(&mut self, count: usize) -> Vec<f32> {
        let (head, rest) = self.0.split_at(self.0.len().min(4 * count));
        self.0 = rest;
        let read = head.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        read.chain(std::iter::repeat(0.0)).take(count).collect()
    }

    /// Eight bits each, with a scale for each column.
    fn matrix(&mut self, rows: usize, columns: usize) -> Vec<f32> {
        let scales = self.floats(columns);
        let (head, rest) = self.0.split_at(self.0.len().min(rows * columns));
        self.0 = rest;
        let small = head.iter().map(|byte| f32::from(byte.cast_signed()));
        small.zip(scales.iter().cycle()).map(|(small, scale)| small * scale).collect()
    }
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
    fn the_file_is_read_to_its_end() {
        let per_adapter = 4 * (NARROW + WIDTH) + 2 * WIDTH * NARROW + 4 * (NARROW + WIDTH);
        let head = 4 * HIDDEN + 3 * WIDTH * HIDDEN + 4 * HIDDEN + 4 * HIDDEN + 4;
        assert_eq!(WEIGHTS.len(), 4 * 4 * WIDTH + ADAPTERS * per_adapter + head);
        assert_eq!((HEAD.down.len(), HEAD.up.len()), (ADAPTERS, ADAPTERS));
    }

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
