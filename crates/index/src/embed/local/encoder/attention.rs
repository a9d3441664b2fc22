//! How much each token takes from each other one, head by head: a head's scores stay in the cache until they are used.

use rten_gemm::{GemmError, GemmInputA, GemmInputB, GemmOptions};
use rten_simd::SimdOp as _;
use rten_tensor::NdTensorView;
use rten_vecmath::Sum;

use super::passes::Powers;
use super::{HEAD_WIDTH, HEADS, Products, WIDTH};

/// What it needs room for; kept, so that the next one need not ask for memory.
#[derive(Debug, Default)]
pub(super) struct Room {
    scores: Vec<f32>,
    taken: Vec<f32>,
    all: Vec<f32>,
}

/// Of rows of queries, keys and values beside each other.
pub(super) fn attend<'a>(values: &[f32], products: &Products, room: &'a mut Room) -> Result<&'a [f32], GemmError> {
    let count = values.len() / (3 * WIDTH);
    let scores = super::room(&mut room.scores, count * count);
    let taken = super::room(&mut room.taken, count * HEAD_WIDTH);
    let all = super::room(&mut room.all, count * WIDTH);
    let values = NdTensorView::from_data([count, 3 * HEADS, HEAD_WIDTH], values);
    for head in 0..HEADS {
        let [query, key, value] = [head, HEADS + head, 2 * HEADS + head].map(|at| values.slice((.., at, ..)));
        let (queries, keys) = (GemmInputA::Unpacked(query), GemmInputB::Unpacked(key.transposed()));
        products.floats.gemm(scores, queries, keys, GemmOptions::default())?;
        Powers { scores: &mut *scores, factor: FACTOR }.dispatch();
        let powers = GemmInputA::Unpacked(NdTensorView::from_data([count, count], &*scores));
        products.floats.gemm(taken, powers, GemmInputB::Unpacked(value), GemmOptions::default())?;
        let rows = scores.chunks_exact(count).zip(taken.chunks_exact(HEAD_WIDTH)).zip(all.chunks_exact_mut(WIDTH));
        for ((powers, taken), all) in rows {
            let total = Sum::new(powers).dispatch();
            for (to, value) in all[head * HEAD_WIDTH..][..HEAD_WIDTH].iter_mut().zip(taken) {
                *to = value / total;
            }
        }
    }
    Ok(all)
}

/// One by the root of a head's width.
const FACTOR: f32 = 0.176_776_69;
