//! What is left of a question: everything that was decided and from what, so that somebody else can check it later, and
//! without this installation.

mod call;
mod file;
mod fit;
mod replay;

use countersign_contract::{BoxFuture, Digest, RequestId, ToolName, parse_json};
use countersign_host::{QueryId, Ruling};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::call::{AuditRecord, CallReceipt};
pub use self::file::{AskReceipt, ReceiptFile, ReceiptFlaw};
pub use self::replay::{Here, Offered, Step};
use crate::grounding::Grounded;
#[cfg(doc)]
use crate::planner::Choice;

/// What later versions of this file will differ in.
pub(crate) const FORMAT: u32 = 1;

/// A longer result is kept as its digest only.
const CONTENT_MAX: usize = 1024 * 1024;

/// Where receipts are kept.
pub trait ReceiptBook: Send + Sync + std::fmt::Debug {
    /// Ready when it would survive the end of the process.
    fn keep(&self, page: Page) -> BoxFuture<'_, Result<(), NotKept>>;
}

/// The receipt could not be written. The log has the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the receipt could not be kept")]
pub struct NotKept;

/// A receipt as it is kept. Material is kept once for all receipts that share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub id: QueryId,
    pub at: Timestamp,
    /// Canonical JSON of the receipt.
    pub receipt: String,
    pub material_digest: Digest,
    /// Canonical JSON of the material.
    pub material: String,
}

/// How much of what was said is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keeping {
    #[default]
    Content,
    /// Nothing can be read from the receipt, and only what somebody else kept can be checked against it.
    Digests,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    pub format: u32,
    pub id: QueryId,
    pub at: Timestamp,
    pub caller: String,
    pub wire: String,
    /// Of Countersign.
    pub version: String,
    pub query: Kept,
    pub planner: PlannedBy,
    /// Of what the planner chose from.
    pub material: Digest,
    /// A [`Choice`].
    pub plan: Kept,
    /// Those of its arguments that the question does not say and somebody at the terminal did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supplied: Option<Kept>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Called>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// [`Claims`].
    pub summary: Option<Kept>,
}

/// A value, or only what it hashes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    pub digest: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
}

/// A JSON text, or only what it hashes to. As a value it would lose how it was written: canonical JSON has `20` for `20.0`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptText {
    pub digest: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PlannedBy {
    /// Ours; `vectors` names what turned texts into vectors.
    Embedded { vectors: String },
    /// A language model, whose choice cannot be repeated.
    Model { name: String },
}

/// The one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Called {
    pub request_id: RequestId,
    pub tool: ToolName,
    /// Of the contract that was in force.
    pub contract: Digest,
    /// What the contract says about calls, and what the operator made of it.
    pub promised: Ruling,
    pub ruling: Ruling,
    pub arguments: Kept,
    /// `ok`, or the code of the failure.
    pub outcome: String,
    pub result: KeptText,
}

/// What was claimed about the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claims {
    pub(crate) shown: Vec<Grounded>,
    pub(crate) dropped: Vec<Dropped>,
    /// Why there are none of either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<String>,
}

/// A bullet that nobody was shown, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dropped {
    pub(crate) claim: String,
    pub(crate) evidence: String,
    pub(crate) why: String,
}

impl Receipt {
    /// Whether the plan has what was supplied, as far as content was kept.
    fn has_supplied(&self) -> bool {
        let Some(Value::Object(supplied)) = self.supplied.as_ref().and_then(|kept| kept.content.as_ref()) else {
            return self.supplied.as_ref().is_none_or(|kept| kept.content.is_none());
        };
        let plan = self.plan.content.as_ref();
        supplied.iter().all(|(name, value)| plan.is_none_or(|plan| plan["arguments"].get(name) == Some(value)))
    }
}

impl Kept {
    /// The digest is over the canonical form, as in the audit log.
    pub(crate) fn value(value: &Value, keeping: Keeping) -> Self {
        Self { digest: Digest::of_json(value), content: (keeping == Keeping::Content).then(|| value.clone()) }
    }

    /// Absent where only the digest was kept, or it is something else.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Option<T> {
        self.content.clone().and_then(|content| serde_json::from_value(content).ok())
    }

    /// Whether content and digest fit.
    fn agrees(&self) -> bool {
        self.content.as_ref().is_none_or(|content| Digest::of_json(content) == self.digest)
    }
}

impl KeptText {
    /// The digest is over the text as it was handed out, as in the audit log.
    pub(crate) fn new(text: &str, keeping: Keeping) -> Self {
        let kept = keeping == Keeping::Content && text.len() <= CONTENT_MAX;
        Self { digest: Digest::of_bytes(text.as_bytes()), content: kept.then(|| text.to_owned()) }
    }

    /// Absent where only the digest was kept, or it is no JSON.
    pub(crate) fn read(&self) -> Option<Value> {
        parse_json(self.content.as_ref()?.as_bytes()).ok()
    }

    /// Whether content and digest fit.
    fn agrees(&self) -> bool {
        self.content.as_ref().is_none_or(|content| Digest::of_bytes(content.as_bytes()) == self.digest)
    }
}

#[cfg(test)]
mod tests;
