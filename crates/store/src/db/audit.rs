//! This process's audit chain in the database: opened with its first entry, its head moved in the transaction that
//! adds the records. After a failed commit nobody knows whether it took place, so the next one looks first.

use std::ops::RangeInclusive;
use std::sync::Arc;

use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::commit::WriteFailure;
use super::place::Place;
use super::sql::{Connection, Row, Turn};
use crate::backlog::Carried;
use crate::chain::{ChainHash, Head, Link, Opening};
use crate::record::Draft;

/// A row costs as much as several records, so records share one when they come together. So many fit on a page.
const RECORDS_PER_ROW: usize = 16;

/// A statement costs as much as several rows. What is left goes by halves, so that few sizes of statement suffice and
/// all stay prepared.
const ROWS_PER_INSERT: usize = 16;
const INSERT_SIZES: usize = ROWS_PER_INSERT.ilog2() as usize + 1;

/// What fits into the lower half of a record's key. A longer chain is continued in a new one.
const SEQ_MAX: i64 = 0xffff_ffff;
const SEQ_BITS: u32 = 32;

/// What fits into the upper half.
const CHAIN_MAX: i64 = 0x7fff_ffff;

#[derive(Debug)]
pub(super) struct ChainWriter {
    /// As it is known to be on disk.
    chain: Option<OwnChain>,
    /// What the last commit tried to make of it, until its outcome is known.
    attempt: Option<Attempt>,
    /// For 1, 2, 4 … rows.
    inserts: [Arc<str>; INSERT_SIZES],
    /// [`SEQ_MAX`] but in tests.
    seq_max: i64,
}

#[derive(Debug, Clone)]
pub(super) struct OwnChain {
    id: i64,
    uuid: String,
    head: Head,
}

#[derive(Debug)]
struct Attempt {
    chain: OwnChain,
    carried: Carried,
}

/// Records that follow each other.
#[derive(Default)]
struct NewRow {
    last_seq: i64,
    /// A line each.
    bodies: String,
    hashes: Vec<u8>,
}

impl ChainWriter {
    pub(super) fn new(place: &Place) -> Self {
        let insert = match place {
            // Whatever fails ends the transaction anyway, and SQLite need not be able to undo the statement alone.
            Place::Folder(_) => "INSERT OR ROLLBACK",
            Place::Server(_) => "INSERT",
        };
        let inserts = std::array::from_fn(|size| insert_statement(insert, 1 << size));
        Self { chain: None, attempt: None, inserts, seq_max: SEQ_MAX }
    }

    /// To be called when the connection is another one: the database may be another one, too.
    pub(super) fn doubt(&mut self) {
        if self.attempt.is_none() {
            self.attempt = self.chain.clone().map(|chain| Attempt { chain, carried: Carried::default() });
        }
    }

    /// Finds out how the last commit ended, if that is open. Answers what of the backlog is in the database already:
    /// a sync that failed may have been enough for the log to be recovered with the commit in it.
    pub(super) async fn resume(&mut self, connection: &mut Connection) -> Result<Option<Carried>, WriteFailure> {
        let Some(attempt) = &self.attempt else { return Ok(None) };
        let stored = connection
            .query("SELECT head_seq, head_hash FROM audit_chain WHERE id = $1 AND uuid = $2")
            .bind(attempt.chain.id)
            .bind(&attempt.chain.uuid)
            .fetch_optional()
            .await?
            .map(|row| read_head(&row, 0))
            .transpose()?
            .flatten();
        let committed = stored == Some(attempt.chain.head);
        // Where the attempt was to open a chain, there is none of that name, whether or not there was one before.
        let before = self.chain.as_ref().filter(|chain| chain.uuid == attempt.chain.uuid).map(|chain| chain.head);
        if !committed && stored != before {
            tracing::error!(
                chain = attempt.chain.id,
                "this process's audit chain is not as it left it, a new one follows"
            );
            self.chain = None;
        }
        let attempt = self.attempt.take().filter(|_| committed);
        Ok(attempt.map(|attempt| {
            self.chain = Some(attempt.chain);
            attempt.carried
        }))
    }

