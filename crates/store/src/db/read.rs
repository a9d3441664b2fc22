//! Reading: verification sees one snapshot, whatever is being written meanwhile, and rows one at a time. What passes
//! all records on reads by pages, so that a slow taker does not keep SQLite from reusing its log.

use std::io;

use countersign_contract::{ApprovalId, HeldCall, RequestId};
use futures_util::TryStreamExt as _;
use jiff::Timestamp;

use super::audit::{places, read_head};
use super::place::Place;
use super::pool::Pool;
use super::sql::{Connection, Row};
use super::sqlite::{AtOnce, File};
use super::{accesses, approvals, context, receipts, tasks};
use crate::chain::{ChainHash, Link, Opening};
use crate::record::parse;
use crate::stats::Tally;
use crate::verify::{StoredChain, StoredRecord, Verifier};
use crate::{
    ContextRow, Digest, FileAccess, RawRecord, Record, RecordBody, StatsQuery, StoreError, StoredReceipt, Task,
    TaskQuery, ToolStats, Verdict,
};

const CHAINS_PER_PAGE: i64 = 256;
const ROWS_PER_PAGE: i64 = 64;

#[derive(Debug)]
pub(crate) struct Reader {
    pool: Pool,
    /// Where there is no server between us and the data.
    at_once: Option<AtOnce>,
}

impl Reader {
    pub(crate) fn new(place: &Place) -> Self {
        let at_once = match place {
            Place::Folder(folder) => Some(AtOnce::new(File::in_folder(folder))),
            Place::Server(_) => None,
        };
        Self { pool: Pool::new(place), at_once }
    }

    pub(crate) async fn close(&self) {
        if let Some(at_once) = &self.at_once {
            at_once.close();
        }
        self.pool.close().await;
    }

    pub(crate) async fn verify(&self) -> Result<Verdict, StoreError> {
        let mut snapshot = self.acquire().await?.detach();
        let walked = async {
            snapshot.begin_snapshot().await?;
            verify(&mut snapshot).await
        };
        let verdict = walked.await.map_err(|source| self.read_error(source))?;
        snapshot.close().await.map_err(|source| self.read_error(source))?;
        Ok(verdict)
    }

    pub(crate) async fn show(&self, request_id: RequestId) -> Result<Vec<Record>, StoreError> {
        // A look through the whole log, which nobody waits for often; an index would cost every write.
        let text = "SELECT chain, seq, body, hash FROM audit_record WHERE body LIKE $1 ORDER BY place";
        let wanted = format!("\"request_id\":\"{request_id}\"");
        let mut connection = self.acquire().await?;
        let rows = connection.query(text).bind(format!("%{wanted}%")).fetch_all().await;
        let rows = rows.map_err(|source| self.read_error(source))?;
        let mut found = Vec::new();
        for row in &rows {
            let shared = records(row).map_err(|source| self.read_error(source))?;
            for record in shared.filter(|record| contains(record.body, wanted.as_bytes())) {
                found.push(read(record)?);
            }
        }
        // One request's records may be in several chains.
        found.sort_by_key(|record| match &record.body {
            RecordBody::Entry(entry) => entry.at,
            RecordBody::Gap(gap) => gap.at,
        });
        Ok(found)
    }

