//! A service that speaks the protocol of `OpenAI` for embeddings: `POST {url}/embeddings`.
//!
//! What it answers is believed only as far as it was checked: how many vectors, how long, and that each has a direction.
//! Redirects are not followed: texts and key are for this service alone.

mod exchange;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use countersign_contract::BoxFuture;
use secrecy::SecretString;
use tokio::time::Instant;
use url::{Position, Url};

use self::exchange::{Exchange, Failure};
use super::{EmbedError, Embedder, unit};

/// Few services take more in one request.
const TEXTS_MAX: usize = 64;

/// Of one request: an answer is there in seconds, and little is lost when it fails. A longer text goes alone.
const BYTES_MAX: usize = 100_000;

/// Services refuse the empty text; this one has as little meaning.
const NOTHING: &str = " ";

/// Where it is and what to ask it for.
#[derive(Clone)]
pub struct Service {
    /// What comes before `/embeddings`, as in `https://api.openai.com/v1`.
    pub url: Url,
    pub model: String,
    pub key: Option<SecretString>,
}

/// Without the key, and without what a URL may hold besides its host.
impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.url.host_str().unwrap_or_default();
        f.debug_struct("Service").field("host", &host).field("model", &self.model).finish_non_exhaustive()
    }
}

pub struct Remote {
    id: String,
    /// As the service calls it.
    name: String,
    exchange: Exchange,
    patience: Patience,
    /// Set by the first answer; later ones must agree.
    dimensions: OnceLock<usize>,
}

/// How long one request is worth trying.
#[derive(Debug, Clone, Copy)]
struct Patience {
    tries: u32,
    first_pause: Duration,
    /// The longest pause, even if the service asks for more.
    longest_pause: Duration,
    one_try: Duration,
    all_tries: Duration,
}

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
        let exchange = Exchange::new(url, key).map_err(|what| EmbedError::Remote(what.to_owned()))?;
        Ok(Self { id, name: model, exchange, patience, dimensions: OnceLock::new() })
    }

    async fn embed_all(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in batches(texts) {
            let inputs: Vec<&str> =
                batch.iter().map(|text| if text.is_empty() { NOTHING } else { text.as_str() }).collect();
            let answered = self.try_some_times(&inputs).await?;
            vectors.extend(self.checked(answered, batch.len())?);
        }
        Ok(vectors)
    }

    async fn try_some_times(&self, inputs: &[&str]) -> Result<Vec<Item>, EmbedError> {
        let body = serde_json::to_vec(&Question { model: &self.name, input: inputs });
        let body = body.map_err(|error| EmbedError::Remote(error.to_string()))?;
        let deadline = Instant::now() + self.patience.all_tries;
        let mut tries = 0;
        loop {
            tries += 1;
            let until = deadline.min(Instant::now() + self.patience.one_try);
            let failure = match tokio::time::timeout_at(until, self.exchange.post(body.clone())).await {
                Ok(Ok(items)) => return Ok(items),
                Ok(Err(failure)) => failure,
                Err(_) => Failure::again("did not answer in time"),
            };
            match self.pause(&failure, tries).filter(|pause| Instant::now() + *pause < deadline) {
                Some(pause) => {
                    tracing::debug!(tries, ?pause, failure = failure.what, "asking the embedding service again");
                    tokio::time::sleep(pause).await;
                }
                None => return Err(in_words(&failure.what, tries)),
            }
        }
    }

    /// Until the next try; `None` if there is no point in one.
    fn pause(&self, failure: &Failure, tries: u32) -> Option<Duration> {
        if !failure.is_passing || tries >= self.patience.tries {
            return None;
        }
        let doubled = self.patience.first_pause.saturating_mul(2_u32.saturating_pow(tries - 1));
        // Many who were refused together must not come back together.
        let pause = failure.wait.unwrap_or_default().max(doubled.mul_f64(0.5 + 0.5 * chance()));
        Some(pause.min(self.patience.longest_pause))
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

fn in_words(what: &str, tries: u32) -> EmbedError {
    let times = match tries {
        0 | 1 => String::new(),
        2 => ", tried twice".to_owned(),
        3 => ", tried three times".to_owned(),
        4 => ", tried four times".to_owned(),
        more => format!(", tried {more} times"),
    };
    EmbedError::Remote(format!("the embedding service {what}{times}"))
}

/// From 0 to 1.
fn chance() -> f64 {
    // The marks of a UUID come after these.
    let [a, b, c, d, ..] = uuid::Uuid::new_v4().into_bytes();
    f64::from(u32::from_be_bytes([a, b, c, d])) / f64::from(u32::MAX)
}
