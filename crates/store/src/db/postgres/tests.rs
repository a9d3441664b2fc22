//! What a real server does to us. Where there is none, the test command says so.

use std::time::{Duration, Instant};

use countersign_contract::{AuditLog as _, Durability};
use futures_util::future::join_all;
use tokio::task::JoinSet;

use super::{LOCKS, suitable};
use crate::db::sql::Connection;
use crate::db::testing::{Site, on_postgres};
use crate::record::tests::answered;
use crate::{Extent, Place, Store, StoreError, TaskChange, TaskQuery, TasksError, Verdict};

#[tokio::test]
async fn what_is_wrong_with_a_database_is_told_apart() {
    let nobody_there = "postgres://postgres@127.0.0.1:1/postgres".parse().unwrap();
    let answer = Store::open(&Place::Server(nobody_there)).await;
    assert!(matches!(&answer, Err(StoreError::Unreachable { .. })), "{answer:?}");

    let Some(site) = on_postgres().await else { return };
    let answer = Store::open_existing(&site.place).await;
    assert!(matches!(&answer, Err(StoreError::NotThere { .. })), "{answer:?}");
    let answer = Store::open(&on_the_same_server(&site, "nowhere")).await;
    assert!(matches!(&answer, Err(StoreError::Unreachable { .. })), "{answer:?}");

    site.change("CREATE DATABASE old_letters ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0").await;
    let answer = Store::open(&on_the_same_server(&site, "old_letters")).await;
    assert!(
        matches!(&answer, Err(StoreError::Unsuitable { reason, .. }) if reason.contains("SQL_ASCII")),
        "{answer:?}"
    );
    site.change("DROP DATABASE old_letters").await;

    site.change("UPDATE _sqlx_migrations SET version = 9000 WHERE version = 1").await;
    let answer = Store::open(&site.place).await;
    assert!(matches!(&answer, Err(StoreError::NewerSchema { found: 9000, .. })), "{answer:?}");
}

fn on_the_same_server(site: &Site, database: &str) -> Place {
    let Place::Server(server) = &site.place else { panic!("not on a server") };
    let options = server.options();
    let address = format!("postgres://postgres@{}:{}/{database}", options.get_host(), options.get_port());
    Place::Server(address.parse().unwrap())
}

#[test]
fn old_servers_and_narrow_encodings_will_not_do() {
    assert_eq!(suitable(14, "UTF8"), Ok(()));
    assert!(suitable(13, "UTF8").unwrap_err().contains("13"));
    assert!(suitable(17, "LATIN1").unwrap_err().contains("LATIN1"));
}

#[tokio::test]
async fn an_upgrade_that_is_stuck_elsewhere_is_not_waited_for() {
    let Some(site) = on_postgres().await else { return };
    let mut other = raw(&site).await;
    other.query("SELECT pg_advisory_lock($1)").bind(LOCKS).execute().await.unwrap();
    let answer = Store::open(&site.place).await;
    assert!(matches!(&answer, Err(StoreError::Locked { .. })), "{answer:?}");
    other.close().await.unwrap();
    Store::open(&site.place).await.unwrap().close().await.unwrap();
}

#[tokio::test]
async fn many_may_start_at_once_on_nothing() {
    let Some(site) = on_postgres().await else { return };
    let mut starting = JoinSet::new();
    for _ in 0..8 {
        let place = site.place.clone();
        starting.spawn(async move {
            let store = Store::open(place).await.unwrap();
            store.audit_log().append(answered(), Durability::Synced).await.unwrap();
            store.close().await.unwrap();
        });
    }
    starting.join_all().await;
    let store = Store::open_existing(&site.place).await.unwrap();
    let extent = Extent { chains: 8, records: 8, lost: 0 };
    assert_eq!(store.verify().await.unwrap(), Verdict::Verified(extent));
}

