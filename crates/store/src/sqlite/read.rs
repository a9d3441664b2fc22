//! Reading: verification sees one snapshot, whatever is being written meanwhile, and rows one at a time. What passes
//! all records on reads by pages, so that a slow taker does not keep SQLite from reusing its log.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use countersign_contract::{ApprovalId, HeldCall, RequestId};
use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{Sqlite, SqliteConnection, SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{Connection as _, Row as _};

use super::approvals;
use super::audit::{places, read_head};
use super::connect::{FileIdentity, Place, options};
use super::{is_damage, tasks};
use crate::chain::{ChainHash, Link, Opening};
use crate::record::parse;
use crate::stats::Tally;
use crate::verify::{StoredChain, StoredRecord, Verifier};
use crate::{RawRecord, Record, StoreError, Task, TaskQuery, ToolStats, Verdict};

/// A connection has a thread and a page cache, so there are few, and none while nobody reads.
const CONNECTIONS_MAX: u32 = 2;
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the end waits for those who are still reading.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

const CHAINS_PER_PAGE: i64 = 256;
const ROWS_PER_PAGE: i64 = 64;

/// Between looking at the file and connecting to it someone may replace it, once by accident.
const ACQUIRE_ATTEMPTS: usize = 3;

#[derive(Debug)]
pub(crate) struct Reader {
    place: Place,
    /// Connections to the file that was there when one was last asked for.
    current: Mutex<Option<Current>>,
}

#[derive(Debug, Clone)]
struct Current {
    identity: FileIdentity,
    pool: SqlitePool,
}

impl Reader {
    pub(crate) fn new(place: &Place) -> Self {
        Self { place: place.clone(), current: Mutex::default() }
    }

    /// Does not wait for long: whoever reads on for longer is cut off when the process ends.
    pub(crate) async fn close(&self) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(Current { pool, .. }) = current else { return };
        if tokio::time::timeout(CLOSE_TIMEOUT, pool.close()).await.is_err() {
            tracing::warn!(connections = pool.size(), "the database is still being read at the end");
        }
    }

    pub(crate) async fn verify(&self) -> Result<Verdict, StoreError> {
        let mut connection = self.acquire().await?;
        let walked = async {
            let mut snapshot = connection.begin().await?;
            verify(&mut snapshot).await
        };
        walked.await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn show(&self, request_id: RequestId) -> Result<Vec<Record>, StoreError> {
        // A look through the whole log, which nobody waits for often; an index would cost every write.
        let text = "SELECT chain, seq, CAST(body AS BLOB), CAST(hash AS BLOB) FROM audit_record \
                    WHERE instr(body, ?) > 0 ORDER BY place";
        let wanted = format!("\"request_id\":\"{request_id}\"");
        let mut connection = self.acquire().await?;
        let rows = sqlx::query(text).bind(&wanted).fetch_all(&mut *connection).await;
        let rows = rows.map_err(|source| self.read_error(source))?;
        let mut found = Vec::new();
        for row in &rows {
            let shared = records(row).map_err(|source| self.read_error(source))?;
            for record in shared.filter(|record| contains(record.body, wanted.as_bytes())) {
                found.push(read(record)?);
            }
        }
        Ok(found)
    }

    pub(crate) async fn tasks(&self, query: TaskQuery) -> Result<Vec<Task>, StoreError> {
        let mut connection = self.acquire().await?;
        tasks::list(&mut connection, query).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn waiting(&self) -> Result<Vec<HeldCall>, StoreError> {
        let mut connection = self.acquire().await?;
        approvals::waiting(&mut connection).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn held_call(&self, id: ApprovalId) -> Result<Option<HeldCall>, StoreError> {
        let mut connection = self.acquire().await?;
        approvals::get(&mut connection, id).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn export(
        &self,
        mut each: impl FnMut(RawRecord<'_>) -> io::Result<()> + Send,
    ) -> Result<(), StoreError> {
        self.each_record(|record| each(record).map_err(StoreError::Export)).await
    }

    pub(crate) async fn stats(&self, since: Option<Timestamp>) -> Result<Vec<ToolStats>, StoreError> {
        let mut tally = Tally::since(since);
        self.each_record(|record| {
            tally.record(record.body);
            Ok(())
        })
        .await?;
        Ok(tally.finish())
    }

    /// SQLite's own complaints about the file; none is what one wants.
    pub(crate) async fn integrity_check(&self) -> Result<Vec<String>, StoreError> {
        let mut connection = self.acquire().await?;
        let lines: Result<Vec<String>, _> =
            sqlx::query_scalar("PRAGMA integrity_check").fetch_all(&mut *connection).await;
        let lines = lines.map_err(|source| self.read_error(source))?;
        Ok(lines.into_iter().filter(|line| line != "ok").collect())
    }

    async fn each_record(
        &self,
        mut each: impl FnMut(RawRecord<'_>) -> Result<(), StoreError> + Send,
    ) -> Result<(), StoreError> {
        let text = "SELECT chain, seq, CAST(body AS BLOB), CAST(hash AS BLOB), place FROM audit_record \
                    WHERE place >= ? ORDER BY place LIMIT ?";
        let read_error = |source| self.read_error(source);
        let mut connection = self.acquire().await?;
        let mut next_place = Some(i64::MIN);
        while let Some(from) = next_place {
            let page = sqlx::query(text).bind(from).bind(ROWS_PER_PAGE).fetch_all(&mut *connection).await;
            let page = page.map_err(read_error)?;
            for row in &page {
                records(row).map_err(read_error)?.try_for_each(&mut each)?;
            }
            next_place = match page.last() {
                Some(last) => last.try_get::<i64, _>(4).map_err(read_error)?.checked_add(1),
                None => None,
            };
        }
        Ok(())
    }

    /// A connection to the file that is there now: one that was removed or replaced could still be read.
    pub(crate) async fn acquire(&self) -> Result<PoolConnection<Sqlite>, StoreError> {
        for _ in 0..ACQUIRE_ATTEMPTS {
            let Current { identity, pool } = self.pool(self.identity()?);
            let connection = pool.acquire().await.map_err(|source| self.read_error(source))?;
            if self.identity()? == identity {
                return Ok(connection);
            }
            connection.close().await.map_err(|source| self.read_error(source))?;
        }
        Err(StoreError::Read(io::Error::other("the file is replaced again and again").into()))
    }

    fn identity(&self) -> Result<FileIdentity, StoreError> {
        self.place.identity().map_err(|source| StoreError::Read(source.into()))
    }

    fn pool(&self, identity: FileIdentity) -> Current {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some(known) if known.identity == identity => known.clone(),
            Some(_) | None => current.insert(Current { identity, pool: new_pool(&self.place) }).clone(),
        }
    }

    fn read_error(&self, source: sqlx::Error) -> StoreError {
        if is_damage(&source) {
            return StoreError::Corrupt { path: self.place.database().to_owned(), source };
        }
        StoreError::Read(source)
    }
}

fn new_pool(place: &Place) -> SqlitePool {
    SqlitePoolOptions::new()
        .min_connections(0)
        .max_connections(CONNECTIONS_MAX)
        .idle_timeout(IDLE_TIMEOUT)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .connect_lazy_with(options(place.database()).pragma("query_only", "ON"))
}

async fn verify(snapshot: &mut SqliteConnection) -> Result<Verdict, sqlx::Error> {
    let mut verifier = Verifier::default();
    let mut chains = chains_after(snapshot, i64::MIN).await?;
    while let Some(last) = chains.last().map(|chain| chain.id) {
        for chain in &chains {
            verify_chain(snapshot, &mut verifier, chain).await?;
        }
        chains = chains_after(snapshot, last).await?;
    }
    // To a chain that is gone as a whole, it is a finding already.
    let text = "SELECT opening FROM audit_link LEFT JOIN audit_record \
                ON place = (audit_link.chain << 32) + audit_link.seq \
                WHERE substr(audit_record.hash, -32) IS NOT audit_link.hash \
                AND audit_link.chain IN (SELECT id FROM audit_chain) ORDER BY opening, audit_link.chain";
    let mut broken = sqlx::query_scalar(text).fetch(&mut *snapshot);
    while let Some(opening) = broken.try_next().await? {
        verifier.broken_link(opening);
    }
    drop(broken);
    // Hops from chain to chain; a plain DISTINCT would read every record again.
    let orphans: Vec<i64> = sqlx::query_scalar(
        "WITH RECURSIVE present (chain) AS ( \
             SELECT min(place) >> 32 FROM audit_record \
             UNION ALL \
             SELECT (SELECT min(place) >> 32 FROM audit_record WHERE place >= (present.chain + 1) << 32) \
             FROM present WHERE present.chain IS NOT NULL \
         ) \
         SELECT chain FROM present WHERE chain IS NOT NULL AND chain NOT IN (SELECT id FROM audit_chain)",
    )
    .fetch_all(&mut *snapshot)
    .await?;
    for chain in orphans {
        verifier.orphans(chain);
    }
    let opened = sqlx::query_scalar("SELECT chains_opened FROM audit_anchor").fetch_optional(snapshot).await?;
    Ok(verifier.finish(opened))
}

async fn verify_chain(
    snapshot: &mut SqliteConnection,
    verifier: &mut Verifier,
    chain: &StoredChain,
) -> Result<(), sqlx::Error> {
    let mut walk = verifier.begin(chain);
    let places = places(chain.id);
    let text = "SELECT chain, seq, CAST(body AS BLOB), CAST(hash AS BLOB) FROM audit_record WHERE place BETWEEN ? AND ? ORDER BY place";
    let mut rows = sqlx::query(text).bind(places.start()).bind(places.end()).fetch(snapshot);
    while let Some(row) = rows.try_next().await? {
        for RawRecord { chain: _, seq, hash, body } in records(&row)? {
            verifier.record(&mut walk, StoredRecord { seq, body, hash });
        }
    }
    verifier.end(&walk);
    Ok(())
}

async fn chains_after(snapshot: &mut SqliteConnection, id: i64) -> Result<Vec<StoredChain>, sqlx::Error> {
    let text = "SELECT id, head_seq, CAST(head_hash AS BLOB), CAST(uuid AS BLOB), CAST(opened_at AS BLOB) \
                FROM audit_chain WHERE id > ? ORDER BY id LIMIT ?";
    let rows = sqlx::query(text).bind(id).bind(CHAINS_PER_PAGE).fetch_all(&mut *snapshot).await?;
    let mut chains = Vec::with_capacity(rows.len());
    for row in &rows {
        let id = row.try_get(0)?;
        let links = links_of(snapshot, id).await?;
        let (uuid, opened_at) = (text_in(row, 3)?, text_in(row, 4)?);
        let opening = links.zip(uuid.zip(opened_at));
        let opening = opening.map(|(links, (uuid, opened_at))| Opening { uuid, opened_at, links });
        chains.push(StoredChain { id, opening, head: read_head(row, 1)? });
    }
    Ok(chains)
}

/// `None` where one of them is no link.
async fn links_of(snapshot: &mut SqliteConnection, opening: i64) -> Result<Option<Vec<Link>>, sqlx::Error> {
    let text = "SELECT chain, seq, CAST(hash AS BLOB) FROM audit_link WHERE opening = ? ORDER BY chain";
    let rows = sqlx::query(text).bind(opening).fetch_all(snapshot).await?;
    let mut links = Vec::with_capacity(rows.len());
    for row in &rows {
        let Some(head) = read_head(row, 1)? else { return Ok(None) };
        links.push(Link { chain: row.try_get(0)?, head });
    }
    Ok(Some(links))
}

/// `None` where the bytes are no text.
fn text_in(row: &SqliteRow, column: usize) -> Result<Option<String>, sqlx::Error> {
    Ok(String::from_utf8(row.try_get(column)?).ok())
}

/// The records that share a row. It may be forged: where it has more lines than hashes, or more hashes than lines, the
/// other is empty.
fn records(row: &SqliteRow) -> Result<impl Iterator<Item = RawRecord<'_>>, sqlx::Error> {
    let (chain, last_seq): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let (bodies, hashes): (&[u8], &[u8]) = (row.try_get(2)?, row.try_get(3)?);
    let bodies = bodies.split(|byte| *byte == b'\n');
    let mut hashes = hashes.chunks(ChainHash::BYTES);
    let count = bodies.clone().count().max(hashes.len());
    let bodies = bodies.chain(std::iter::repeat(&[][..])).take(count);
    let seqs = (0..count).rev().map(move |later| last_seq.saturating_sub(i64::try_from(later).unwrap_or(i64::MAX)));
    Ok(bodies.zip(seqs).map(move |(body, seq)| RawRecord { chain, seq, hash: hashes.next().unwrap_or_default(), body }))
}

fn read(record: RawRecord<'_>) -> Result<Record, StoreError> {
    let RawRecord { chain, seq, hash, body } = record;
    let unreadable = |source| StoreError::UnreadableRecord { chain, seq, source };
    let hash = ChainHash::from_stored(hash)
        .ok_or_else(|| unreadable(serde::de::Error::invalid_length(hash.len(), &"a hash of 32 bytes")))?;
    Ok(Record { chain, seq, hash, body: parse(body).map_err(unreadable)? })
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|part| part == wanted)
}
