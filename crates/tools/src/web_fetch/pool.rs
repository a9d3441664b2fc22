//! Connections, kept for the next request to the same host at the same address. A kept one is only ever a shorter way to
//! an address that was looked at for this very request. Whoever uses a connection drives it: a call that goes away takes
//! its connection along, and nothing runs in the background.

use std::error::Error;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use std::{fmt, io};

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::egress::{Destination, without_root};

/// Servers close what is idle after some such time.
const IDLE_TIME: Duration = Duration::from_secs(30);
const IDLE_MAX: usize = 32;

/// For all addresses of a host together, TLS included.
const CONNECT_TIME: Duration = Duration::from_secs(8);
/// The next address is tried beside the last one when that has not answered by then (RFC 8305).
const HEAD_START: Duration = Duration::from_millis(250);
const ADDRESSES_MAX: usize = 8;

/// Headers of an answer, together, and what is read ahead of a body.
const BUFFER_MAX: usize = 128 * 1024;

/// Why there is no answer, in words for the caller.
#[derive(Debug)]
pub(super) struct NetworkError(pub(super) String);

#[derive(Default)]
pub(super) struct Pool {
    /// The longest idle first.
    idle: Mutex<Vec<Idle>>,
    /// Made for the first that needs it: it reads all certificates of the machine.
    tls: OnceCell<TlsConnector>,
}

struct Idle {
    wire: Wire,
    since: Instant,
}

/// One connection, to one host at one address.
pub(super) struct Wire {
    key: Key,
    sender: SendRequest<Empty<Bytes>>,
    connection: Connection<TokioIo<Box<dyn Stream>>, Empty<Bytes>>,
    state: State,
}

/// Whether the connection may still be polled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Ended,
}

