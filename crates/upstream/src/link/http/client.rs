//! One server's address, with connections that are kept open. It stands on hyper itself: of all that a call through us
//! costs, a client that looks at its URL, its redirects and its proxies anew each time was the largest part.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use percent_encoding::percent_decode_str;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use url::Url;

use super::LinkError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Servers close what is idle after some such time; one that was closed under a request is asked anew on another.
const IDLE_TIME: Duration = Duration::from_secs(90);
/// A peer that vanished without a word is found out.
const KEEP_ALIVE: Duration = Duration::from_mins(1);

pub(super) type Response = http::Response<Incoming>;

pub(super) struct Client {
    connections: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    uri: Uri,
}

impl Client {
    /// A name and password in the URL become a header, unless there is such a one.
    pub(super) fn new(url: &str, headers: &mut HeaderMap) -> Result<Self, LinkError> {
        let wrong = || LinkError::Unreachable("its URL cannot be used".to_owned());
        let mut url = Url::parse(url).map_err(|_| wrong())?;
        if let Some(credentials) = credentials(&url) {
            headers.entry(AUTHORIZATION).or_insert(credentials);
            // Only a URL without a host has no place for them.
            url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| wrong())?;
        }
        let uri = url.as_str().parse().map_err(|_| wrong())?;
        let unusable = |error: rustls::Error| LinkError::Unreachable(error.to_string());
        let tls = trusting(url.scheme() == "https").map_err(unusable)?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEP_ALIVE));
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        let connections = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME)
            .build(connector);
        Ok(Self { connections, uri })
    }

    pub(super) async fn post(&self, headers: HeaderMap, body: Vec<u8>) -> Result<Response, LinkError> {
        self.request(Method::POST, headers, body.into()).await
    }

    pub(super) async fn get(&self, headers: HeaderMap) -> Result<Response, LinkError> {
        self.request(Method::GET, headers, Bytes::new()).await
    }

    async fn request(&self, method: Method, headers: HeaderMap, body: Bytes) -> Result<Response, LinkError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        self.connections.request(request).await.map_err(|error| unreachable(&error))
    }
}

/// What comes next of a body, or nothing more.
pub(super) async fn next_piece(body: &mut Incoming) -> Result<Option<Bytes>, LinkError> {
    while let Some(frame) = body.frame().await {
        // What is no data is a trailer.
        if let Ok(data) = frame.map_err(|error| unreachable(&error))?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
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
fn unreachable(error: &dyn Error) -> LinkError {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    LinkError::Unreachable(cause.to_string())
}
