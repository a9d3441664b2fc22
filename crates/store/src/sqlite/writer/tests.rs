use std::path::Path;
use std::sync::{Arc, Mutex};

use countersign_contract::{AuditEntry, AuditUnavailable, Code, RequestId};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Executor as _};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::task::TaskTracker;

use super::{BATCHED_MAX, CommitError, Done, FLUSH_AT, IfMissing, Place, Writer, WriterHandle};
use crate::backlog::RETAINED_MAX;
use crate::record::Draft;
use crate::record::tests::answered;
use crate::sqlite::Reader;
use crate::{Extent, Gap, RecordBody, Verdict};

#[tokio::test]
async fn what_arrives_together_shares_one_commit() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(folder.path()).await;
    writer.append_synced(draft()).await.unwrap();
    let before = writer.commits();

    let other = lock(folder.path()).await;
    let mut waiting = JoinSet::new();
    for _ in 0..50 {
        let writer = writer.clone();
        waiting.spawn(async move { writer.append_synced(draft()).await });
    }
    settle().await;
    assert_eq!(writer.commits(), before, "nobody is answered before the commit");
    other.close().await.unwrap();
    assert!(waiting.join_all().await.iter().all(Result::is_ok));
    // The first may have gone to wait for the lock before the others came.
    assert!(writer.commits() - before <= 2, "{} commits", writer.commits() - before);

    end(writer, task).await;
    assert_eq!(verify(folder.path()).await, Verdict::Verified(Extent { chains: 1, records: 51, lost: 0 }));
}

#[tokio::test]
async fn a_job_that_fails_leaves_its_neighbours_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(folder.path()).await;
    note(&writer, &["CREATE TABLE note (text TEXT NOT NULL UNIQUE)"], None).await.unwrap();
    let before = writer.commits();

    let other = lock(folder.path()).await;
    let first = RequestId::generate();
    let (good, bad, panicking, last, ()) = tokio::join!(
        note(&writer, &["INSERT INTO note VALUES ('good')"], Some(AuditEntry { request_id: first, ..answered() })),
        note(&writer, &["INSERT INTO note VALUES ('bad')", "INSERT INTO note VALUES ('good')"], Some(answered())),
        writer.commit::<(), _>(|connection| {
            Box::pin(async move {
                connection.execute("INSERT INTO note VALUES ('panicking')").await?;
                panic!("a job's own mistake");
            })
        }),
        note(&writer, &["INSERT INTO note VALUES ('last')"], Some(answered())),
        async {
            settle().await;
            other.close().await.unwrap();
        },
    );
    assert!(good.is_ok() && last.is_ok());
    assert!(matches!(bad, Err(CommitError::Statement(_))), "{bad:?}");
    assert!(matches!(panicking, Err(CommitError::Unavailable)), "{panicking:?}");
    assert!(writer.commits() - before <= 2, "they shared a transaction");

    end(writer, task).await;
    assert_eq!(notes(folder.path()).await, ["good", "last"]);
    assert_eq!(verify(folder.path()).await, Verdict::Verified(Extent { chains: 1, records: 2, lost: 0 }));
    let reader = Reader::new(&Place::new(folder.path()));
    assert_eq!(reader.show(first).await.unwrap().len(), 1);
}

#[tokio::test]
async fn batched_entries_ride_along_in_front() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(folder.path()).await;
    for _ in 0..3 {
        writer.append_batched(draft()).await.unwrap();
    }
    let last = AuditEntry { request_id: RequestId::generate(), ..answered() };
    writer.append_synced(Draft::of_entry(&last).unwrap()).await.unwrap();
    assert_eq!(writer.commits(), 1);
    let reader = Reader::new(&Place::new(folder.path()));
    let found = reader.show(last.request_id).await.unwrap();
    assert_eq!((found.len(), found[0].seq, &found[0].body), (1, 4, &RecordBody::Entry(last)));
    end(writer, task).await;
}

