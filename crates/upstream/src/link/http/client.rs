//! One server's address, and connections to it that are kept for the next request. Whoever uses one drives it: nothing
//! runs in the background, and who goes away hangs up.
//!
//! It stands on hyper itself, since a call through us costs little else than what its two ends of HTTP cost.

use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::net::TcpStream;
use tower_service::Service as _;
use url::Url;

use super::LinkError;

/// TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Servers close what is idle after some such time.
const IDLE_TIME: Duration = Duration::from_secs(90);
const IDLE_MAX: usize = 64;
/// Where no connection was possible for so long, and nothing came on an older one, nobody is there. A single one that
/// fails says little: there may be too many at once.
const LOST_AFTER: Duration = Duration::from_secs(30);
/// A peer that vanished without a word is found out.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

pub(super) struct Client {
    connector: HttpsConnector<HttpConnector>,
    uri: Uri,
    /// What of the address goes into each request.
    path: Uri,
    host: HeaderValue,
    idle: Arc<Kept>,
    /// Since when nobody could be reached.
    lost_since: Mutex<Option<Instant>>,
}

/// The last one is the one last used.
#[derive(Default)]
struct Kept(Mutex<Vec<(Wire, Instant)>>);

struct Wire {
    sender: SendRequest<Full<Bytes>>,
    /// Large, and moved about.
    connection: Box<Connection<MaybeHttpsStream<TokioIo<TcpStream>>, Full<Bytes>>>,
    /// A connection that has ended must not be polled again.
    open: bool,
}

/// An answer whose body comes in pieces.
pub(super) struct Response {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: Incoming,
    /// Until the body has ended.
    wire: Option<Wire>,
    idle: Arc<Kept>,
}

impl Client {
    /// A name and password in the URL become a header, unless there is such a one.
    pub(super) fn new(url: &str, headers: &mut HeaderMap) -> Result<Self, LinkError> {
        let wrong = || LinkError::Unreachable("its URL cannot be used".to_owned());
        let mut url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https")).ok_or_else(wrong)?;
        if let Some(credentials) = credentials(&url) {
            headers.entry(AUTHORIZATION).or_insert(credentials);
            url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| wrong())?;
        }
        let uri: Uri = url.as_str().parse().map_err(|_| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| wrong())?;
        let path = Uri::from(uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/")));
        let unusable = |error: rustls::Error| LinkError::Unreachable(error.to_string());
        let tls = trusting(url.scheme() == "https").map_err(unusable)?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEP_ALIVE));
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        Ok(Self { connector, uri, path, host, idle: Arc::default(), lost_since: Mutex::default() })
    }

    pub(super) async fn post(&self, headers: HeaderMap, body: Vec<u8>) -> Result<Response, LinkError> {
        self.request(Method::POST, headers, body.into()).await
    }

    pub(super) async fn get(&self, headers: HeaderMap) -> Result<Response, LinkError> {
        self.request(Method::GET, headers, Bytes::new()).await
    }

    async fn request(&self, method: Method, mut headers: HeaderMap, body: Bytes) -> Result<Response, LinkError> {
        headers.entry(HOST).or_insert_with(|| self.host.clone());
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.path.clone();
        *request.headers_mut() = headers;
        while let Some(mut wire) = self.idle.take() {
            match wire.send(request).await {
                Ok(response) => return Ok(self.answer(response, wire)),
                // The server closed it just now, and nothing was sent on it.
                Err((_, Some(unsent))) => request = unsent,
                Err((error, None)) => return Err(unreachable(&error)),
            }
        }
        // Seldom needed, and large: in a box it is not carried about with every request.
        let mut wire = Box::pin(self.connect()).await?;
        match wire.send(request).await {
            Ok(response) => Ok(self.answer(response, wire)),
            Err((error, _)) => Err(unreachable(&error)),
        }
    }

    async fn connect(&self) -> Result<Wire, LinkError> {
        let connected = self.try_connect().await;
        match &connected {
            Err(LinkError::Unreachable(why)) if self.is_lost() => Err(LinkError::Nobody(why.clone())),
            Ok(_) | Err(_) => connected,
        }
    }

    /// After one more connection that was not possible.
    fn is_lost(&self) -> bool {
        let mut lost_since = self.lost_since.lock().unwrap_or_else(PoisonError::into_inner);
        lost_since.get_or_insert_with(Instant::now).elapsed() >= LOST_AFTER
    }

    async fn try_connect(&self) -> Result<Wire, LinkError> {
        let late = || LinkError::Unreachable(format!("no connection within {CONNECT_TIMEOUT:?}"));
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, self.connector.clone().call(self.uri.clone())).await;
        let stream = connected.map_err(|_| late())?.map_err(|error| unreachable(&*error))?;
        let (sender, connection) = http1::handshake(stream).await.map_err(|error| unreachable(&error))?;
        Ok(Wire { sender, connection: Box::new(connection), open: true })
    }

    fn answer(&self, response: http::Response<Incoming>, wire: Wire) -> Response {
        *self.lost_since.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let (head, body) = response.into_parts();
        Response { status: head.status, headers: head.headers, body, wire: Some(wire), idle: Arc::clone(&self.idle) }
    }
}

