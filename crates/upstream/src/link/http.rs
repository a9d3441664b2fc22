//! A server over Streamable HTTP: each message is a request of its own, and its answers come in that request's body, as
//! JSON or as a stream of events. Redirects are not followed: the headers are for this server alone.

mod client;
mod forgotten;
mod streams;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use self::client::{Client, Response};
use super::{Came, LinkError, MESSAGE_MAX, Message, Request, Surroundings, parse};
use crate::header_args::encoded;

/// A server that streams answers at once; a call is not kept waiting for one that does not.
const LISTENING_PATIENCE: Duration = Duration::from_millis(500);

/// Messages without an answer that are on their way at once, and for how long each: a server that does not take them
/// must not take all connections.
const UNANSWERED_MAX: usize = 8;
const UNANSWERED_TIMEOUT: Duration = Duration::from_secs(10);

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const EVENTS: &str = "text/event-stream";

#[derive(Clone)]
pub(crate) struct HttpLink {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    headers: HeaderMap,
    surroundings: Surroundings,
    agreed: Mutex<Agreed>,
    /// For what has no answer.
    room: Arc<Semaphore>,
    /// Why it is over.
    ending: Mutex<Option<LinkError>>,
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
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: HeaderName = name.parse().map_err(|_| wrong("the name of a header"))?;
            let mut value: HeaderValue = value.parse().map_err(|_| wrong("the value of a header"))?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
        let client = Client::new(url, &mut map)?;
        let room = Arc::new(Semaphore::new(UNANSWERED_MAX));
        let (agreed, ending) = Default::default();
        let shared = Shared { client, headers: map, surroundings, agreed, room, ending };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(super) fn ending(&self) -> Option<String> {
        self.shared.ending.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(ToString::to_string)
    }

    pub(super) fn agree(&self, version: &str) {
        self.shared.agreed.lock().unwrap_or_else(PoisonError::into_inner).version = version.parse().ok();
    }

    /// Hears what the server says of its own accord, as long as there is a session. Some servers ask their questions only
    /// there, so nothing is called before they have answered; others answer when they have something to say, so nobody
    /// waits for long.
    pub(super) async fn listen(&self) {
        let (shared, answered) = (Arc::clone(&self.shared), Arc::new(Notify::new()));
        let told = Arc::clone(&answered);
        self.shared.surroundings.tasks.spawn(async move {
            tokio::select! {
                () = shared.listen(&told) => {}
                () = shared.surroundings.ended.cancelled() => {}
            }
        });
        let _ = tokio::time::timeout(LISTENING_PATIENCE, answered.notified()).await;
    }

    /// The whole exchange happens here, in the task of whoever asks: to drop it is to hang up.
    pub(super) async fn ask(&self, request: Request<'_>) -> Result<Message, LinkError> {
        let Request { id, message, headers } = request;
        let exchanged = tokio::select! {
            biased;
            exchanged = self.shared.exchange(message, Some(id), headers) => exchanged,
            () = self.shared.surroundings.ended.cancelled() => return Err(LinkError::Over("closed by us".to_owned())),
        };
        let missing = || LinkError::Unreachable("the server ended its answer without one".to_owned());
        exchanged.and_then(|answer| answer.ok_or_else(missing)).map_err(|error| match error {
            LinkError::Nobody(_) | LinkError::Forgotten | LinkError::Unreachable(_) => error,
            // Whatever else went wrong concerns this request alone, and the server may well be there for the next.
            LinkError::Start(_)
            | LinkError::Over(_)
            | LinkError::Status(_)
            | LinkError::TooMuch(_)
            | LinkError::Garbled(_) => LinkError::Unreachable(error.to_string()),
        })
    }

    /// Something that has no answer, once there is room for it.
    pub(super) async fn send(&self, message: Message) -> Result<(), LinkError> {
        let room = tokio::time::timeout(UNANSWERED_TIMEOUT, Arc::clone(&self.shared.room).acquire_owned()).await;
        let late = || LinkError::Unreachable("it does not take what it is sent".to_owned());
        self.carry(message, room.ok().and_then(Result::ok).ok_or_else(late)?);
        Ok(())
    }

