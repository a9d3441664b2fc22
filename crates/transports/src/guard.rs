//! Keeps web pages out: a page in the user's browser can send requests to loopback, by its own origin or by a name that
//! it points at 127.0.0.1 (DNS rebinding). So `Host` must be a name of ours, and `Origin`, if there is one, ours too.

use std::net::{IpAddr, SocketAddr};

use countersign_contract::Code;
use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};

use crate::problem::Problem;

/// Which names and origins count as ours.
#[derive(Debug, Clone)]
pub struct Guard {
    listen: IpAddr,
    /// `Host` as nearly every request has it: taken without looking closer.
    usual: [String; 2],
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
}

impl Guard {
    /// `allowed_hosts` are names, with a port or for any port; `allowed_origins` are `scheme://host[:port]`.
    pub fn new(listen: SocketAddr, allowed_hosts: &[String], allowed_origins: &[String]) -> Self {
        let lower = |names: &[String]| names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let usual = [listen.to_string(), format!("localhost:{}", listen.port())];
        Self {
            listen: listen.ip(),
            usual,
            allowed_hosts: lower(allowed_hosts),
            allowed_origins: lower(allowed_origins),
        }
    }

    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        if self.is_usual(uri, headers) {
            return Ok(());
        }
        let host = requested_host(uri, headers)?;
        if !self.is_ours(&host) {
            let error = format!("Host `{host}` is not served here; add it to `http.allowed_hosts` if it should be");
            return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, Code::AccessDenied, error));
        }
        for origin in headers.get_all(ORIGIN) {
            if !self.may_ask(origin, &host) {
                let error = "This origin may not send requests here; add it to `http.allowed_origins` if it should";
                return Err(Problem::new(StatusCode::FORBIDDEN, Code::AccessDenied, error));
            }
        }
        Ok(())
    }

    /// One `Host` that names our own address, and no origin: a program on this machine.
    fn is_usual(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let ours = self.usual.iter().any(|usual| usual.as_bytes() == host.as_bytes());
        ours && uri.authority().is_none() && !headers.contains_key(ORIGIN)
    }

    /// The request's origin, if it is another one that the operator listed: its pages must be told that they may read.
    pub(crate) fn listed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let text = origin.to_str().ok()?.to_ascii_lowercase();
        self.allowed_origins.contains(&text).then(|| origin.clone())
    }

    fn is_ours(&self, host: &Authority) -> bool {
        let name = host.host().to_ascii_lowercase();
        let listed = |allowed: &String| *allowed == name || allowed.eq_ignore_ascii_case(host.as_str());
        match name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            // Rebinding needs a name: on all interfaces, any address is one of ours.
            Ok(address) => {
                address.is_loopback()
                    || address == self.listen
                    || self.listen.is_unspecified()
                    || self.allowed_hosts.iter().any(listed)
            }
            Err(_) => name == "localhost" || self.allowed_hosts.iter().any(listed),
        }
    }

    /// Same-origin, whatever the scheme in front of us is, or listed.
    fn may_ask(&self, origin: &HeaderValue, host: &Authority) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let origin = origin.to_ascii_lowercase();
        let same = |scheme: &str, port: u16| {
            let theirs = origin.strip_prefix(scheme).and_then(|rest| rest.parse::<Authority>().ok());
            theirs.is_some_and(|theirs| {
                theirs.host() == host.host().to_ascii_lowercase()
                    && theirs.port_u16().unwrap_or(port) == host.port_u16().unwrap_or(port)
            })
        };
        same("http://", 80) || same("https://", 443) || self.allowed_origins.contains(&origin)
    }
}

