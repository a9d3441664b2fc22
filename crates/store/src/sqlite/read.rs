//! Reading: each method sees one snapshot, whatever is being written meanwhile, and rows one at a time.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use countersign_contract::RequestId;
use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqlitePoolOptions, SqliteRow};

use super::audit::{places, read_head};
use super::connect::{Place, options};
use super::is_damage;
use crate::chain::{ChainHash, Link, Opening};
use crate::record::parse;
use crate::stats::Tally;
use crate::verify::{StoredChain, StoredRecord, Verifier};
use crate::{RawRecord, Record, StoreError, ToolStats, Verdict};

/// A connection has a thread and a page cache, so there are few, and none while nobody reads.
const CONNECTIONS_MAX: u32 = 2;
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);

const CHAINS_PER_PAGE: i64 = 256;

#[derive(Debug)]
pub(crate) struct Reader {
    pool: SqlitePool,
    path: PathBuf,
}

impl Reader {
    pub(crate) fn new(place: &Place) -> Self {
        let pool = SqlitePoolOptions::new()
            .min_connections(0)
            .max_connections(CONNECTIONS_MAX)
            .idle_timeout(IDLE_TIMEOUT)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_lazy_with(options(place.database()).pragma("query_only", "ON"));
        Self { pool, path: place.database().to_owned() }
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }

    pub(crate) async fn verify(&self) -> Result<Verdict, StoreError> {
        let walked = async {
            let mut snapshot = self.pool.begin().await?;
            verify(&mut snapshot).await
        };
        walked.await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn show(&self, request_id: RequestId) -> Result<Vec<Record>, StoreError> {
        // A look through the whole log, which nobody waits for often; an index would cost every write.
        let text = "SELECT chain, seq, CAST(body AS BLOB), CAST(hash AS BLOB) FROM audit_record \
                    WHERE instr(body, ?) > 0 ORDER BY place";
        let wanted = format!("\"request_id\":\"{request_id}\"");
        let rows = sqlx::query(text).bind(wanted).fetch_all(&self.pool).await;
        let rows = rows.map_err(|source| self.read_error(source))?;
        rows.iter().map(|row| self.record(row)).collect()
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
        let lines: Result<Vec<String>, _> = sqlx::query_scalar("PRAGMA integrity_check").fetch_all(&self.pool).await;
        let lines = lines.map_err(|source| self.read_error(source))?;
        Ok(lines.into_iter().filter(|line| line != "ok").collect())
    }

    async fn each_record(
        &self,
        mut each: impl FnMut(RawRecord<'_>) -> Result<(), StoreError> + Send,
    ) -> Result<(), StoreError> {
        let text = "SELECT chain, seq, CAST(body AS BLOB), CAST(hash AS BLOB) FROM audit_record ORDER BY place";
        let mut rows = sqlx::query(text).fetch(&self.pool);
        while let Some(row) = rows.try_next().await.map_err(|source| self.read_error(source))? {
            let record = raw_record(&row).map_err(|source| self.read_error(source))?;
            each(record)?;
        }
        Ok(())
    }

    fn record(&self, row: &SqliteRow) -> Result<Record, StoreError> {
        let raw = raw_record(row).map_err(|source| self.read_error(source))?;
        let (chain, seq) = (raw.chain, raw.seq);
        let unreadable = |source| StoreError::UnreadableRecord { chain, seq, source };
        let hash = ChainHash::from_stored(raw.hash)
            .ok_or_else(|| unreadable(serde::de::Error::invalid_length(raw.hash.len(), &"a hash of 32 bytes")))?;
        Ok(Record { chain, seq, hash, body: parse(raw.body).map_err(unreadable)? })
    }

    fn read_error(&self, source: sqlx::Error) -> StoreError {
        if is_damage(&source) {
            return StoreError::Corrupt { path: self.path.clone(), source };
        }
        StoreError::Read(source)
    }
}

async fn verify(snapshot: &mut SqliteConnection) -> Result<Verdict, sqlx::Error> {
    let mut verifier = Verifier::default();
    let mut chains = chains_after(snapshot, i64::MIN).await?.into_iter();
    let mut current = chains.next();
    while let Some(chain) = current {
        let mut next = chains.next();
        if next.is_none() {
            chains = chains_after(snapshot, chain.id).await?.into_iter();
            next = chains.next();
        }
        verify_chain(snapshot, &mut verifier, &chain, next.as_ref()).await?;
        current = next;
    }
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
    next: Option<&StoredChain>,
) -> Result<(), sqlx::Error> {
    let mut walk = verifier.begin(chain, next);
    let places = places(chain.id);
    let text = "SELECT chain, seq, CAST(body AS BLOB), CAST(hash AS BLOB) FROM audit_record WHERE place BETWEEN ? AND ? ORDER BY place";
    let mut rows = sqlx::query(text).bind(places.start()).bind(places.end()).fetch(snapshot);
    while let Some(row) = rows.try_next().await? {
        let RawRecord { chain: _, seq, hash, body } = raw_record(&row)?;
        verifier.record(&mut walk, StoredRecord { seq, body, hash });
    }
    verifier.end(&walk);
    Ok(())
}

async fn chains_after(snapshot: &mut SqliteConnection, id: i64) -> Result<Vec<StoredChain>, sqlx::Error> {
    let text = "SELECT id, uuid, opened_at, link_chain, link_seq, CAST(link_hash AS BLOB), head_seq, \
                CAST(head_hash AS BLOB) FROM audit_chain WHERE id > ? ORDER BY id LIMIT ?";
    let rows = sqlx::query(text).bind(id).bind(CHAINS_PER_PAGE).fetch_all(snapshot).await?;
    rows.iter().map(stored_chain).collect()
}

fn stored_chain(row: &SqliteRow) -> Result<StoredChain, sqlx::Error> {
    let link_chain: Option<i64> = row.try_get(3)?;
    let link = link_chain.zip(read_head(row, 4)?).map(|(chain, head)| Link { chain, head });
    let opening = Opening { uuid: row.try_get(1)?, opened_at: row.try_get(2)?, link };
    Ok(StoredChain { id: row.try_get(0)?, opening, head: read_head(row, 6)? })
}

fn raw_record(row: &SqliteRow) -> Result<RawRecord<'_>, sqlx::Error> {
    Ok(RawRecord { chain: row.try_get(0)?, seq: row.try_get(1)?, body: row.try_get(2)?, hash: row.try_get(3)? })
}
