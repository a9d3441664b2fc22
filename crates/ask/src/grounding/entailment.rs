//! How far a claim follows from its evidence, by the sentence model and what data/grounding/teach.py has added to it:
//! both are read together, behind each layer a small adapter shifts what the next one sees, and at the end each word of
//! the claim is held against those of the evidence it attends to. Three that were trained apart are asked; their mean is
//! the score. The same text has the same score everywhere; a score alone never lets a claim pass.

use std::sync::LazyLock;

use countersign_index::{EmbedError, Local, TOKENS_MAX};

static WEIGHTS: &[u8] = include_bytes!("../../data/grounding/head.bin");

/// How many nets head.bin has.
const HEADS: usize = 3;

/// The same numbers as in nets.py.
const NARROW: usize = 80;
const HIDDEN: usize = 64;
const ALIGNED: usize = 128;
const LOOKS: usize = 4;
const COMPARED: usize = 64;
const CLAIM_MAX: usize = 96;
const ADAPTERS: usize = Local::JOINTS - 1;
const WIDTH: usize = Local::WIDTH;

/// Tokens that mark the ends of a text; between two texts the last one does.
const MARKS: usize = 3;

static READ: LazyLock<Vec<Head>> = LazyLock::new(|| {
    let mut rest = Rest(WEIGHTS);
    (0..HEADS).map(|_| Head::read(&mut rest)).collect()
});

/// Above 0 it follows rather than not.
pub(super) fn score(local: &Local, claim: &str, evidence: &str) -> Result<f32, EmbedError> {
    let pair = Pair::of(claim, evidence)?;
    let (mut sum, mut count) = (0.0, 0.0);
    for head in READ.iter() {
        let states = local.states(&pair.tokens, &mut |joint, states| match joint.checked_sub(1) {
            None => head.mark_sides(&pair.sides, states),
            Some(adapter) => head.adapt(adapter, states),
        })?;
        sum += head.judge(&pair.sides, &states);
        count += 1.0;
    }
    Ok(sum / count)
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
    alignment: Alignment,
    first: Layer,
    last: Layer,
}

impl Head {
    fn read(rest: &mut Rest<'_>) -> Self {
        let sides = rest.floats(4 * WIDTH);
        let down: Vec<_> = (0..ADAPTERS).map(|_| rest.matrix(WIDTH, NARROW)).collect();
        let down_bias = rest.floats(ADAPTERS * NARROW);
        let up: Vec<_> = (0..ADAPTERS).map(|_| rest.matrix(NARROW, WIDTH)).collect();
        let up_bias = rest.floats(ADAPTERS * WIDTH);
        let layers = |matrices: Vec<Vec<f32>>, biases: &[f32], columns: usize| {
            let biases = biases.chunks_exact(columns).map(<[f32]>::to_vec);
            matrices.into_iter().zip(biases).map(|(matrix, bias)| Layer { columns, matrix, bias }).collect()
        };
        let alignment = Alignment::read(rest);
        let pooled = 3 * WIDTH + 2 * COMPARED;
        let first = Layer { columns: HIDDEN, matrix: rest.matrix(pooled, HIDDEN), bias: rest.floats(HIDDEN) };
        let last = Layer { columns: 1, matrix: rest.floats(HIDDEN), bias: rest.floats(1) };
        Self { sides, down: layers(down, &down_bias, NARROW), up: layers(up, &up_bias, WIDTH), alignment, first, last }
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
    fn read(rest: &mut Rest<'_>) -> Self {
        let mut layer = || Layer { columns: ALIGNED, matrix: rest.matrix(WIDTH, ALIGNED), bias: vec![0.0; ALIGNED] };
        let (asked, offered, given, own) = (layer(), layer(), layer(), layer());
        let matrix = rest.matrix(4 * ALIGNED, COMPARED);
        let compared = Layer { columns: COMPARED, matrix, bias: rest.floats(COMPARED) };
        Self { asked, offered, given, own, compared }
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

/// What is left of the file. One that is too short gives zeros; a test reads the one there is to its end.
struct Rest<'b>(&'b [u8]);

impl Rest<'_> {
    fn floats(&mut self, count: usize) -> Vec<f32> {
        let (head, rest) = self.0.split_at(self.0.len().min(4 * count));
        self.0 = rest;
        let read = head.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        read.chain(std::iter::repeat(0.0)).take(count).collect()
    }

    /// Four bits each, two in a byte, with a scale for each column.
    fn matrix(&mut self, rows: usize, columns: usize) -> Vec<f32> {
        let scales = self.floats(columns);
        let (head, rest) = self.0.split_at(self.0.len().min(rows * columns / 2));
        self.0 = rest;
        let small = head.iter().flat_map(|byte| [byte & 15, byte >> 4]).map(|four| f32::from(four) - 8.0);
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
        let matrix = |rows: usize, columns: usize| 4 * columns + rows * columns / 2;
        let adapter = matrix(WIDTH, NARROW) + matrix(NARROW, WIDTH) + 4 * (NARROW + WIDTH);
        let alignment = 4 * matrix(WIDTH, ALIGNED) + matrix(4 * ALIGNED, COMPARED) + 4 * COMPARED;
        let end = matrix(3 * WIDTH + 2 * COMPARED, HIDDEN) + 4 * (2 * HIDDEN + 1);
        assert_eq!(WEIGHTS.len(), HEADS * (4 * 4 * WIDTH + ADAPTERS * adapter + alignment + end));
        assert_eq!((READ.len(), READ[0].down.len(), READ[1].up.len()), (HEADS, ADAPTERS, ADAPTERS));
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
