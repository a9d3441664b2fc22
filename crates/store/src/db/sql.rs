//! Either database behind one set of words. Statements are written in what both understand; the few words that differ
//! are methods here.
//!
//! Transactions are begun and ended by plain statements: whoever gives up in between must give up the connection, too.

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use rusqlite::types::ToSql;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Connection as _, Database, Decode, Encode, Postgres, Row as _, SqlSafeStr, Sqlite, Type};

use super::sqlite::on_the_spot::{self, TakenFrom};
use super::{postgres, sqlite};

/// Longer than the server itself lets a statement take: then it is the way to the server that is broken.
const PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) enum Connection {
    Sqlite(Held<Sqlite>),
    /// The writer's. Whoever uses it blocks the thread.
    SqliteOnTheSpot(rusqlite::Connection),
    Postgres(Held<Postgres>),
}

/// A connection that is someone's own, or a pool's.
#[derive(Debug)]
pub(crate) enum Held<D: Database> {
    Own(D::Connection),
    Lent(PoolConnection<D>),
}

/// What processes take turns at. Where there is only one writer at a time anyway, nobody needs to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Turn {
    /// Opening an audit chain: its number is the next one.
    Chain,
    /// Looking at approvals and using one up.
    Approvals,
}

/// A statement on its way to a connection.
pub(crate) enum Query<'c> {
    Sqlite(sqlx::query::Query<'c, Sqlite, SqliteArguments>, &'c mut SqliteConnection),
    SqliteOnTheSpot(on_the_spot::Query<'c>),
    Postgres(sqlx::query::Query<'c, Postgres, PgArguments>, &'c mut PgConnection),
}

pub(crate) enum Row {
    Sqlite(SqliteRow),
    SqliteOnTheSpot(on_the_spot::Row),
    Postgres(PgRow),
}

/// What both databases can be given.
pub(crate) trait Given<'q>:
    Type<Sqlite> + Type<Postgres> + Encode<'q, Sqlite> + Encode<'q, Postgres> + ToSql + Send + 'q
{
}

impl<'q, T> Given<'q> for T where
    T: Type<Sqlite> + Type<Postgres> + Encode<'q, Sqlite> + Encode<'q, Postgres> + ToSql + Send + 'q
{
}

/// What both databases can give.
pub(crate) trait Taken<'r>:
    Type<Sqlite> + Type<Postgres> + Decode<'r, Sqlite> + Decode<'r, Postgres> + TakenFrom<'r>
{
}

impl<'r, T> Taken<'r> for T where
    T: Type<Sqlite> + Type<Postgres> + Decode<'r, Sqlite> + Decode<'r, Postgres> + TakenFrom<'r>
{
}

impl Connection {
    /// Parameters are `$1`, `$2` and so on.
    pub(crate) fn query(&mut self, text: impl SqlSafeStr) -> Query<'_> {
        match self {
            Self::Sqlite(connection) => Query::Sqlite(sqlx::query(text), connection),
            Self::SqliteOnTheSpot(connection) => {
                Query::SqliteOnTheSpot(on_the_spot::Query::new(text.into_sql_str(), connection))
            }
            Self::Postgres(connection) => Query::Postgres(sqlx::query(text), connection),
        }
    }

    /// A transaction that will write.
    pub(crate) async fn begin(&mut self) -> Result<(), sqlx::Error> {
        let text = match self {
            // A transaction that begins as a reader cannot wait for its turn to write.
            Self::Sqlite(_) | Self::SqliteOnTheSpot(_) => "BEGIN IMMEDIATE",
            Self::Postgres(_) => "BEGIN",
        };
        self.query(text).execute().await.map(drop)
    }

    /// A transaction that sees one moment, however long it takes.
    pub(crate) async fn begin_snapshot(&mut self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(_) | Self::SqliteOnTheSpot(_) => self.query("BEGIN").execute().await.map(drop),
            Self::Postgres(_) => {
                self.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").execute().await?;
                self.query("SET LOCAL statement_timeout = 0").execute().await.map(drop)
            }
        }
    }

    /// A statement that controls the transaction.
    pub(crate) async fn control(&mut self, text: &'static str) -> Result<(), sqlx::Error> {
        self.query(text).execute().await.map(drop)
    }

    /// Until the end of the transaction.
    pub(crate) async fn take_turn(&mut self, turn: Turn) -> Result<(), sqlx::Error> {
        match self {
            // BEGIN IMMEDIATE took it.
            Self::Sqlite(_) | Self::SqliteOnTheSpot(_) => Ok(()),
            Self::Postgres(_) => {
                let key = postgres::LOCKS + 1 + turn as i64;
                self.query("SELECT pg_advisory_xact_lock($1)").bind(key).execute().await.map(drop)
            }
        }
    }

    /// Takes it out of its pool for good: no transaction that was left open finds its way back there.
    pub(crate) fn detach(self) -> Self {
        match self {
            Self::Sqlite(held) => Self::Sqlite(held.detach()),
            Self::SqliteOnTheSpot(_) => self,
            Self::Postgres(held) => Self::Postgres(held.detach()),
        }
    }

    pub(crate) async fn close(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(Held::Own(connection)) => connection.close().await,
            Self::Sqlite(Held::Lent(connection)) => connection.close().await,
            Self::SqliteOnTheSpot(connection) => connection.close().map_err(|(_, error)| on_the_spot::error(error)),
            Self::Postgres(Held::Own(connection)) => in_time(connection.close()).await,
            Self::Postgres(Held::Lent(connection)) => in_time(connection.close()).await,
        }
    }
}

