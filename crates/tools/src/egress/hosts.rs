//! Hosts as the configuration names them and as URLs have them: compared in the one form that WHATWG's rules give both.

use std::fmt;
use std::str::FromStr;

use url::Host;

/// A host, or with `*.` all hosts below one, at any depth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    host: Host,
    reach: Reach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Itself,
    Below,
}

/// It is no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidHost;

impl HostPattern {
    pub(super) fn covers(&self, host: &Host<&str>) -> bool {
        match (&self.host, host) {
            (Host::Domain(name), Host::Domain(asked)) => {
                let asked = without_root(asked);
                match self.reach {
                    Reach::Itself => asked == name,
                    Reach::Below => asked.strip_suffix(name.as_str()).is_some_and(|below| below.ends_with('.')),
                }
            }
            (Host::Ipv4(address), Host::Ipv4(asked)) => address == asked,
            (Host::Ipv6(address), Host::Ipv6(asked)) => address == asked,
            (Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_), _) => false,
        }
    }
}

/// `name.` is `name`, said with the root.
pub(crate) fn without_root(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

impl FromStr for HostPattern {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let (reach, name) = match text.strip_prefix("*.") {
            Some(name) => (Reach::Below, name),
            None => (Reach::Itself, text),
        };
        let bare_address = name.parse().map(Host::Ipv6);
        let host = bare_address.or_else(|_| Host::parse(name)).map_err(|_| InvalidHost)?;
        // What the parser would decode or drop is no name that a person means.
        if name.contains(['%', '*', '\u{ad}']) {
            return Err(InvalidHost);
        }
        match (host, reach) {
            (Host::Domain(name), reach) => {
                let name = without_root(&name).to_owned();
                // 253 is the longest name DNS has.
                let is_name = name.len() <= 253 && name.split('.').all(|label| !label.is_empty());
                if is_name { Ok(Self { host: Host::Domain(name), reach }) } else { Err(InvalidHost) }
            }
            (host, Reach::Itself) => Ok(Self { host, reach }),
            (Host::Ipv4(_) | Host::Ipv6(_), Reach::Below) => Err(InvalidHost),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reach {
            Reach::Itself => self.host.fmt(formatter),
            Reach::Below => write!(formatter, "*.{}", self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use url::{Host, Url};

    use super::HostPattern;

    #[test]
    fn a_host_covers_itself_and_a_star_what_is_below() {
        for (pattern, host, covered) in [
            ("example.com", "example.com", true),
            ("example.com", "EXAMPLE.com.", true),
            ("Example.COM.", "example.com", true),
            ("example.com", "www.example.com", false),
            ("example.com", "badexample.com", false),
            ("example.com", "example.com.evil.test", false),
            ("*.example.com", "www.example.com", true),
            ("*.example.com", "a.b.example.com.", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "badexample.com", false),
            ("bücher.example", "xn--bcher-kva.example", true),
            ("xn--bcher-kva.example", "B\u{fc}cher.example", true),
            ("аllowed.test", "allowed.test", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "0x7f.1", true),
            ("127.0.0.1", "2130706433", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "[::ffff:127.0.0.1]", false),
            ("::1", "[::1]", true),
            ("[::1]", "[0:0::1]", true),
            ("::1", "[::2]", false),
        ] {
            let url = Url::parse(&format!("http://{host}/")).unwrap();
            let asked: Host<&str> = url.host().unwrap();
            assert_eq!(pattern.parse::<HostPattern>().unwrap().covers(&asked), covered, "{pattern} {host}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for bad in [
            "",
            "*",
            "*.",
            "a.*.b",
            "*.*.a",
            "https://a",
            "a:80",
            "a/b",
            "a b",
            "a..b",
            ".a",
            "*.127.0.0.1",
            "*.[::1]",
            "[::1",
            "a@b",
            "a%2eb",
            "al\u{ad}lowed.test",
            "1.2.3.4.5",
            "..",
        ] {
            assert!(bad.parse::<HostPattern>().is_err(), "{bad}");
        }
        for (text, normal) in [("A.b", "a.b"), ("*.A.b.", "*.a.b"), ("::1", "[::1]"), ("a_b", "a_b")] {
            assert_eq!(text.parse::<HostPattern>().unwrap().to_string(), normal);
        }
    }
}
