//! Who calls, and what the call may use while it runs.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{AuditEntry, Client, ToolName};

/// Given to a tool beside its arguments. A tool learns who called, never over which wire.
#[derive(Debug, Clone)]
pub struct CallContext {
    pub request_id: RequestId,
    pub caller: Arc<Caller>,
    /// How long the call may take in all; the gate enforces it, a tool may plan by it.
    pub deadline: Duration,
    /// Pulled when nobody waits any more; a tool that leaves the async world (threads, walks) looks at it.
    pub cancelled: CancellationToken,
    pub progress: Progress,
    pub client: Client,
    intent: OnceLock<AuditEntry>,
}

impl CallContext {
    pub fn new(
        caller: Arc<Caller>,
        deadline: Duration,
        cancelled: CancellationToken,
        progress: Progress,
        client: Client,
    ) -> Self {
        let (request_id, intent) = (RequestId::generate(), OnceLock::new());
        Self { request_id, caller, deadline, cancelled, progress, client, intent }
    }

    /// The record of what is about to be changed, to go into the same commit; `None` where nothing is recorded.
    pub fn intent(&self) -> Option<AuditEntry> {
        self.intent.get().cloned()
    }

    /// For the gate.
    pub fn set_intent(&self, intent: AuditEntry) {
        self.intent.get_or_init(|| intent);
    }
}

/// Names one call in the answer, the log and the audit record. Time-ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(Uuid);

impl RequestId {
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }

    /// The text without an allocation, for the way of every call.
    pub fn encode<'a>(&self, buffer: &'a mut [u8; 36]) -> &'a str {
        self.0.hyphenated().encode_lower(buffer)
    }
}

impl FromStr for RequestId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(Self)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Whoever makes a call, as the wire established it. Limits and audit go by the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub name: Arc<str>,
    pub access: Access,
    /// Whether it may decide about other callers' calls.
    pub approver: bool,
}

/// Which tools exist for a caller; the others are unknown to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    All,
    Only(BTreeSet<ToolName>),
}

impl Access {
    pub fn allows(&self, tool: &ToolName) -> bool {
        match self {
            Self::All => true,
            Self::Only(tools) => tools.contains(tool),
        }
    }
}

/// Where a long call says how far it is. Without a listener it costs nothing.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(ProgressUpdate) + Send + Sync>>);

#[derive(Debug, Clone, PartialEq)]
pub struct ProgressUpdate {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

impl Progress {
    pub fn to(listener: impl Fn(ProgressUpdate) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    pub fn report(&self, update: ProgressUpdate) {
        if let Some(listener) = &self.0 {
            listener(update);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Progress(listened to)" } else { "Progress(silent)" })
    }
}
