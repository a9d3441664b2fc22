use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use countersign_contract::{AuditEntry, AuditUnavailable, Code, RequestId};
use futures_util::future::join_all;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Executor as _};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::task::TaskTracker;

use super::{
    BATCHED_MAX, CommitError, Done, FLUSH_AFTER, FLUSH_AT, IfMissing, Place, REFUSE_FOR, STALLED_AFTER, Undo, Writer,
    WriterHandle,
};
use crate::backlog::RETAINED_MAX;
use crate::db::Reader;
use crate::db::testing::sites;
use crate::record::Draft;
use crate::record::tests::answered;
use crate::{Extent, Finding, FindingKind, Gap, RecordBody, Verdict};

#[tokio::test]
async fn what_arrives_together_shares_one_commit() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(&folder.path().into()).await;
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
    assert_eq!(verify(&folder.path().into()).await, Verdict::Verified(Extent { chains: 1, records: 51, lost: 0 }));
}

#[tokio::test]
async fn a_job_that_fails_leaves_its_neighbours_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(&folder.path().into()).await;
    note(&writer, &["CREATE TABLE note (text TEXT NOT NULL UNIQUE)"], None).await.unwrap();
    let before = writer.commits();

    let other = lock(folder.path()).await;
    let first = RequestId::generate();
    let (good, bad, panicking, last, ()) = tokio::join!(
        note(&writer, &["INSERT INTO note VALUES ('good')"], Some(AuditEntry { request_id: first, ..answered() })),
        note(&writer, &["INSERT INTO note VALUES ('bad')", "INSERT INTO note VALUES ('good')"], Some(answered())),
        writer.commit::<(), _>(Undo::BySavepoint, |connection| {
            Box::pin(async move {
                connection.query("INSERT INTO note VALUES ('panicking')").execute().await?;
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
    assert_eq!(verify(&folder.path().into()).await, Verdict::Verified(Extent { chains: 1, records: 2, lost: 0 }));
    let reader = Reader::new(&folder.path().into());
    assert_eq!(reader.show(first).await.unwrap().len(), 1);
}

#[tokio::test]
async fn batched_entries_ride_along_in_front() {
    for site in sites().await {
        let (writer, task) = start(&site.place).await;
        for _ in 0..3 {
            writer.append_batched(draft()).await.unwrap();
        }
        let last = AuditEntry { request_id: RequestId::generate(), ..answered() };
        writer.append_synced(Draft::of_entry(&last).unwrap()).await.unwrap();
        assert_eq!(writer.commits(), 1);
        let reader = Reader::new(&site.place);
        let found = reader.show(last.request_id).await.unwrap();
        assert_eq!((found.len(), found[0].seq, &found[0].body), (1, 4, &RecordBody::Entry(last)));
        end(writer, task).await;
    }
}

#[tokio::test]
async fn batched_entries_are_written_without_being_asked_for() {
    for site in sites().await {
        let (writer, task) = start(&site.place).await;
        let begun = Instant::now();
        writer.append_batched(draft()).await.unwrap();
        wait_for_commits(&writer, 1).await;
        assert!(begun.elapsed() >= FLUSH_AFTER, "alone, it waits for company");
        end(writer, task).await;
        assert_eq!(verify(&site.place).await, Verdict::Verified(Extent { chains: 1, records: 1, lost: 0 }));
    }
}

#[tokio::test]
async fn a_batch_that_is_large_enough_does_not_wait() {
    for site in sites().await {
        let (writer, task) = start(&site.place).await;
        let mut took = Vec::new();
        // On a busy machine one of them may take longer than it would have waited; not all of them do.
        while took.len() < 10 && took.iter().all(|took| *took >= FLUSH_AFTER) {
            let (begun, before) = (Instant::now(), writer.commits());
            writer.append_batched(draft()).await.unwrap();
            // Lets the writer take the first out of the queue.
            settle().await;
            for _ in 0..FLUSH_AT {
                writer.append_batched(draft()).await.unwrap();
            }
            wait_for_commits(&writer, before + 1).await;
            took.push(begun.elapsed());
        }
        assert!(took.iter().any(|took| *took < FLUSH_AFTER), "{took:?}");
        end(writer, task).await;
        let records = took.len() as u64 * (FLUSH_AT as u64 + 1);
        assert_eq!(verify(&site.place).await, Verdict::Verified(Extent { chains: 1, records, lost: 0 }));
    }
}

#[tokio::test]
async fn a_full_queue_makes_callers_wait_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(&folder.path().into()).await;
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
    assert_eq!(verify(&folder.path().into()).await, Verdict::Verified(Extent { chains: 1, records, lost: 0 }));
}

#[tokio::test]
async fn a_process_that_writes_nothing_leaves_nothing() {
    for site in sites().await {
        let (writer, task) = start(&site.place).await;
        note(&writer, &["SELECT 1"], None).await.unwrap();
        end(writer, task).await;
        assert_eq!(verify(&site.place).await, Verdict::Verified(Extent::default()));
    }
}

#[tokio::test]
async fn what_comes_after_the_end_is_refused() {
    for site in sites().await {
        let (writer, task) = start(&site.place).await;
        writer.append_batched(draft()).await.unwrap();
        writer.close();
        assert_eq!(task.await.unwrap(), 0);
        assert_eq!(writer.append_batched(draft()).await, Err(AuditUnavailable));
        assert_eq!(writer.append_synced(draft()).await, Err(AuditUnavailable));
        assert_eq!(verify(&site.place).await, Verdict::Verified(Extent { chains: 1, records: 1, lost: 0 }));
    }
}

#[tokio::test]
async fn the_writer_ends_when_nobody_can_ask_it_any_more() {
    for site in sites().await {
        let (writer, task) = start(&site.place).await;
        writer.append_batched(draft()).await.unwrap();
        drop(writer);
        assert_eq!(task.await.unwrap(), 0);
        assert_eq!(verify(&site.place).await, Verdict::Verified(Extent { chains: 1, records: 1, lost: 0 }));
    }
}

#[test]
fn dropping_everything_at_once_does_not_hang() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let writer = runtime.block_on(async {
        let (writer, _) = start(&folder.path().into()).await;
        writer.append_batched(draft()).await.unwrap();
        writer
    });
    drop(runtime);
    drop(writer);
}

/// What fails is the transaction, as with a full disk.
#[tokio::test]
async fn after_a_failure_the_loss_is_in_the_chain() {
    for site in sites().await {
        let (writer, task) = start(&site.place).await;
        writer.append_synced(draft()).await.unwrap();
        site.change("ALTER TABLE audit_record RENAME TO elsewhere").await;
        assert_eq!(writer.append_synced(draft()).await, Err(AuditUnavailable));
        // Known a moment after the caller knows.
        while writer.is_writable() {
            tokio::task::yield_now().await;
        }
        let lost = 100 + BATCHED_MAX;
        for _ in 0..RETAINED_MAX + lost {
            writer.append_batched(draft()).await.unwrap();
        }
        assert_eq!(
            writer.append_synced(draft()).await,
            Err(AuditUnavailable),
            "takes the batched ones out of the queue"
        );
        site.change("ALTER TABLE elsewhere RENAME TO audit_record").await;

        let after = AuditEntry { request_id: RequestId::generate(), code: Some(Code::Timeout), ..answered() };
        recover(&writer, Draft::of_entry(&after).unwrap()).await;
        assert!(writer.is_writable());
        end(writer, task).await;
        let (records, lost) = (RETAINED_MAX as u64 + 3, lost as u64);
        assert_eq!(verify(&site.place).await, Verdict::Verified(Extent { chains: 1, records, lost }));
        let gaps = gaps(&site.place).await;
        assert_eq!(
            gaps.iter().map(|(seq, gap)| (*seq, gap.lost)).collect::<Vec<_>>(),
            [(i64::try_from(RETAINED_MAX).unwrap() + 2, lost)]
        );
    }
}

/// Each attempt would take all that is retained to the database again.
#[tokio::test]
async fn refusing_is_cheap_while_nothing_can_be_written() {
    for site in sites().await {
        let (writer, task) = start(&site.place).await;
        writer.append_synced(draft()).await.unwrap();
        site.change("ALTER TABLE audit_record RENAME TO elsewhere").await;
        let begun = Instant::now();
        for _ in 0..1000 {
            assert_eq!(writer.append_synced(draft()).await, Err(AuditUnavailable));
        }
        // At most one attempt in so long, of some milliseconds each, and then a round through the channel.
        assert!(begun.elapsed() < REFUSE_FOR * 10, "{:?}", begun.elapsed());
        site.change("ALTER TABLE elsewhere RENAME TO audit_record").await;
        recover(&writer, draft()).await;
        end(writer, task).await;
        assert_eq!(verify(&site.place).await, Verdict::Verified(Extent { chains: 1, records: 2, lost: 0 }));
    }
}

#[tokio::test]
async fn a_lock_held_elsewhere_does_not_hold_up_reads() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(&folder.path().into()).await;
    writer.append_synced(draft()).await.unwrap();
    let other = lock(folder.path()).await;
    let entries = BATCHED_MAX + RETAINED_MAX * 2;
    let begun = Instant::now();
    for _ in 0..entries {
        writer.append_batched(draft()).await.unwrap();
    }
    assert!(begun.elapsed() < STALLED_AFTER * 4, "{:?}", begun.elapsed());
    other.close().await.unwrap();
    end(writer, task).await;
    let Verdict::Verified(extent) = verify(&folder.path().into()).await else { panic!("a broken chain") };
    assert!(extent.lost > 0, "{extent:?}");
    // The first synced entry and the gap stand beside them.
    assert_eq!(extent.records - 2 + extent.lost, entries as u64, "{extent:?}");
}

#[tokio::test]
async fn only_what_changes_something_counts_as_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(&folder.path().into()).await;
    note(&writer, &["SELECT 1"], None).await.unwrap();
    assert_eq!(writer.commits(), 0);
    writer.ping().await.unwrap();
    assert_eq!(writer.commits(), 1, "nothing was known yet");
    let other = lock(folder.path()).await;
    writer.ping().await.unwrap();
    assert_eq!(writer.commits(), 1, "and now it is");
    other.close().await.unwrap();
    end(writer, task).await;
}

