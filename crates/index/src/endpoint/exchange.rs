//! One request and its answer, or why there is none and whether another try may help.

use std::error::Error;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

use super::Manner;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Of what a service says about a mistake of ours.
const REASON_MAX: usize = 200;

pub(super) struct Exchange {
    client: Client,
    url: Url,
    headers: HeaderMap,
    answer_max: usize,
}

/// What the service did, in words that follow its name.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) what: String,
    /// Whether it may be gone at the next try.
    pub(super) is_passing: bool,
    /// What the service asked for.
    pub(super) wait: Option<Duration>,
    pub(super) status: Option<StatusCode>,
}

impl Failure {
    pub(super) fn again(what: impl Into<String>) -> Self {
        Self { what: what.into(), is_passing: true, wait: None, status: None }
    }

    fn for_good(what: impl Into<String>) -> Self {
        Self { what: what.into(), is_passing: false, wait: None, status: None }
    }
}

impl Exchange {
    pub(super) fn new(mut url: Url, key: Option<SecretString>, manner: &Manner) -> Result<Self, String> {
        let name = manner.name;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("the URL of the {name} must start with `https://` or `http://`"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("the URL of the {name} must not hold a password"));
        }
        let wrong = |()| format!("the URL of the {name} cannot be used");
        url.path_segments_mut().map_err(wrong)?.pop_if_empty().extend(manner.path);
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let value = HeaderValue::try_from(format!("Bearer {}", key.expose_secret()));
            let mut value = value.map_err(|_| format!("the key for the {name} has characters no key can have"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        // Said once for the whole process; whoever comes second is refused, and that is well.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(Policy::none())
            .tcp_nodelay(true)
            .no_proxy()
            .build()
            .map_err(|_| format!("no connection to the {name} can be set up on this machine"))?;
        Ok(Self { client, url, headers, answer_max: manner.answer_max })
    }

    pub(super) async fn post(&self, body: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(|error| unreachable(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(Failure { status: Some(status), ..self.refused(response, status).await });
        }
        self.read(response).await
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| unreachable(&error))? {
            if body.len() + piece.len() > self.answer_max {
                return Err(Failure::for_good("gave an answer that is too long"));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    async fn refused(&self, response: Response, status: StatusCode) -> Failure {
        let answered = format!("answered {status}");
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            return Failure { wait: wait(response.headers()), ..Failure::again(answered) };
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            // What it says here may hold a part of the key.
            return Failure::for_good(format!("answered {status}: the key may be missing or wrong"));
        }
        match self.read(response).await.ok().and_then(|body| reason(&body)) {
            Some(reason) => Failure::for_good(format!("{answered}: {reason}")),
            None => Failure::for_good(answered),
        }
    }
}

#[derive(Deserialize)]
struct Refusal {
    error: Reason,
}

#[derive(Deserialize)]
struct Reason {
    message: String,
}

fn reason(body: &[u8]) -> Option<String> {
    let refusal: Refusal = serde_json::from_slice(body).ok()?;
    let message = refusal.error.message.replace(char::is_control, " ");
    let message = message.trim();
    let (start, _) = message.split_at(message.floor_char_boundary(REASON_MAX));
    (!start.is_empty()).then(|| start.to_owned())
}

/// `Retry-After` is a number of seconds or a date (RFC 9110, section 10.2.3).
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let said = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = said.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let then = rfc2822::DateTimeParser::new().parse_timestamp(said).ok()?;
    Duration::try_from(then.duration_since(Timestamp::now())).ok()
}

/// Without the URL, which may have a secret in it.
fn unreachable(error: &reqwest::Error) -> Failure {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    Failure::again(format!("cannot be reached: {cause}"))
}
