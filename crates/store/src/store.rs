//! The store as the rest of the program sees it.

use std::future::ready;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use countersign_contract::{AuditEntry, AuditLog, AuditUnavailable, BoxFuture, Durability, RequestId};
use tokio::sync::mpsc::error::TrySendError;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::accesses::Writing;
use crate::db::{IfMissing, Reader, Undo, Writer, WriterHandle, approvals};
use crate::record::Draft;
use crate::{
    Accesses, ContextRows, Place, RawRecord, Receipts, Record, StatsQuery, StoreError, StoredCalls, Tasks, ToolStats,
    Verdict,
};

/// One process's way to what is kept. To be closed at the end: dropped, it writes what is waiting only if the
/// runtime lives on.
#[derive(Debug)]
pub struct Store {
    reader: Arc<Reader>,
    writer: WriterHandle,
    /// The writers', and nothing else.
    tasks: TaskTracker,
    /// Reads that are counted; they need the writers to the end.
    counting: Writing,
    /// How many entries each writer had to leave behind; set when it ends.
    left: Vec<Arc<OnceLock<u64>>>,
}

/// Writes this process's audit chain; clones write the same one.
#[derive(Debug, Clone)]
pub struct AuditWriter {
    writer: WriterHandle,
}

impl Store {
    /// Opens the store in this place, and makes it where it is missing. Any number of processes may do so at once.
    pub async fn open(place: impl Into<Place>) -> Result<Self, StoreError> {
        Self::open_at(place.into(), IfMissing::Create).await
    }

    /// The same, but where there is no store the answer is [`StoreError::NotThere`] and nothing is made.
    pub async fn open_existing(place: impl Into<Place>) -> Result<Self, StoreError> {
        Self::open_at(place.into(), IfMissing::Refuse).await
    }

    async fn open_at(place: Place, if_missing: IfMissing) -> Result<Self, StoreError> {
        let reader = Arc::new(Reader::new(&place));
        let (writers, writer) = Writer::start(place, if_missing).await?;
        let tasks = TaskTracker::new();
        let run = |writer: Writer| {
            let left = Arc::new(OnceLock::new());
            let outcome = Arc::clone(&left);
            tasks.spawn(async move { outcome.set(writer.run().await) });
            left
        };
        let left = writers.into_iter().map(run).collect();
        Ok(Self { reader, writer, tasks, counting: Writing::default(), left })
    }

    pub fn audit_log(&self) -> AuditWriter {
        AuditWriter { writer: self.writer.clone() }
    }

    /// Calls that wait for a person; `scope` is the path of the project's root, `audited` says whether decisions go into
    /// the audit chain.
    pub fn held_calls(&self, scope: Arc<str>, audited: bool) -> StoredCalls {
        StoredCalls { scope, reader: Arc::clone(&self.reader), writer: self.writer.clone(), audited }
    }

    pub fn tasks(&self) -> Tasks {
        Tasks::new(Arc::clone(&self.reader), self.writer.clone())
    }

    /// Which files of a repository are read; `scope` is the path of its root.
    pub fn accesses(&self, scope: Arc<str>) -> Accesses {
        Accesses::new(scope, Arc::clone(&self.reader), self.writer.clone(), self.counting.clone())
    }

    /// What can be found of a repository; `scope` is the path of its root.
    pub fn context(&self, scope: Arc<str>) -> ContextRows {
        ContextRows::new(scope, Arc::clone(&self.reader), self.writer.clone())
    }

    /// Receipts of questions; each goes when it is older than this.
    pub fn receipts(&self, keep_for: Duration) -> Receipts {
        Receipts::new(Arc::clone(&self.reader), self.writer.clone(), keep_for)
    }

    /// A key that all processes on this store share.
    pub async fn shared_key(&self, name: &'static str) -> Result<Vec<u8>, StoreError> {
        let fresh = [Uuid::new_v4().into_bytes(), Uuid::new_v4().into_bytes()].concat();
        let made = self.writer.commit(Undo::ByItself, move |connection| {
            Box::pin(async move {
                let (key, found) = approvals::shared_key(connection, name, &fresh).await?;
                Ok(found.done(key))
            })
        });
        made.await.map_err(|_| StoreError::Unwritable)
    }

