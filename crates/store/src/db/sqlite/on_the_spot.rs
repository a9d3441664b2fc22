//! Statements run in the thread that asks for them, for the writer. sqlx has a thread for each SQLite connection, and to
//! wake it and be woken takes longer than most statements: here a whole transaction is one trip to a thread, which whoever
//! writes makes.
//!
//! Nothing here ever waits without blocking: a thread that may not be blocked must not come here.

use std::error::Error as StdError;
use std::fmt;

use rusqlite::types::{FromSql, ToSql, ValueRef};
use rusqlite::{Connection, Statement};
use sqlx::SqlStr;
use sqlx::error::{DatabaseError, ErrorKind};

/// A statement and what it is given.
pub(crate) struct Query<'c> {
    text: SqlStr,
    given: Vec<Box<dyn ToSql + Send + 'c>>,
    connection: &'c mut Connection,
}

/// As SQLite gave it; text need not be text.
pub(crate) struct Row(Vec<Cell>);

enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

/// What a cell can be taken for, borrowed or not.
pub(crate) trait TakenFrom<'r>: Sized {
    fn taken_from(value: ValueRef<'r>) -> Result<Self, rusqlite::types::FromSqlError>;
}

/// SQLite's own error, where sqlx's are expected.
#[derive(Debug)]
pub(super) struct Failed {
    code: i32,
    message: String,
}

impl<'c> Query<'c> {
    pub(in crate::db) fn new(text: SqlStr, connection: &'c mut Connection) -> Self {
        Self { text, given: Vec::new(), connection }
    }

    pub(in crate::db) fn bind(mut self, value: impl ToSql + Send + 'c) -> Self {
        self.given.push(Box::new(value));
        self
    }

    /// Answers how many rows it changed.
    pub(in crate::db) fn execute(self) -> Result<u64, sqlx::Error> {
        let ran = || -> rusqlite::Result<u64> {
            let mut statement = self.connection.prepare_cached(self.text.as_str())?;
            give(&mut statement, &self.given)?;
            let mut rows = statement.raw_query();
            while rows.next()?.is_some() {}
            drop(rows);
            drop(statement);
            Ok(self.connection.changes())
        };
        ran().map_err(error)
    }

    /// At most so many rows.
    pub(in crate::db) fn rows(self, most: usize) -> Result<Vec<Row>, sqlx::Error> {
        let ran = || -> rusqlite::Result<Vec<Row>> {
            let mut statement = self.connection.prepare_cached(self.text.as_str())?;
            let columns = statement.column_count();
            give(&mut statement, &self.given)?;
            let (mut rows, mut found) = (statement.raw_query(), Vec::new());
            while let Some(row) = rows.next()? {
                if found.len() < most {
                    found.push(Row((0..columns)
                        .map(|column| row.get_ref(column).map(Cell::of))
                        .collect::<Result<_, _>>()?));
                }
            }
            Ok(found)
        };
        ran().map_err(error)
    }
}

/// To SQLite, `$2` is a name: its place is where it first stands.
fn give(statement: &mut Statement<'_>, given: &[Box<dyn ToSql + Send + '_>]) -> rusqlite::Result<()> {
    for place in 1..=statement.parameter_count() {
        let number: Option<usize> =
            statement.parameter_name(place).and_then(|name| name.strip_prefix('$')?.parse().ok());
        let value = number.and_then(|number| given.get(number.checked_sub(1)?));
        let value =
            value.ok_or_else(|| rusqlite::Error::InvalidParameterCount(given.len(), statement.parameter_count()))?;
        statement.raw_bind_parameter(place, value)?;
    }
    Ok(())
}

impl Row {
    pub(in crate::db) fn get<'r, T: TakenFrom<'r>>(&'r self, column: usize) -> Result<T, sqlx::Error> {
        let wrong = |source| sqlx::Error::ColumnDecode { index: column.to_string(), source };
        T::taken_from(self.cell(column)?.value()).map_err(|error| wrong(Box::new(error)))
    }

    /// `None` for numbers, too.
    pub(in crate::db) fn bytes(&self, column: usize) -> Result<Option<&[u8]>, sqlx::Error> {
        Ok(match self.cell(column)? {
            Cell::Text(bytes) | Cell::Blob(bytes) => Some(bytes),
            Cell::Null | Cell::Integer(_) | Cell::Real(_) => None,
        })
    }

    fn cell(&self, column: usize) -> Result<&Cell, sqlx::Error> {
        self.0.get(column).ok_or(sqlx::Error::ColumnIndexOutOfBounds { index: column, len: self.0.len() })
    }
}

impl Cell {
    fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(bytes) => Self::Text(bytes.to_vec()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }

    fn value(&self) -> ValueRef<'_> {
        match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(bytes) => ValueRef::Text(bytes),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }
    }
}

/// Owned values are taken as rusqlite takes them.
macro_rules! taken {
    ($($owned:ty),*) => {
        $(impl<'r> TakenFrom<'r> for $owned {
            fn taken_from(value: ValueRef<'r>) -> Result<Self, rusqlite::types::FromSqlError> {
                Self::column_result(value)
            }
        })*
    };
}

taken!(bool, i64, String, Vec<u8>);

impl<'r> TakenFrom<'r> for &'r str {
    fn taken_from(value: ValueRef<'r>) -> Result<Self, rusqlite::types::FromSqlError> {
        value.as_str()
    }
}

impl<'r> TakenFrom<'r> for &'r [u8] {
    fn taken_from(value: ValueRef<'r>) -> Result<Self, rusqlite::types::FromSqlError> {
        value.as_blob()
    }
}

impl<'r, T: TakenFrom<'r>> TakenFrom<'r> for Option<T> {
    fn taken_from(value: ValueRef<'r>) -> Result<Self, rusqlite::types::FromSqlError> {
        if matches!(value, ValueRef::Null) { Ok(None) } else { T::taken_from(value).map(Some) }
    }
}

/// In sqlx's words, which are those of everybody else here.
pub(in crate::db) fn error(error: rusqlite::Error) -> sqlx::Error {
    match error.sqlite_error().map(|failure| failure.extended_code) {
        Some(code) => sqlx::Error::Database(Box::new(Failed { code, message: error.to_string() })),
        None => sqlx::Error::Encode(error.into()),
    }
}

impl Failed {
    /// SQLite's primary result code.
    pub(super) fn result_code(&self) -> i32 {
        self.code & 0xff
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "(code: {}) {}", self.code, self.message)
    }
}

impl StdError for Failed {}

impl DatabaseError for Failed {
    fn message(&self) -> &str {
        &self.message
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}
