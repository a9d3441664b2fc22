//! What must outlive the process.
//!
//! [`Store`] opens a folder with a SQLite file, or a PostgreSQL database; many processes share one. Whatever is written
//! goes through the process's writers, who answer nobody before it is on disk. The audit log is hash chains, one per
//! writer ([`AuditWriter`]), checked by [`Store::verify`] without trusting the database: up to
//! the moment the newest chain was opened, nothing can be changed, cut off or removed alone. What came later can be cut
//! off by whoever can write the database, and a log made anew as a whole verifies; see `chain.rs`.

mod accesses;
mod approvals;
mod backlog;
mod chain;
mod context;
mod db;
mod error;
mod folder;
mod receipts;
mod record;
mod stats;
mod store;
mod tasks;
mod verify;

pub use accesses::{Accesses, FileAccess};
pub use approvals::StoredCalls;
pub use chain::ChainHash;
pub use context::{ContextRow, ContextRows, Digest, NewRow, OriginRows};
pub use db::{BadAddress, Place, Server};
pub use error::StoreError;
pub use folder::create_data_folder;
pub use receipts::{Receipts, StoredReceipt};
pub use record::{Gap, RawRecord, Record, RecordBody};
pub use stats::{Durations, StatsQuery, ToolStats};
pub use store::{AuditWriter, Store};
pub use tasks::{NewDescription, Task, TaskChange, TaskQuery, TaskStatus, Tasks, TasksError};
pub use verify::{Extent, Finding, FindingKind, Verdict};
