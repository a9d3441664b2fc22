//! Connections for those who read: few, and none while nobody does.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};

use super::place::Place;
use super::sql::{Connection, Held, is_damage};
use super::sqlite::{File, FileIdentity};
use super::{postgres, sqlite};
use crate::StoreError;

/// On SQLite a connection has a thread and a page cache.
const SQLITE_MAX: u32 = 2;

/// On PostgreSQL it is a process of the server, and the server has a hundred for everybody.
const POSTGRES_MAX: u32 = 8;

const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// For SQLite's threads to be free; a server that is restarted is waited for this long, too.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the end waits for those who are still reading.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Between looking at the file and connecting to it someone may replace it, once by accident.
const ACQUIRE_ATTEMPTS: usize = 3;

#[derive(Debug)]
pub(super) enum Pool {
    Sqlite {
        file: File,
        /// Connections to the file that was there when one was last asked for.
        current: Mutex<Option<Current>>,
    },
    Postgres {
        database: String,
        pool: PgPool,
    },
}

#[derive(Debug, Clone)]
pub(super) struct Current {
    identity: FileIdentity,
    pool: SqlitePool,
}

impl Pool {
    pub(super) fn new(place: &Place) -> Self {
        match place {
            Place::Folder(folder) => Self::Sqlite { file: File::in_folder(folder), current: Mutex::default() },
            Place::Server(server) => {
                let options = PgPoolOptions::new()
                    .min_connections(0)
                    .max_connections(POSTGRES_MAX)
                    .idle_timeout(IDLE_TIMEOUT)
                    .acquire_timeout(ACQUIRE_TIMEOUT);
                Self::Postgres {
                    database: server.to_string(),
                    pool: options.connect_lazy_with(postgres::options(server)),
                }
            }
        }
    }

    /// On SQLite, to the file that is there now: one that was removed or replaced could still be read.
    pub(super) async fn acquire(&self) -> Result<Connection, StoreError> {
        let (file, current) = match self {
            Self::Postgres { pool, .. } => {
                let connection = pool.acquire().await.map_err(|source| self.read_error(source))?;
                return Ok(Connection::Postgres(Held::Lent(connection)));
            }
            Self::Sqlite { file, current } => (file, current),
        };
        let now = || file.identity().map_err(|source| StoreError::Read(source.into()));
        for _ in 0..ACQUIRE_ATTEMPTS {
            let Current { identity, pool } = pool_of(file, current, now()?);
            let connection = pool.acquire().await.map_err(|source| self.read_error(source))?;
            if now()? == identity {
                return Ok(Connection::Sqlite(Held::Lent(connection)));
            }
            connection.close().await.map_err(|source| self.read_error(source))?;
        }
        Err(StoreError::Read(io::Error::other("the file is replaced again and again").into()))
    }

    /// Does not wait for long: whoever reads on for longer is cut off when the process ends.
    pub(super) async fn close(&self) {
        let closed = async {
            match self {
                Self::Postgres { pool, .. } => pool.close().await,
                Self::Sqlite { current, .. } => {
                    let current = current.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    if let Some(Current { pool, .. }) = current {
                        pool.close().await;
                    }
                }
            }
        };
        if tokio::time::timeout(CLOSE_TIMEOUT, closed).await.is_err() {
            tracing::warn!("the database is still being read at the end");
        }
    }

    pub(super) fn read_error(&self, source: sqlx::Error) -> StoreError {
        if !is_damage(&source) {
            return StoreError::Read(source);
        }
        let database = match self {
            Self::Sqlite { file, .. } => file.database().display().to_string(),
            Self::Postgres { database, .. } => database.clone(),
        };
        StoreError::Corrupt { database, source }
    }
}

fn pool_of(file: &File, current: &Mutex<Option<Current>>, identity: FileIdentity) -> Current {
    let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
    match &*current {
        Some(known) if known.identity == identity => known.clone(),
        Some(_) | None => {
            let options = SqlitePoolOptions::new()
                .min_connections(0)
                .max_connections(SQLITE_MAX)
                .idle_timeout(IDLE_TIMEOUT)
                .acquire_timeout(ACQUIRE_TIMEOUT)
                // A file does not go away without being noticed.
                .test_before_acquire(false);
            let pool = options.connect_lazy_with(sqlite::options(file.database()).pragma("query_only", "ON"));
            current.insert(Current { identity, pool }).clone()
        }
    }
}
