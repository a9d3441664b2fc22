//! MCP over Streamable HTTP: the SDK's service behind our bounds.
//!
//! Requests of the modern era stand alone and are answered in JSON, or as a stream where there is more to say than the
//! answer. The legacy era has sessions: bounded in number and in idle time, and each belongs to the caller who opened it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use countersign_contract::{Caller, Code};
use countersign_host::Wire;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::direct::Usual;
use super::message::{self, Message, Refused};
use super::{Endpoint, Mcp};
use crate::body::read;
use crate::problem::Problem;
use crate::response::{Body, Response, json_response};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// A session holds a task and some buffers; beyond this many, new ones are turned away.
const MAX_SESSIONS: usize = 1024;

/// A client that says nothing for so long is taken for gone.
const SESSION_IDLE: Duration = Duration::from_mins(30);

/// A line over which nothing is said for so long may be cut by something in between.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(crate) struct Streamable {
    mcp: Mcp,
    service: StreamableHttpService<Endpoint, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    owners: Mutex<HashMap<SessionId, Arc<str>>>,
    streams: CancellationToken,
    max_body: usize,
}

impl Streamable {
    pub(crate) fn new(mcp: Mcp, max_body: usize) -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(SESSION_IDLE);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = config;
        let (sessions, streams) = (Arc::new(sessions), CancellationToken::new());
        // Host, Origin and size were checked before, for every route alike.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            .with_json_response(true)
            .with_max_request_body_bytes(max_body)
            .with_cancellation_token(streams.clone());
        let endpoints = mcp.clone();
        let endpoint = move || Ok(endpoints.endpoint(Wire::Mcp, None));
        let service = StreamableHttpService::new(endpoint, Arc::clone(&sessions), config);
        Self { mcp, service, sessions, owners: Mutex::default(), streams, max_body }
    }

    pub(crate) async fn handle(
        &self,
        mut head: Parts,
        body: Incoming,
        caller: Arc<Caller>,
    ) -> Result<Response, Problem> {
        self.check_owner(&head.headers, &caller)?;
        let bytes = match head.method {
            Method::POST => read(&head.headers, body, self.max_body).await?,
            _ => Bytes::new(),
        };
        if head.method == Method::POST {
            match message::check(&bytes) {
                Ok(Message::Request(request)) if request.method == "initialize" => self.make_room().await?,
                Ok(Message::Request(mut request)) => {
                    let listed = self.mcp.shared.listed();
                    if let Some(usual) = Usual::of(&head.headers, &mut request, &listed) {
                        return Ok(self.mcp.shared.call_directly(usual, caller).await);
                    }
                }
                Ok(Message::Notification | Message::Response) => {}
                Err(refused) => return Ok(refuse(&refused)),
            }
        }
        let opener = Arc::clone(&caller.name);
        let closing = head.method == Method::DELETE;
        let there = !closing || self.is_open(&head.headers).await;
        head.extensions.insert(caller);
        accept_both(&mut head.headers);
        let mut response = Box::pin(self.service.handle(Request::from_parts(head, Full::new(bytes)))).await;
        if closing && response.status() == StatusCode::ACCEPTED {
            if !there {
                return Err(no_session());
            }
            // It is done, not only accepted; clients look for that.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        if is_plain_refusal(&response) {
            return Err(as_problem(response).await);
        }
        if let Some(id) = response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok()) {
            self.owners().insert(id.into(), opener);
        }
        Ok(response.map(Body::Stream))
    }

    /// Lets subscriptions end; what is asked already is still answered.
    pub(crate) fn stop(&self) {
        self.mcp.stop();
    }

    /// Ends every stream, answered or not.
    pub(crate) fn cut(&self) {
        self.streams.cancel();
    }

    /// Another caller's session is not there, as far as this one is concerned.
    fn check_owner(&self, headers: &HeaderMap, caller: &Caller) -> Result<(), Problem> {
        let Some(id) = headers.get(SESSION_ID).and_then(|id| id.to_str().ok()) else { return Ok(()) };
        let foreign = self.owners().get(id).is_some_and(|owner| *owner != caller.name);
        if foreign { Err(no_session()) } else { Ok(()) }
    }

    async fn is_open(&self, headers: &HeaderMap) -> bool {
        let id = headers.get(SESSION_ID).and_then(|id| id.to_str().ok());
        let open = self.sessions.sessions.read().await;
        id.is_some_and(|id| open.contains_key(id))
    }

    async fn make_room(&self) -> Result<(), Problem> {
        let open = self.sessions.sessions.read().await;
        let mut owners = self.owners();
        if owners.len() > MAX_SESSIONS {
            owners.retain(|id, _| open.contains_key(id));
        }
        if open.len() < MAX_SESSIONS {
            return Ok(());
        }
        let error = "Too many sessions are open; close one, or try again later";
        Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, error)
            .with_header(RETRY_AFTER, HeaderValue::from_static("60")))
    }

    fn owners(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Arc<str>>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever takes anything takes what we send.
fn accept_both(headers: &mut HeaderMap) {
    let anything = headers.get(ACCEPT).is_none_or(|accept| accept.as_bytes().windows(3).any(|part| part == b"*/*"));
    if anything {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    }
}

/// The SDK refuses some requests in plain text; all other routes do so in JSON.
fn is_plain_refusal<B>(response: &http::Response<B>) -> bool {
    let json =
        response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    response.status().is_client_error() && !json
}

async fn as_problem(response: http::Response<BoxBody<Bytes, Infallible>>) -> Problem {
    let (head, body) = response.into_parts();
    let code = match head.status {
        StatusCode::NOT_FOUND => Code::NotFound,
        StatusCode::NOT_ACCEPTABLE | StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::UnsupportedType,
        _ => Code::ValidationError,
    };
    let text = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(never) => match never {},
    };
    let problem = Problem::new(head.status, code, String::from_utf8_lossy(&text));
    match head.headers.get(ALLOW) {
        Some(allow) => problem.with_header(ALLOW, allow.clone()),
        None => problem,
    }
}

fn no_session() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, Code::NotFound, "Session not found")
}

fn refuse(refused: &Refused) -> Response {
    json_response(StatusCode::BAD_REQUEST, refused.body())
}

impl std::fmt::Debug for Streamable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Streamable").field("mcp", &self.mcp).finish_non_exhaustive()
    }
}
