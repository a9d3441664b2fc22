//! Calls that wait for a person, as the gate and the wires see them: `store` keeps them, `cli` joins the two.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{BoxFuture, Digest, RequestId, ToolName};

/// Keeps held calls where every process of one installation sees them.
pub trait HeldCalls: Send + Sync + fmt::Debug {
    /// Where this exact call stands. An approval is used up by this answer; a call that nobody knows is held from now on.
    fn claim(&self, call: CallToApprove) -> BoxFuture<'_, Result<Standing, HeldCallsUnavailable>>;

    /// The call that used an approval up did nothing yet, and comes again.
    fn give_back(&self, id: ApprovalId) -> BoxFuture<'_, Result<(), HeldCallsUnavailable>>;

    /// On record and audited before the answer.
    fn decide(&self, id: ApprovalId, decision: Decision, by: Decider) -> BoxFuture<'_, Result<HeldCall, NotDecided>>;

    /// Those that still wait, oldest first.
    fn waiting(&self) -> BoxFuture<'_, Result<Vec<HeldCall>, HeldCallsUnavailable>>;

    fn get(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<HeldCall>, HeldCallsUnavailable>>;
}

/// What an approval is bound to, and what a person needs to see of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallToApprove {
    pub caller: Arc<str>,
    pub tool: ToolName,
    /// Which project it is about: several may share the records.
    pub scope: Arc<str>,
    /// The digest of the exact arguments.
    pub arguments: Digest,
    pub contract: Digest,
    /// The call that asks now; not part of the bond.
    pub request_id: RequestId,
    /// What would be done, in full.
    pub preview: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// A person agreed to this call, once.
    Approved(ApprovalId),
    Denied(HeldCall),
    Waiting(HeldCall),
    /// This caller has so many calls waiting that no more are held.
    TooMany,
}

/// A call on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldCall {
    pub id: ApprovalId,
    pub state: HeldState,
    pub tool: ToolName,
    pub caller: Arc<str>,
    pub scope: Arc<str>,
    pub request_id: RequestId,
    pub arguments: Digest,
    pub contract: Digest,
    pub preview: String,
    pub requested_at: Timestamp,
    /// When it is over: for a person to decide, or for the caller to use what was decided.
    pub expires_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldState {
    Pending,
    Approved,
    Denied,
    /// Approved, and the call was made.
    Used,
    /// Nobody decided, or nobody called, in time.
    Expired,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Approve,
    Deny,
}

/// Who decides, as the wire established it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider {
    /// The person at the client that makes the call, by the client's own prompt.
    Client,
    /// The user who owns the data folder, at the command line.
    Owner,
    /// A caller with that role. It does not decide about its own calls.
    Approver(Arc<str>),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotDecided {
    #[error("there is no call waiting under this id")]
    Unknown,
    #[error("it is {} already", .0.as_str())]
    NotPending(HeldState),
    #[error("nobody may decide about a call of their own")]
    OwnCall,
    #[error(transparent)]
    Unavailable(#[from] HeldCallsUnavailable),
}

/// The log has the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the records of approvals cannot be read or written")]
pub struct HeldCallsUnavailable;

/// Short enough to be typed. It is no secret: knowing it does not let anyone decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApprovalId([u8; ApprovalId::LENGTH]);

impl ApprovalId {
    const LENGTH: usize = 12;
    /// Without those that look alike.
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    pub fn generate() -> Self {
        let random = Uuid::new_v4().into_bytes();
        let mut letters = [0; Self::LENGTH];
        // Without the middle bytes, which have bits that say what kind of id it is.
        let bytes = random[..6].iter().chain(&random[10..]);
        for (letter, byte) in letters.iter_mut().zip(bytes) {
            *letter = Self::LETTERS[usize::from(byte % 32)];
        }
        Self(letters)
    }

    pub fn as_str(&self) -> &str {
        // Only letters of the list get in.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not the id of an approval")]
pub struct InvalidApprovalId;

impl FromStr for ApprovalId {
    type Err = InvalidApprovalId;

    fn from_str(text: &str) -> Result<Self, InvalidApprovalId> {
        let letters = text.as_bytes().try_into().map_err(|_| InvalidApprovalId)?;
        let id = Self(letters);
        if id.0.iter().all(|letter| Self::LETTERS.contains(letter)) { Ok(id) } else { Err(InvalidApprovalId) }
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for ApprovalId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ApprovalId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl HeldState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Used => "used",
            Self::Expired => "expired",
        }
    }
}

impl Decider {
    /// As records name it; `caller` is whose call it is.
    pub fn name(&self, caller: &Arc<str>) -> Arc<str> {
        match self {
            Self::Client => Arc::clone(caller),
            Self::Owner => "owner".into(),
            Self::Approver(name) => Arc::clone(name),
        }
    }

    /// The way the decision came.
    pub fn wire(&self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Owner => "cli",
            Self::Approver(_) => "rest",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::ApprovalId;

    #[test]
    fn ids_read_back_and_do_not_repeat() {
        let ids: Vec<_> = (0..1000).map(|_| ApprovalId::generate()).collect();
        let texts: BTreeSet<_> = ids.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), ids.len());
        for id in ids {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in ["", "abc", "0123456789ab0", "0123456789aB", "0123456789a-", "0123456789al", "é123456789a"] {
            assert!(text.parse::<ApprovalId>().is_err(), "{text}");
        }
    }
}
