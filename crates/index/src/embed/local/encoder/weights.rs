//! The weights as they are in the binary; `make_model.py` writes them in this order.

use rten_tensor::NdTensorView;

use super::linear::Linear;
use super::{Layer, Norm, Products, WIDE, WIDTH};

/// What is not read yet.
pub(super) struct Weights {
    rest: &'static [u8],
    products: Products,
}

impl Weights {
    pub(super) fn of(file: &'static [u8]) -> Self {
        Self { rest: file, products: Products::default() }
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'static [u8], String> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or("its weights end too early")?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(super) fn floats(&mut self, count: usize) -> Result<Vec<f32>, String> {
        let (floats, _) = self.bytes(count * size_of::<f32>())?.as_chunks();
        Ok(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    pub(super) fn norm(&mut self) -> Result<Norm, String> {
        Ok(Norm { gain: self.floats(WIDTH)?, bias: self.floats(WIDTH)? })
    }

    pub(super) fn layer(&mut self) -> Result<Layer, String> {
        Ok(Layer {
            attend: self.linear(WIDTH, 3 * WIDTH)?,
            attended: self.linear(WIDTH, WIDTH)?,
            middle: self.norm()?,
            widen: self.linear(WIDTH, WIDE)?,
            narrow: self.linear(WIDE, WIDTH)?,
            end: self.norm()?,
        })
    }

    /// In the order in which they are multiplied: costs 20 ms once for all, and saves a seventh of every long run and half
    /// of every short one.
    fn linear(&mut self, rows: usize, columns: usize) -> Result<Linear, String> {
        let weights: Vec<i8> = self.bytes(rows * columns)?.iter().map(|byte| byte.cast_signed()).collect();
        let weights = self.products.integers.prepack_b(NdTensorView::from_data([rows, columns], &*weights));
        Ok(Linear { rows, weights, scales: self.floats(columns)?, bias: self.floats(columns)? })
    }

    pub(super) fn end(self) -> Result<(), String> {
        if self.rest.is_empty() { Ok(()) } else { Err(format!("{} bytes of weights are left over", self.rest.len())) }
    }
}
