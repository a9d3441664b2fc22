//! From a name to its addresses: the system's way, or a name server that the operator named.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{dns, without_root};

/// The system's lookups cannot be called off and keep a thread each, for up to half a minute.
const LOOKUPS_AT_ONCE: usize = 32;

#[derive(Debug)]
pub(super) enum Resolver {
    System(Arc<Semaphore>),
    Server(SocketAddr),
}

/// Why there is no address, in words for the caller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookupFailed {
    #[error("there is no host of that name")]
    NoSuchName,
    #[error("the host has no address")]
    NoAddress,
    #[error("the name server did not answer")]
    NoAnswer,
    #[error("the name server answered with an error")]
    Refused,
    #[error("the name cannot be looked up")]
    Impossible(#[source] io::Error),
}

impl Resolver {
    pub(super) fn new(server: Option<SocketAddr>) -> Self {
        server.map_or_else(|| Self::System(Arc::new(Semaphore::new(LOOKUPS_AT_ONCE))), Self::Server)
    }

    /// All of them: whoever uses one must have seen the others.
    pub(super) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, LookupFailed> {
        if is_this_machine(name) {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let found = match self {
            Self::System(places) => system(Arc::clone(places), name.to_owned()).await?,
            Self::Server(server) => dns::addresses(*server, name).await?,
        };
        if found.is_empty() { Err(LookupFailed::NoAddress) } else { Ok(found) }
    }
}

/// These names mean loopback everywhere, and no name server is asked for them (RFC 6761 §6.3).
fn is_this_machine(name: &str) -> bool {
    let name = without_root(name);
    name == "localhost" || name.ends_with(".localhost")
}

async fn system(places: Arc<Semaphore>, name: String) -> Result<Vec<IpAddr>, LookupFailed> {
    let impossible = |error: io::Error| LookupFailed::Impossible(error);
    let place = places.acquire_owned().await.map_err(|closed| impossible(io::Error::other(closed)))?;
    let looking = tokio::task::spawn_blocking(move || {
        // Kept until the lookup ends, whether or not anybody still waits for it.
        let _place = place;
        // The port is not looked at.
        (name.as_str(), 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
    });
    match looking.await {
        Ok(Ok(found)) => Ok(found),
        // The system does not say whether it is the name or the network; it is the name far more often.
        Ok(Err(error)) if error.raw_os_error().is_none() => Err(LookupFailed::NoSuchName),
        Ok(Err(error)) => Err(impossible(error)),
        Err(ended) => Err(impossible(io::Error::other(ended))),
    }
}
