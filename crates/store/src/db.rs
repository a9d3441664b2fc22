//! The store in a database: a SQLite file that many processes share, or a PostgreSQL server.
//!
//! What the two have in common is written once, in terms of [`sql`]; what differs is in `sqlite.rs` and `postgres.rs`.
//! Only the [`writer`] writes; reads take connections of their own and see one snapshot each.

pub(crate) mod accesses;
pub(crate) mod approvals;
mod audit;
mod commit;
pub(crate) mod context;
mod place;
mod pool;
mod postgres;
mod read;
pub(crate) mod receipts;
mod schema;
mod sql;
mod sqlite;
pub(crate) mod tasks;
#[cfg(test)]
pub(crate) mod testing;
mod writer;

pub(crate) use commit::{CommitError, Done, Undo};
pub(crate) use place::IfMissing;
pub use place::{BadAddress, Place, Server};
pub(crate) use read::Reader;
pub(crate) use sql::Connection;
pub(crate) use writer::{Writer, WriterHandle};
