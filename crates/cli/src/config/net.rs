//! Addresses, origins and host names as people write them. Each refusal says what is expected, never what was found.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use countersign_tools::{HostPattern, InvalidHost};

/// Address and port to listen on or to ask. `localhost` is 127.0.0.1; other names are not looked up.
pub(super) fn address(text: &str) -> Result<SocketAddr, &'static str> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    if let Some(port) = text.strip_prefix("localhost:")
        && let Ok(port) = port.parse()
    {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    let digits = text.trim_start_matches(':');
    Err(if text.parse::<IpAddr>().is_ok() || text == "localhost" {
        "lacks the port: write `127.0.0.1:8000` (`[::1]:8000` for IPv6)"
    } else if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        "lacks the address: write `127.0.0.1:8000`"
    } else if text.contains("://") {
        "is an address and a port, not a URL: write `127.0.0.1:8000`"
    } else {
        "must be an IP address and a port, such as `127.0.0.1:8000`"
    })
}

/// Reachable from this machine alone.
pub(super) fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// `scheme://host[:port]` as browsers send it: lower case, without the scheme's own port.
pub(super) fn origin(text: &str) -> Result<String, &'static str> {
    const FORM: &str = "must be an origin, `scheme://host` or `scheme://host:port`, without a path";
    let lower = text.to_ascii_lowercase();
    let (scheme, authority) = lower.split_once("://").ok_or(FORM)?;
    let scheme_character = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if !scheme.starts_with(|first: char| first.is_ascii_alphabetic()) || !scheme.bytes().all(scheme_character) {
        return Err(FORM);
    }
    let authority = host(authority).map_err(|_| FORM)?;
    let default_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    let authority = authority.strip_suffix(default_port).unwrap_or(&authority);
    Ok(format!("{scheme}://{authority}"))
}

/// `host` or `host:port`, lower case.
pub(super) fn host(text: &str) -> Result<String, &'static str> {
    const FORM: &str = "must be a host name, or a host name and a port: `example.com` or `example.com:8000`";
    let lower = text.to_ascii_lowercase();
    let (name, port) = match lower.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => {
            name.parse::<Ipv6Addr>().map_err(|_| FORM)?;
            (None, if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or(FORM)?) })
        }
        None => match lower.split_once(':') {
            Some((name, port)) => (Some(name), Some(port)),
            None => (Some(lower.as_str()), None),
        },
    };
    if name.is_some_and(|name| !is_name(name)) || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(FORM);
    }
    Ok(lower)
}

/// A host that may be fetched: a name, an IP address, or `*.` and a name.
pub(super) fn domain(text: &str) -> Result<HostPattern, &'static str> {
    text.parse().map_err(
        |InvalidHost| "must be a host name such as `example.com` or `*.example.com`, without scheme, port or path",
    )
}

/// An endpoint's base URL. Credentials in it would end up in logs.
pub(super) fn endpoint(text: &str) -> Result<String, &'static str> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    match authority {
        Some(authority) if authority.contains('@') => Err("must not have a user or password in it; use `api_key`"),
        Some(authority) if host(authority).is_ok() => Ok(text.to_owned()),
        Some(_) | None => Err("must be a URL that begins with `http://` or `https://`"),
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    // 253 is the longest name DNS has.
    name.len() <= 253 && name.split('.').all(|label| !label.is_empty() && label.bytes().all(allowed))
}

#[cfg(test)]
mod tests {
    use super::{address, domain, endpoint, host, is_loopback, origin};

    #[test]
    fn addresses_need_a_port() {
        for (good, parsed, loopback) in [
            ("127.0.0.1:8000", "127.0.0.1:8000", true),
            ("localhost:0", "127.0.0.1:0", true),
            ("[::1]:80", "[::1]:80", true),
            ("[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1]:80", true),
            ("0.0.0.0:8000", "0.0.0.0:8000", false),
            ("[::]:8000", "[::]:8000", false),
            ("192.168.1.2:1", "192.168.1.2:1", false),
        ] {
            let address = address(good).unwrap();
            assert_eq!((address.to_string().as_str(), is_loopback(address)), (parsed, loopback), "{good}");
        }
        for bad in ["", "8000", ":8000", "127.0.0.1", "::1", "localhost", "example.com:80", "127.0.0.1:99999"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn origins_are_normalised() {
        for (good, normal) in [
            ("https://Example.com", "https://example.com"),
            ("https://example.com:443", "https://example.com"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://[::1]:80", "http://[::1]"),
            ("vscode-webview://abc", "vscode-webview://abc"),
        ] {
            assert_eq!(origin(good).as_deref(), Ok(normal), "{good}");
        }
        for bad in
            ["", "*", "null", "example.com", "https://", "https://a/b", "https://a/", "https://u@a", "https://a:b"]
        {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn hosts_and_domains_are_names() {
        for good in ["example.com", "a_b:80", "127.0.0.1", "[::1]", "[::1]:80"] {
            assert_eq!(host(good).as_deref(), Ok(good));
        }
        for bad in ["", "a b", "https://a", "a/b", "::1", "[::1", "a:", "a..b", "*.a"] {
            assert!(host(bad).is_err(), "{bad}");
        }
        for (good, normal) in [("Example.com", "example.com"), ("*.wild.test", "*.wild.test"), ("::1", "[::1]")] {
            assert_eq!(domain(good).unwrap().to_string(), normal);
        }
        for bad in ["", "*", "*.", "a.*.b", "https://a", "a:80", "a/b"] {
            assert!(domain(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn endpoints_carry_no_credentials() {
        assert!(endpoint("http://127.0.0.1:11434/v1").is_ok());
        for bad in ["", "ftp://a", "https://", "https://user:pass@a/v1", "https://user@a"] {
            assert!(endpoint(bad).is_err(), "{bad}");
        }
    }
}
