use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use countersign_contract::{AuditLog as _, Durability};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Executor as _};
use tokio::task::JoinSet;

use crate::record::tests::answered;
use crate::{Extent, Store, StoreError, Verdict};

#[tokio::test]
async fn a_new_store_is_its_owners_alone() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("deep/.countersign");
    let store = Store::open(&folder).await.unwrap();
    store.audit_log().append(answered(), Durability::Synced).await.unwrap();
    assert_eq!(mode(&folder), 0o700);
    for file in ["countersign.db", "countersign.db-wal", "countersign.db-shm", "store.lock"] {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
    assert_eq!(fs::read_to_string(folder.join(".gitignore")).unwrap(), "*\n");
    store.close().await.unwrap();
    assert!(!folder.join("countersign.db-wal").exists(), "the last one out tidies up");
}

#[tokio::test]
async fn a_folder_of_someone_elses_gets_no_gitignore() {
    let folder = tempfile::tempdir().unwrap();
    Store::open(folder.path()).await.unwrap().close().await.unwrap();
    assert!(!folder.path().join(".gitignore").exists());
}

#[tokio::test]
async fn leftovers_of_a_killed_creator_do_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    for leftover in ["countersign.db.new", "countersign.db.new-wal", "countersign.db.new-shm"] {
        fs::write(folder.path().join(leftover), "half of something").unwrap();
    }
    open_and_close(folder.path()).await.unwrap();
    assert!(!folder.path().join("countersign.db.new").exists());
}

/// What a kill leaves beside a database, without the database.
#[tokio::test]
async fn the_log_of_a_missing_database_is_set_aside() {
    let parent = tempfile::tempdir().unwrap();
    let (killed, folder) = (parent.path().join("killed"), parent.path().join("data"));
    let store = Store::open(&killed).await.unwrap();
    for _ in 0..50 {
        store.audit_log().append(answered(), Durability::Synced).await.unwrap();
    }
    fs::create_dir(&folder).unwrap();
    fs::copy(killed.join("countersign.db-wal"), folder.join("countersign.db-wal")).unwrap();
    store.close().await.unwrap();
    let left = fs::read(folder.join("countersign.db-wal")).unwrap();

    let store = Store::open(&folder).await.unwrap();
    store.audit_log().append(answered(), Durability::Synced).await.unwrap();
    assert_eq!(store.verify().await.unwrap(), Verdict::Verified(Extent { chains: 1, records: 1, lost: 0 }));
    store.close().await.unwrap();
    open_and_close(&folder).await.unwrap();
    assert!(fs::read(folder.join("countersign.db-wal.stale")).unwrap() == left, "it may be all that is left");
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("countersign.db"), "").unwrap();
    open_and_close(folder.path()).await.unwrap();
    let header = fs::read(folder.path().join("countersign.db")).unwrap();
    assert_eq!(header[18..20], [2, 2], "the file format's mark of WAL");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_start_at_once_on_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    let mut starting = JoinSet::new();
    for _ in 0..8 {
        let folder = folder.clone();
        starting.spawn(async move {
            let store = Store::open(&folder).await?;
            for _ in 0..3 {
                store.audit_log().append(answered(), Durability::Synced).await.unwrap();
            }
            store.close().await
        });
    }
    for started in starting.join_all().await {
        started.unwrap();
    }
    let store = Store::open_existing(&folder).await.unwrap();
    assert_eq!(store.verify().await.unwrap(), Verdict::Verified(Extent { chains: 8, records: 24, lost: 0 }));
    store.close().await.unwrap();
}

#[tokio::test]
async fn looking_for_a_store_makes_none() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    let answer = Store::open_existing(&folder).await;
    assert!(
        matches!(&answer, Err(StoreError::NotThere { place }) if *place == folder.display().to_string()),
        "{answer:?}"
    );
    assert!(!folder.exists());
}

#[tokio::test]
async fn what_is_wrong_with_a_store_is_told_apart() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);

    fs::write(at("file"), "").unwrap();
    let answer = open_and_close(&at("file/data")).await;
    assert!(matches!(&answer, Err(StoreError::Folder { path, .. }) if *path == at("file/data")), "{answer:?}");
    let answer = open_and_close(&at("file")).await;
    assert!(matches!(&answer, Err(StoreError::Folder { .. })), "{answer:?}");

    fs::create_dir(at("nonsense")).unwrap();
    fs::write(at("nonsense/countersign.db"), "nonsense".repeat(1000)).unwrap();
    let answer = open_and_close(&at("nonsense")).await;
    assert!(matches!(&answer, Err(StoreError::Corrupt { .. })), "{answer:?}");

    fs::create_dir_all(at("taken/countersign.db")).unwrap();
    let answer = open_and_close(&at("taken")).await;
    assert!(matches!(&answer, Err(StoreError::Open { .. })), "{answer:?}");

    open_and_close(&at("newer")).await.unwrap();
    let applied = "INSERT INTO _sqlx_migrations VALUES (9999, 'from the future', 'today', TRUE, x'00', 0)";
    change(&at("newer"), applied).await;
    let answer = open_and_close(&at("newer")).await;
    assert!(matches!(&answer, Err(StoreError::NewerSchema { found: 9999, .. })), "{answer:?}");

    open_and_close(&at("other")).await.unwrap();
    change(&at("other"), "UPDATE _sqlx_migrations SET checksum = x'00'").await;
    let answer = open_and_close(&at("other")).await;
    assert!(matches!(&answer, Err(StoreError::Migrate { .. })), "{answer:?}");
}

#[tokio::test]
async fn damage_inside_the_file_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    for _ in 0..200 {
        store.audit_log().append(answered(), Durability::Batched).await.unwrap();
    }
    store.close().await.unwrap();
    let file = folder.path().join("countersign.db");
    let mut bytes = fs::read(&file).unwrap();
    let pages = bytes.len() / 8192;
    bytes[(pages - 2) * 8192..].fill(0xee);
    fs::write(&file, bytes).unwrap();

    let store = Store::open_existing(folder.path()).await.unwrap();
    let answer = store.integrity_check().await;
    assert!(!matches!(&answer, Ok(complaints) if complaints.is_empty()), "{answer:?}");
    let answer = store.verify().await;
    assert!(matches!(&answer, Err(StoreError::Corrupt { .. })), "{answer:?}");
    store.close().await.unwrap();
}

async fn open_and_close(folder: &Path) -> Result<(), StoreError> {
    let store = Store::open(folder).await?;
    assert_eq!(store.integrity_check().await?, Vec::<String>::new());
    store.close().await
}

async fn change(folder: &Path, statement: &'static str) {
    let file = SqliteConnectOptions::new().filename(folder.join("countersign.db"));
    let mut connection = SqliteConnection::connect_with(&file).await.unwrap();
    connection.execute(statement).await.unwrap();
    connection.close().await.unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}