    /// Adds the records and moves the head; `carried` is what of the backlog is among them.
    pub(super) async fn extend(
        &mut self,
        connection: &mut Connection,
        carried: Carried,
        drafts: &[&Draft],
    ) -> Result<Option<OwnChain>, WriteFailure> {
        if drafts.is_empty() {
            return Ok(None);
        }
        let room =
            |chain: &&OwnChain| i64::try_from(drafts.len()).is_ok_and(|more| more <= self.seq_max - chain.head.seq);
        let (before, opening) = match self.chain.as_ref().filter(room) {
            Some(chain) => (chain.clone(), None),
            None => open(connection).await.map(|(chain, opening)| (chain, Some(opening)))?,
        };
        let (head, rows) = follow(before.head, drafts);
        let after = OwnChain { head, ..before.clone() };
        self.attempt = Some(Attempt { chain: after.clone(), carried });
        match opening {
            Some(opening) => insert_chain(connection, &after, &opening).await?,
            None => move_head(connection, &before, &after).await?,
        }
        self.insert(connection, after.id, rows).await?;
        Ok(Some(after))
    }

    /// The transaction that [`Self::extend`] was part of is on disk.
    pub(super) fn confirm(&mut self, extended: Option<OwnChain>) {
        self.attempt = None;
        if extended.is_some() {
            self.chain = extended;
        }
    }

    async fn insert(&self, connection: &mut Connection, chain: i64, rows: Vec<NewRow>) -> Result<(), sqlx::Error> {
        let mut rows = rows.into_iter();
        while rows.len() > 0 {
            let size = rows.len().min(ROWS_PER_INSERT).ilog2() as usize;
            let mut query = connection.query(AssertSqlSafe(Arc::clone(&self.inserts[size])));
            for row in rows.by_ref().take(1 << size) {
                query = query.bind(place(chain, row.last_seq)).bind(row.bodies).bind(row.hashes);
            }
            query.execute().await?;
        }
        Ok(())
    }
}

/// The key of the row that ends with this record. One number, because appending under two costs twice as much.
pub(super) fn place(chain: i64, seq: i64) -> i64 {
    chain.saturating_mul(1 << SEQ_BITS).saturating_add(seq)
}

/// The keys of all rows that a chain can have.
pub(super) fn places(chain: i64) -> RangeInclusive<i64> {
    place(chain, 0)..=place(chain, SEQ_MAX)
}

fn insert_statement(insert: &str, rows: usize) -> Arc<str> {
    let values = |row: usize| format!("(${}, ${}, ${})", row * 3 + 1, row * 3 + 2, row * 3 + 3);
    let rows: Vec<String> = (0..rows).map(values).collect();
    format!("{insert} INTO audit_record (place, body, hash) VALUES {}", rows.join(", ")).into()
}

fn follow(mut head: Head, drafts: &[&Draft]) -> (Head, Vec<NewRow>) {
    let rows = drafts.chunks(RECORDS_PER_ROW).map(|drafts| {
        let mut row = NewRow {
            bodies: String::with_capacity(drafts.iter().map(|draft| draft.max_len() + 1).sum()),
            hashes: Vec::with_capacity(drafts.len() * ChainHash::BYTES),
            ..NewRow::default()
        };
        for draft in drafts {
            if !row.bodies.is_empty() {
                row.bodies.push('\n');
            }
            let start = row.bodies.len();
            row.last_seq = head.seq + 1;
            draft.write_with_seq(row.last_seq, &mut row.bodies);
            head = Head { seq: row.last_seq, hash: head.hash.followed_by(&row.bodies.as_bytes()[start..]) };
            row.hashes.extend_from_slice(head.hash.as_bytes());
        }
        row
    });
    let rows = rows.collect();
    (head, rows)
}

