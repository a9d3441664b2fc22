//! What the operator decided about calls. Replaced as a whole when the configuration changes.

use std::collections::BTreeMap;
use std::time::Duration;

use countersign_contract::{Approval, Contract, ToolName};
use serde::{Deserialize, Serialize};

/// Every field overrides what the tool's own contract says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Calls a minute for one caller; 0 lifts the contract's limit.
    pub rate_per_minute: BTreeMap<ToolName, u32>,
    pub timeout: Duration,
    pub timeouts: BTreeMap<ToolName, Duration>,
    pub approval: BTreeMap<ToolName, Approval>,
}

/// What a contract or an operator says about calls of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ruling {
    pub approval: Approval,
    /// Absent where there is no limit.
    pub rate_per_minute: Option<u32>,
    /// Milliseconds; absent where a contract leaves it to the operator.
    pub timeout_ms: Option<u64>,
}

impl Ruling {
    /// What the contract itself says.
    pub fn promised(contract: &Contract) -> Self {
        let limits = &contract.terms.limits;
        Self {
            approval: contract.terms.approval,
            rate_per_minute: limits.rate_per_minute.filter(|limit| *limit > 0),
            timeout_ms: limits.timeout.map(milliseconds),
        }
    }

    pub fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Policy {
    /// What holds for a tool whose contract says this.
    pub fn ruling(&self, tool: &ToolName, promised: Ruling) -> Ruling {
        let rate = self.rate_per_minute.get(tool).copied().or(promised.rate_per_minute);
        let timeout = self.timeouts.get(tool).map(|timeout| milliseconds(*timeout)).or(promised.timeout_ms);
        Ruling {
            // The stricter of the two: a contract that wants approval cannot be talked out of it.
            approval: self.approval.get(tool).copied().unwrap_or_default().max(promised.approval),
            rate_per_minute: rate.filter(|limit| *limit > 0),
            timeout_ms: timeout.or_else(|| Some(milliseconds(self.timeout))),
        }
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
