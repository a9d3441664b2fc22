//! A transformer: layers over the states of one text, in small integers where there is most to multiply.
//!
//! Written out, because a runtime for any graph walks over each of its values several times more: once for a bias, once
//! for a shift, once for a bound. Products and vectors are those of `rten`, which finds out what the processor can do.

mod attention;
mod linear;
mod parameters;
mod passes;
#[cfg(test)]
mod tests;

use std::fmt;

use rten_gemm::{GemmError, GemmExecutor};
use rten_simd::SimdOp as _;
use rten_vecmath::{Normalize, NormalizeOptions, Sum, SumSquareSub};

use self::linear::Linear;
pub use self::parameters::{Integers, Parameters};
use self::passes::{Added, Bent, Plain, Range};

/// The model that makes vectors.
static WEIGHTS: &[u8] = include_bytes!("../../../data/all-minilm-l6-v2-int8/model.bin.zst");
const LAYERS: usize = 6;

pub(super) const WIDTH: usize = 384;

/// What the model reads of a text, the two that mark its ends included; it was trained with no more.
pub const TOKENS_MAX: usize = 256;

const WORDS: usize = 30_522;
const HEADS: usize = 12;
const HEAD_WIDTH: usize = WIDTH / HEADS;
const WIDE: usize = 4 * WIDTH;

/// As it was trained.
const EPSILON: f32 = 1e-12;

/// Of the shape of the one in the binary, with however many layers.
pub struct Encoder {
    /// Small integers, one row for each word, and what each row is multiplied with.
    words: Vec<i8>,
    word_scales: Vec<f32>,
    places: Vec<f32>,
    start: Norm,
    layers: Vec<Layer>,
}

/// Which instructions are used is decided when they are made, which costs nothing beside a run.
#[derive(Default)]
struct Products {
    integers: GemmExecutor<u8, i8, i32>,
    floats: GemmExecutor,
}

struct Layer {
    /// Queries, keys and values beside each other.
    attend: Linear,
    attended: Linear,
    middle: Norm,
    widen: Linear,
    narrow: Linear,
    end: Norm,
}

struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
}

/// What a run writes to and nobody reads after it; kept, so that the next one need not ask for memory.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    linear: linear::Room,
    attention: attention::Room,
    values: Vec<f32>,
}

impl Encoder {
    pub(super) fn load() -> Result<Self, String> {
        Self::read_all(Parameters::of(WEIGHTS, Integers::Bytes)?)
    }

    fn read_all(mut weights: Parameters) -> Result<Self, String> {
        let encoder = Self::read(&mut weights, LAYERS)?;
        weights.end()?;
        Ok(encoder)
    }

    /// The next part of these weights.
    pub fn read(weights: &mut Parameters, layers: usize) -> Result<Self, String> {
        let (words, word_scales) = (weights.integers(WORDS * WIDTH)?, weights.floats(WORDS)?);
        let (places, start) = (weights.floats(TOKENS_MAX * WIDTH)?, weights.norm()?);
        let layers = (0..layers).map(|_| weights.layer()).collect::<Result<_, _>>()?;
        Ok(Self { words, word_scales, places, start, layers })
    }

    /// What the last layer says, token after token, if the first is given what `change` makes of the embeddings.
    pub(super) fn run(
        &self,
        tokens: &[u32],
        scratch: &mut Scratch,
        change: &mut dyn FnMut(&mut [f32]),
    ) -> Result<Vec<f32>, String> {
        let products = Products::default();
        let mut states = self.embeddings(tokens)?;
        change(&mut states);
        for layer in &self.layers {
            layer.attend(&mut states, &products, scratch).map_err(|error| error.to_string())?;
            layer.think(&mut states, &products, scratch).map_err(|error| error.to_string())?;
        }
        Ok(states)
    }

    fn embeddings(&self, tokens: &[u32]) -> Result<Vec<f32>, String> {
        if tokens.len() > TOKENS_MAX {
            return Err(format!("{} tokens are more than it reads", tokens.len()));
        }
        let mut states = Vec::with_capacity(tokens.len() * WIDTH);
        for (&token, place) in tokens.iter().zip(self.places.chunks_exact(WIDTH)) {
            let word = usize::try_from(token).ok().filter(|word| *word < WORDS);
            let word = word.ok_or_else(|| format!("it knows no token {token}"))?;
            let (row, scale) = (&self.words[word * WIDTH..][..WIDTH], self.word_scales[word]);
            states.extend(row.iter().zip(place).map(|(value, place)| f32::from(*value) * scale + place));
        }
        self.start.apply(&mut states);
        Ok(states)
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Encoder")
    }
}

impl Layer {
    fn attend(&self, states: &mut [f32], products: &Products, scratch: &mut Scratch) -> Result<(), GemmError> {
        let Scratch { linear, attention, values } = scratch;
        let from = self.attend.apply(states, Range::of(states), products, linear)?;
        let values = room(values, from.sums.len());
        Plain { from, to: &mut *values }.dispatch();
        let attended = attention::attend(values, products, attention)?;
        let from = self.attended.apply(attended, Range::of(attended), products, linear)?;
        Added { from, to: states }.dispatch();
        self.middle.apply(states);
        Ok(())
    }

    fn think(&self, states: &mut [f32], products: &Products, scratch: &mut Scratch) -> Result<(), GemmError> {
        let Scratch { linear, values, .. } = scratch;
        let from = self.widen.apply(states, Range::of(states), products, linear)?;
        let values = room(values, from.sums.len());
        let range = Bent { from, to: &mut *values }.dispatch();
        let from = self.narrow.apply(values, range, products, linear)?;
        Added { from, to: states }.dispatch();
        self.end.apply(states);
        Ok(())
    }
}

impl Norm {
    /// To each row.
    #[expect(clippy::cast_precision_loss, reason = "a width")]
    fn apply(&self, states: &mut [f32]) {
        for state in states.chunks_exact_mut(WIDTH) {
            let mean = Sum::new(state).dispatch() / WIDTH as f32;
            let variance = SumSquareSub::new(state, mean).dispatch() / WIDTH as f32;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: 1.0 / (variance + EPSILON).sqrt(),
                element_scale: Some(&self.gain),
                bias: 0.0,
                element_bias: Some(&self.bias),
            };
            Normalize::new_mut(state, options).dispatch();
        }
    }
}

/// The first so many of a buffer that only grows; what is in them is of no interest.
fn room<T: Clone + Default>(buffer: &mut Vec<T>, count: usize) -> &mut [T] {
    if buffer.len() < count {
        buffer.resize(count, T::default());
    }
    &mut buffer[..count]
}