/// Decides what the new chain is; nothing is written yet. No other process does the same before this one is done.
async fn open(connection: &mut Connection) -> Result<(OwnChain, Opening), WriteFailure> {
    connection.take_turn(Turn::Chain).await?;
    // Whatever was tampered with, nothing of what is left may stand in the new chain's way.
    let text = "SELECT max(id) FROM (SELECT chains_opened AS id FROM audit_anchor \
                UNION ALL SELECT max(id) FROM audit_chain UNION ALL SELECT max(opening) FROM audit_link \
                UNION ALL SELECT max(place) >> 32 FROM audit_record) AS taken";
    let highest = connection.query(text).fetch_one().await?.get::<Option<i64>>(0)?;
    let highest = highest.unwrap_or_default().max(0);
    let id = highest.checked_add(1).filter(|id| *id <= CHAIN_MAX).ok_or(WriteFailure::NoChainLeft { highest })?;
    let uuid = Uuid::now_v7().to_string();
    let links = links(connection).await?;
    let opening = Opening { uuid: uuid.clone(), opened_at: Timestamp::now().to_string(), links };
    Ok((OwnChain { id, uuid, head: Head { seq: 0, hash: opening.hash() } }, opening))
}

/// To every chain that is not as the newest link to it says. A look at each chain, once in a process's life.
async fn links(connection: &mut Connection) -> Result<Vec<Link>, sqlx::Error> {
    let text = "SELECT id, head_seq, head_hash FROM audit_chain WHERE NOT EXISTS \
                (SELECT 1 FROM audit_link WHERE chain = id AND seq = head_seq AND hash = head_hash) ORDER BY id";
    let grown = connection.query(text).fetch_all().await?;
    let mut links = Vec::with_capacity(grown.len());
    for row in &grown {
        // A head that is none was forged, and verification says so.
        if let Some(head) = read_head(row, 1)? {
            links.push(Link { chain: row.get(0)?, head });
        }
    }
    Ok(links)
}

async fn insert_chain(connection: &mut Connection, chain: &OwnChain, opening: &Opening) -> Result<(), sqlx::Error> {
    connection
        .query("INSERT INTO audit_chain (id, uuid, opened_at, head_seq, head_hash) VALUES ($1, $2, $3, $4, $5)")
        .bind(chain.id)
        .bind(&opening.uuid)
        .bind(&opening.opened_at)
        .bind(chain.head.seq)
        .bind(chain.head.hash.as_bytes().to_vec())
        .execute()
        .await?;
    for link in &opening.links {
        connection
            .query("INSERT INTO audit_link (opening, chain, seq, hash) VALUES ($1, $2, $3, $4)")
            .bind(chain.id)
            .bind(link.chain)
            .bind(link.head.seq)
            .bind(link.head.hash.as_bytes().to_vec())
            .execute()
            .await?;
    }
    connection.query("UPDATE audit_anchor SET chains_opened = $1").bind(chain.id).execute().await?;
    Ok(())
}

async fn move_head(connection: &mut Connection, before: &OwnChain, after: &OwnChain) -> Result<(), WriteFailure> {
    let text = "UPDATE audit_chain SET head_seq = $1, head_hash = $2 \
                WHERE id = $3 AND uuid = $4 AND head_seq = $5 AND head_hash = $6";
    let moved = connection
        .query(text)
        .bind(after.head.seq)
        .bind(after.head.hash.as_bytes().to_vec())
        .bind(before.id)
        .bind(&before.uuid)
        .bind(before.head.seq)
        .bind(before.head.hash.as_bytes().to_vec())
        .execute()
        .await?;
    if moved == 1 { Ok(()) } else { Err(WriteFailure::ChainChanged) }
}

/// From two columns; `None` where they do not hold a head.
pub(super) fn read_head(row: &Row, column: usize) -> Result<Option<Head>, sqlx::Error> {
    let seq: Option<i64> = row.get(column)?;
    let hash = row.bytes(column + 1)?.and_then(ChainHash::from_stored);
    Ok(seq.zip(hash).map(|(seq, hash)| Head { seq, hash }))
}

#[cfg(test)]
mod tests {
    use super::{ChainWriter, Head, WriteFailure};
    use crate::backlog::{Backlog, Carried};
    use crate::db::sql::Connection;
    use crate::db::testing::sites;
    use crate::db::{Reader, place::Place};
    use crate::record::Draft;
    use crate::record::tests::answered;
    use crate::{Extent, Verdict};

