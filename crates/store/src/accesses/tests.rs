//! Counting in real databases, from several processes' stores at once.

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Executor as _};

use super::Accesses;
use crate::Store;
use crate::db::testing::sites;

#[tokio::test]
async fn reads_of_all_processes_are_added_up() {
    for site in sites().await {
        let (one, other) = (Store::open(&site.place).await.unwrap(), Store::open(&site.place).await.unwrap());
        for (store, times) in [(&one, 3), (&other, 2)] {
            let accesses = store.accesses("/repo".into());
            for _ in 0..times {
                accesses.record("src/a.rs");
            }
            accesses.record("b.md");
            store.accesses("/elsewhere".into()).record("src/a.rs");
        }
        one.close().await.unwrap();
        other.close().await.unwrap();
        let store = Store::open(&site.place).await.unwrap();
        assert_eq!(counts(&store.accesses("/repo".into())).await, [("b.md".to_owned(), 2), ("src/a.rs".to_owned(), 5)]);
        assert_eq!(counts(&store.accesses("/elsewhere".into())).await, [("src/a.rs".to_owned(), 2)]);
        let newest = store.accesses("/repo".into()).newest(1).await.unwrap();
        assert_eq!(
            (newest.len(), newest[0].last_at > jiff::Timestamp::now() - jiff::SignedDuration::from_mins(1)),
            (1, true)
        );
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn they_are_written_by_themselves_after_a_moment() {
    for site in sites().await {
        let store = Store::open(&site.place).await.unwrap();
        let accesses = store.accesses("/repo".into());
        for at in 0..600 {
            accesses.record(&format!("src/{at:03}.rs"));
        }
        let mut written = 0;
        for _ in 0..200 {
            written = accesses.newest(1000).await.unwrap().len();
            if written == 600 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_eq!(written, 600, "more than one batch");
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn long_paths_and_a_missing_database_hurt_nobody() {
    Accesses::nowhere().record("a");
    assert_eq!(Accesses::nowhere().newest(10).await.unwrap(), []);
    for site in sites().await {
        let store = Store::open(&site.place).await.unwrap();
        let accesses = store.accesses("/repo".into());
        accesses.record(&"x".repeat(4096));
        accesses.record(&"y".repeat(1900));
        store.close().await.unwrap();
        accesses.record("after the end");
        let store = Store::open(&site.place).await.unwrap();
        let counted = counts(&store.accesses("/repo".into())).await;
        assert_eq!(counted, [("y".repeat(1900), 1)]);
        store.close().await.unwrap();
    }
}

/// What cannot be written is kept, and written when it can be.
#[tokio::test]
async fn a_locked_database_delays_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let accesses = store.accesses("/repo".into());
    let file = SqliteConnectOptions::new().filename(folder.path().join("countersign.db"));
    let mut other = SqliteConnection::connect_with(&file).await.unwrap();
    other.execute("BEGIN EXCLUSIVE").await.unwrap();
    accesses.record("a");
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    accesses.record("a");
    other.execute("ROLLBACK").await.unwrap();
    store.close().await.unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    assert_eq!(counts(&store.accesses("/repo".into())).await, [("a".to_owned(), 2)]);
    store.close().await.unwrap();
}

async fn counts(accesses: &Accesses) -> Vec<(String, i64)> {
    let mut read: Vec<_> =
        accesses.newest(1000).await.unwrap().into_iter().map(|read| (read.path, read.count)).collect();
    read.sort();
    read
}
