//! Why a store cannot be used, in variants that a message with a hint can be made from.

use std::io;
use std::path::PathBuf;

use sqlx::migrate::MigrateError;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the data folder `{}` cannot be used", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: io::Error,
    },

    #[error("there is no store in `{place}`")]
    NotThere { place: String },

    /// Whoever holds the lock creates or upgrades the database; that takes a moment, so it must be stuck.
    #[error("another process keeps the store in `{place}` locked")]
    Locked { place: String },

    #[error("the database `{database}` cannot be opened")]
    Open {
        database: String,
        #[source]
        source: sqlx::Error,
    },

    /// No server, or one that does not let us in.
    #[error("cannot connect to the database `{database}`")]
    Unreachable {
        database: String,
        #[source]
        source: sqlx::Error,
    },

    #[error("the database `{database}` cannot be used: {reason}")]
    Unsuitable { database: String, reason: String },

    #[error(
        "the database `{database}` was made by a newer version (its schema is {found}, this version knows {known})"
    )]
    NewerSchema { database: String, found: i64, known: i64 },

    #[error("the database `{database}` cannot be brought to this version's schema")]
    Migrate {
        database: String,
        #[source]
        source: MigrateError,
    },

    #[error("the database `{database}` is damaged")]
    Corrupt {
        database: String,
        #[source]
        source: sqlx::Error,
    },

    #[error("the database cannot be read")]
    Read(#[source] sqlx::Error),

    /// The log has the cause: it concerns everyone who writes, and is told once.
    #[error("the database cannot be written")]
    Unwritable,

    #[error("record {seq} of audit chain {chain} cannot be read")]
    UnreadableRecord {
        chain: i64,
        seq: i64,
        #[source]
        source: serde_json::Error,
    },

    #[error("the records cannot be passed on")]
    Export(#[source] io::Error),

    #[error("{entries} audit entries could not be written before the end")]
    Unflushed { entries: u64 },
}
