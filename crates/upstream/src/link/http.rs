//! A server over Streamable HTTP: each message is a request of its own, and its answers come in that request's body, as
//! JSON or as a stream of events. Redirects are not followed: the headers are for this server alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::{Value, json};

use super::sse::Events;
use super::{LinkError, MESSAGE_MAX, Message, Surroundings, parse};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

#[derive(Debug, Clone)]
pub(crate) struct HttpLink {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    client: Client,
    url: Url,
    headers: HeaderMap,
    surroundings: Surroundings,
    agreed: Mutex<Agreed>,
}

#[derive(Debug, Clone, Default)]
struct Agreed {
    version: Option<HeaderValue>,
    session: Option<HeaderValue>,
}

impl HttpLink {
    pub(super) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        surroundings: Surroundings,
    ) -> Result<Self, LinkError> {
        let wrong = |what: &str| LinkError::Unreachable(format!("{what} cannot be used"));
        let url = Url::parse(url).map_err(|_| wrong("its URL"))?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().map_err(|_| wrong("the name of a header"))?;
            let mut value: HeaderValue = value.parse().map_err(|_| wrong("the value of a header"))?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
        // Said once for the whole process; whoever comes second is refused, and that is well.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(Policy::none())
            .tcp_nodelay(true)
            .no_proxy()
            .build()
            .map_err(|error| LinkError::Unreachable(error.to_string()))?;
        let shared = Shared { client, url, headers: map, surroundings, agreed: Mutex::default() };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(super) fn agree(&self, version: &str) {
        self.shared.agreed.lock().unwrap_or_else(PoisonError::into_inner).version = version.parse().ok();
    }

    /// Whatever goes wrong comes back as the answer to this message, since nobody else is concerned.
    pub(super) fn send(&self, message: Message) {
        let shared = Arc::clone(&self.shared);
        let ended = shared.surroundings.ended.clone();
        self.shared.surroundings.tasks.spawn(async move {
            let id = message.get("id").filter(|_| message.contains_key("method")).cloned();
            let exchanged = tokio::select! {
                exchanged = shared.exchange(message, id.as_ref()) => exchanged,
                () = ended.cancelled() => return,
            };
            let exchanged = exchanged.and_then(|answer| match answer {
                Answer::Came => Ok(()),
                Answer::Missing => Err(LinkError::Over("the server ended its answer without one".to_owned())),
            });
            if let (Err(error), Some(id)) = (exchanged, id) {
                let answer = json!({"jsonrpc": "2.0", "id": id, LOCAL_ERROR: error.to_string()});
                if let Value::Object(answer) = answer {
                    drop(shared.surroundings.incoming.send(answer).await);
                }
            }
        });
    }
}

/// In an answer that we made ourselves, because none came: no server can say this.
pub(crate) const LOCAL_ERROR: &str = "\u{0}error";

/// Whether what was asked for was among what came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Came,
    Missing,
}

impl Shared {
    async fn exchange(&self, message: Message, id: Option<&Value>) -> Result<Answer, LinkError> {
        let body = serde_json::to_vec(&message).map_err(|error| LinkError::Garbled(error.to_string()))?;
        let request = self.client.post(self.url.clone()).headers(self.headers_for(&message)).body(body);
        let response = request.send().await.map_err(|error| unreachable(&error))?;
        if let Some(session) = response.headers().get(SESSION) {
            self.agreed.lock().unwrap_or_else(PoisonError::into_inner).session = Some(session.clone());
        }
        let status = response.status();
        if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
            return Ok(Answer::Missing);
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            // Errors of the protocol come with a status of their own, and say more than it.
            "application/json" => self.json(response, status, id).await,
            "text/event-stream" if status.is_success() => self.events(response, id).await,
            _ => Err(LinkError::Status(status.as_u16())),
        }
    }

    fn headers_for(&self, message: &Message) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let text = |pointer: &str| {
            let mut part = message.get("params")?;
            for key in pointer.split('|') {
                part = part.get(key)?;
            }
            part.as_str()?.parse::<HeaderValue>().ok()
        };
        // The modern era repeats in the head what the body says.
        let said = text("_meta|io.modelcontextprotocol/protocolVersion");
        let is_modern = said.is_some();
        if let Some(version) = said.or(agreed.version) {
            headers.insert(VERSION, version);
        }
        if let Some(session) = agreed.session {
            headers.insert(SESSION, session);
        }
        if is_modern {
            let method = message.get("method").and_then(Value::as_str).and_then(|method| method.parse().ok());
            if let Some(method) = method {
                headers.insert("mcp-method", method);
            }
            if let Some(name) = text("name").or_else(|| text("uri")) {
                headers.insert("mcp-name", name);
            }
        }
        headers
    }

    async fn json(&self, response: Response, status: StatusCode, id: Option<&Value>) -> Result<Answer, LinkError> {
        let mut body = Vec::new();
        let mut pieces = response.bytes_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| unreachable(&error))?;
            if body.len() + piece.len() > MESSAGE_MAX {
                return Err(LinkError::Garbled(format!("a message of more than {MESSAGE_MAX} bytes")));
            }
            body.extend_from_slice(&piece);
        }
        let message = match parse(&body) {
            Ok(message) if message.contains_key("jsonrpc") => message,
            Ok(_) | Err(_) if !status.is_success() => return Err(LinkError::Status(status.as_u16())),
            Ok(message) => message,
            Err(error) => return Err(error),
        };
        self.pass_on(message, id).await
    }

    async fn events(&self, response: Response, id: Option<&Value>) -> Result<Answer, LinkError> {
        let mut events = Events::default();
        let mut answer = Answer::Missing;
        let mut pieces = response.bytes_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| unreachable(&error))?;
            for data in events.feed(&piece)? {
                if self.pass_on(parse(&data)?, id).await? == Answer::Came {
                    answer = Answer::Came;
                }
            }
        }
        Ok(answer)
    }

    async fn pass_on(&self, message: Message, id: Option<&Value>) -> Result<Answer, LinkError> {
        let is_answer = message.get("id") == id && !message.contains_key("method");
        let over = |_| LinkError::Over("closed by us".to_owned());
        self.surroundings.incoming.send(message).await.map_err(over)?;
        Ok(if is_answer { Answer::Came } else { Answer::Missing })
    }
}

/// Without the URL, which may have a secret in it.
fn unreachable(error: &reqwest::Error) -> LinkError {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let timeout = if error.is_timeout() { "timed out: " } else { "" };
    LinkError::Unreachable(format!("{timeout}{cause}"))
}
