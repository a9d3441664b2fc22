//! Getting a connection to a SQLite file that is there, whole and current, whoever else is starting at the same moment.
//!
//! WAL with `synchronous=FULL`: readers never wait, a commit that was answered survives a crash of the machine. A database appears under its name only when it is complete: it is built beside it, synced and renamed into file.
//! So whoever finds one needs no lock; only creating and upgrading take turns.

mod at_once;
pub(super) mod on_the_spot;

use std::fs::{self, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::OpenFlags;
use sqlx::error::DatabaseError as _;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteError, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::time::Instant;

pub(super) use self::at_once::AtOnce;
use super::place::IfMissing;
use super::schema::{Schema, newest, schema_of};
use super::sql::Connection;
use crate::{StoreError, create_data_folder};

static MIGRATOR: Migrator = sqlx::migrate!("migrations/sqlite");

/// Other processes hold the write lock for one commit each; longer than this is a failure, not a queue.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Creating takes milliseconds, an upgrade perhaps seconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_POLL: Duration = Duration::from_millis(3);

/// In KiB, as SQLite counts negative sizes. The working set is the tail of a few tables.
const PAGE_CACHE: &str = "-1024";

/// Audit records take half a kilobyte each: twice SQLite's usual size means half as many calls to the disk.
const PAGE_SIZE: u32 = 8192;

/// Prepared statements of a connection; there are fewer.
const STATEMENTS_KEPT: usize = 100;

/// A long read keeps the log from being reused while others write; afterwards it shrinks to this again.
const WAL_KEPT_BYTES: &str = "8388608";

/// What SQLite puts beside a database while it is in use.
const COMPANIONS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// Nobody replaces a database while it is being opened, except once by accident.
const ATTACH_ATTEMPTS: usize = 3;

/// A store's file and the folder it is in.
#[derive(Debug, Clone)]
pub(super) struct File {
    folder: PathBuf,
    database: PathBuf,
}

/// Which file a path led to: a path whose file was removed or replaced leads to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl File {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), database: folder.join("countersign.db") }
    }

    pub(super) fn database(&self) -> &Path {
        &self.database
    }

    pub(super) fn identity(&self) -> io::Result<FileIdentity> {
        fs::metadata(&self.database).map(|found| FileIdentity { device: found.dev(), inode: found.ino() })
    }

    fn name(&self) -> String {
        self.database.display().to_string()
    }

    fn folder_error(&self) -> impl Fn(io::Error) -> StoreError {
        let path = self.folder.clone();
        move |source| StoreError::Folder { path: path.clone(), source }
    }
}

/// For whoever writes: its statements block the thread.
pub(super) async fn connect(file: &File, if_missing: IfMissing) -> Result<(Connection, FileIdentity), StoreError> {
    match file.database.try_exists().map_err(file.folder_error())? {
        true => {}
        false if if_missing == IfMissing::Refuse => {
            return Err(StoreError::NotThere { place: file.folder.display().to_string() });
        }
        false => create(file).await?,
    }
    let (connection, identity) = attach(file)?;
    let mut connection = Connection::SqliteOnTheSpot(connection);
    match schema_of(&mut connection, &MIGRATOR).await.map_err(|source| open_error(file, source))? {
        Schema::Current => {}
        Schema::Newer { found } => {
            return Err(StoreError::NewerSchema { database: file.name(), found, known: newest(&MIGRATOR) });
        }
        Schema::Older { .. } => {
            let _lock = lock(file).await?;
            upgrade(file).await?;
        }
    }
    Ok((connection, identity))
}

/// How every connection of sqlx to the finished database is set up.
pub(super) fn options(database: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(database)
        .create_if_missing(false)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("cache_size", PAGE_CACHE)
        .pragma("journal_size_limit", WAL_KEPT_BYTES)
        .disable_statement_logging()
}

fn attach(file: &File) -> Result<(rusqlite::Connection, FileIdentity), StoreError> {
    let unreachable = |source: sqlx::Error| open_error(file, source);
    for _ in 0..ATTACH_ATTEMPTS {
        let identity = file.identity().map_err(|source| unreachable(source.into()))?;
        let connection = open(&file.database).map_err(|error| unreachable(on_the_spot::error(error)))?;
        // Or the connection may lead to a file that was removed in between, and nobody would notice.
        if file.identity().is_ok_and(|now| now == identity) {
            return Ok((connection, identity));
        }
        drop(connection);
    }
    Err(unreachable(io::Error::other("the file is replaced again and again").into()))
}

/// With the same settings as [`options`].
fn open(database: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = rusqlite::Connection::open_with_flags(database, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    connection.pragma_update(None, "cache_size", PAGE_CACHE)?;
    // Answers with what it was set to.
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_KEPT_BYTES, |_| Ok(()))?;
    Ok(connection)
}

