//! The receipt of a plain call: what the audit log has of it. Arguments and result are there as digests.

use countersign_contract::{AuditEntry, Digest, ToolName};
use serde::{Deserialize, Serialize};

use super::FORMAT;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallReceipt {
    pub format: u32,
    /// All of one request, oldest first.
    pub records: Vec<AuditRecord>,
}

/// A record and its place in the chain: with the log beside it, the receipt can be held against that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditRecord {
    pub chain: i64,
    pub seq: i64,
    pub hash: String,
    pub entry: AuditEntry,
}

impl CallReceipt {
    pub fn new(records: Vec<AuditRecord>) -> Self {
        Self { format: FORMAT, records }
    }

    pub(super) fn tool(&self) -> Option<(&ToolName, Digest)> {
        self.records.first().map(|record| (&record.entry.tool, record.entry.contract))
    }

    /// Records of one call speak of the same things.
    pub(super) fn agrees(&self) -> Result<(), String> {
        let Some(first) = self.records.first() else { return Err("it has no record".to_owned()) };
        let of = |entry: &AuditEntry| (entry.request_id, entry.tool.clone(), entry.contract, entry.arguments);
        match self.records.iter().find(|record| of(&record.entry) != of(&first.entry)) {
            Some(other) => Err(format!("record {} is of another call", other.seq)),
            None => Ok(()),
        }
    }
}
