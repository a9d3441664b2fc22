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

    #[error("there is no store in `{}`", path.display())]
    NotThere { path: PathBuf },

    /// Whoever holds the lock creates or upgrades the database; that takes a moment, so it must be stuck.
    #[error("another process keeps the store in `{}` locked", path.display())]
    Locked { path: PathBuf },

    #[error("the database `{}` cannot be opened", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: sqlx::Error,
    },

    #[error("the database `{}` was made by a newer version (its schema is {found}, this version knows {known})", path.display())]
    NewerSchema { path: PathBuf, found: i64, known: i64 },

    #[error("the database `{}` cannot be brought to this version's schema", path.display())]
    Migrate {
        path: PathBuf,
        #[source]
        source: MigrateError,
    },

    #[error("the database `{}` is damaged", path.display())]
    Corrupt {
        path: PathBuf,
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