/// The one host that the request names. Two answers to that question are a trick.
fn requested_host(uri: &Uri, headers: &HeaderMap) -> Result<Authority, Problem> {
    let bad = |error: &str| Problem::new(StatusCode::BAD_REQUEST, Code::ValidationError, error);
    let mut named = headers.get_all(HOST).iter();
    let (Some(header), None) = (named.next(), named.next()) else {
        return Err(bad("The request must have exactly one Host header"));
    };
    let header = header.to_str().ok().and_then(|text| text.parse::<Authority>().ok());
    let header =
        header.filter(|host| !host.as_str().contains('@')).ok_or_else(|| bad("The Host header is malformed"))?;
    match uri.authority() {
        Some(target) if target != &header => Err(bad("The request target and the Host header name different hosts")),
        Some(_) | None => Ok(header),
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Uri};

    use super::Guard;

    const LOOPBACK: &str = "127.0.0.1:8000";

    #[test]
    fn only_names_of_ours_are_served() {
        for (listen, host, status) in [
            (LOOPBACK, "127.0.0.1:8000", None),
            (LOOPBACK, "localhost", None),
            (LOOPBACK, "LOCALHOST:1", None),
            (LOOPBACK, "[::1]:8000", None),
            (LOOPBACK, "127.8.8.8", None),
            (LOOPBACK, "tools.example:8000", None),
            (LOOPBACK, "TOOLS.example:8000", None),
            (LOOPBACK, "tools.example:8001", Some(421)),
            (LOOPBACK, "wiki.example:8001", None),
            (LOOPBACK, "evil.test:8000", Some(421)),
            (LOOPBACK, "127.0.0.1.evil.test", Some(421)),
            (LOOPBACK, "localhost.evil.test", Some(421)),
            (LOOPBACK, "10.0.0.5", Some(421)),
            (LOOPBACK, "user@localhost", Some(400)),
            (LOOPBACK, "", Some(400)),
            (LOOPBACK, "a b", Some(400)),
            ("10.0.0.5:80", "10.0.0.5", None),
            ("10.0.0.5:80", "10.0.0.6", Some(421)),
            ("0.0.0.0:80", "10.0.0.6", None),
            ("0.0.0.0:80", "evil.test", Some(421)),
        ] {
            assert_eq!(check(listen, "/", &[("host", host)]), status, "{host} on {listen}");
        }
    }

    #[test]
    fn only_origins_of_ours_may_ask() {
        for (origin, status) in [
            ("http://127.0.0.1:8000", None),
            ("https://127.0.0.1:8000", None),
            ("http://app.example", None),
            ("HTTP://App.Example", None),
            ("http://evil.test", Some(403)),
            ("http://127.0.0.1:1", Some(403)),
            ("http://127.0.0.1", Some(403)),
            ("http://localhost:8000", Some(403)),
            ("http://[::1]:9", Some(403)),
            ("null", Some(403)),
            ("file://", Some(403)),
            ("", Some(403)),
        ] {
            let headers = [("host", "127.0.0.1:8000"), ("origin", origin)];
            assert_eq!(check(LOOPBACK, "/", &headers), status, "{origin}");
        }
        let two = [("host", LOOPBACK), ("origin", "http://127.0.0.1:8000"), ("origin", "http://evil.test")];
        assert_eq!(check(LOOPBACK, "/", &two), Some(403), "the worst of two origins counts");
    }

    #[test]
    fn a_request_names_one_host() {
        assert_eq!(check(LOOPBACK, "/", &[]), Some(400));
        assert_eq!(check(LOOPBACK, "/", &[("host", "localhost"), ("host", "localhost")]), Some(400));
        assert_eq!(check(LOOPBACK, "http://localhost/", &[("host", "localhost")]), None);
        assert_eq!(check(LOOPBACK, "http://evil.test/", &[("host", "localhost")]), Some(400));
    }

    fn check(listen: &str, uri: &str, headers: &[(&'static str, &str)]) -> Option<u16> {
        let hosts = ["tools.example:8000".to_owned(), "wiki.example".to_owned()];
        let guard = Guard::new(listen.parse().unwrap(), &hosts, &["http://app.example".to_owned()]);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        guard.check(&uri.parse::<Uri>().unwrap(), &map).err().map(|problem| problem.status.as_u16())
    }
}
