//! Parameters as they are in the binary, compressed; what writes them says in which order.

use std::io::Read;

use rten_tensor::NdTensorView;

use super::linear::Linear;
use super::{Layer, Norm, Products, WIDE, WIDTH};

/// What is not read yet.
pub struct Parameters {
    rest: Box<dyn Read>,
    integers: Integers,
    products: Products,
}

/// How small integers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integers {
    Bytes,
    /// Two in a byte, the first one low, each with 8 added.
    Halves,
}

impl Parameters {
    /// Of a file that zstd compressed.
    pub fn of(file: &'static [u8], integers: Integers) -> Result<Self, String> {
        let rest = zstd::Decoder::with_buffer(file).map_err(|error| error.to_string())?;
        Ok(Self { rest: Box::new(rest), integers, products: Products::default() })
    }

    pub fn floats(&mut self, count: usize) -> Result<Vec<f32>, String> {
        let bytes = self.bytes(count * size_of::<f32>())?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    pub fn integers(&mut self, count: usize) -> Result<Vec<i8>, String> {
        Ok(match self.integers {
            Integers::Bytes => self.bytes(count)?.into_iter().map(u8::cast_signed).collect(),
            Integers::Halves => {
                let bytes = self.bytes(count / 2)?;
                bytes.into_iter().flat_map(|byte| [byte & 15, byte >> 4]).map(|half| half.cast_signed() - 8).collect()
            }
        })
    }

    pub fn end(mut self) -> Result<(), String> {
        let left = self.rest.read_to_end(&mut Vec::new()).map_err(|error| error.to_string())?;
        if left == 0 { Ok(()) } else { Err(format!("{left} bytes of weights are left over")) }
    }

    fn bytes(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; count];
        self.rest.read_exact(&mut bytes).map_err(|error| format!("its weights end too early: {error}"))?;
        Ok(bytes)
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
        let weights = self.integers(rows * columns)?;
        let weights = self.products.integers.prepack_b(NdTensorView::from_data([rows, columns], &*weights));
        Ok(Linear { rows, weights, scales: self.floats(columns)?, bias: self.floats(columns)? })
    }
}

impl std::fmt::Debug for Parameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parameters")
    }
}
