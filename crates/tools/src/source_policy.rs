//! What the tools that look at source code may read: one rule for all of them.

use countersign_repo::{Name, ParentRule, PathPolicy};

/// The document's: never `.env*`, `.git` and `node_modules`, at most one megabyte a file. Names with "secret" are source
/// code here.
pub const SOURCE: PathPolicy = PathPolicy {
    blocked: &[Name::BeginsWith(".env"), Name::Is(".git"), Name::Is("node_modules")],
    parents: ParentRule::Component,
    max_bytes: 1024 * 1024,
};

/// Folders that the document leaves out of searches; `.git` and `node_modules` are refused anyway.
pub const EXCLUDED: &[&str] = &["node_modules", ".git", "dist", "build", ".next", ".context"];
