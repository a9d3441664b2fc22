//! The audit log as the gate sees it: `host` writes it, `store` implements it, `cli` joins the two.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{ApprovalId, BoxFuture, Code, Digest, RequestId, ToolName};

/// Keeps entries in order, each bound to the one before, so that a changed, removed or moved one is found.
pub trait AuditLog: Send + Sync {
    /// Ready when the entry is as safe as `durability` asks.
    fn append(&self, entry: AuditEntry, durability: Durability) -> BoxFuture<'_, Result<(), AuditUnavailable>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Written with others a moment later: what a kill in between loses is the record of a read.
    Batched,
    /// On disk before the future is ready: what changes something must not run before that.
    Synced,
}

/// Why an entry could not be kept. The log has the cause; a caller learns no more than this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the audit log cannot be written")]
pub struct AuditUnavailable;

/// One thing that happened. Arguments and results appear as digests: the log proves what was asked without keeping it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditEntry {
    pub event: AuditEvent,
    pub at: Timestamp,
    pub request_id: RequestId,
    pub caller: Arc<str>,
    /// Over which wire the call came.
    pub wire: Cow<'static, str>,
    pub tool: ToolName,
    /// The digest of the contract that was in force.
    pub contract: Digest,
    pub arguments: Digest,
    /// Absent while the call has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_us: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Digest>,
    /// What was decided about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditEvent {
    /// A call that changes something is about to run.
    Intent,
    /// A call came to its end with a result.
    Answered,
    /// A call was refused or failed; `code` says how.
    Failed,
    /// The client has to answer something first; its repetition of the call is a call of its own.
    Asked,
    /// The caller went away before the end; a change may or may not have happened.
    Abandoned,
    /// A person agreed to a call, which may now be made once; `caller` is who decided.
    Approved,
    Denied,
}
