//! What the gate hands to a wire.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::{Code, Content, Storage};

/// A checked answer: `structured` satisfies the published output schema, success branch or error branch.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub structured: Value,
    /// The same as compact JSON, written once for every wire.
    pub text: Arc<String>,
    /// Set exactly when `structured` is the error branch.
    pub failure: Option<Failure>,
    /// What a tool shows instead of `text`, where it has more to show.
    pub content: Option<Vec<Content>>,
    /// Whether the published output schema speaks of `structured`. Where it does not, a client gets only what is shown.
    pub promised: bool,
}

/// What a tool gives: a value that is checked against its contract, and what to show beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    pub structured: Value,
    pub content: Option<Vec<Content>>,
}

/// What a wire needs to know of a failure beyond its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    pub code: Code,
    pub retry_after: Option<Duration>,
    pub storage: Storage,
}

impl Reply {
    pub fn is_error(&self) -> bool {
        self.failure.is_some()
    }
}
