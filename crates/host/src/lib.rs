//! The host: which tools there are, and the one path that every call takes.
//!
//! It never sees a status code, a tool's own types or a database: tools come as `dyn AnyTool`, the audit log as
//! `dyn AuditLog`, and what it hands to a wire is a `Reply`.

mod approvals;
mod budget;
mod catalog;
mod changes;
mod documents;
mod gate;
mod lent;
mod limits;
mod metrics;
mod policy;
mod record;
mod redact;

pub use approvals::{ApprovalRequest, Approvals, NoApprover, People, Signpost, framed};
pub use budget::QueryId;
pub use catalog::{Catalog, DuplicateTool};
pub use changes::{Change, Changes};
pub use documents::ContractDocuments;
pub use gate::{Answer, Call, Gate, NoAnswer, NotCalled, Wire};
pub use metrics::{Metrics, ServerFigures, ToolFigures};
pub use policy::{Policy, Ruling};
pub use record::{CallLog, CallRecord, Recorder};
