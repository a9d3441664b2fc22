//! Who may call which tools: tokens, and the lists of tool names.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;

use countersign_contract::{Access, ToolName};
use countersign_transports::TokenHash;

use super::{Checks, item_steps};
use crate::config::Token;
use crate::config::layers::Aim;
use crate::config::net;
use crate::config::sections::TokenFile;
use crate::config::values::ToolsText;

/// Limits, log and audit carry the name; longer ones are a mistake, or a token in the wrong place.
const MAX_CALLER_NAME: usize = 64;

impl Checks<'_> {
    /// Names and values must differ from token to token: a caller is known by its token, and judged by its name.
    pub(super) fn tokens(&mut self, tokens: &[TokenFile]) -> Vec<Token> {
        let mut names: HashMap<&str, usize> = HashMap::new();
        let mut values: HashMap<[u8; 32], usize> = HashMap::new();
        let mut checked = Vec::with_capacity(tokens.len());
        for (index, token) in tokens.iter().enumerate() {
            let item = item_steps(&["auth", "tokens"], index);
            let item: Vec<&str> = item.iter().map(String::as_str).collect();
            let at = |key| [item.as_slice(), &[key]].concat();
            if let Some(message) = name_mistake(&token.name) {
                self.report(&at("name"), Aim::Value, message);
            } else if let Some(first) = names.insert(&token.name, index) {
                let message = format!("is also the name of `auth.tokens[{first}]`; every caller needs its own");
                self.report(&at("name"), Aim::Value, message);
            }
            let hash = TokenHash::of(token.token.expose()).to_bytes();
            if let Some(message) = token_mistake(token.token.expose()) {
                self.report(&at("token"), Aim::Value, message);
            } else if let Some(first) = values.insert(hash, index) {
                let message =
                    format!("is the same token as that of `auth.tokens[{first}]`; every caller needs its own");
                self.report(&at("token"), Aim::Value, message);
            }
            let tools = self.access(&at("tools"), &token.tools);
            checked.push(Token { name: token.name.clone(), hash, tools, approver: token.approver });
        }
        checked
    }

    /// Whoever can reach the address could call every tool.
    pub(super) fn require_auth(&mut self, listen: SocketAddr, tokens: &[Token]) {
        // Tokens with a mistake in them were meant to be there; that mistake is said elsewhere.
        let meant_to_be_there = self.mistakes.iter().any(|mistake| mistake.key.starts_with("auth"));
        if !net::is_loopback(listen) && tokens.is_empty() && !meant_to_be_there {
            let message = "other machines could reach this address and call every tool without a token; add \
                           `auth.tokens`, or listen on 127.0.0.1";
            self.report(&["http", "listen"], Aim::Value, message);
        }
    }

    pub(super) fn access(&mut self, steps: &[&str], tools: &ToolsText) -> Access {
        let names = match tools {
            ToolsText::Word(_) => return Access::All,
            ToolsText::Names(names) => names,
        };
        let mut chosen = BTreeSet::new();
        for (index, name) in names.iter().enumerate() {
            chosen.extend(self.tool_name(&item_steps(steps, index), Aim::Value, name));
        }
        Access::Only(chosen)
    }

    pub(super) fn tool_name<S: AsRef<str>>(&mut self, steps: &[S], aim: Aim, name: &str) -> Option<ToolName> {
        let parsed = name.parse().ok();
        if parsed.is_none() {
            self.report(steps, aim, "is not a tool name: use up to 128 letters, digits, `_`, `-` and `.`");
        }
        parsed
    }
}

/// Approvals and limits go by the name, so no token may have one of these.
const OUR_OWN: [&str; 4] = ["anonymous", "local", "nobody", "owner"];

fn name_mistake(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        return Some("must not be empty: the caller's name is what log and audit show");
    }
    if OUR_OWN.contains(&name) {
        return Some("is the name that Countersign has for callers without a token: choose another");
    }
    let too_long = name.chars().count() > MAX_CALLER_NAME;
    (too_long || name.chars().any(char::is_control)).then_some("must be a short name: up to 64 characters on one line")
}

fn token_mistake(token: &str) -> Option<&'static str> {
    if token.is_empty() {
        return Some("must not be empty: anyone could present it");
    }
    // RFC 6750: anything else cannot be sent in an `Authorization` header.
    let sendable = |byte: u8| byte.is_ascii_graphic();
    (!token.bytes().all(sendable))
        .then_some("must be letters, digits and signs without spaces, as it has to fit into an HTTP header")
}
