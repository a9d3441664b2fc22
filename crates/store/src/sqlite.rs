//! The store in one SQLite file that many processes share.
//!
//! WAL with `synchronous=FULL`: readers never wait, a commit that was answered survives a crash of the machine. Only
//! the [`writer`] writes; reads take connections of their own and see one snapshot each.

pub(crate) mod approvals;
mod audit;
mod commit;
mod connect;
mod read;
pub(crate) mod tasks;
mod writer;

pub(crate) use commit::{CommitError, Done};
pub(crate) use connect::{IfMissing, Place};
pub(crate) use read::Reader;
pub(crate) use writer::{Writer, WriterHandle};

/// SQLite's primary result code, where SQLite gave one. <https://www.sqlite.org/rescode.html>
fn result_code(error: &sqlx::Error) -> Option<i32> {
    let extended: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(extended & 0xff)
}

/// Whether the file is not a database that SQLite can make sense of.
fn is_damage(error: &sqlx::Error) -> bool {
    const CORRUPT: i32 = 11;
    const NOT_A_DATABASE: i32 = 26;
    matches!(result_code(error), Some(CORRUPT | NOT_A_DATABASE))
}

/// Whether the statement itself was at fault, so that others on the same connection may go on.
fn is_statement_failure(error: &sqlx::Error) -> bool {
    const ERROR: i32 = 1;
    const TOO_BIG: i32 = 18;
    const CONSTRAINT: i32 = 19;
    const MISMATCH: i32 = 20;
    const RANGE: i32 = 25;
    match error.as_database_error() {
        Some(_) => matches!(result_code(error), Some(ERROR | TOO_BIG | CONSTRAINT | MISMATCH | RANGE)),
        None => !matches!(error, sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed),
    }
}