#[derive(Debug, PartialEq, Eq)]
struct Key {
    scheme: String,
    host: String,
    address: SocketAddr,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Pool {
    /// The head of the answer, and the connection on which its body comes.
    pub(super) async fn request(
        &self,
        destination: &Destination,
        request: impl Fn() -> Request<Empty<Bytes>>,
    ) -> Result<(Response<Incoming>, Wire), NetworkError> {
        if let Some(mut wire) = self.take(destination) {
            // The server may have closed it just now, which says nothing about the request.
            if let Ok(response) = wire.send(request()).await {
                return Ok((response, wire));
            }
        }
        let mut wire = timeout(CONNECT_TIME, self.connect(destination))
            .await
            .map_err(|_| NetworkError(format!("no connection within {CONNECT_TIME:?}")))??;
        let response = wire.send(request()).await?;
        Ok((response, wire))
    }

    /// For the next request, if it can have one.
    pub(super) fn put_back(&self, mut wire: Wire) {
        // The connection has to notice first that the answer is over.
        if wire.is_open() && wire.sender.is_ready() {
            let mut idle = self.idle();
            if idle.len() >= IDLE_MAX {
                idle.remove(0);
            }
            idle.push(Idle { wire, since: Instant::now() });
        }
    }

    fn take(&self, destination: &Destination) -> Option<Wire> {
        loop {
            let mut idle = self.idle();
            idle.retain(|idle| idle.since.elapsed() < IDLE_TIME);
            let at = idle.iter().rposition(|idle| idle.wire.key.leads_to(destination))?;
            let mut wire = idle.remove(at).wire;
            drop(idle);
            if wire.is_open() && wire.sender.is_ready() {
                return Some(wire);
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self, destination: &Destination) -> Result<Wire, NetworkError> {
        let (stream, address) = first_of(destination.addresses()).await?;
        // A request is one packet, and nothing follows it.
        let _ = stream.set_nodelay(true);
        let url = destination.url();
        let stream: Box<dyn Stream> = match url.scheme() {
            "https" => {
                let name = url.host_str().map(|host| without_root(host.trim_matches(['[', ']'])));
                let name = name.and_then(|host| ServerName::try_from(host.to_owned()).ok());
                let name = name.ok_or_else(|| NetworkError("no certificate can have that name".to_owned()))?;
                let tls = self.tls.get_or_try_init(tls).await?;
                Box::new(tls.connect(name, stream).await.map_err(|error| NetworkError(words(&error)))?)
            }
            _ => Box::new(stream),
        };
        let mut builder = http1::Builder::new();
        let (sender, connection) =
            builder.max_buf_size(BUFFER_MAX).handshake(TokioIo::new(stream)).await.map_err(NetworkError::from)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let key = Key { scheme: url.scheme().to_owned(), host, address };
        Ok(Wire { key, sender, connection, state: State::Open })
    }
}

impl Key {
    fn leads_to(&self, destination: &Destination) -> bool {
        let url = destination.url();
        self.scheme == url.scheme()
            && url.host_str() == Some(&self.host)
            && destination.addresses().contains(&self.address)
    }
}

impl Wire {
    /// The next piece of the body; `None` at its end.
    pub(super) async fn piece(&mut self, body: &mut Incoming) -> Option<Result<Bytes, NetworkError>> {
        loop {
            let frame = match self.driving(body.frame()).await? {
                Ok(frame) => frame,
                Err(error) => return Some(Err(error.into())),
            };
            // Trailers are nobody's business.
            if let Ok(piece) = frame.into_data() {
                return Some(Ok(piece));
            }
        }
    }

    async fn send(&mut self, request: Request<Empty<Bytes>>) -> Result<Response<Incoming>, NetworkError> {
        let sent = self.sender.send_request(request);
        self.driving(sent).await.map_err(NetworkError::from)
    }

    /// Waits for what the connection brings, and keeps it going meanwhile.
    async fn driving<F: Future>(&mut self, awaited: F) -> F::Output {
        let mut awaited = pin!(awaited);
        poll_fn(|cx| {
            // Whatever it ends with is told to those who wait for something on it.
            if self.state == State::Open && Pin::new(&mut self.connection).poll(cx).is_ready() {
                self.state = State::Ended;
            }
            awaited.as_mut().poll(cx)
        })
        .await
    }

    /// After a look at what happened to it since it was last used.
    fn is_open(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        if self.state == State::Open && Pin::new(&mut self.connection).poll(&mut cx).is_ready() {
            self.state = State::Ended;
        }
        self.state == State::Open
    }
}

/// The first that can be had, each with a head start before the next.
async fn first_of(addresses: &[SocketAddr]) -> Result<(TcpStream, SocketAddr), NetworkError> {
    let mut failed = NetworkError("no connection".to_owned());
    let mut trying = FuturesUnordered::new();
    let mut others = addresses.iter().take(ADDRESSES_MAX);
    loop {
        if let Some(address) = others.next() {
            trying.push(async move { TcpStream::connect(address).await.map(|stream| (stream, *address)) });
        } else if trying.is_empty() {
            return Err(failed);
        }
        let patience = if others.len() > 0 { HEAD_START } else { CONNECT_TIME };
        match timeout(patience, trying.next()).await {
            Ok(Some(Ok(connected))) => return Ok(connected),
            Ok(Some(Err(error))) => failed = NetworkError(words(&error)),
            Ok(None) | Err(_) => {}
        }
    }
}

async fn tls() -> Result<TlsConnector, NetworkError> {
    let unusable = |error: &dyn fmt::Display| NetworkError(format!("TLS cannot be set up: {error}"));
    let made = tokio::task::spawn_blocking(|| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok::<_, rustls::Error>(builder.with_platform_verifier()?.with_no_client_auth())
    });
    let mut config = made.await.map_err(|error| unusable(&error))?.map_err(|error| unusable(&error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

impl From<hyper::Error> for NetworkError {
    fn from(error: hyper::Error) -> Self {
        Self(error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {}", words(cause))))
    }
}

/// Without numbers and addresses of the system.
fn words(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => "connection reset".to_owned(),
        Some(io::ErrorKind::NetworkUnreachable) => "network unreachable".to_owned(),
        Some(io::ErrorKind::HostUnreachable) => "host unreachable".to_owned(),
        Some(_) | None => error.to_string(),
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Pool({} idle)", self.idle().len())
    }
}
