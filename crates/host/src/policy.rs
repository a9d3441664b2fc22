//! What the operator decided about calls. Replaced as a whole when the configuration changes.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_contract::{Approval, Contract, ToolName};

/// Every field overrides what the tool's own contract says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Calls a minute for one caller; 0 lifts the contract's limit.
    pub rate_per_minute: BTreeMap<ToolName, u32>,
    pub timeout: Duration,
    pub timeouts: BTreeMap<ToolName, Duration>,
    pub approval: BTreeMap<ToolName, Approval>,
}

impl Policy {
    pub(crate) fn rate_for(&self, contract: &Contract) -> Option<u32> {
        let configured = self.rate_per_minute.get(&contract.name).copied();
        configured.or(contract.terms.limits.rate_per_minute).filter(|limit| *limit > 0)
    }

    pub(crate) fn timeout_for(&self, contract: &Contract) -> Duration {
        let configured = self.timeouts.get(&contract.name).copied();
        configured.or(contract.terms.limits.timeout).unwrap_or(self.timeout)
    }

    /// The stricter of the two: a contract that wants approval cannot be talked out of it.
    pub(crate) fn approval_for(&self, contract: &Contract) -> Approval {
        let configured = self.approval.get(&contract.name).copied().unwrap_or_default();
        configured.max(contract.terms.approval)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            rate_per_minute: BTreeMap::new(),
            timeout: Duration::from_secs(30),
            timeouts: BTreeMap::new(),
            approval: BTreeMap::new(),
        }
    }
}
