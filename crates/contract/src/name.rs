//! The name of a tool on every wire.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// MCP 2026-07-28 allows 1 to 128 characters.
const MAX_LENGTH: usize = 128;

/// A name that MCP allows: letters, digits, `_`, `-` and `.`, so that it needs no escaping in a URL, a file name, a
/// metric label or a log line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ToolName(Arc<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a tool name: use 1 to 128 of the characters A-Z a-z 0-9 _ - .")]
pub struct InvalidToolName(String);

impl ToolName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ToolName {
    type Err = InvalidToolName;

    fn from_str(raw: &str) -> Result<Self, InvalidToolName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if raw.is_empty() || raw.len() > MAX_LENGTH || !raw.bytes().all(allowed) {
            let shown = raw.chars().take(MAX_LENGTH).collect();
            return Err(InvalidToolName(shown));
        }
        Ok(Self(raw.into()))
    }
}

impl TryFrom<String> for ToolName {
    type Error = InvalidToolName;

    fn try_from(raw: String) -> Result<Self, InvalidToolName> {
        raw.parse()
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::ToolName;

    #[test]
    fn names_are_those_of_the_protocol() {
        for good in ["hello", "web-fetch", "a", "docs__read.page", &"x".repeat(128)] {
            assert_eq!(good.parse::<ToolName>().map(|name| name.to_string()).as_deref(), Ok(good), "{good}");
        }
        for bad in ["", "two words", "a/b", "naïve", "tab\t", &"x".repeat(129)] {
            assert!(bad.parse::<ToolName>().is_err(), "{bad}");
        }
    }
}