    /// Checks every chain of every process.
    pub async fn verify(&self) -> Result<Verdict, StoreError> {
        self.reader.verify().await
    }

    /// All records of one request, oldest first.
    pub async fn show(&self, request_id: RequestId) -> Result<Vec<Record>, StoreError> {
        self.reader.show(request_id).await
    }

    /// Passes every record on, chain by chain.
    pub async fn export(&self, each: impl FnMut(RawRecord<'_>) -> io::Result<()> + Send) -> Result<(), StoreError> {
        self.reader.export(each).await
    }

    /// By tool, over all processes, from the audit records; tools in the order of their names.
    pub async fn stats(&self, query: StatsQuery) -> Result<Vec<ToolStats>, StoreError> {
        self.reader.stats(query).await
    }

    /// Whether the database can be written. On SQLite the disk is touched only when the last write does not say so.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.writer.ping().await.map_err(|_| StoreError::Unwritable)
    }

    /// What the database finds wrong with its own file; nothing, where all is well.
    pub async fn integrity_check(&self) -> Result<Vec<String>, StoreError> {
        self.reader.integrity_check().await
    }

    /// Transactions by which this process has changed what is on disk.
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }

    /// Writes what is waiting and ends. What comes later is refused. Whoever calls it again waits for the same end and
    /// gets the same answer.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.counting.close().await;
        self.writer.close();
        self.tasks.close();
        self.tasks.wait().await;
        self.reader.close().await;
        match self.left.iter().map(|left| left.get().copied()).sum() {
            Some(0) => Ok(()),
            Some(entries) => Err(StoreError::Unflushed { entries }),
            // One of them panicked.
            None => Err(StoreError::Unwritable),
        }
    }
}

