//! A server as the operator describes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use countersign_contract::Approval;
use serde_json::Value;

use crate::confine::Sandbox;

/// With a tool's own name behind it, a name that real clients take is still possible.
const NAME_MAX: usize = 24;

/// Letters, digits and `-`: the first part of the names that its tools have here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a server's name has 1 to {NAME_MAX} of the characters A-Z a-z 0-9 -")]
pub struct InvalidServerName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    pub name: ServerName,
    pub reach: Reach,
    pub tools: ToolRules,
    /// Overrides what the tools' own hints ask for.
    pub approval: Option<Approval>,
    pub timeout: Option<Duration>,
    pub prefix: Prefix,
}

/// How to get to it.
#[derive(Clone, PartialEq, Eq)]
pub enum Reach {
    /// A program of ours to start, spoken to on its stdin and stdout.
    Program {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        folder: PathBuf,
        sandbox: Option<Sandbox>,
    },
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

/// Which of its tools are taken, and under which names. All names are the server's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolRules {
    /// Where given, all others are left out.
    pub allow: Option<BTreeSet<String>>,
    pub deny: BTreeSet<String>,
    pub rename: BTreeMap<String, String>,
    /// Reasons that a person has looked at, by tool: they do not count.
    pub waive: BTreeMap<String, BTreeSet<String>>,
}

/// What the names of its tools begin with here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prefix {
    Name(ServerName),
    None,
}

impl ServerSpec {
    pub fn new(name: ServerName, reach: Reach) -> Self {
        let prefix = Prefix::Name(name.clone());
        Self { name, reach, tools: ToolRules::default(), approval: None, timeout: None, prefix }
    }

    /// Whether one of its tools could have this name here.
    pub fn may_have(&self, name: &str) -> bool {
        match &self.prefix {
            Prefix::Name(prefix) => name.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.starts_with("__")),
            Prefix::None => true,
        }
    }

    /// The server's own name for a prompt, if it is one of this server's.
    pub(crate) fn own_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        match &self.prefix {
            Prefix::Name(prefix) => name.strip_prefix(prefix.as_str())?.strip_prefix("__"),
            Prefix::None => Some(name),
        }
    }

    /// The name that one of its tools has here.
    pub fn name_here(&self, tool: &str) -> String {
        self.prefixed(self.tools.rename.get(tool).map_or(tool, String::as_str))
    }

    /// The name that anything else of it has here.
    pub(crate) fn prefixed(&self, own: &str) -> String {
        match &self.prefix {
            Prefix::Name(name) => format!("{name}__{own}"),
            Prefix::None => own.to_owned(),
        }
    }
}

/// Resources are named by their URI: behind a prefix, it begins with the server's name and a `+`.
impl ServerSpec {
    pub(crate) fn uri_here(&self, uri: &str) -> String {
        match &self.prefix {
            Prefix::Name(name) => format!("{name}+{uri}"),
            Prefix::None => uri.to_owned(),
        }
    }

    /// The server's own URI, if it is one of this server's.
    pub(crate) fn own_uri<'u>(&self, uri: &'u str) -> Option<&'u str> {
        match &self.prefix {
            Prefix::Name(name) => uri.strip_prefix(name.as_str())?.strip_prefix('+'),
            Prefix::None => Some(uri),
        }
    }

    /// A block of content that leads to a resource, or has one in it, says where it is to be found here.
    pub(crate) fn name_resources(&self, block: &mut Value) {
        let pointer = match block.get("type").and_then(Value::as_str) {
            Some("resource_link") => "/uri",
            Some("resource") => "/resource/uri",
            Some(_) | None => return,
        };
        if let Some(Value::String(uri)) = block.pointer_mut(pointer) {
            *uri = self.uri_here(uri);
        }
    }
}

impl ToolRules {
    pub fn takes(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|allowed| allowed.contains(tool)) && !self.deny.contains(tool)
    }
}

impl ServerName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServerName {
    type Err = InvalidServerName;

    fn from_str(name: &str) -> Result<Self, InvalidServerName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty() || name.len() > NAME_MAX || !name.bytes().all(allowed) {
            return Err(InvalidServerName);
        }
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Environment and headers hold secrets; arguments and URLs may.
impl fmt::Debug for Reach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { command, .. } => write!(formatter, "Program({command}, …)"),
            Self::Http { .. } => formatter.write_str("Http(…)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Prefix, Reach, ServerName, ServerSpec};

    #[test]
    fn names_are_narrow() {
        for good in ["docs", "a", "my-server-2", &"x".repeat(24)] {
            assert!(good.parse::<ServerName>().is_ok(), "{good}");
        }
        for bad in ["", "a_b", "a.b", "a b", "é", &"x".repeat(25)] {
            assert!(bad.parse::<ServerName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn tools_are_named_after_their_server() {
        let reach = Reach::Http { url: "http://secret@a/".to_owned(), headers: [].into() };
        assert!(!format!("{reach:?}").contains("secret"));
        let mut spec = ServerSpec::new("docs".parse().unwrap(), reach);
        spec.tools.rename.insert("a".to_owned(), "b".to_owned());
        assert_eq!((spec.name_here("read"), spec.name_here("a")), ("docs__read".to_owned(), "docs__b".to_owned()));
        spec.prefix = Prefix::None;
        assert_eq!(spec.name_here("read"), "read");
    }
}