/// A check that comes due only at the end makes COMMIT itself fail.
#[tokio::test]
async fn a_commit_that_fails_is_not_called_undone() {
    for site in sites().await {
        let (writer, task) = start(&site.place).await;
        let tables = [
            "CREATE TABLE parent (id INTEGER PRIMARY KEY)",
            "CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)",
        ];
        note(&writer, &tables, None).await.unwrap();
        let answer = note(&writer, &["INSERT INTO child VALUES (1)"], Some(answered())).await;
        assert!(matches!(answer, Err(CommitError::Unknown)), "{answer:?}");
        recover(&writer, draft()).await;
        end(writer, task).await;
        assert_eq!(verify(&site.place).await, Verdict::Verified(Extent { chains: 1, records: 1, lost: 0 }));
    }
}

#[tokio::test]
async fn commits_are_synced_into_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(&folder.path().into()).await;
    let settings = writer.commit(Undo::ByItself, |connection| {
        Box::pin(async move {
            let synchronous: i64 = connection.query("PRAGMA synchronous").fetch_one().await?.get(0)?;
            let journal: String = connection.query("PRAGMA journal_mode").fetch_one().await?.get(0)?;
            Ok(Done::looked((synchronous, journal)))
        })
    });
    assert_eq!(settings.await.unwrap(), (2, "wal".to_owned()));
    end(writer, task).await;
}

