//! Pages of tasks, read on the spot. sqlx has a thread for each SQLite connection, and to wake it and be woken takes
//! several times as long as to read a page that an index leads to.
//!
//! Never waits: whoever finds no free connection, a lock or an error takes the usual way, which says what is wrong.

use std::sync::Mutex;
use std::time::Duration;

use rusqlite::types::Type;
use rusqlite::{Connection, OpenFlags, Row, params};

use super::{File, FileIdentity, PAGE_CACHE};
use crate::db::tasks::{Columns, task};
use crate::{Task, TaskQuery};

/// As many as there are threads that read at once, as a rule.
const CONNECTIONS: usize = 4;

#[derive(Debug)]
pub(in crate::db) struct AtOnce {
    file: File,
    kept: [Mutex<Option<Kept>>; CONNECTIONS],
}

#[derive(Debug)]
struct Kept {
    connection: Connection,
    /// The file that it leads to: one that was removed or replaced could still be read.
    identity: FileIdentity,
}

impl AtOnce {
    pub(in crate::db) fn new(file: File) -> Self {
        Self { file, kept: Default::default() }
    }

    pub(in crate::db) fn tasks(&self, query: TaskQuery) -> Option<Vec<Task>> {
        let mut place = self.kept.iter().find_map(|place| place.try_lock().ok())?;
        let identity = self.file.identity().ok()?;
        let kept = match place.take() {
            Some(kept) if kept.identity == identity => kept,
            Some(_) | None => Kept { connection: self.connect().ok()?, identity },
        };
        let tasks = page(&kept.connection, query).ok();
        // While it was connected, the file may have become another.
        if self.file.identity().ok()? != identity {
            return None;
        }
        // One that failed is not used again.
        *place = tasks.is_some().then_some(kept);
        tasks
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(self.file.database(), flags)?;
        connection.busy_timeout(Duration::ZERO)?;
        connection.pragma_update(None, "query_only", "ON")?;
        connection.pragma_update(None, "cache_size", PAGE_CACHE)?;
        Ok(connection)
    }

    pub(in crate::db) fn close(&self) {
        for place in &self.kept {
            if let Ok(mut place) = place.lock() {
                *place = None;
            }
        }
    }
}

fn page(connection: &Connection, query: TaskQuery) -> rusqlite::Result<Vec<Task>> {
    let TaskQuery { status, after, limit } = query;
    match status {
        None => {
            let text = "SELECT id, title, description, status, created_at, completed_at FROM task \
                        WHERE id > ?1 ORDER BY id LIMIT CAST(?2 AS BIGINT)";
            connection.prepare_cached(text)?.query_map(params![after, limit], read)?.collect()
        }
        Some(status) => {
            let text = "SELECT id, title, description, status, created_at, completed_at FROM task \
                        WHERE status = ?1 AND id > ?2 ORDER BY id LIMIT CAST(?3 AS BIGINT)";
            connection.prepare_cached(text)?.query_map(params![status.as_str(), after, limit], read)?.collect()
        }
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Task> {
    let status = row.get_ref(3)?.as_str()?;
    let columns: Columns<'_> = (row.get(0)?, row.get(1)?, row.get(2)?, status, row.get(4)?, row.get(5)?);
    task(columns).map_err(|error| rusqlite::Error::FromSqlConversionFailure(3, Type::Text, error.into()))
}
