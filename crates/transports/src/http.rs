//! The HTTP/1.1 server: it accepts within bounds, waits for nobody longer than it says, and stops in good order.

mod patient;
mod steady;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::patient::Patient;
use self::steady::Steady;
use crate::response::Watched;
use crate::rest::Guarded;

/// How long a peer may leave sent bytes unacknowledged before its connection is given up.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Request line and headers together.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// After an accept failed for want of descriptors or memory: long enough for a connection to end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Connections over the cap that are told so at a time; the others wait in the kernel's queue.
const MAX_REFUSALS: usize = 8;
const REFUSAL_TIMEOUT: Duration = Duration::from_millis(500);
const REFUSAL: &str = concat!(
    "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n",
    "content-length: 85\r\nconnection: close\r\n\r\n",
    "{\"error\":\"Too many connections are open; try again in a moment\",\"code\":\"UNAVAILABLE\"}",
);

#[derive(Debug, Clone, Copy)]
pub struct HttpLimits {
    pub max_connections: usize,
    /// How long calls under way may go on after the signal to stop.
    pub grace: Duration,
}

#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    limits: HttpLimits,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct BindError {
    pub address: SocketAddr,
    #[source]
    pub source: io::Error,
}

/// Connections that were still busy when the grace period ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished(pub usize);

impl HttpServer {
    pub async fn bind(address: SocketAddr, limits: HttpLimits) -> Result<Self, BindError> {
        let listener = TcpListener::bind(address).await.map_err(|source| BindError { address, source })?;
        Ok(Self { listener, limits })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` is ready, then finishes what is under way within the grace period, or until `hurry` is
    /// ready.
    pub async fn run(
        self,
        app: Guarded,
        shutdown: impl Future<Output = ()>,
        hurry: impl Future<Output = ()>,
    ) -> Unfinished {
        let slots = Arc::new(Semaphore::new(self.limits.max_connections));
        let refusals = Arc::new(Semaphore::new(MAX_REFUSALS));
        let (connections, graceful) = (TaskTracker::new(), GracefulShutdown::new());
        let cut = CancellationToken::new();
        let mut shutdown = pin!(shutdown);
        loop {
            let stream = tokio::select! {
                biased;
                () = &mut shutdown => break,
                stream = accept(&self.listener) => stream,
            };
            match Arc::clone(&slots).try_acquire_owned() {
                Ok(slot) => {
                    let connection = serve(stream, app.clone(), graceful.watcher(), slot);
                    connections.spawn(Steady::new(cut.clone().run_until_cancelled_owned(connection)));
                }
                Err(_) => {
                    if let Ok(permit) = Arc::clone(&refusals).acquire_owned().await {
                        connections.spawn(refuse(stream, permit));
                    }
                }
            }
        }
        drop(self.listener);
        connections.close();
        let finished = async {
            let connections = async {
                graceful.shutdown().await;
                connections.wait().await;
            };
            futures_util::future::join(app.stop(), connections).await;
        };
        let ended = tokio::select! {
            () = finished => return Unfinished(0),
            () = tokio::time::sleep(self.limits.grace) => connections.len(),
            () = hurry => connections.len(),
        };
        // Their calls are dropped here and now, while there is still somebody to record it.
        cut.cancel();
        connections.wait().await;
        Unfinished(ended)
    }
}

/// The next connection. Running out of descriptors is waited out: spinning on it would make matters worse.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _peer)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, app: Guarded, watcher: Watcher, _slot: OwnedSemaphorePermit) {
    prepare(&stream);
    let busy = Arc::new(AtomicBool::new(false));
    let stream = TokioIo::new(Patient::new(stream, Arc::clone(&busy)));
    let service = service_fn(move |request: Request<Incoming>| {
        busy.store(true, Ordering::Relaxed);
        let (answer, busy) = (app.clone().handle(request), Arc::clone(&busy));
        async move {
            let answer = answer.await;
            // Until the last byte of it is on its way.
            Ok::<_, Infallible>(answer.map(|body| Watched::new(body, busy)))
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        // A timer for every request would cost as much as parsing it; `Patient` has one for all of them.
        .header_read_timeout(None)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(stream, service);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "connection ended early");
    }
}

/// Small answers must not wait for more to come, and a peer that stops reading must not hold a slot for ever.
fn prepare(stream: &TcpStream) {
    let unread = u32::try_from(UNREAD_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    let prepared = stream.set_nodelay(true).and_then(|()| {
        #[cfg(target_os = "linux")]
        rustix::net::sockopt::set_tcp_user_timeout(stream, unread)?;
        Ok(())
    });
    if let Err(error) = prepared {
        tracing::debug!(%error, "cannot set options on a connection");
    }
}

/// Says why, then waits for the peer to hear it: closing at once would discard the answer with its unread request.
async fn refuse(mut stream: TcpStream, _permit: OwnedSemaphorePermit) {
    let told = async {
        stream.write_all(REFUSAL.as_bytes()).await?;
        stream.shutdown().await?;
        let mut ignored = [0; 1024];
        while stream.read(&mut ignored).await? > 0 {}
        io::Result::Ok(())
    };
    // The peer may hang up or dawdle; either way it was told.
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, told).await;
}

#[cfg(test)]
mod tests;
