//! The model in the binary: nothing is downloaded, nothing has to be set up.
//!
//! A text is always run alone and without padding. Activations are quantised over all that is in one run, so beside
//! others its vector would depend on them; the cores are kept busy with several runs at a time instead.

mod encoder;
mod lanes;
mod model;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use countersign_contract::BoxFuture;
use tokio_util::sync::CancellationToken;

use self::encoder::WIDTH;
pub use self::encoder::{Encoder, Integers, Parameters, TOKENS_MAX};
use self::lanes::Lanes;
use self::model::Model;
use super::{EmbedError, Embedder};

/// To be changed with anything that changes vectors: weights, quantisation, where a text is cut.
const ID: &str = "all-minilm-l6-v2/w7a8/256";

/// All of them share one model, loaded with the first text.
#[derive(Debug, Clone)]
pub struct Local {
    lanes: Arc<Lanes>,
}

impl Local {
    /// Values of a state.
    pub const WIDTH: usize = WIDTH;

    /// On all cores, for whoever waits.
    pub fn on_all_cores() -> Self {
        Self::on(cores())
    }

    /// On half of the cores, for what can take its time: a query that comes meanwhile finds a core.
    pub fn in_background() -> Self {
        Self::on(NonZeroUsize::new(cores().get() / 2).unwrap_or(NonZeroUsize::MIN))
    }

    pub fn on(cores: NonZeroUsize) -> Self {
        Self { lanes: Arc::new(Lanes::new(cores)) }
    }

    /// Loads the model, which the first text would do otherwise. Blocks.
    pub fn load() -> Result<(), EmbedError> {
        Model::shared().map(drop)
    }

    /// What `embed` does, for those who have a thread to spare.
    pub fn embed_now(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        embed(&self.lanes, texts, &CancellationToken::new())
    }

    /// The tokens of a text, with those that mark its ends, cut at [`TOKENS_MAX`].
    pub fn tokens(text: &str) -> Result<Vec<u32>, EmbedError> {
        Model::shared()?.tokens(text).map_err(EmbedError::Local)
    }

    /// What the last layer of another encoder says of these tokens, [`Local::WIDTH`] values for each, if the first is given
    /// what `change` makes of the embeddings. Blocks.
    pub fn states(
        &self,
        encoder: &Encoder,
        tokens: &[u32],
        change: &mut (dyn FnMut(&mut [f32]) + Send),
    ) -> Result<Vec<f32>, EmbedError> {
        let tokens = tokens.get(..TOKENS_MAX).unwrap_or(tokens);
        let mut lane = self.lanes.take();
        lane.run(|scratch| encoder.run(tokens, scratch, change)).map_err(EmbedError::Local)
    }
}

impl Embedder for Local {
    fn model(&self) -> &str {
        ID
    }

    fn dimensions(&self) -> Option<usize> {
        Some(WIDTH)
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async move {
            let (lanes, texts, given_up) = (Arc::clone(&self.lanes), texts.to_vec(), CancellationToken::new());
            // A call that is dropped ends with the texts at hand, not with the last one.
            let _guard = given_up.clone().drop_guard();
            let work = tokio::task::spawn_blocking(move || embed(&lanes, &texts, &given_up));
            work.await.unwrap_or_else(|error| Err(EmbedError::Local(error.to_string())))
        })
    }
}

fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn embed(lanes: &Lanes, texts: &[String], given_up: &CancellationToken) -> Result<Vec<Vec<f32>>, EmbedError> {
    let model = Model::shared()?;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut vectors = Vec::new();
        while !given_up.is_cancelled() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = texts.get(at) else { break };
            // For one text only: a query waits for the end of a text, not for the end of a batch.
            let mut lane = lanes.take();
            vectors.push((at, lane.run(|scratch| model.vector(text, scratch))?));
        }
        Ok(vectors)
    };
    let mut vectors = thread::scope(|scope| {
        let others = 1..lanes.count().min(texts.len());
        let others: Vec<_> = others.map(|_| scope.spawn(work)).collect();
        let mut vectors = work();
        for other in others {
            let found = other.join().unwrap_or_else(|_| Err(EmbedError::Local("it panicked".to_owned())));
            vectors = vectors.and_then(|mut all: Vec<_>| found.map(|found| all.extend(found)).map(|()| all));
        }
        vectors
    })?;
    if vectors.len() < texts.len() {
        return Err(EmbedError::Local("nobody waits for it any more".to_owned()));
    }
    vectors.sort_unstable_by_key(|(at, _)| *at);
    Ok(vectors.into_iter().map(|(_, vector)| vector).collect())
}