impl AuditLog for AuditWriter {
    fn append(&self, entry: AuditEntry, durability: Durability) -> BoxFuture<'_, Result<(), AuditUnavailable>> {
        // Before the future is made: an entry that finds its place in the queue needs none that is larger than its answer.
        let draft = match Draft::of_entry(&entry) {
            Ok(draft) => draft,
            Err(error) => {
                tracing::error!(%error, "an audit entry cannot be put into words");
                return Box::pin(ready(Err(AuditUnavailable)));
            }
        };
        match durability {
            Durability::Synced => Box::pin(self.writer.append_synced(draft)),
            Durability::Batched => match self.writer.try_append_batched(draft) {
                Ok(()) => Box::pin(ready(Ok(()))),
                Err(TrySendError::Full(draft)) => Box::pin(self.writer.append_batched(draft)),
                Err(TrySendError::Closed(_)) => Box::pin(ready(Err(AuditUnavailable))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use countersign_contract::{AuditEntry, AuditEvent, AuditLog as _, Code, Durability, RequestId};
    use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
    use sqlx::{Connection as _, Executor as _};

    use super::Store;
    use crate::db::testing::{Site, sites};
    use crate::record::tests::answered;
    use crate::{Place, RecordBody, StatsQuery, StoreError, Verdict};

    #[tokio::test]
    async fn records_outlive_the_process_that_wrote_them() {
        for site in sites().await {
            records_outlive(&site).await;
        }
    }

    async fn records_outlive(site: &Site) {
        let request_id = RequestId::generate();
        let intent = AuditEntry { event: AuditEvent::Intent, request_id, ..answered() };
        let end = AuditEntry { event: AuditEvent::Failed, code: Some(Code::RateLimited), request_id, ..answered() };
        for entry in [&intent, &end] {
            let store = Store::open(&site.place).await.unwrap();
            store.audit_log().append(answered(), Durability::Batched).await.unwrap();
            store.audit_log().append(entry.clone(), Durability::Synced).await.unwrap();
            store.ping().await.unwrap();
            store.close().await.unwrap();
        }

        let store = Store::open_existing(&site.place).await.unwrap();
        let shown = store.show(request_id).await.unwrap();
        let shown: Vec<_> = shown.into_iter().map(|record| (record.chain, record.seq, record.body)).collect();
        assert_eq!(shown, [(1, 2, RecordBody::Entry(intent)), (2, 2, RecordBody::Entry(end))]);

        let mut exported = Vec::new();
        let passed_on = store.export(|record| {
            exported.push((record.chain, record.seq, record.hash.len()));
            Ok(())
        });
        passed_on.await.unwrap();
        assert_eq!(exported, [(1, 1, 32), (1, 2, 32), (2, 1, 32), (2, 2, 32)]);

        let stats = store.stats(StatsQuery::default()).await.unwrap();
        assert_eq!((stats.len(), stats[0].calls, stats[0].answered, stats[0].rate_limited()), (1, 3, 2, 1));
        let later = StatsQuery { since: Some("2027-01-01T00:00:00Z".parse().unwrap()), ..StatsQuery::default() };
        assert_eq!(store.stats(later).await.unwrap(), []);
        store.close().await.unwrap();
    }

    #[tokio::test]
    async fn the_end_does_not_wait_for_readers_and_is_the_same_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        store.audit_log().append(answered(), Durability::Synced).await.unwrap();
        let reading = store.reader.acquire().await.unwrap();
        let closed = tokio::time::timeout(Duration::from_secs(8), store.close()).await;
        closed.expect("an end in time").unwrap();
        drop(reading);

        let store = Store::open(folder.path()).await.unwrap();
        let readonly =
            "CREATE TRIGGER broken BEFORE INSERT ON audit_record BEGIN SELECT RAISE(ROLLBACK, 'broken'); END";
        let file = SqliteConnectOptions::new().filename(folder.path().join("countersign.db"));
        SqliteConnection::connect_with(&file).await.unwrap().execute(readonly).await.unwrap();
        store.audit_log().append(answered(), Durability::Batched).await.unwrap();
        let (first, second) = tokio::join!(store.close(), store.close());
        for answer in [first, second, store.close().await] {
            assert!(matches!(answer, Err(StoreError::Unflushed { entries: 1 })), "{answer:?}");
        }
    }

    /// Whoever takes records slowly must not keep the log of the database from being reused.
    #[tokio::test]
    async fn export_reads_by_pages() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        let entries = 1100;
        for _ in 0..entries {
            store.audit_log().append(answered(), Durability::Batched).await.unwrap();
        }
        store.audit_log().append(answered(), Durability::Synced).await.unwrap();
        let mut seen = Vec::new();
        let exported = store.export(|record| {
            if seen.is_empty() {
                let database = folder.path().join("countersign.db");
                assert_eq!(std::thread::spawn(move || truncate_log(&database)).join().unwrap(), 0, "busy");
            }
            seen.push(record.seq);
            Ok(())
        });
        exported.await.unwrap();
        assert!(seen.into_iter().eq(1..=entries + 1), "each one once and in order");
        store.close().await.unwrap();
    }

    /// Answers 1 where someone is reading the log. Blocks, as whoever takes records may.
    fn truncate_log(database: &Path) -> i64 {
        let file = SqliteConnectOptions::new().filename(database).busy_timeout(Duration::ZERO);
        let truncated = async {
            let mut connection = SqliteConnection::connect_with(&file).await.unwrap();
            sqlx::query_scalar("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut connection).await.unwrap()
        };
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(truncated)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn verification_sees_one_moment_while_others_write() {
        for site in sites().await {
            verify_while_writing(&site.place).await;
        }
    }

    async fn verify_while_writing(place: &Place) {
        let writing = Store::open(place).await.unwrap();
        let log = writing.audit_log();
        let mut verified = 0;
        let append = async {
            for count in 0..20_000 {
                let durability = if count % 200 == 0 { Durability::Synced } else { Durability::Batched };
                log.append(answered(), durability).await.unwrap();
            }
        };
        let verify = async {
            let reading = Store::open_existing(place).await.unwrap();
            loop {
                let verdict = reading.verify().await.unwrap();
                assert!(matches!(verdict, Verdict::Verified(_)), "{verdict:?}");
                verified += 1;
            }
        };
        tokio::select! {
            () = append => {}
            () = verify => {}
        }
        assert!(verified > 1, "verified {verified} times");
        writing.close().await.unwrap();
    }
}
