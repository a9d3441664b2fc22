//! What a call can do to the world.

use serde::{Deserialize, Serialize};

/// Decides approval, audit and the annotations a client sees. Ordered from harmless to dangerous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads what is on this machine.
    ReadsLocal,
    /// Reads from elsewhere: what comes back is untrusted, and the request itself can carry something out.
    ReadsNetwork,
    /// Adds or changes, and the earlier state can be had again.
    Writes,
    /// Overwrites or removes for good.
    Destroys,
}

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadsLocal => "reads_local",
            Self::ReadsNetwork => "reads_network",
            Self::Writes => "writes",
            Self::Destroys => "destroys",
        }
    }

    /// Whether the call leaves something changed: its intent is then audited before it runs.
    pub fn changes_something(self) -> bool {
        match self {
            Self::ReadsLocal | Self::ReadsNetwork => false,
            Self::Writes | Self::Destroys => true,
        }
    }
}
