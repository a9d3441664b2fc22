//! A service that speaks the protocol of `OpenAI` for embeddings: `POST {url}/embeddings`.
//!
//! What it answers is believed only as far as it was checked: how many vectors, how long, and that each has a direction.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use countersign_contract::BoxFuture;
use url::Position;

use super::{EmbedError, Embedder, unit};
use crate::endpoint::{Endpoint, Manner, Patience, Service};

/// Few services take more in one request.
const TEXTS_MAX: usize = 64;

/// Of one request: an answer is there in seconds, and little is lost when it fails. A longer text goes alone.
const BYTES_MAX: usize = 100_000;

/// Services refuse the empty text; this one has as little meaning.
const NOTHING: &str = " ";

pub struct Remote {
    id: String,
    /// As the service calls it.
    name: String,
    endpoint: Endpoint,
    /// Set by the first answer; later ones must agree.
    dimensions: OnceLock<usize>,
}

/// 64 vectors of 4,096 numbers with twenty digits each are 5 MB.
const ANSWER_MAX: usize = 16 * 1024 * 1024;

const PATIENCE: Patience = Patience {
    tries: 4,
    first_pause: Duration::from_millis(500),
    longest_pause: Duration::from_secs(20),
    // A full request takes a small machine without an accelerator this long.
    one_try: Duration::from_secs(30),
    all_tries: Duration::from_mins(1),
};

impl Remote {
    pub fn new(service: Service) -> Result<Self, EmbedError> {
        Self::with(service, PATIENCE)
    }

    fn with(service: Service, patience: Patience) -> Result<Self, EmbedError> {
        let Service { url, model, key } = service;
        // Two services may well run different things under one name.
        let id = format!("{}/{model}", url[Position::BeforeHost..Position::AfterPath].trim_end_matches('/'));
        let manner = Manner { name: "embedding service", path: &["embeddings"], answer_max: ANSWER_MAX, patience };
        let endpoint = Endpoint::new(url, key, &manner).map_err(EmbedError::Remote)?;
        Ok(Self { id, name: model, endpoint, dimensions: OnceLock::new() })
    }

    async fn embed_all(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in batches(texts) {
            let inputs: Vec<&str> =
                batch.iter().map(|text| if text.is_empty() { NOTHING } else { text.as_str() }).collect();
            let answered = self.ask(&inputs).await?;
            vectors.extend(self.checked(answered, batch.len())?);
        }
        Ok(vectors)
    }

    async fn ask(&self, inputs: &[&str]) -> Result<Vec<Item>, EmbedError> {
        let wrong = |what: String| EmbedError::Remote(what);
        let question = serde_json::to_vec(&Question { model: &self.name, input: inputs });
        let question = question.map_err(|error| wrong(error.to_string()))?;
        let answer = self.endpoint.ask(question).await.map_err(|failure| wrong(failure.to_string()))?;
        let answer: Result<Answer, _> = serde_json::from_slice(&answer);
        let not_one = "the embedding service gave an answer that is not one of embeddings";
        answer.map(|answer| answer.data).map_err(|_| wrong(not_one.to_owned()))
    }

    fn checked(&self, items: Vec<Item>, count: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let wrong = |what: String| EmbedError::Remote(format!("the embedding service {what}"));
        let answered = items.len();
        let mut vectors = vec![None; count];
        for (position, item) in items.into_iter().enumerate() {
            let slot = vectors.get_mut(item.index.unwrap_or(position));
            if let Some(slot @ None) = slot {
                *slot = Some(item.embedding);
            }
        }
        if answered != count {
            return Err(wrong(format!("gave {answered} vectors for {count} texts")));
        }
        let vectors: Option<Vec<Vec<f32>>> = vectors.into_iter().collect();
        let each = || wrong(format!("gave {answered} vectors for {count} texts, but not one for each"));
        let vectors = vectors.ok_or_else(each)?;
        let lengths: Vec<usize> = vectors.iter().map(Vec::len).collect();
        let found: Option<Vec<Vec<f32>>> = vectors.into_iter().map(unit).collect();
        let found = found.ok_or_else(|| wrong("gave a vector without direction".to_owned()))?;
        if let Some(first) = lengths.first() {
            let agreed = *self.dimensions.get_or_init(|| *first);
            if let Some(other) = lengths.iter().find(|length| **length != agreed) {
                return Err(wrong(format!("gave a vector of {other} dimensions after one of {agreed}")));
            }
        }
        Ok(found)
    }
}

impl Embedder for Remote {
    fn model(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> Option<usize> {
        self.dimensions.get().copied()
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(self.embed_all(texts))
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("id", &self.id).field("dimensions", &self.dimensions).finish_non_exhaustive()
    }
}

#[derive(serde::Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

#[derive(serde::Deserialize)]
struct Answer {
    data: Vec<Item>,
}

/// One vector of an answer.
#[derive(serde::Deserialize)]
struct Item {
    /// Of its text. Some leave it out, and then it is where it stands.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// As many at a time as one request takes.
fn batches(texts: &[String]) -> Vec<&[String]> {
    let mut batches = Vec::new();
    let mut rest = texts;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |text: &&String| {
            bytes += text.len();
            bytes <= BYTES_MAX
        };
        let count = rest.iter().take(TEXTS_MAX).take_while(fits).count().max(1);
        let (batch, others) = rest.split_at(count);
        batches.push(batch);
        rest = others;
    }
    batches
}