/// Only its own file, which is what a careless `rm` or a restore does.
#[tokio::test]
async fn a_database_removed_without_its_log_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, task) = start(&folder.path().into()).await;
    let reader = Reader::new(&folder.path().into());
    for _ in 0..20 {
        writer.append_batched(draft()).await.unwrap();
        writer.append_synced(draft()).await.unwrap();
    }
    assert_eq!(reader.verify().await.unwrap(), Verdict::Verified(Extent { chains: 1, records: 40, lost: 0 }));
    std::fs::remove_file(folder.path().join("countersign.db")).unwrap();
    for _ in 0..3 {
        writer.append_synced(draft()).await.unwrap();
    }
    let anew = Verdict::Verified(Extent { chains: 1, records: 3, lost: 0 });
    assert_eq!(reader.verify().await.unwrap(), anew, "the reader has noticed, too");
    assert_eq!(reader.integrity_check().await.unwrap(), Vec::<String>::new());
    reader.close().await;
    end(writer, task).await;
    assert_eq!(verify(&folder.path().into()).await, anew);
}

#[tokio::test]
async fn a_removed_database_is_made_anew() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    let (writer, task) = start(&(&folder).into()).await;
    writer.append_synced(draft()).await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    writer.append_synced(draft()).await.unwrap();
    assert_eq!(verify(&(&folder).into()).await, Verdict::Verified(Extent { chains: 1, records: 1, lost: 0 }));
    end(writer, task).await;
}