async fn create(file: &File) -> Result<(), StoreError> {
    create_data_folder(&file.folder)?;
    let _lock = lock(file).await?;
    // Another process may have been first.
    if file.database.try_exists().map_err(file.folder_error())? {
        return Ok(());
    }
    let draft = file.folder.join("countersign.db.new");
    prepare_draft(&draft).map_err(file.folder_error())?;
    build(&draft).await.map_err(|source| StoreError::Migrate { database: draft.display().to_string(), source })?;
    let target = file.clone();
    let published = tokio::task::spawn_blocking(move || publish(&draft, &target)).await;
    published.unwrap_or_else(|panicked| Err(io::Error::other(panicked))).map_err(file.folder_error())
}

/// An empty file that only its owner may read; SQLite gives the same mode to the files it puts beside it.
fn prepare_draft(draft: &Path) -> io::Result<()> {
    // Left by a process that was killed while it built.
    if_found(fs::remove_file(draft))?;
    for suffix in COMPANIONS {
        if_found(fs::remove_file(beside(draft, suffix)))?;
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft).map(drop)
}

/// Without a single sync: until it is published, nobody depends on it.
async fn build(draft: &Path) -> Result<(), MigrateError> {
    let unsynced = options(draft).synchronous(SqliteSynchronous::Off);
    let mut connection = unsynced.page_size(PAGE_SIZE).journal_mode(SqliteJournalMode::Memory).connect().await?;
    // Not `run`: its future is not general enough over lifetimes to be sent to another thread.
    MIGRATOR.run_direct(None, &mut connection, false).await?;
    // Recorded in the file, so that every later connection finds it.
    sqlx::query("PRAGMA journal_mode = WAL").execute(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

fn publish(draft: &Path, file: &File) -> io::Result<()> {
    fs::File::open(draft)?.sync_all()?;
    // SQLite would take what a database of this name left behind for a part of the new one. It may be all that is left
    // of that database, so it is not removed.
    for suffix in COMPANIONS {
        let leftover = beside(&file.database, suffix);
        if if_found(fs::rename(&leftover, beside(&leftover, ".stale")))?.is_some() {
            tracing::warn!(file = %leftover.display(), "set aside what a missing database had left behind");
        }
    }
    fs::rename(draft, &file.database)?;
    fs::File::open(&file.folder)?.sync_all()?;
    // Whoever made the folder may have been killed before this.
    let parent = file.folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::File::open(parent) {
        // Someone else made it, then.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        opened => opened?.sync_all(),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(suffix);
    beside.into()
}

/// `None` where the file was not there.
fn if_found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

async fn upgrade(file: &File) -> Result<(), StoreError> {
    let mut connection = options(&file.database).connect().await.map_err(|source| open_error(file, source))?;
    // An empty file is a database without WAL; someone may have put one here.
    let switched = sqlx::query("PRAGMA journal_mode = WAL").execute(&mut connection).await;
    switched.map_err(|source| open_error(file, source))?;
    let migrated = MIGRATOR.run_direct(None, &mut connection, false).await;
    migrated.map_err(|source| StoreError::Migrate { database: file.name(), source })?;
    connection.close().await.map_err(|source| open_error(file, source))
}

/// Held until it is dropped. Polled, because a blocking wait could not be given up.
async fn lock(file: &File) -> Result<fs::File, StoreError> {
    let path = file.folder.join("store.lock");
    let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(file.folder_error())?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => tokio::time::sleep(LOCK_POLL).await,
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked { place: file.folder.display().to_string() });
            }
            Err(TryLockError::Error(source)) => return Err(file.folder_error()(source)),
        }
    }
}

fn open_error(file: &File, source: sqlx::Error) -> StoreError {
    let database = file.name();
    if is_damage(&source) { StoreError::Corrupt { database, source } } else { StoreError::Open { database, source } }
}

/// SQLite's primary result code, where SQLite gave one. <https://www.sqlite.org/rescode.html>
fn result_code(error: &sqlx::Error) -> Option<i32> {
    let error = error.as_database_error()?;
    if let Some(failed) = error.try_downcast_ref::<on_the_spot::Failed>() {
        return Some(failed.result_code());
    }
    let extended: i32 = error.try_downcast_ref::<SqliteError>()?.code()?.parse().ok()?;
    Some(extended & 0xff)
}

/// Whether the file is not a database that SQLite can make sense of.
pub(super) fn is_damage(error: &sqlx::Error) -> bool {
    const CORRUPT: i32 = 11;
    const NOT_A_DATABASE: i32 = 26;
    matches!(result_code(error), Some(CORRUPT | NOT_A_DATABASE))
}

pub(super) fn is_statement_failure(error: &sqlx::Error) -> bool {
    const ERROR: i32 = 1;
    const TOO_BIG: i32 = 18;
    const CONSTRAINT: i32 = 19;
    const MISMATCH: i32 = 20;
    const RANGE: i32 = 25;
    matches!(result_code(error), Some(ERROR | TOO_BIG | CONSTRAINT | MISMATCH | RANGE))
}

#[cfg(test)]
mod tests;
