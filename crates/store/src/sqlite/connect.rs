//! Getting a connection to a database that is there, whole and current, whoever else is starting at the same moment.
//!
//! A database appears under its name only when it is complete: it is built beside it, synced and renamed into place.
//! So whoever finds one needs no lock; only creating and upgrading take turns.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::time::Instant;

use super::is_damage;
use crate::StoreError;

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

/// A long read keeps the log from being reused while others write; afterwards it shrinks to this again.
const WAL_KEPT_BYTES: &str = "8388608";

/// What SQLite puts beside a database while it is in use.
const COMPANIONS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// Nobody replaces a database while it is being opened, except once by accident.
const ATTACH_ATTEMPTS: usize = 3;

/// Where a store lies. Naming a place touches nothing.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    folder: PathBuf,
    database: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Create,
    Refuse,
}

/// Which file a path led to: a path whose file was removed or replaced leads to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

enum Schema {
    Current,
    Older,
    Newer { found: i64 },
}

impl Place {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), database: folder.join("countersign.db") }
    }

    pub(crate) fn database(&self) -> &Path {
        &self.database
    }

    pub(crate) fn identity(&self) -> io::Result<FileIdentity> {
        fs::metadata(&self.database).map(|found| FileIdentity { device: found.dev(), inode: found.ino() })
    }

    fn folder_error(&self) -> impl Fn(io::Error) -> StoreError {
        let path = self.folder.clone();
        move |source| StoreError::Folder { path: path.clone(), source }
    }
}

/// A connection, and which file it leads to.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) connection: SqliteConnection,
    pub(crate) identity: FileIdentity,
}

pub(crate) async fn connect(place: &Place, if_missing: IfMissing) -> Result<Connected, StoreError> {
    match place.database.try_exists().map_err(place.folder_error())? {
        true => {}
        false if if_missing == IfMissing::Refuse => {
            return Err(StoreError::NotThere { path: place.folder.clone() });
        }
        false => create(place).await?,
    }
    let mut connected = attach(place).await?;
    match schema_of(&mut connected.connection).await.map_err(|source| open_error(place, source))? {
        Schema::Current => Ok(connected),
        Schema::Newer { found } => {
            Err(StoreError::NewerSchema { path: place.database.clone(), found, known: newest_known() })
        }
        Schema::Older => {
            let _lock = lock(place).await?;
            upgrade(place, &mut connected.connection).await?;
            Ok(connected)
        }
    }
}

/// How every connection to the finished database is set up.
pub(crate) fn options(database: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(database)
        .create_if_missing(false)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("cache_size", PAGE_CACHE)
        .pragma("journal_size_limit", WAL_KEPT_BYTES)
        .disable_statement_logging()
}

async fn attach(place: &Place) -> Result<Connected, StoreError> {
    let unreachable = |source: sqlx::Error| open_error(place, source);
    for _ in 0..ATTACH_ATTEMPTS {
        let identity = place.identity().map_err(|source| unreachable(source.into()))?;
        let connection = options(&place.database).connect().await.map_err(unreachable)?;
        // Or the connection may lead to a file that was removed in between, and nobody would notice.
        if place.identity().is_ok_and(|now| now == identity) {
            return Ok(Connected { connection, identity });
        }
        drop(connection);
    }
    Err(unreachable(io::Error::other("the file is replaced again and again").into()))
}

async fn create(place: &Place) -> Result<(), StoreError> {
    create_folder(&place.folder).map_err(place.folder_error())?;
    let _lock = lock(place).await?;
    // Another process may have been first.
    if place.database.try_exists().map_err(place.folder_error())? {
        return Ok(());
    }
    let draft = place.folder.join("countersign.db.new");
    prepare_draft(&draft).map_err(place.folder_error())?;
    build(&draft).await.map_err(|source| StoreError::Migrate { path: draft.clone(), source })?;
    let target = place.clone();
    let published = tokio::task::spawn_blocking(move || publish(&draft, &target)).await;
    published.unwrap_or_else(|panicked| Err(io::Error::other(panicked))).map_err(place.folder_error())
}

/// One that is there already may be someone else's and gets no `.gitignore`.
fn create_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => return Ok(()),
        Err(error) => return Err(error),
    }
    let ignore = folder.join(".gitignore");
    fs::write(&ignore, "*\n").inspect_err(|_| {
        // Undone, so that the next attempt finds nothing and makes both. What cannot be undone stays as it is.
        fs::remove_file(&ignore).unwrap_or_default();
        fs::remove_dir(folder).unwrap_or_default();
    })
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

fn publish(draft: &Path, place: &Place) -> io::Result<()> {
    File::open(draft)?.sync_all()?;
    // SQLite would take what a database of this name left behind for a part of the new one. It may be all that is left
    // of that database, so it is not removed.
    for suffix in COMPANIONS {
        let leftover = beside(&place.database, suffix);
        if if_found(fs::rename(&leftover, beside(&leftover, ".stale")))?.is_some() {
            tracing::warn!(file = %leftover.display(), "set aside what a missing database had left behind");
        }
    }
    fs::rename(draft, &place.database)?;
    File::open(&place.folder)?.sync_all()?;
    // Whoever made the folder may have been killed before this.
    let parent = place.folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(parent) {
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

async fn upgrade(place: &Place, connection: &mut SqliteConnection) -> Result<(), StoreError> {
    // An empty file is a database without WAL; someone may have put one here.
    let switched = sqlx::query("PRAGMA journal_mode = WAL").execute(&mut *connection).await;
    switched.map_err(|source| open_error(place, source))?;
    let migrated = MIGRATOR.run_direct(None, connection, false).await;
    migrated.map_err(|source| StoreError::Migrate { path: place.database.clone(), source })
}

/// Held until it is dropped. Polled, because a blocking wait could not be given up.
async fn lock(place: &Place) -> Result<File, StoreError> {
    let path = place.folder.join("store.lock");
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(place.folder_error())?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => tokio::time::sleep(LOCK_POLL).await,
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path: place.folder.clone() }),
            Err(TryLockError::Error(source)) => return Err(place.folder_error()(source)),
        }
    }
}

/// What `Migrator::run` would find out, without the table creation and the transactions it begins with.
async fn schema_of(connection: &mut SqliteConnection) -> Result<Schema, sqlx::Error> {
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = '_sqlx_migrations'";
    if sqlx::query_scalar::<_, i64>(tables).fetch_one(&mut *connection).await? == 0 {
        return Ok(Schema::Older);
    }
    let applied: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT version, checksum FROM _sqlx_migrations WHERE success ORDER BY version")
            .fetch_all(connection)
            .await?;
    if let Some(&(found, _)) = applied.last().filter(|(version, _)| *version > newest_known()) {
        return Ok(Schema::Newer { found });
    }
    let known = MIGRATOR.iter().map(|migration| (migration.version, migration.checksum.as_ref()));
    let applied = applied.iter().map(|(version, checksum)| (*version, checksum.as_slice()));
    Ok(if known.eq(applied) { Schema::Current } else { Schema::Older })
}

fn newest_known() -> i64 {
    MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or_default()
}

fn open_error(place: &Place, source: sqlx::Error) -> StoreError {
    let path = place.database.clone();
    if is_damage(&source) { StoreError::Corrupt { path, source } } else { StoreError::Open { path, source } }
}

#[cfg(test)]
mod tests;
