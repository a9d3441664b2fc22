//! What must outlive the process.
//!
//! [`Store`] opens the data folder; many processes share one. Whatever is written goes through one writer per process,
//! which puts everything that arrives together into one transaction and answers nobody before it is on disk. The audit
//! log is a hash chain per process ([`AuditWriter`]), checked by [`Store::verify`] without trusting the database: up to
//! the moment the newest chain was opened, nothing can be changed, cut off or removed alone. What came later can be cut
//! off by whoever can write the database, and a log made anew as a whole verifies; see `chain.rs`.

mod approvals;
mod backlog;
mod chain;
mod error;
mod record;
mod sqlite;
mod stats;
mod store;
mod tasks;
mod verify;

pub use approvals::StoredCalls;
pub use chain::ChainHash;
pub use error::StoreError;
pub use record::{Gap, RawRecord, Record, RecordBody};
pub use stats::{Durations, ToolStats};
pub use store::{AuditWriter, Store};
pub use tasks::{NewDescription, Task, TaskChange, TaskQuery, TaskStatus, Tasks, TasksError};
pub use verify::{Extent, Finding, FindingKind, Verdict};
