//! The store as the rest of the program sees it.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use countersign_contract::{AuditEntry, AuditLog, AuditUnavailable, BoxFuture, Durability, RequestId};
use jiff::Timestamp;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::record::Draft;
use crate::sqlite::{Done, IfMissing, Place, Reader, Writer, WriterHandle};
use crate::{RawRecord, Record, StoreError, ToolStats, Verdict};

/// One process's way to the data folder. To be closed at the end: dropped, it writes what is waiting only if the
/// runtime lives on.
#[derive(Debug)]
pub struct Store {
    reader: Reader,
    writer: WriterHandle,
    /// Taken by the first [`Self::close`].
    writing: Mutex<Option<JoinHandle<u64>>>,
}

/// Writes this process's audit chain; clones write the same one.
#[derive(Debug, Clone)]
pub struct AuditWriter {
    writer: WriterHandle,
}

impl Store {
    /// Opens the store in this folder, and makes both where they are missing. Any number of processes may do so at once.
    pub async fn open(data_dir: &Path) -> Result<Self, StoreError> {
        Self::open_at(data_dir, IfMissing::Create).await
    }

    /// The same, but where there is no store the answer is [`StoreError::NotThere`] and nothing is made.
    pub async fn open_existing(data_dir: &Path) -> Result<Self, StoreError> {
        Self::open_at(data_dir, IfMissing::Refuse).await
    }

    async fn open_at(data_dir: &Path, if_missing: IfMissing) -> Result<Self, StoreError> {
        let place = Place::new(data_dir);
        let reader = Reader::new(&place);
        let (task, writer) = Writer::start(place, if_missing).await?;
        let writing = Mutex::new(Some(TaskTracker::new().spawn(task.run())));
        Ok(Self { reader, writer, writing })
    }

    pub fn audit_log(&self) -> AuditWriter {
        AuditWriter { writer: self.writer.clone() }
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
    pub async fn stats(&self, since: Option<Timestamp>) -> Result<Vec<ToolStats>, StoreError> {
        self.reader.stats(since).await
    }

    /// Whether the database can be written. Cheap: the disk is touched only when the last write failed.
    pub async fn ping(&self) -> Result<(), StoreError> {
        // A transaction that changes nothing takes the lock but needs no disk, so after a failure it proves nothing.
        let statement = if self.writer.is_failing() {
            "UPDATE audit_anchor SET chains_opened = chains_opened"
        } else {
            "SELECT chains_opened FROM audit_anchor"
        };
        let pinged = self.writer.commit(move |connection| {
            Box::pin(async move {
                sqlx::query(statement).execute(connection).await?;
                Ok(Done { value: (), audit: None })
            })
        });
        pinged.await.map_err(|_| StoreError::Unwritable)
    }

    /// What the database finds wrong with its own file; nothing, where all is well.
    pub async fn integrity_check(&self) -> Result<Vec<String>, StoreError> {
        self.reader.integrity_check().await
    }

    /// Transactions that this process has put on disk.
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }

    /// Writes what is waiting and ends. What comes later is refused. A second call has nothing to do.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.writer.close();
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner).take();
        let left = match writing {
            Some(task) => task.await.map_err(|_| StoreError::Unwritable)?,
            None => 0,
        };
        self.reader.close().await;
        if left > 0 { Err(StoreError::Unflushed { entries: left }) } else { Ok(()) }
    }
}

impl AuditLog for AuditWriter {
    fn append(&self, entry: AuditEntry, durability: Durability) -> BoxFuture<'_, Result<(), AuditUnavailable>> {
        Box::pin(async move {
            let draft = Draft::of_entry(&entry).map_err(|error| {
                tracing::error!(%error, "an audit entry cannot be put into words");
                AuditUnavailable
            })?;
            match durability {
                Durability::Batched => self.writer.append_batched(draft).await,
                Durability::Synced => self.writer.append_synced(draft).await,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use countersign_contract::{AuditEntry, AuditEvent, AuditLog as _, Code, Durability, RequestId};

    use super::Store;
    use crate::record::tests::answered;
    use crate::{RecordBody, Verdict};

    #[tokio::test]
    async fn records_outlive_the_process_that_wrote_them() {
        let folder = tempfile::tempdir().unwrap();
        let request_id = RequestId::generate();
        let intent = AuditEntry { event: AuditEvent::Intent, request_id, ..answered() };
        let end = AuditEntry { event: AuditEvent::Failed, code: Some(Code::RateLimited), request_id, ..answered() };
        for entry in [&intent, &end] {
            let store = Store::open(folder.path()).await.unwrap();
            store.audit_log().append(answered(), Durability::Batched).await.unwrap();
            store.audit_log().append(entry.clone(), Durability::Synced).await.unwrap();
            store.ping().await.unwrap();
            store.close().await.unwrap();
        }

        let store = Store::open_existing(folder.path()).await.unwrap();
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

        let stats = store.stats(None).await.unwrap();
        assert_eq!((stats.len(), stats[0].calls, stats[0].answered, stats[0].rate_limited()), (1, 3, 2, 1));
        assert_eq!(store.stats(Some("2027-01-01T00:00:00Z".parse().unwrap())).await.unwrap(), []);
        store.close().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn verification_sees_one_moment_while_others_write() {
        let folder = tempfile::tempdir().unwrap();
        let writing = Store::open(folder.path()).await.unwrap();
        let log = writing.audit_log();
        let mut verified = 0;
        let append = async {
            for count in 0..20_000 {
                let durability = if count % 200 == 0 { Durability::Synced } else { Durability::Batched };
                log.append(answered(), durability).await.unwrap();
            }
        };
        let verify = async {
            let reading = Store::open_existing(folder.path()).await.unwrap();
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