#[tokio::test]
async fn batched_entries_are_written_without_being_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(folder.path()).await;
    writer.append_batched(draft()).await.unwrap();
    wait_for_commits(&writer, 1).await;
    for _ in 0..=FLUSH_AT {
        writer.append_batched(draft()).await.unwrap();
    }
    wait_for_commits(&writer, 2).await;
    end(writer, task).await;
    let records = FLUSH_AT as u64 + 2;
    assert_eq!(verify(folder.path()).await, Verdict::Verified(Extent { chains: 1, records, lost: 0 }));
}

#[tokio::test]
async fn a_full_queue_makes_callers_wait_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(folder.path()).await;
    let other = lock(folder.path()).await;
    let entries = BATCHED_MAX * 2;
    let appending = async {
        for _ in 0..entries {
            writer.append_batched(draft()).await.unwrap();
        }
    };
    let mut appending = Box::pin(appending);
    tokio::select! {
        biased;
        () = &mut appending => panic!("the queue has no end"),
        () = settle() => {}
    }
    other.close().await.unwrap();
    appending.await;
    end(writer, task).await;
    let records = entries as u64;
    assert_eq!(verify(folder.path()).await, Verdict::Verified(Extent { chains: 1, records, lost: 0 }));
}

#[tokio::test]
async fn a_process_that_writes_nothing_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(folder.path()).await;
    note(&writer, &["SELECT 1"], None).await.unwrap();
    end(writer, task).await;
    assert_eq!(verify(folder.path()).await, Verdict::Verified(Extent::default()));
}

#[tokio::test]
async fn what_comes_after_the_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(folder.path()).await;
    writer.append_batched(draft()).await.unwrap();
    writer.close();
    assert_eq!(task.await.unwrap(), 0);
    assert_eq!(writer.append_batched(draft()).await, Err(AuditUnavailable));
    assert_eq!(writer.append_synced(draft()).await, Err(AuditUnavailable));
    assert_eq!(verify(folder.path()).await, Verdict::Verified(Extent { chains: 1, records: 1, lost: 0 }));
}

#[tokio::test]
async fn the_writer_ends_when_nobody_can_ask_it_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(folder.path()).await;
    writer.append_batched(draft()).await.unwrap();
    drop(writer);
    assert_eq!(task.await.unwrap(), 0);
    assert_eq!(verify(folder.path()).await, Verdict::Verified(Extent { chains: 1, records: 1, lost: 0 }));
}

#[test]
fn dropping_everything_at_once_does_not_hang() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let writer = runtime.block_on(async {
        let (writer, _) = start(folder.path()).await;
        writer.append_batched(draft()).await.unwrap();
        writer
    });
    drop(runtime);
    drop(writer);
}

/// The file is made unwritable by a trigger: what fails is the transaction, as with a full disk.
#[tokio::test]
async fn after_a_failure_the_loss_is_in_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(folder.path()).await;
    writer.append_synced(draft()).await.unwrap();
    let broken = "CREATE TRIGGER broken BEFORE INSERT ON audit_record BEGIN SELECT RAISE(ROLLBACK, 'broken'); END";
    change(folder.path(), broken).await;
    assert_eq!(writer.append_synced(draft()).await, Err(AuditUnavailable));
    assert!(writer.is_failing());
    let lost = 100 + BATCHED_MAX;
    for _ in 0..RETAINED_MAX + lost {
        writer.append_batched(draft()).await.unwrap();
    }
    assert_eq!(writer.append_synced(draft()).await, Err(AuditUnavailable), "takes the batched ones out of the queue");
    change(folder.path(), "DROP TRIGGER broken").await;

    let after = AuditEntry { request_id: RequestId::generate(), code: Some(Code::Timeout), ..answered() };
    writer.append_synced(Draft::of_entry(&after).unwrap()).await.unwrap();
    assert!(!writer.is_failing());
    end(writer, task).await;
    let (records, lost) = (RETAINED_MAX as u64 + 3, lost as u64);
    assert_eq!(verify(folder.path()).await, Verdict::Verified(Extent { chains: 1, records, lost }));
    let gaps = gaps(folder.path()).await;
    assert_eq!(
        gaps.iter().map(|(seq, gap)| (*seq, gap.lost)).collect::<Vec<_>>(),
        [(i64::try_from(RETAINED_MAX).unwrap() + 2, lost)]
    );
}