/// As a restart of the server does.
#[tokio::test]
async fn connections_that_were_cut_are_made_again_and_nobody_notices() {
    let Some(site) = on_postgres().await else { return };
    let store = Store::open(&site.place).await.unwrap();
    let tasks = store.tasks();
    for round in 1..=5 {
        tasks.add("t".to_owned(), None, Some(answered())).await.unwrap();
        let query = TaskQuery { status: None, after: 0, limit: 100 };
        assert_eq!(tasks.list(query).await.unwrap().len(), round);
        cut_all(&site).await;
    }
    let verdict = store.verify().await.unwrap();
    assert_eq!(verdict, Verdict::Verified(Extent { chains: 1, records: 5, lost: 0 }), "the chain goes on");
}

async fn cut_all(site: &Site) {
    let cut = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid != pg_backend_pid()";
    raw(site).await.query(cut).execute().await.unwrap();
}

/// Someone else holds the task for longer than a statement may wait.
#[tokio::test]
async fn what_takes_too_long_fails_and_the_rest_goes_on() {
    let Some(site) = on_postgres().await else { return };
    let store = Store::open(&site.place).await.unwrap();
    let tasks = store.tasks();
    let held = tasks.add("held".to_owned(), None, None).await.unwrap().id;
    let free = tasks.add("free".to_owned(), None, None).await.unwrap().id;
    let mut other = raw(&site).await;
    other.begin().await.unwrap();
    other.query("UPDATE task SET title = 'mine' WHERE id = $1").bind(held).execute().await.unwrap();
    let begun = Instant::now();
    let (waited, ()) = tokio::join!(tasks.complete(held, Some(answered())), async {
        // On another connection meanwhile.
        assert!(tasks.complete(free, Some(answered())).await.unwrap().is_some());
        assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    });
    assert_eq!(waited, Err(TasksError::Failed));
    other.close().await.unwrap();
    assert!(tasks.complete(held, Some(answered())).await.unwrap().is_some());
    let extent = Extent { chains: 2, records: 2, lost: 0 };
    assert_eq!(store.verify().await.unwrap(), Verdict::Verified(extent));
}

#[tokio::test]
async fn a_process_takes_no_more_connections_than_it_says() {
    let Some(site) = on_postgres().await else { return };
    let store = Store::open(&site.place).await.unwrap();
    let tasks = store.tasks();
    let busy = (0..200).map(|n| {
        let tasks = tasks.clone();
        async move {
            let id = tasks.add(n.to_string(), None, Some(answered())).await.unwrap().id;
            tasks.update(id, TaskChange::default(), None).await.unwrap();
            tasks.list(TaskQuery { status: None, after: 0, limit: 10 }).await.unwrap();
        }
    });
    join_all(busy).await;
    let text = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()";
    let connections: i64 = raw(&site).await.query(text).fetch_one().await.unwrap().get(0).unwrap();
    assert!((2..=17).contains(&connections), "{connections}");
    let Verdict::Verified(extent) = store.verify().await.unwrap() else { panic!("broken") };
    assert_eq!(extent.records, 200);
}

/// A role that is set to answer before anything is on disk is not taken at its word.
#[tokio::test]
async fn commits_are_synced() {
    let Some(site) = on_postgres().await else { return };
    let database: String =
        raw(&site).await.query("SELECT current_database()::text").fetch_one().await.unwrap().get(0).unwrap();
    site.change(&format!("ALTER DATABASE {database} SET synchronous_commit = off")).await;
    let row = site.connect().await.query("SHOW synchronous_commit").fetch_one().await.unwrap();
    assert_eq!(row.get::<String>(0).unwrap(), "on");
}

/// A connection that nobody prepared: it makes no tables.
async fn raw(site: &Site) -> Connection {
    use sqlx::Connection as _;
    let Place::Server(server) = &site.place else { panic!("not on a server") };
    let connection = sqlx::PgConnection::connect_with(&server.options()).await.unwrap();
    Connection::Postgres(crate::db::sql::Held::Own(connection))
}
