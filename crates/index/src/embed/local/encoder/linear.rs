//! Linear functions in small integers: weights of 7 bits with a scale for each column, values of 8 with one for all.

use std::mem::MaybeUninit;

use rten_gemm::{GemmError, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix, QuantParams};
use rten_simd::SimdOp as _;
use rten_tensor::NdTensorView;
use rten_vecmath::Quantize;

use super::Products;
use super::passes::{Product, Range};

pub(super) struct Linear {
    pub(super) rows: usize,
    pub(super) weights: PackedBMatrix<i8>,
    pub(super) scales: Vec<f32>,
    pub(super) bias: Vec<f32>,
}

/// What the function needs room for; kept, so that the next one need not ask for memory.
#[derive(Debug, Default)]
pub(super) struct Room {
    bytes: Vec<MaybeUninit<u8>>,
    sums: Vec<i32>,
    factors: Vec<f32>,
}

impl Linear {
    /// Of each row of values, whose range is known.
    pub(super) fn apply<'a>(
        &'a self,
        values: &[f32],
        range: Range,
        products: &Products,
        room: &'a mut Room,
    ) -> Result<Product<'a>, GemmError> {
        let (count, columns) = (values.len() / self.rows, self.scales.len());
        let (scale, zero) = small(range);
        if room.bytes.len() < values.len() {
            room.bytes.resize(values.len(), MaybeUninit::uninit());
        }
        let bytes = Quantize::new(values, &mut room.bytes[..values.len()], 1.0 / scale, zero).dispatch();
        let sums = super::room(&mut room.sums, count * columns);
        products.integers.gemm(
            sums,
            GemmInputA::Unpacked(NdTensorView::from_data([count, self.rows], &*bytes)),
            GemmInputB::Packed(&self.weights),
            GemmOptions { a_quant: Some(QuantParams { zero_point: &vec![zero; count] }), ..GemmOptions::default() },
        )?;
        room.factors.clear();
        room.factors.extend(self.scales.iter().map(|weight| scale * weight));
        Ok(Product { sums, factors: &room.factors, bias: &self.bias })
    }
}

/// Each value is the scale times what its byte is above the zero; 0 itself is always one of them.
fn small(range: Range) -> (f32, u8) {
    let (least, greatest) = (range.least.min(0.0), range.greatest.max(0.0));
    let scale = (greatest - least) / 255.0;
    if scale == 0.0 {
        return (1.0, 0);
    }
    let zero = (-least / scale).clamp(0.0, 255.0).round_ties_even();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what a byte holds")]
    (scale, zero as u8)
}