    #[tokio::test]
    async fn a_commit_whose_answer_was_lost_is_not_made_twice() {
        for site in sites().await {
            let mut connection = site.connect().await;
            let mut chain = ChainWriter::new(&site.place);
            let mut backlog = Backlog::default();
            // The first opens the chain, the second moves its head.
            for records in [1, 2] {
                backlog.push(Draft::of_entry(&answered()).unwrap());
                let carried = backlog.carried();
                let drafts: Vec<&Draft> = backlog.batch().0.collect();
                connection.begin().await.unwrap();
                chain.extend(&mut connection, carried, &drafts).await.unwrap();
                connection.control("COMMIT").await.unwrap();

                assert_eq!(resume(&mut chain, &mut connection).await, Some(carried));
                assert_eq!(head(&chain).map(|head| head.seq), Some(records));
                assert_eq!(resume(&mut chain, &mut connection).await, None, "once is enough");
                backlog.settle(carried);
            }
        }
    }

    #[tokio::test]
    async fn a_commit_that_did_not_take_place_is_made_again() {
        for site in sites().await {
            let mut connection = site.connect().await;
            let mut chain = ChainWriter::new(&site.place);
            for before in [None, Some(1)] {
                try_and_keep(&mut chain, &mut connection, |chain| {
                    assert_eq!(head(chain).map(|head| head.seq), before);
                })
                .await;
            }
            assert_eq!(head(&chain).map(|head| head.seq), Some(2));
        }
    }

    #[tokio::test]
    async fn a_chain_that_is_full_is_followed_by_another() {
        for site in sites().await {
            let mut connection = site.connect().await;
            let mut chain = ChainWriter { seq_max: 2, ..ChainWriter::new(&site.place) };
            for (id, seq) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)] {
                let before = chain.chain.as_ref().map(|chain| (chain.id, chain.head));
                try_and_keep(&mut chain, &mut connection, |chain| {
                    // The chain before must still be known to be as it was left.
                    let now = chain.chain.as_ref().map(|chain| (chain.id, chain.head));
                    assert_eq!(now, before, "{id} {seq}");
                })
                .await;
                assert_eq!(chain.chain.as_ref().map(|chain| (chain.id, chain.head.seq)), Some((id, seq)));
            }
            let verdict = verify(&site.place).await;
            assert_eq!(verdict, Verdict::Verified(Extent { chains: 3, records: 5, lost: 0 }));
        }
    }

    #[tokio::test]
    async fn a_log_without_a_number_left_says_so() {
        for site in sites().await {
            let mut connection = site.connect().await;
            for highest in [i64::from(i32::MAX), i64::MAX] {
                let forged = connection.query("UPDATE audit_anchor SET chains_opened = $1").bind(highest);
                forged.execute().await.unwrap();
                let draft = Draft::of_entry(&answered()).unwrap();
                let mut chain = ChainWriter::new(&site.place);
                let answer = chain.extend(&mut connection, Carried::default(), &[&draft]).await;
                let found = matches!(answer, Err(WriteFailure::NoChainLeft { highest: found }) if found == highest);
                assert!(found, "{answer:?}");
            }
        }
    }

    /// Adds a record, undoes it, looks at the chain, and adds it for good.
    async fn try_and_keep(chain: &mut ChainWriter, connection: &mut Connection, undone: impl Fn(&ChainWriter)) {
        let draft = Draft::of_entry(&answered()).unwrap();
        connection.begin().await.unwrap();
        chain.extend(connection, Carried::default(), &[&draft]).await.unwrap();
        connection.control("ROLLBACK").await.unwrap();
        assert_eq!(resume(chain, connection).await, None);
        undone(chain);

        connection.begin().await.unwrap();
        let extended = chain.extend(connection, Carried::default(), &[&draft]).await.unwrap();
        connection.control("COMMIT").await.unwrap();
        chain.confirm(extended);
    }

    async fn verify(place: &Place) -> Verdict {
        Reader::new(place).verify().await.unwrap()
    }

    async fn resume(chain: &mut ChainWriter, connection: &mut Connection) -> Option<Carried> {
        chain.resume(connection).await.unwrap()
    }

    fn head(chain: &ChainWriter) -> Option<Head> {
        chain.chain.as_ref().map(|chain| chain.head)
    }
}
