//! A service that speaks the protocol of `OpenAI`: one JSON question, one JSON answer, asked again where that may help.
//!
//! Redirects are not followed: texts and key are for this service alone.

mod exchange;

use std::fmt;
use std::time::Duration;

use secrecy::SecretString;
use tokio::time::Instant;
use url::Url;

use self::exchange::{Exchange, Failure};

/// Where it is and what to ask it for.
#[derive(Clone)]
pub struct Service {
    /// What comes before the path, as in `https://api.openai.com/v1`.
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

/// How one kind of question is asked.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// What messages call the service.
    pub name: &'static str,
    /// Below the service's URL.
    pub path: &'static [&'static str],
    /// Bytes; a longer answer is none.
    pub answer_max: usize,
    pub patience: Patience,
}

/// How long one question is worth asking.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    pub tries: u32,
    pub first_pause: Duration,
    /// The longest pause, even if the service asks for more.
    pub longest_pause: Duration,
    pub one_try: Duration,
    pub all_tries: Duration,
}

/// One path of a service.
pub struct Endpoint {
    exchange: Exchange,
    name: &'static str,
    patience: Patience,
}

/// Why there is no answer, as a sentence without its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Unanswered {
    what: String,
    /// Whether it was asked in a way that this service does not know.
    pub is_bad_request: bool,
}

impl Endpoint {
    /// The error says what cannot work, in words for whoever configured it.
    pub fn new(url: Url, key: Option<SecretString>, manner: &Manner) -> Result<Self, String> {
        let exchange = Exchange::new(url, key, manner)?;
        Ok(Self { exchange, name: manner.name, patience: manner.patience })
    }

    pub async fn ask(&self, question: Vec<u8>) -> Result<Vec<u8>, Unanswered> {
        let deadline = Instant::now() + self.patience.all_tries;
        let mut tries = 0;
        loop {
            tries += 1;
            let until = deadline.min(Instant::now() + self.patience.one_try);
            let failure = match tokio::time::timeout_at(until, self.exchange.post(question.clone())).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(failure)) => failure,
                Err(_) => Failure::again("did not answer in time"),
            };
            match self.pause(&failure, tries).filter(|pause| Instant::now() + *pause < deadline) {
                Some(pause) => {
                    tracing::debug!(tries, ?pause, failure = failure.what, "asking the {} again", self.name);
                    tokio::time::sleep(pause).await;
                }
                None => return Err(self.in_words(&failure, tries)),
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

    fn in_words(&self, failure: &Failure, tries: u32) -> Unanswered {
        let times = match tries {
            0 | 1 => String::new(),
            2 => ", tried twice".to_owned(),
            3 => ", tried three times".to_owned(),
            4 => ", tried four times".to_owned(),
            more => format!(", tried {more} times"),
        };
        let is_bad_request = failure.status.is_some_and(|status| matches!(status.as_u16(), 400 | 422));
        Unanswered { what: format!("the {} {}{times}", self.name, failure.what), is_bad_request }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("name", &self.name).finish_non_exhaustive()
    }
}

/// From 0 to 1.
fn chance() -> f64 {
    // The marks of a UUID come after these.
    let [a, b, c, d, ..] = uuid::Uuid::new_v4().into_bytes();
    f64::from(u32::from_be_bytes([a, b, c, d])) / f64::from(u32::MAX)
}
