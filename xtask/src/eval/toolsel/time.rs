//! How long planning takes over many tools, the question's embedding included.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use countersign_ask::{Offer, Planner};
use countersign_contract::BoxFuture;
use countersign_index::{EmbedError, Embedder, Local};
use serde::Serialize;

/// Questions that are timed, and those before them that warm up.
const QUESTIONS: usize = 200;
const WARM_UP: usize = 10;

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Times {
    pub(super) tools: usize,
    pub(super) questions: usize,
    pub(super) p50_ms: f64,
    pub(super) p95_ms: f64,
}

/// Tools have vectors that were kept, questions are embedded.
#[derive(Debug)]
struct Switched {
    kept: Arc<dyn Embedder>,
    fresh: Local,
    embeds: AtomicBool,
}

impl Times {
    /// One question after the other, from all over the list.
    pub(super) async fn measure(
        tools: Vec<Offer>,
        questions: &[&str],
        kept: &Arc<dyn Embedder>,
    ) -> anyhow::Result<Self> {
        let count = tools.len();
        let embedder =
            Arc::new(Switched { kept: Arc::clone(kept), fresh: Local::on_all_cores(), embeds: AtomicBool::new(false) });
        let planner = Planner::new(tools, Arc::clone(&embedder) as Arc<dyn Embedder>).await?;
        embedder.embeds.store(true, Ordering::Relaxed);
        let mut times = Vec::new();
        for question in questions.iter().step_by((questions.len() / (QUESTIONS + WARM_UP)).max(1)) {
            let start = Instant::now();
            planner.plan(question, super::TODAY).await?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let mut timed = times.split_off(WARM_UP.min(times.len()));
        timed.sort_by(f64::total_cmp);
        let at = |percent: usize| timed.get(timed.len() * percent / 100).copied().unwrap_or_default();
        Ok(Self { tools: count, questions: timed.len(), p50_ms: at(50), p95_ms: at(95) })
    }
}

impl Embedder for Switched {
    fn model(&self) -> &str {
        self.fresh.model()
    }

    fn dimensions(&self) -> Option<usize> {
        self.fresh.dimensions()
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        if self.embeds.load(Ordering::Relaxed) { self.fresh.embed(texts) } else { self.kept.embed(texts) }
    }
}