impl<'c> Query<'c> {
    pub(crate) fn bind(self, value: impl Given<'c>) -> Self {
        match self {
            Self::Sqlite(query, connection) => Self::Sqlite(query.bind(value), connection),
            Self::SqliteOnTheSpot(query) => Self::SqliteOnTheSpot(query.bind(value)),
            Self::Postgres(query, connection) => Self::Postgres(query.bind(value), connection),
        }
    }

    /// Answers how many rows it changed.
    pub(crate) async fn execute(self) -> Result<u64, sqlx::Error> {
        match self {
            Self::Sqlite(query, connection) => Ok(query.execute(connection).await?.rows_affected()),
            Self::SqliteOnTheSpot(query) => query.execute(),
            Self::Postgres(query, connection) => Ok(in_time(query.execute(connection)).await?.rows_affected()),
        }
    }

    pub(crate) async fn fetch_all(self) -> Result<Vec<Row>, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(query, connection) => {
                query.fetch_all(connection).await?.into_iter().map(Row::Sqlite).collect()
            }
            Self::SqliteOnTheSpot(query) => query.rows(usize::MAX)?.into_iter().map(Row::SqliteOnTheSpot).collect(),
            Self::Postgres(query, connection) => {
                in_time(query.fetch_all(connection)).await?.into_iter().map(Row::Postgres).collect()
            }
        })
    }

    pub(crate) async fn fetch_optional(self) -> Result<Option<Row>, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(query, connection) => query.fetch_optional(connection).await?.map(Row::Sqlite),
            Self::SqliteOnTheSpot(query) => query.rows(1)?.pop().map(Row::SqliteOnTheSpot),
            Self::Postgres(query, connection) => in_time(query.fetch_optional(connection)).await?.map(Row::Postgres),
        })
    }

    pub(crate) async fn fetch_one(self) -> Result<Row, sqlx::Error> {
        self.fetch_optional().await?.ok_or(sqlx::Error::RowNotFound)
    }

    /// One row at a time, as they come.
    pub(crate) fn fetch(self) -> BoxStream<'c, Result<Row, sqlx::Error>> {
        match self {
            Self::Sqlite(query, connection) => query.fetch(connection).map(|row| row.map(Row::Sqlite)).boxed(),
            Self::SqliteOnTheSpot(query) => match query.rows(usize::MAX) {
                Ok(rows) => stream::iter(rows).map(|row| Ok(Row::SqliteOnTheSpot(row))).boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            },
            Self::Postgres(query, connection) => query.fetch(connection).map(|row| row.map(Row::Postgres)).boxed(),
        }
    }
}

impl Row {
    pub(crate) fn get<'r, T: Taken<'r>>(&'r self, column: usize) -> Result<T, sqlx::Error> {
        match self {
            Self::Sqlite(row) => row.try_get(column),
            Self::SqliteOnTheSpot(row) => row.get(column),
            Self::Postgres(row) => row.try_get(column),
        }
    }

    /// What is there, be it bytes or text, and text that is none: whoever verifies takes it as it is.
    pub(crate) fn bytes(&self, column: usize) -> Result<Option<&[u8]>, sqlx::Error> {
        match self {
            Self::Sqlite(row) => row.try_get_unchecked(column),
            Self::SqliteOnTheSpot(row) => row.bytes(column),
            Self::Postgres(row) => row.try_get_unchecked(column),
        }
    }
}

impl<D: Database> Held<D> {
    fn detach(self) -> Self {
        match self {
            Self::Own(connection) => Self::Own(connection),
            Self::Lent(connection) => Self::Own(connection.detach()),
        }
    }
}

impl<D: Database> Deref for Held<D> {
    type Target = D::Connection;

    fn deref(&self) -> &D::Connection {
        match self {
            Self::Own(connection) => connection,
            Self::Lent(connection) => connection,
        }
    }
}

impl<D: Database> DerefMut for Held<D> {
    fn deref_mut(&mut self) -> &mut D::Connection {
        match self {
            Self::Own(connection) => connection,
            Self::Lent(connection) => connection,
        }
    }
}

/// Whether the database itself is damaged.
pub(super) fn is_damage(error: &sqlx::Error) -> bool {
    sqlite::is_damage(error) || postgres::is_damage(error)
}

/// Whether the statement itself was at fault, so that others may go on.
pub(super) fn is_statement_failure(error: &sqlx::Error) -> bool {
    match error.as_database_error() {
        Some(_) => sqlite::is_statement_failure(error) || postgres::is_statement_failure(error),
        None => !matches!(error, sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed),
    }
}

/// A server that went away without a word never answers.
pub(super) async fn in_time<T>(answer: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    let late = || sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the server does not answer"));
    tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(|_| Err(late()))
}
