//! Texts to vectors.

mod kept;
mod local;
mod remote;

use std::fmt;

use countersign_contract::BoxFuture;

pub use kept::Kept;
pub use local::{Encoder, Integers, Local, Parameters, TOKENS_MAX};
pub use remote::Remote;

/// Something that turns texts into vectors of length 1, always the same for the same text, whatever it is asked for in
/// the same breath: vectors are kept for good.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// Names weights, arithmetic and preparation of the text: vectors of one id can be compared.
    fn model(&self) -> &str;

    /// `None` as long as only an answer of somebody else could tell.
    fn dimensions(&self) -> Option<usize>;

    /// One vector for each text, in order.
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>>;
}

#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// In words for the person who has to do something about it.
    #[error("{0}")]
    Remote(String),
    #[error("the embedded model does not run: {0}")]
    Local(String),
}

/// Makes it as long as 1; `None` if it has no direction.
fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    // In f64: the square of a large value would not fit into f32.
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return None;
    }
    for value in &mut vector {
        #[expect(clippy::cast_possible_truncation, reason = "between -1 and 1")]
        let part = (f64::from(*value) / length) as f32;
        *value = part;
    }
    Some(vector)
}

/// As it is kept: four bytes a value, the least significant first.
pub(crate) fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// `None` for what no vector was written as.
pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Vec<f32>> {
    let (values, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| values.iter().map(|value| f32::from_le_bytes(*value)).collect())
}
