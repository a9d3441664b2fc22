//! What a tool promises, and how the promise is checked.
//!
//! Everything else leans on this crate, so it stays pure: no I/O, no MCP, no HTTP, no SQL. A tool's Rust types come
//! first ([`Tool`]); schemas, documents and digests follow from them ([`Contract`]). Where two crates must meet without
//! knowing each other, the small trait that joins them lives here ([`AuditLog`]).

mod approval;
mod audit;
mod call;
mod client;
mod code;
mod content;
mod contract;
mod digest;
mod document;
mod effect;
mod error;
mod json;
mod name;
mod provider;
mod reply;
mod schema;
mod suggest;
mod tool;
mod visible;
mod write;

pub use approval::{
    ApprovalId, CallToApprove, Decider, Decision, HeldCall, HeldCalls, HeldCallsUnavailable, HeldState,
    InvalidApprovalId, NotDecided, Standing,
};
pub use audit::{AuditEntry, AuditEvent, AuditLog, AuditUnavailable, Durability};
pub use call::{Access, CallContext, Caller, Progress, ProgressUpdate, RequestId};
pub use client::{Answers, Capability, Client, ClientSide, InputRequired, Question, Questions, Severity};
pub use code::Code;
pub use content::{Content, ResourceBody, ResourceContents};
pub use contract::{
    Approval, Contract, ErrorField, ErrorForm, Example, FromServer, InvalidContract, Limits, Normalisation, Sentence,
    Terms, UpstreamTerms,
};
pub use digest::{Digest, canonical_json};
pub use document::{contract_file, contracts_markdown, examples_markdown};
pub use effect::Effect;
pub use error::{Rejection, Storage, ToolError};
pub use json::{MalformedJson, parse_json};
pub use name::{InvalidToolName, ToolName};
pub use provider::{
    NothingElse, Offers, Prompt, PromptArgument, PromptMessage, PromptText, Provider, Resource, ResourceTemplate, Role,
    Subject, Together, Wanted, Watching,
};
pub use reply::{Failure, Output, Reply};
pub use schema::{Mistake, Schema, SchemaRejected, derive_schema};
pub use suggest::closest;
pub use tool::{AnyTool, BoxFuture, Tool, typed};
pub use visible::visible;
pub use write::{in_parts, json_part, push_json_text, to_json};
