//! A disk on which nothing can be written any more, and then can again: a limit on file sizes does both, for root too.
//!
//! Limits are a process's own, so the test runs in a child: this same binary, started again.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may fail the test")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use countersign_contract::{AuditEntry, AuditEvent, AuditLog as _, AuditUnavailable, Digest, Durability, RequestId};
use countersign_store::{AuditWriter, Record, RecordBody, Store, StoreError, Verdict};
use jiff::Timestamp;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

const FOLDER: &str = "COUNTERSIGN_STORE_FULL_DISK_FOLDER";
/// A file that the child makes when it is done: a run in which no test has that name succeeds, too.
const MARKER: &str = "COUNTERSIGN_STORE_FULL_DISK_MARKER";

/// `SIGXFSZ` has this number on Linux and macOS; unhandled, it would end the process.
const FILE_SIZE_EXCEEDED: i32 = 25;

/// However busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);

/// More than the store retains.
const BATCHED: u64 = 20_000;

#[test]
fn a_full_disk_refuses_and_recovers_with_the_loss_on_record() {
    let parent = tempfile::tempdir().unwrap();
    let marker = parent.path().join("came to the end");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture"])
        .env(FOLDER, parent.path().join("data"))
        .env(MARKER, &marker)
        .status()
        .unwrap();
    assert!(status.success());
    assert!(marker.exists(), "the child ran no test");
}

/// Not a test of its own: what the other one starts.
#[test]
fn child() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(fill_and_free(&PathBuf::from(folder)));
        std::fs::write(std::env::var_os(MARKER).unwrap(), "").unwrap();
    }
}

async fn fill_and_free(folder: &Path) {
    let _handled = signal(SignalKind::from_raw(FILE_SIZE_EXCEEDED)).unwrap();
    let store = Store::open(folder).await.unwrap();
    let log = store.audit_log();
    append(&log, Durability::Synced).await.unwrap();

    let limit = limit_file_size(Some(0));
    for _ in 0..3 {
        assert_eq!(append(&log, Durability::Synced).await, Err(AuditUnavailable));
    }
    assert!(matches!(store.ping().await, Err(StoreError::Unwritable)));
    for _ in 0..BATCHED {
        append(&log, Durability::Batched).await.unwrap();
    }
    // Takes along what is still in the queue, so that the count below is exact.
    assert_eq!(append(&log, Durability::Synced).await, Err(AuditUnavailable));

    limit_file_size(limit);
    // For a moment after a failure everything is refused.
    let recovered = async {
        while store.ping().await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, recovered).await.expect("a store that recovers");
    let last = append(&log, Durability::Synced).await.unwrap();
    let Verdict::Verified(extent) = store.verify().await.unwrap() else { panic!("the chain is broken") };
    assert!(extent.lost > 0, "{extent:?}");
    // Two synced entries and the gap stand beside what was retained.
    assert_eq!(extent.records - 3 + extent.lost, BATCHED, "{extent:?}");
    let found = store.show(last).await.unwrap();
    assert!(matches!(&found[..], [Record { body: RecordBody::Entry(_), .. }]), "{found:?}");
    store.close().await.unwrap();
}

async fn append(log: &AuditWriter, durability: Durability) -> Result<RequestId, AuditUnavailable> {
    let request_id = RequestId::generate();
    let entry = AuditEntry {
        event: AuditEvent::Intent,
        at: Timestamp::now(),
        request_id,
        caller: "full disk".into(),
        wire: "none".into(),
        tool: "add_task".parse().unwrap(),
        contract: Digest::of_bytes(b"contract"),
        arguments: Digest::of_bytes(b"arguments"),
        code: None,
        duration_us: None,
        result: None,
        approval: None,
    };
    log.append(entry, durability).await.map(|()| request_id)
}

/// Answers the limit before.
fn limit_file_size(bytes: Option<u64>) -> Option<u64> {
    let before = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: bytes, ..before }).unwrap();
    before.current
}