impl Response {
    /// What comes next of its body. After the last piece the connection is there for others.
    pub(super) async fn next_piece(&mut self) -> Result<Option<Bytes>, LinkError> {
        let Some(wire) = &mut self.wire else { return Ok(None) };
        while let Some(frame) = wire.driving(self.body.frame()).await {
            // What is no data is a trailer.
            if let Ok(data) = frame.map_err(|error| unreachable(&error))?.into_data() {
                return Ok(Some(data));
            }
        }
        self.wire.take().into_iter().for_each(|wire| self.idle.keep(wire));
        Ok(None)
    }
}

impl Kept {
    fn take(&self) -> Option<Wire> {
        loop {
            let (mut wire, since) = self.lock().pop()?;
            if since.elapsed() >= IDLE_TIME {
                self.lock().clear();
            } else if wire.is_ready() {
                return Some(wire);
            }
        }
    }

    fn keep(&self, mut wire: Wire) {
        // The connection has to notice first that the answer is over.
        if wire.is_ready() {
            let mut idle = self.lock();
            if idle.len() < IDLE_MAX {
                idle.push((wire, Instant::now()));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Wire, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wire {
    /// Gives the request back where nothing of it was sent.
    async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<http::Response<Incoming>, (hyper::Error, Option<Request<Full<Bytes>>>)> {
        let sent = self.sender.try_send_request(request);
        self.driving(sent).await.map_err(|mut failed| {
            let unsent = failed.take_message();
            (failed.into_error(), unsent)
        })
    }

    /// Waits for what the connection brings, and keeps it going meanwhile.
    async fn driving<F: Future>(&mut self, awaited: F) -> F::Output {
        let mut awaited = pin!(awaited);
        poll_fn(|cx| {
            // Whatever it ends with is told to those who wait for something on it.
            self.advance(cx);
            awaited.as_mut().poll(cx)
        })
        .await
    }

    /// After a look at what happened to it since it was last used.
    fn is_ready(&mut self) -> bool {
        self.advance(&mut Context::from_waker(Waker::noop()));
        self.open && self.sender.is_ready()
    }

    fn advance(&mut self, cx: &mut Context<'_>) {
        if self.open && Pin::new(&mut *self.connection).poll(cx).is_ready() {
            self.open = false;
        }
    }
}

fn credentials(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decoded = |text| percent_decode_str(text).decode_utf8_lossy();
    let pair = format!("{}:{}", decoded(url.username()), decoded(url.password().unwrap_or_default()));
    let mut value: HeaderValue = format!("Basic {}", BASE64_STANDARD.encode(pair)).parse().ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whom the machine trusts; nobody where there is nothing to trust, since it takes a while to read all certificates.
fn trusting(with_tls: bool) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(if with_tls {
        builder.with_platform_verifier()?.with_no_client_auth()
    } else {
        builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
    })
}

/// Without the URL, which may have a secret in it.
fn unreachable(error: &(dyn Error + 'static)) -> LinkError {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match cause.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => LinkError::Nobody(cause.to_string()),
        Some(_) | None => LinkError::Unreachable(cause.to_string()),
    }
}

#[cfg(test)]
mod tests;
