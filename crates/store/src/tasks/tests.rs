//! Tasks in real databases, from several processes' stores at once.

use std::collections::BTreeSet;

use countersign_contract::{AuditEntry, AuditEvent};

use super::{NewDescription, Task, TaskChange, TaskQuery, TaskStatus, Tasks, TasksError};
use crate::db::testing::{Site, sites};
use crate::record::tests::answered;
use crate::{Store, Verdict};

async fn open() -> Vec<(Site, Store)> {
    let mut opened = Vec::new();
    for site in sites().await {
        let store = Store::open(&site.place).await.unwrap();
        opened.push((site, store));
    }
    opened
}

async fn add(tasks: &Tasks, title: &str) -> Task {
    tasks.add(title.to_owned(), None, Some(intent())).await.unwrap()
}

fn intent() -> AuditEntry {
    AuditEntry { event: AuditEvent::Intent, ..answered() }
}

async fn list(tasks: &Tasks, status: Option<TaskStatus>, after: i64, limit: i64) -> Vec<i64> {
    let listed = tasks.list(TaskQuery { status, after, limit }).await.unwrap();
    listed.into_iter().map(|task| task.id).collect()
}

#[tokio::test]
async fn a_task_lives_and_ends() {
    for (_site, store) in open().await {
        let tasks = store.tasks();
        let added = tasks.add("title".to_owned(), Some("more".to_owned()), None).await.unwrap();
        assert_eq!((added.id, added.status, added.completed_at), (1, TaskStatus::Pending, None));
        let change = TaskChange { title: Some("other".to_owned()), description: NewDescription::Keep };
        let updated = tasks.update(1, change, None).await.unwrap().unwrap();
        assert_eq!(updated, Task { title: "other".to_owned(), ..added.clone() });
        let change = TaskChange { title: None, description: NewDescription::Remove };
        assert_eq!(tasks.update(1, change, None).await.unwrap().unwrap().description, None);
        let completed = tasks.complete(1, None).await.unwrap().unwrap();
        assert_eq!(completed.status, TaskStatus::Completed);
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        assert_eq!(tasks.complete(1, None).await.unwrap().unwrap(), completed, "twice is the same as once");
        assert_eq!(list(&tasks, Some(TaskStatus::Completed), 0, 10).await, [1]);
        assert_eq!(tasks.delete(1, None).await, Ok(Some(())));
        assert_eq!(tasks.delete(1, None).await, Ok(None));
        assert_eq!(tasks.complete(1, None).await, Ok(None));
        assert_eq!(tasks.update(1, TaskChange::default(), None).await, Ok(None));
        assert_eq!(add(&tasks, "next").await.id, 2, "no id is given twice");
    }
}

#[tokio::test]
async fn pages_follow_the_order_of_creation() {
    for (_site, store) in open().await {
        let tasks = store.tasks();
        for n in 0..7 {
            add(&tasks, &n.to_string()).await;
        }
        tasks.complete(3, None).await.unwrap();
        tasks.complete(5, None).await.unwrap();
        assert_eq!(list(&tasks, None, 0, 3).await, [1, 2, 3]);
        assert_eq!(list(&tasks, None, 3, 3).await, [4, 5, 6]);
        assert_eq!(list(&tasks, None, 6, 3).await, [7]);
        assert_eq!(list(&tasks, Some(TaskStatus::Completed), 3, 3).await, [5]);
        assert_eq!(list(&tasks, Some(TaskStatus::Pending), 2, 2).await, [4, 6]);
        assert_eq!(list(&tasks, None, i64::MAX, 3).await, [0_i64; 0]);
    }
}

#[tokio::test]
async fn a_change_and_its_record_are_one() {
    for (site, store) in open().await {
        let other = Store::open(&site.place).await.unwrap();
        let adding = (0..40).map(|n| {
            let tasks = if n % 2 == 0 { store.tasks() } else { other.tasks() };
            async move { add(&tasks, "t").await.id }
        });
        let ids: BTreeSet<i64> = futures_util::future::join_all(adding).await.into_iter().collect();
        assert_eq!(ids.len(), 40);
        assert_eq!(
            store.tasks().delete(999, Some(intent())).await,
            Ok(None),
            "nothing was changed, so nothing is recorded"
        );
        let verdict = store.verify().await.unwrap();
        assert!(matches!(&verdict, Verdict::Verified(extent) if extent.records == 40), "{verdict:?}");
    }
}

#[tokio::test]
async fn without_a_database_there_are_no_tasks() {
    assert_eq!(Tasks::nowhere().delete(1, None).await, Err(TasksError::Failed));
    for (_site, store) in open().await {
        store.close().await.unwrap();
        assert_eq!(store.tasks().complete(1, None).await, Err(TasksError::Failed));
    }
}
