//! Getting a connection to a PostgreSQL database whose tables are there and current.
//!
//! Durability is the server's: a commit is answered when its log is on disk, and commits that come together share a
//! sync there. So each request has a transaction of its own, on one of several connections.

use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgDatabaseError};
use tokio::time::Instant;

use super::place::{IfMissing, Server};
use super::schema::{Schema, newest, schema_of};
use super::sql::{Connection, Held, in_time};
use crate::StoreError;

static MIGRATOR: Migrator = sqlx::migrate!("migrations/postgres");

/// Advisory locks have numbers; these are ours, from the letters of our name. The first is for upgrades.
pub(super) const LOCKS: i64 = 0x636f_756e_7465_7200;

/// Version 14 is the oldest that its makers maintain.
const OLDEST: i64 = 14;

/// The server gives up on what takes longer. No statement of ours does, unless the server is in trouble.
const STATEMENT_TIMEOUT: &str = if cfg!(test) { "1s" } else { "10s" };

/// For a connection that died within a transaction and does not know it.
const IDLE_IN_TRANSACTION: &str = "30s";

/// Creating takes a moment, an upgrade perhaps seconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 30 });
const LOCK_POLL: Duration = Duration::from_millis(20);

pub(super) async fn connect(server: &Server, if_missing: IfMissing) -> Result<PgConnection, StoreError> {
    let unreachable = |source| StoreError::Unreachable { database: server.to_string(), source };
    let connection = in_time(options(server).connect()).await.map_err(unreachable)?;
    let mut connection = Connection::Postgres(Held::Own(connection));
    examine(server, &mut connection).await?;
    match schema_of(&mut connection, &MIGRATOR).await.map_err(unreachable)? {
        Schema::Current => {}
        Schema::Newer { found } => {
            return Err(StoreError::NewerSchema { database: server.to_string(), found, known: newest(&MIGRATOR) });
        }
        Schema::Older { empty: true } if if_missing == IfMissing::Refuse => {
            return Err(StoreError::NotThere { place: server.to_string() });
        }
        Schema::Older { .. } => upgrade(server, &mut connection).await?,
    }
    let Connection::Postgres(Held::Own(connection)) = connection else { unreachable!("it was made above") };
    Ok(connection)
}

/// How every connection is set up.
pub(super) fn options(server: &Server) -> PgConnectOptions {
    server
        .options()
        .application_name("countersign")
        .options([
            ("statement_timeout", STATEMENT_TIMEOUT),
            ("lock_timeout", STATEMENT_TIMEOUT),
            ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION),
        ])
        .disable_statement_logging()
}

/// Whether this is a server that can keep what we promise to keep.
async fn examine(server: &Server, connection: &mut Connection) -> Result<(), StoreError> {
    let unreachable = |source| StoreError::Unreachable { database: server.to_string(), source };
    // A server, or a role, may be set to answer before anything is on disk; stricter than `on` is left as it is.
    let text = "SELECT current_setting('server_version_num')::bigint / 10000, current_setting('server_encoding'), \
                CASE current_setting('synchronous_commit') WHEN 'off' \
                THEN set_config('synchronous_commit', 'on', false) END";
    let row = connection.query(text).fetch_one().await.map_err(unreachable)?;
    let (version, encoding) = (row.get(0).map_err(unreachable)?, row.get(1).map_err(unreachable)?);
    suitable(version, encoding).map_err(|reason| StoreError::Unsuitable { database: server.to_string(), reason })
}

fn suitable(version: i64, encoding: &str) -> Result<(), String> {
    if version < OLDEST {
        return Err(format!("its version is {version}, and {OLDEST} is the oldest that will do"));
    }
    if encoding != "UTF8" {
        return Err(format!("its encoding is {encoding}, which cannot hold every text; UTF8 can"));
    }
    Ok(())
}

async fn upgrade(server: &Server, connection: &mut Connection) -> Result<(), StoreError> {
    let unreachable = |source| StoreError::Unreachable { database: server.to_string(), source };
    // Not by waiting in the database: that could not be told from being stuck.
    let deadline = Instant::now() + LOCK_TIMEOUT;
    let lock = "SELECT pg_try_advisory_lock($1)";
    while !connection.query(lock).bind(LOCKS).fetch_one().await.and_then(|row| row.get(0)).map_err(unreachable)? {
        if Instant::now() >= deadline {
            return Err(StoreError::Locked { place: server.to_string() });
        }
        tokio::time::sleep(LOCK_POLL).await;
    }
    // It may take longer than any other statement.
    connection.query("SET statement_timeout = 0").execute().await.map_err(unreachable)?;
    let Connection::Postgres(held) = &mut *connection else { unreachable!("it is PostgreSQL's") };
    let migrated = MIGRATOR.run_direct(None, &mut **held, false).await;
    migrated.map_err(|source| StoreError::Migrate { database: server.to_string(), source })?;
    for text in ["RESET statement_timeout", "SELECT pg_advisory_unlock_all()"] {
        connection.query(text).execute().await.map_err(unreachable)?;
    }
    Ok(())
}

/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
fn code(error: &sqlx::Error) -> Option<&str> {
    error.as_database_error()?.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::code)
}

pub(super) fn is_damage(error: &sqlx::Error) -> bool {
    matches!(code(error), Some("XX001" | "XX002"))
}

/// Waited for too long, for a lock or altogether, or in each other's way.
pub(super) fn is_passing(error: &sqlx::Error) -> bool {
    matches!(code(error), Some("57014" | "55P03" | "40001" | "40P01"))
}

/// Data, constraints and statements that make no sense.
pub(super) fn is_statement_failure(error: &sqlx::Error) -> bool {
    code(error).is_some_and(|code| ["22", "23", "42"].iter().any(|class| code.starts_with(class)))
}

#[cfg(test)]
mod tests;