#[tokio::test]
async fn a_chain_changed_from_outside_is_left_behind() {
    for site in sites().await {
        let (writer, task) = start(&site.place).await;
        writer.append_synced(draft()).await.unwrap();
        site.change("UPDATE audit_chain SET head_seq = 7").await;
        assert_eq!(writer.append_synced(draft()).await, Err(AuditUnavailable));
        recover(&writer, draft()).await;
        end(writer, task).await;
        // The second chain was linked to a record that the first does not have.
        let findings = [(FindingKind::HeadMismatch, 1), (FindingKind::BrokenLink, 2)];
        let findings = findings.map(|(kind, chain)| Finding { kind, chain, seq: None, count: 1 }).to_vec();
        let extent = Extent { chains: 2, records: 2, lost: 0 };
        assert_eq!(verify(&site.place).await, Verdict::Broken { extent, findings, unlisted: 0 });
    }
}

async fn start(place: &Place) -> (WriterHandle, JoinHandle<u64>) {
    let (writers, handle) = Writer::start(place.clone(), IfMissing::Create).await.unwrap();
    let all = join_all(writers.into_iter().map(Writer::run));
    (handle, TaskTracker::new().spawn(async move { all.await.into_iter().sum() }))
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
    let changes = !statements.iter().all(|statement| statement.starts_with("SELECT"));
    let job = writer.commit(Undo::BySavepoint, move |connection| {
        Box::pin(async move {
            for statement in statements {
                connection.query(statement).execute().await?;
            }
            Ok(if changes { Done::changed((), audit) } else { Done::looked(()) })
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

/// After a failure, requests are refused for a moment. It begins when the writer has its connection back, and whoever
/// was refused knows before that.
async fn recover(writer: &WriterHandle, draft: Draft) {
    tokio::time::sleep(REFUSE_FOR * 4).await;
    writer.append_synced(draft).await.unwrap();
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

async fn notes(folder: &Path) -> Vec<String> {
    sqlx::query_scalar("SELECT text FROM note ORDER BY text").fetch_all(&mut attach(folder).await).await.unwrap()
}

async fn gaps(place: &Place) -> Vec<(i64, Gap)> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let reader = Reader::new(place);
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

async fn verify(place: &Place) -> Verdict {
    Reader::new(place).verify().await.unwrap()
}
