//! Receipts in real databases.

use std::time::Duration;

use jiff::Timestamp;

use super::StoredReceipt;
use crate::Store;
use crate::db::testing::sites;

#[tokio::test]
async fn receipts_outlive_the_process_and_not_their_time() {
    for site in sites().await {
        let day = Duration::from_hours(24);
        let store = Store::open(&site.place).await.unwrap();
        let receipts = store.receipts(day);
        let now = Timestamp::now();
        let old = now - 2 * day;
        for (id, at, material) in [("a", old, "m1"), ("b", old, "m2"), ("c", now, "m2"), ("d", now, "m3")] {
            receipts.keep(receipt(id, at, material)).await.unwrap();
        }
        store.close().await.unwrap();

        let store = Store::open(&site.place).await.unwrap();
        let receipts = store.receipts(day);
        for (id, material) in [("a", None), ("b", None), ("c", Some("m2")), ("d", Some("m3"))] {
            let found = receipts.find(id).await.unwrap();
            assert_eq!(found.map(|found| found.material_digest), material.map(ToOwned::to_owned), "{id}");
        }
        let newest = receipts.newest(10).await.unwrap();
        assert_eq!(newest.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), ["d", "c"]);
        // What nobody shares any more is gone too, and comes again with the next that has it.
        receipts.keep(receipt("e", now, "m1")).await.unwrap();
        assert_eq!(receipts.find("e").await.unwrap(), Some(receipt("e", now, "m1")));
        store.close().await.unwrap();
        assert!(receipts.keep(receipt("f", now, "m1")).await.is_err(), "closed");
    }
}

fn receipt(id: &str, at: Timestamp, material: &str) -> StoredReceipt {
    let at = Timestamp::from_millisecond(at.as_millisecond()).unwrap();
    StoredReceipt {
        id: id.to_owned(),
        at,
        body: format!("{{\"id\":\"{id}\"}}"),
        material_digest: material.to_owned(),
        material: format!("material of {material}"),
    }
}