#[tokio::test]
async fn a_removed_database_is_made_anew() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    let (writer, task) = start(&folder).await;
    writer.append_synced(draft()).await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    writer.append_synced(draft()).await.unwrap();
    assert_eq!(verify(&folder).await, Verdict::Verified(Extent { chains: 1, records: 1, lost: 0 }));
    end(writer, task).await;
}

#[tokio::test]
async fn a_chain_changed_from_outside_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(folder.path()).await;
    writer.append_synced(draft()).await.unwrap();
    change(folder.path(), "UPDATE audit_chain SET head_seq = 7").await;
    assert_eq!(writer.append_synced(draft()).await, Err(AuditUnavailable));
    writer.append_synced(draft()).await.unwrap();
    end(writer, task).await;
    let verdict = verify(folder.path()).await;
    assert!(matches!(verdict, Verdict::Broken { extent: Extent { chains: 2, records: 2, .. }, .. }), "{verdict:?}");
}

async fn start(folder: &Path) -> (WriterHandle, JoinHandle<u64>) {
    let (writer, handle) = Writer::start(Place::new(folder), IfMissing::Create).await.unwrap();
    (handle, TaskTracker::new().spawn(writer.run()))
}

async fn end(writer: WriterHandle, task: JoinHandle<u64>) {
    writer.close();
    assert_eq!(task.await.unwrap(), 0);
}

fn draft() -> Draft {
    Draft::of_entry(&answered()).unwrap()
}

async fn note(
    writer: &WriterHandle,
    statements: &[&'static str],
    audit: Option<AuditEntry>,
) -> Result<(), CommitError> {
    let statements = statements.to_vec();
    let job = writer.commit(move |connection| {
        Box::pin(async move {
            for statement in statements {
                connection.execute(statement).await?;
            }
            Ok(Done { value: (), audit })
        })
    });
    job.await
}

/// Lets every task of this runtime come as far as it can; with the lock held by another, no commit is possible.
async fn settle() {
    for _ in 0..BATCHED_MAX * 2 {
        tokio::task::yield_now().await;
    }
}

async fn wait_for_commits(writer: &WriterHandle, commits: u64) {
    while writer.commits() < commits {
        tokio::task::yield_now().await;
    }
}

/// Another process that is writing; closing it lets the others go on.
async fn lock(folder: &Path) -> SqliteConnection {
    let mut connection = attach(folder).await;
    connection.execute("BEGIN IMMEDIATE").await.unwrap();
    connection
}

async fn change(folder: &Path, statement: &'static str) {
    let mut connection = attach(folder).await;
    connection.execute(statement).await.unwrap();
    connection.close().await.unwrap();
}

async fn notes(folder: &Path) -> Vec<String> {
    sqlx::query_scalar("SELECT text FROM note ORDER BY text").fetch_all(&mut attach(folder).await).await.unwrap()
}

async fn gaps(folder: &Path) -> Vec<(i64, Gap)> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let reader = Reader::new(&Place::new(folder));
    let sink = Arc::clone(&found);
    let exported = reader.export(move |record| {
        if let RecordBody::Gap(gap) = crate::record::parse(record.body).unwrap() {
            sink.lock().unwrap().push((record.seq, gap));
        }
        Ok(())
    });
    exported.await.unwrap();
    found.lock().unwrap().clone()
}

async fn attach(folder: &Path) -> SqliteConnection {
    let file = SqliteConnectOptions::new().filename(folder.join("countersign.db"));
    SqliteConnection::connect_with(&file).await.unwrap()
}

async fn verify(folder: &Path) -> Verdict {
    Reader::new(&Place::new(folder)).verify().await.unwrap()
}
