//! The one guard for outgoing addresses. A [`Destination`] is a URL whose host is allowed and whose every address was
//! looked at; nothing but [`Egress`] makes one, and connections go to those addresses and no others. What a name means
//! is asked anew for each, so nothing that was true a moment ago is relied on.

mod address;
mod dns;
mod hosts;
mod resolver;

use std::net::{IpAddr, SocketAddr};

use url::{Host, ParseError, Url};

pub(crate) use self::hosts::without_root;
pub use self::hosts::{HostPattern, InvalidHost};
pub(crate) use self::resolver::LookupFailed;

use self::address::{is_public, is_somebodys};
use self::resolver::Resolver;

#[derive(Debug)]
pub(crate) struct Egress {
    /// Empty allows every host.
    allowed: Vec<HostPattern>,
    /// May be anywhere, since the operator vouches for them.
    private: Vec<HostPattern>,
    resolver: Resolver,
}

/// Where a request may go.
#[derive(Debug)]
pub(crate) struct Destination {
    url: Url,
    /// With the port; at least one.
    addresses: Vec<SocketAddr>,
}

#[derive(Debug)]
pub(crate) enum Refused {
    /// It is no URL that means one thing to everybody.
    Malformed(&'static str),
    Protocol,
    /// Not on the list.
    Domain,
    /// A user or a password in it.
    Credentials,
    /// One of its addresses is not of the public internet.
    NotPublic,
    Unresolved(LookupFailed),
}

impl Egress {
    pub(crate) fn new(allowed: Vec<HostPattern>, private: Vec<HostPattern>, resolver: Option<SocketAddr>) -> Self {
        Self { allowed, private, resolver: Resolver::new(resolver) }
    }

    /// For a URL as somebody wrote it.
    pub(crate) async fn admit(&self, written: &str) -> Result<Destination, Refused> {
        self.judge(parse(written)?).await
    }

    /// For where the answer from one place says to go on.
    pub(crate) async fn admit_redirect(&self, from: &Destination, location: &str) -> Result<Destination, Refused> {
        self.judge(from.url.join(location).map_err(unreadable)?).await
    }

    async fn judge(&self, url: Url) -> Result<Destination, Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Protocol);
        }
        // Both always have them in these schemes.
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(Refused::Malformed("has no host"));
        };
        if !self.allowed.is_empty() && !covers(&self.allowed, &host) {
            return Err(Refused::Domain);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        let addresses = match host {
            Host::Ipv4(address) => vec![address.into()],
            Host::Ipv6(address) => vec![address.into()],
            Host::Domain(name) => self.resolver.addresses(name).await.map_err(Refused::Unresolved)?,
        };
        let admitted = if covers(&self.private, &host) { is_somebodys } else { is_public };
        // One that is not is enough: whoever mixes them wants us to pick the wrong one.
        if let Some(address) = addresses.iter().copied().find(|address: &IpAddr| !admitted(*address)) {
            tracing::info!(%host, %address, "not fetched: the address is not public");
            return Err(Refused::NotPublic);
        }
        let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect();
        Ok(Destination { url, addresses })
    }
}

impl Destination {
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

fn covers(patterns: &[HostPattern], host: &Host<&str>) -> bool {
    patterns.iter().any(|pattern| pattern.covers(host))
}

/// By WHATWG's rules, which repair a lot. What they would repair is refused: it is the stuff of which misunderstandings
/// between checker and user are made.
fn parse(written: &str) -> Result<Url, Refused> {
    const FORM: &str = "must be an absolute URL that begins with `http://` or `https://`";
    let (scheme, rest) = written.split_once(':').ok_or(Refused::Malformed(FORM))?;
    let scheme_character = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if !scheme.starts_with(|first: char| first.is_ascii_alphabetic()) || !scheme.bytes().all(scheme_character) {
        return Err(Refused::Malformed(FORM));
    }
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(Refused::Protocol);
    }
    if written.contains(|character: char| character == '\\' || character == ' ' || character.is_control()) {
        return Err(Refused::Malformed("must not have spaces, line breaks, control characters or `\\` in it"));
    }
    match rest.strip_prefix("//") {
        Some(rest) if !rest.starts_with('/') => Url::parse(written).map_err(unreadable),
        Some(_) | None => Err(Refused::Malformed(FORM)),
    }
}

fn unreadable(error: ParseError) -> Refused {
    // A name that no domain can have is on nobody's list.
    if error == ParseError::IdnaError { Refused::Domain } else { Refused::Malformed("is not a URL") }
}

#[cfg(test)]
mod tests;