    /// The same, unless there is no room.
    pub(super) fn try_send(&self, message: Message) {
        if let Ok(room) = Arc::clone(&self.shared.room).try_acquire_owned() {
            self.carry(message, room);
        }
    }

    fn carry(&self, message: Message, room: OwnedSemaphorePermit) {
        // To hang up is to cancel, and in the modern era the only way.
        let is_cancel = message.get("method").and_then(Value::as_str) == Some("notifications/cancelled");
        if is_cancel && !self.shared.has_session() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        self.shared.surroundings.tasks.spawn(async move {
            let _room = room;
            tokio::select! {
                // Nobody waits to hear how it went.
                exchanged = tokio::time::timeout(UNANSWERED_TIMEOUT, shared.exchange(message, None, &[])) => drop(exchanged),
                () = shared.surroundings.ended.cancelled() => {}
            }
        });
    }
}

impl Shared {
    fn agreed(&self) -> Agreed {
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn has_session(&self) -> bool {
        self.agreed().session.is_some()
    }

    /// Ends it all where there is nobody to go on with.
    fn noted(&self, error: LinkError) -> LinkError {
        if matches!(error, LinkError::Nobody(_) | LinkError::Forgotten) {
            self.ending.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.clone());
            self.surroundings.ended.cancel();
        }
        error
    }

    /// Gives the answer, if there is to be one and it came.
    async fn exchange(
        &self,
        message: Message,
        id: Option<u64>,
        own: &[(String, String)],
    ) -> Result<Option<Message>, LinkError> {
        let mut headers = self.headers_for(&message);
        for (name, value) in own {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
                headers.insert(name, value);
            }
        }
        let body = serde_json::to_vec(&message).map_err(|error| LinkError::Garbled(error.to_string()))?;
        let in_session = headers.contains_key(SESSION);
        let mut response = self.client.post(headers, body).await.map_err(|error| self.noted(error))?;
        if let Some(session) = response.headers.get(SESSION) {
            self.agreed.lock().unwrap_or_else(PoisonError::into_inner).session = Some(session.clone());
        }
        let status = response.status;
        if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
            // Nothing, but until that is read nobody else has the connection.
            response.next_piece().await?;
            return Ok(None);
        }
        let answer = match kind(&response).as_str() {
            // Errors of the protocol come with a status of their own, and say more than it.
            "application/json" => self.json(response, id).await,
            EVENTS if status.is_success() => Box::pin(self.answer_in(response, id)).await,
            _ => Err(LinkError::Status(status.as_u16())),
        };
        if in_session && !status.is_success() && Box::pin(self.is_forgotten(status, &answer)).await {
            return Err(self.noted(LinkError::Forgotten));
        }
        answer
    }

    fn headers_for(&self, message: &Message) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let agreed = self.agreed();
        let text = |pointer: &str| {
            let mut part = message.get("params")?;
            for key in pointer.split('|') {
                part = part.get(key)?;
            }
            encoded(part.as_str()?).parse::<HeaderValue>().ok()
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

    async fn json(&self, mut response: Response, id: Option<u64>) -> Result<Option<Message>, LinkError> {
        let (mut body, status) = (Vec::new(), response.status);
        while let Some(piece) = response.next_piece().await? {
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
        Ok(self.answer_or_hear(message, id).await)
    }

    /// What is not the answer is for the listener.
    async fn answer_or_hear(&self, message: Message, id: Option<u64>) -> Option<Message> {
        let answers = message.get("id").and_then(Value::as_u64).filter(|_| !message.contains_key("method"));
        if answers.is_some() && answers == id {
            return Some(message);
        }
        let came = id.map_or(Came::Alone, Came::With);
        if let Some(pause) = self.surroundings.listener.hear(message, came) {
            tokio::time::sleep_until(pause).await;
        }
        None
    }
}

/// The type of its body.
fn kind(response: &Response) -> String {
    let kind = response.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
