//! What is done to every value, in vectors. Rows are whole numbers of vectors everywhere: 384 and its multiples.
#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for the instructions at hand")]

use rten_simd::functional::simd_map;
use rten_simd::ops::{BitOps as _, NumOps as _, ToFloat as _};
use rten_simd::{Isa, Simd as _, SimdOp, SimdUnaryOp as _};
use rten_vecmath::{Exp, Gelu, MinMax};

/// The least and the greatest of some values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) least: f32,
    pub(super) greatest: f32,
}

impl Range {
    pub(super) fn of(values: &[f32]) -> Self {
        let (least, greatest) = MinMax::new(values).dispatch();
        Self { least, greatest }
    }
}

/// Sums of products of small integers, and what makes values of them: one factor and one bias for each column.
#[derive(Clone, Copy)]
pub(super) struct Product<'a> {
    pub(super) sums: &'a [i32],
    pub(super) factors: &'a [f32],
    pub(super) bias: &'a [f32],
}

impl Product<'_> {
    /// Calls `each` with every vector of values, and where in the row it is.
    #[inline(always)]
    fn each<I: Isa>(self, isa: I, mut each: impl FnMut(usize, I::F32)) {
        let ops = isa.f32();
        let columns = self.factors.len();
        for (number, row) in self.sums.chunks_exact(columns).enumerate() {
            let factors = self.factors.chunks_exact(ops.len()).zip(self.bias.chunks_exact(ops.len()));
            for (at, (sums, (factors, bias))) in row.chunks_exact(ops.len()).zip(factors).enumerate() {
                let value = ops.mul(isa.i32().to_float(isa.i32().load(sums)), ops.load(factors));
                each(number * columns + at * ops.len(), ops.add(value, ops.load(bias)));
            }
        }
    }
}

/// The values themselves.
pub(super) struct Plain<'a> {
    pub(super) from: Product<'a>,
    pub(super) to: &'a mut [f32],
}

impl SimdOp for Plain<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        self.from.each(
            isa,
            #[inline(always)]
            |at, value| ops.store(value, &mut self.to[at..][..ops.len()]),
        );
    }
}

/// The values added to what is there.
pub(super) struct Added<'a> {
    pub(super) from: Product<'a>,
    pub(super) to: &'a mut [f32],
}

impl SimdOp for Added<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        self.from.each(
            isa,
            #[inline(always)]
            |at, value| {
                let place = &mut self.to[at..][..ops.len()];
                ops.store(ops.add(value, ops.load(place)), place);
            },
        );
    }
}

/// What the function between two linear ones makes of the values.
pub(super) struct Bent<'a> {
    pub(super) from: Product<'a>,
    pub(super) to: &'a mut [f32],
}

impl SimdOp for Bent<'_> {
    type Output = Range;

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) -> Range {
        let ops = isa.f32();
        let (mut least, mut greatest) = (ops.splat(f32::INFINITY), ops.splat(f32::NEG_INFINITY));
        self.from.each(
            isa,
            #[inline(always)]
            |at, value| {
                let value = Gelu {}.eval(isa, value);
                (least, greatest) = (ops.min(value, least), ops.max(value, greatest));
                ops.store(value, &mut self.to[at..][..ops.len()]);
            },
        );
        let least = least.to_array().into_iter().fold(f32::INFINITY, f32::min);
        Range { least, greatest: greatest.to_array().into_iter().fold(f32::NEG_INFINITY, f32::max) }
    }
}

/// How much each score counts, before that is divided by the sum of all.
///
/// The largest of each row is not looked for, which would take longer than all else here. It was between -6 and 101 in
/// real texts and in random tokens; less [`SHIFT`] and cut at [`BOUND`] nothing that counts is cut, and nothing overflows.
pub(super) struct Powers<'a> {
    pub(super) scores: &'a mut [f32],
    pub(super) factor: f32,
}

const SHIFT: f32 = 40.0;
/// e^80 times 256 tokens is within f32, and so is e^-80.
const BOUND: f32 = 80.0;

impl SimdOp for Powers<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let ops = isa.f32();
        let (factor, shift) = (ops.splat(self.factor), ops.splat(SHIFT));
        let (least, greatest) = (ops.splat(-BOUND), ops.splat(BOUND));
        simd_map(
            ops,
            self.scores,
            #[inline(always)]
            |score| {
                let shifted = ops.sub(ops.mul(score, factor), shift);
                Exp {}.eval(isa, ops.clamp(shifted, least, greatest))
            },
        );
    }
}