    pub(crate) async fn tasks(&self, query: TaskQuery) -> Result<Vec<Task>, StoreError> {
        if let Some(tasks) = self.at_once.as_ref().and_then(|at_once| at_once.tasks(query)) {
            return Ok(tasks);
        }
        let mut connection = self.acquire().await?;
        tasks::list(&mut connection, query).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn newest_accesses(&self, scope: &str, limit: i64) -> Result<Vec<FileAccess>, StoreError> {
        let mut connection = self.acquire().await?;
        accesses::newest(&mut connection, scope, limit).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn receipt(&self, id: &str) -> Result<Option<StoredReceipt>, StoreError> {
        let mut connection = self.acquire().await?;
        receipts::find(&mut connection, id).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn newest_receipts(&self, limit: i64) -> Result<Vec<(String, Timestamp)>, StoreError> {
        let mut connection = self.acquire().await?;
        receipts::newest(&mut connection, limit).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn context_origins(&self, scope: &str) -> Result<Vec<(String, Digest)>, StoreError> {
        let mut connection = self.acquire().await?;
        context::origins(&mut connection, scope).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn context_rows(&self, scope: &str, origins: &[String]) -> Result<Vec<ContextRow>, StoreError> {
        let mut connection = self.acquire().await?;
        context::rows_of(&mut connection, scope, origins).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn context_bodies(&self, ids: &[i64]) -> Result<Vec<(i64, String)>, StoreError> {
        let mut connection = self.acquire().await?;
        context::bodies(&mut connection, ids).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn context_revision(&self, scope: &str) -> Result<i64, StoreError> {
        let mut connection = self.acquire().await?;
        context::revision(&mut connection, scope).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn context_count(&self, scope: &str) -> Result<i64, StoreError> {
        let mut connection = self.acquire().await?;
        context::count(&mut connection, scope).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn context_without_vectors(
        &self,
        scope: &str,
        model: &str,
    ) -> Result<Vec<(i64, Digest)>, StoreError> {
        let mut connection = self.acquire().await?;
        context::without_vectors(&mut connection, scope, model).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn context_vectors(
        &self,
        model: &str,
        hashes: &[Digest],
    ) -> Result<Vec<(Digest, Vec<u8>)>, StoreError> {
        let mut connection = self.acquire().await?;
        context::vectors(&mut connection, model, hashes).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn waiting(&self, scope: &str) -> Result<Vec<HeldCall>, StoreError> {
        let mut connection = self.acquire().await?;
        approvals::waiting(&mut connection, scope).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn held_call(&self, scope: &str, id: ApprovalId) -> Result<Option<HeldCall>, StoreError> {
        let mut connection = self.acquire().await?;
        approvals::get(&mut connection, scope, id).await.map_err(|source| self.read_error(source))
    }

    pub(crate) async fn export(
        &self,
        mut each: impl FnMut(RawRecord<'_>) -> io::Result<()> + Send,
    ) -> Result<(), StoreError> {
        self.each_record(|record| each(record).map_err(StoreError::Export)).await
    }

    pub(crate) async fn stats(&self, query: StatsQuery) -> Result<Vec<ToolStats>, StoreError> {
        let mut tally = Tally::new(query);
        self.each_record(|record| {
            tally.record(record.body);
            Ok(())
        })
        .await?;
        Ok(tally.finish())
    }

    /// The database's own complaints about itself; none is what one wants. A server looks after itself.
    pub(crate) async fn integrity_check(&self) -> Result<Vec<String>, StoreError> {
        let mut connection = self.acquire().await?;
        if matches!(connection, Connection::Postgres(_)) {
            return Ok(Vec::new());
        }
        let lines = connection.query("PRAGMA integrity_check").fetch_all().await;
        let lines = lines.and_then(|rows| rows.iter().map(|row| row.get(0)).collect::<Result<Vec<String>, _>>());
        let lines = lines.map_err(|source| self.read_error(source))?;
        Ok(lines.into_iter().filter(|line| line != "ok").collect())
    }

    async fn each_record(
        &self,
        mut each: impl FnMut(RawRecord<'_>) -> Result<(), StoreError> + Send,
    ) -> Result<(), StoreError> {
        let text = "SELECT chain, seq, body, hash, place FROM audit_record \
                    WHERE place >= $1 ORDER BY place LIMIT CAST($2 AS BIGINT)";
        let read_error = |source| self.read_error(source);
        let mut connection = self.acquire().await?;
        let mut next_place = Some(i64::MIN);
        while let Some(from) = next_place {
            let page = connection.query(text).bind(from).bind(ROWS_PER_PAGE).fetch_all().await;
            let page = page.map_err(read_error)?;
            for row in &page {
                records(row).map_err(read_error)?.try_for_each(&mut each)?;
            }
            next_place = match page.last() {
                Some(last) => last.get::<i64>(4).map_err(read_error)?.checked_add(1),
                None => None,
            };
        }
        Ok(())
    }

    pub(crate) async fn acquire(&self) -> Result<Connection, StoreError> {
        self.pool.acquire().await
    }

    fn read_error(&self, source: sqlx::Error) -> StoreError {
        self.pool.read_error(source)
    }
}

async fn verify(snapshot: &mut Connection) -> Result<Verdict, sqlx::Error> {
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
                WHERE substr(audit_record.hash, length(audit_record.hash) - 31) IS DISTINCT FROM audit_link.hash \
                AND audit_link.chain IN (SELECT id FROM audit_chain) ORDER BY opening, audit_link.chain";
    let mut broken = snapshot.query(text).fetch();
    while let Some(link) = broken.try_next().await? {
        verifier.broken_link(link.get(0)?);
    }
    drop(broken);
    // Hops from chain to chain; a plain DISTINCT would read every record again.
    let text = "WITH RECURSIVE present (chain) AS ( \
                    SELECT min(place) >> 32 FROM audit_record \
                    UNION ALL \
                    SELECT (SELECT min(place) >> 32 FROM audit_record WHERE place >= (present.chain + 1) << 32) \
                    FROM present WHERE present.chain IS NOT NULL \
                ) \
                SELECT chain FROM present WHERE chain IS NOT NULL AND chain NOT IN (SELECT id FROM audit_chain)";
    for orphan in snapshot.query(text).fetch_all().await? {
        verifier.orphans(orphan.get(0)?);
    }
    let opened = snapshot.query("SELECT chains_opened FROM audit_anchor").fetch_optional().await?;
    Ok(verifier.finish(opened.map(|row| row.get(0)).transpose()?))
}

async fn verify_chain(
    snapshot: &mut Connection,
    verifier: &mut Verifier,
    chain: &StoredChain,
) -> Result<(), sqlx::Error> {
    let mut walk = verifier.begin(chain);
    let places = places(chain.id);
    let text = "SELECT chain, seq, body, hash FROM audit_record WHERE place BETWEEN $1 AND $2 ORDER BY place";
    let mut rows = snapshot.query(text).bind(*places.start()).bind(*places.end()).fetch();
    while let Some(row) = rows.try_next().await? {
        for RawRecord { chain: _, seq, hash, body } in records(&row)? {
            verifier.record(&mut walk, StoredRecord { seq, body, hash });
        }
    }
    verifier.end(&walk);
    Ok(())
}

async fn chains_after(snapshot: &mut Connection, id: i64) -> Result<Vec<StoredChain>, sqlx::Error> {
    let text = "SELECT id, head_seq, head_hash, uuid, opened_at FROM audit_chain WHERE id > $1 ORDER BY id LIMIT CAST($2 AS BIGINT)";
    let rows = snapshot.query(text).bind(id).bind(CHAINS_PER_PAGE).fetch_all().await?;
    let mut chains = Vec::with_capacity(rows.len());
    for row in &rows {
        let id = row.get(0)?;
        let links = links_of(snapshot, id).await?;
        let (uuid, opened_at) = (text_in(row, 3)?, text_in(row, 4)?);
        let opening = links.zip(uuid.zip(opened_at));
        let opening = opening.map(|(links, (uuid, opened_at))| Opening { uuid, opened_at, links });
        chains.push(StoredChain { id, opening, head: read_head(row, 1)? });
    }
    Ok(chains)
}

/// `None` where one of them is no link.
async fn links_of(snapshot: &mut Connection, opening: i64) -> Result<Option<Vec<Link>>, sqlx::Error> {
    let text = "SELECT chain, seq, hash FROM audit_link WHERE opening = $1 ORDER BY chain";
    let rows = snapshot.query(text).bind(opening).fetch_all().await?;
    let mut links = Vec::with_capacity(rows.len());
    for row in &rows {
        let Some(head) = read_head(row, 1)? else { return Ok(None) };
        links.push(Link { chain: row.get(0)?, head });
    }
    Ok(Some(links))
}

/// `None` where the bytes are no text.
fn text_in(row: &Row, column: usize) -> Result<Option<String>, sqlx::Error> {
    Ok(row.bytes(column)?.and_then(|bytes| str::from_utf8(bytes).ok()).map(str::to_owned))
}

/// The records that share a row. It may be forged: where it has more lines than hashes, or more hashes than lines, the
/// other is empty.
fn records(row: &Row) -> Result<impl Iterator<Item = RawRecord<'_>>, sqlx::Error> {
    let (chain, last_seq): (i64, i64) = (row.get(0)?, row.get(1)?);
    let (bodies, hashes) = (row.bytes(2)?.unwrap_or_default(), row.bytes(3)?.unwrap_or_default());
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
