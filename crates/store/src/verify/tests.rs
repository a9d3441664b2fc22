//! Real stores, changed behind their back with plain SQL.

use countersign_contract::{AuditLog as _, Durability};

use super::FindingKind::{BrokenLink, Changed, HeadMismatch, Missing, OutOfOrder, RemovedChain, Unreadable};
use super::{Extent, Finding, FindingKind, Verdict};
use crate::db::testing::{Site, sites};
use crate::record::tests::answered;
use crate::{Place, Store};

/// Three processes' chains with so many records each.
const CHAINS: i64 = 3;
const RECORDS: i64 = 5;

/// What was done, how, and what must be said about it.
const CASES: &[(&str, &str, &[Finding])] = &[
    (
        "a changed text",
        "UPDATE audit_record SET body = replace(body, 'read_file', 'read_tile') WHERE chain = 2 AND seq = 3",
        &[record(Changed, 2, 3)],
    ),
    (
        "a changed text at the end of the last chain",
        "UPDATE audit_record SET body = replace(body, 'read_file', 'read_tile') WHERE chain = 3 AND seq = 5",
        &[record(Changed, 3, 5)],
    ),
    (
        "a changed hash",
        "UPDATE audit_record SET hash = zeroblob(32) WHERE chain = 1 AND seq = 2",
        &[record(Changed, 1, 2)],
    ),
    (
        "a changed text with its hash made to fit nothing",
        "UPDATE audit_record SET body = replace(body, '1234', '1'), hash = zeroblob(32) WHERE chain = 1 AND seq = 2",
        &[record(Changed, 1, 2), record(Changed, 1, 3)],
    ),
    ("a removed first record", "DELETE FROM audit_record WHERE chain = 1 AND seq = 1", &[record(Missing, 1, 1)]),
    ("a removed record", "DELETE FROM audit_record WHERE chain = 2 AND seq = 3", &[record(Missing, 2, 3)]),
    ("a removed last record", "DELETE FROM audit_record WHERE chain = 3 AND seq = 5", &[record(Missing, 3, 5)]),
    (
        "a removed last record that a later chain links to",
        "DELETE FROM audit_record WHERE chain = 2 AND seq = 5",
        &[record(Missing, 2, 5), chain(BrokenLink, 3)],
    ),
    (
        "swapped neighbours",
        "UPDATE audit_record SET place = -seq WHERE chain = 2 AND seq IN (2, 3); \
         UPDATE audit_record SET place = (2 << 32) + 5 + place WHERE place < 0",
        &[record(OutOfOrder, 2, 2), record(OutOfOrder, 2, 3)],
    ),
    (
        "swapped records far apart",
        "UPDATE audit_record SET place = -seq WHERE chain = 2 AND seq IN (1, 4); \
         UPDATE audit_record SET place = (2 << 32) + 5 + place WHERE place < 0",
        &[record(OutOfOrder, 2, 1), record(OutOfOrder, 2, 4)],
    ),
    (
        "a record before the first",
        "INSERT INTO audit_record SELECT 2 << 32, body, hash FROM audit_record WHERE chain = 2 AND seq = 1",
        &[record(OutOfOrder, 2, 0)],
    ),
    (
        "a record from another chain",
        "UPDATE audit_record SET (body, hash) = \
         (SELECT body, hash FROM audit_record WHERE chain = 1 AND seq = 2) WHERE chain = 3 AND seq = 2",
        &[record(Changed, 3, 2), record(Changed, 3, 3)],
    ),
    (
        "a removed chain",
        "DELETE FROM audit_record WHERE chain = 2; DELETE FROM audit_chain WHERE id = 2",
        &[chain(RemovedChain, 2)],
    ),
    ("a removed chain that left its records", "DELETE FROM audit_chain WHERE id = 2", &[chain(RemovedChain, 2)]),
    (
        "the newest chain removed",
        "DELETE FROM audit_record WHERE chain = 3; DELETE FROM audit_chain WHERE id = 3",
        &[chain(RemovedChain, 3)],
    ),
    (
        "the newest chain removed and the count made to fit, but not its records",
        "DELETE FROM audit_chain WHERE id = 3; UPDATE audit_anchor SET chains_opened = 2",
        &[chain(RemovedChain, 3)],
    ),
    (
        "a cut tail with the head made to fit",
        "DELETE FROM audit_record WHERE chain = 2 AND seq > 3; \
         UPDATE audit_chain SET head_seq = 3, \
         head_hash = (SELECT hash FROM audit_record WHERE chain = 2 AND seq = 3) WHERE id = 2",
        &[chain(BrokenLink, 3)],
    ),
    (
        "a cut tail with head and link made to fit",
        "DELETE FROM audit_record WHERE chain = 2 AND seq > 3; \
         UPDATE audit_chain SET head_seq = 3, \
         head_hash = (SELECT hash FROM audit_record WHERE chain = 2 AND seq = 3) WHERE id = 2; \
         UPDATE audit_link SET seq = 3, \
         hash = (SELECT hash FROM audit_record WHERE chain = 2 AND seq = 3) WHERE opening = 3",
        &[record(Changed, 3, 1)],
    ),
    ("a head moved back", "UPDATE audit_chain SET head_seq = 4 WHERE id = 3", &[chain(HeadMismatch, 3)]),
    ("a head moved on", "UPDATE audit_chain SET head_seq = 6 WHERE id = 3", &[chain(HeadMismatch, 3)]),
    (
        "a head with another hash",
        "UPDATE audit_chain SET head_hash = zeroblob(32) WHERE id = 1",
        &[chain(HeadMismatch, 1)],
    ),
    ("a head that is none", "UPDATE audit_chain SET head_hash = x'00' WHERE id = 1", &[chain(Unreadable, 1)]),
    (
        "a link to another chain",
        "UPDATE audit_link SET chain = 1 WHERE opening = 3",
        &[chain(BrokenLink, 3), record(Changed, 3, 1), chain(BrokenLink, 3)],
    ),
    ("a removed link", "DELETE FROM audit_link WHERE opening = 3", &[chain(BrokenLink, 3), record(Changed, 3, 1)]),
    (
        "a link that is none",
        "UPDATE audit_link SET hash = x'00' WHERE opening = 3",
        &[chain(Unreadable, 3), chain(BrokenLink, 3)],
    ),
    (
        "a link more",
        "INSERT INTO audit_link SELECT 3, chain, seq, hash FROM audit_link WHERE opening = 2",
        &[record(Changed, 3, 1)],
    ),
    (
        "a name that is no text",
        "UPDATE audit_chain SET uuid = CAST(x'ff' AS TEXT) WHERE id = 1",
        &[chain(Unreadable, 1)],
    ),
    (
        "an opening time that is no text",
        "UPDATE audit_chain SET opened_at = CAST(x'ff' AS TEXT) WHERE id = 2",
        &[chain(Unreadable, 2)],
    ),
    (
        "a chain before the first",
        "INSERT INTO audit_chain SELECT 0, uuid, opened_at, head_seq, head_hash FROM audit_chain WHERE id = 1; \
         INSERT INTO audit_record (place, body, hash) SELECT seq, body, hash FROM audit_record WHERE chain = 1",
        &[chain(OutOfOrder, 0)],
    ),
    (
        "a chain under a negative number",
        "UPDATE audit_chain SET id = -1 WHERE id = 2; \
         UPDATE audit_record SET place = place - (3 << 32) WHERE chain = 2",
        &[chain(OutOfOrder, -1), record(Changed, -1, 1), chain(RemovedChain, 2)],
    ),
    (
        "another opening time",
        "UPDATE audit_chain SET opened_at = '2020-01-01T00:00:00Z' WHERE id = 3",
        &[record(Changed, 3, 1)],
    ),
    (
        "a text that is no JSON",
        "UPDATE audit_record SET body = 'gone' WHERE chain = 1 AND seq = 4",
        &[record(Unreadable, 1, 4)],
    ),
    (
        "a hash that is none",
        "UPDATE audit_record SET hash = x'00' WHERE chain = 1 AND seq = 4",
        &[record(Unreadable, 1, 4)],
    ),
    ("a smaller count of chains", "UPDATE audit_anchor SET chains_opened = 2", &[chain(HeadMismatch, 3)]),
    ("no count of chains", "DELETE FROM audit_anchor", &[chain(HeadMismatch, 3)]),
];

#[tokio::test]
async fn an_untouched_store_verifies() {
    for site in sites().await {
        write_chains(&site.place).await;
        let extent = Extent { chains: 3, records: 15, lost: 0 };
        assert_eq!(verify_after(&site, "SELECT 1").await, Verdict::Verified(extent));
    }
}

#[tokio::test]
async fn a_store_without_records_verifies() {
    for site in sites().await {
        Store::open(&site.place).await.unwrap().close().await.unwrap();
        assert_eq!(verify_after(&site, "SELECT 1").await, Verdict::Verified(Extent::default()));
    }
}

#[tokio::test]
async fn every_kind_of_tampering_is_found_and_named() {
    for (what, statements, findings) in CASES {
        for site in sites().await {
            // PostgreSQL lets nothing into a text that is none.
            if site.is_postgres() && statements.contains("x'ff'") {
                continue;
            }
            write_chains(&site.place).await;
            let verdict = verify_after(&site, statements).await;
            let Verdict::Broken { extent: _, findings: found, unlisted: 0 } = verdict else {
                panic!("{what}: {verdict:?}")
            };
            assert_eq!(found, *findings, "{what}");
        }
    }
}

/// The first process writes on while others come and go; each that opens a chain pins what is there by then.
#[tokio::test]
async fn the_tail_of_a_chain_that_still_grows_is_held_by_later_ones() {
    for site in sites().await {
        let growing = Store::open(&site.place).await.unwrap();
        for _ in 0..3 {
            for _ in 0..4 {
                growing.audit_log().append(answered(), Durability::Synced).await.unwrap();
            }
            write_chain(&site.place).await;
        }
        growing.audit_log().append(answered(), Durability::Synced).await.unwrap();
        growing.close().await.unwrap();
        let extent = Extent { chains: 4, records: 13 + 3 * 5, lost: 0 };
        assert_eq!(verify_after(&site, "SELECT 1").await, Verdict::Verified(extent));

        let after_the_last = "DELETE FROM audit_record WHERE chain = 1 AND seq > 12; UPDATE audit_chain SET \
                              head_seq = 12, head_hash = (SELECT hash FROM audit_record WHERE chain = 1 AND seq = 12) \
                              WHERE id = 1";
        let extent = Extent { records: extent.records - 1, ..extent };
        assert_eq!(verify_after(&site, after_the_last).await, Verdict::Verified(extent), "the limit, as documented");

        let before_the_last = "DELETE FROM audit_record WHERE chain = 1 AND seq > 8; UPDATE audit_chain SET \
                               head_seq = 8, head_hash = (SELECT hash FROM audit_record WHERE chain = 1 AND seq = 8) \
                               WHERE id = 1";
        let extent = Extent { records: extent.records - 4, ..extent };
        let findings = vec![chain(BrokenLink, 4)];
        let broken = Verdict::Broken { extent, findings, unlisted: 0 };
        assert_eq!(verify_after(&site, before_the_last).await, broken);
    }
}

/// A link is carried by the chain that was opened, which need not be the next in number.
#[tokio::test]
async fn a_broken_link_names_the_chain_that_carries_it() {
    for site in sites().await {
        write_chains(&site.place).await;
        let removed = "DELETE FROM audit_record WHERE chain = 3; DELETE FROM audit_chain WHERE id = 3; \
                       DELETE FROM audit_link WHERE opening = 3";
        verify_after(&site, removed).await;
        write_chain(&site.place).await;
        let cut = "DELETE FROM audit_record WHERE chain = 2 AND seq = 5; UPDATE audit_chain SET head_seq = 4, \
                   head_hash = (SELECT hash FROM audit_record WHERE chain = 2 AND seq = 4) WHERE id = 2";
        let Verdict::Broken { findings, .. } = verify_after(&site, cut).await else { panic!("not found") };
        assert_eq!(findings, [chain(RemovedChain, 3), chain(BrokenLink, 4)]);
    }
}

/// Its number is not given to another: their records would stand in each other's way.
#[tokio::test]
async fn what_a_removed_chain_left_does_not_stop_the_next() {
    for site in sites().await {
        write_chains(&site.place).await;
        let removed = "DELETE FROM audit_chain WHERE id = 3; UPDATE audit_anchor SET chains_opened = 2; \
                       DELETE FROM audit_link WHERE opening = 3";
        verify_after(&site, removed).await;
        write_chain(&site.place).await;
        let Verdict::Broken { findings, .. } = verify_after(&site, "SELECT 1").await else { panic!("not found") };
        assert_eq!(findings, [chain(RemovedChain, 3)]);
    }
}

#[tokio::test]
async fn findings_are_bounded() {
    for site in sites().await {
        let store = Store::open(&site.place).await.unwrap();
        for _ in 0..1100 {
            store.audit_log().append(answered(), Durability::Batched).await.unwrap();
        }
        store.close().await.unwrap();
        let verdict = verify_after(&site, "UPDATE audit_record SET body = 'gone'").await;
        let Verdict::Broken { findings, unlisted, .. } = verdict else { panic!("{verdict:?}") };
        assert_eq!((findings.len(), unlisted), (1000, 100));
    }
}

/// Twenty records at once take two rows, of sixteen and of four.
#[tokio::test]
async fn tampering_with_a_row_that_records_share_is_found_too() {
    for (what, statements, found) in [
        (
            "a changed record in the middle",
            "UPDATE audit_record SET body = replace(body, '\"seq\":7}', '\"seq\": 7}')",
            record(Changed, 1, 7),
        ),
        (
            "a changed hash in the middle",
            "UPDATE audit_record SET hash = CAST(substr(hash, 1, 64) || zeroblob(32) || substr(hash, 97) AS BLOB) \
             WHERE seq = 16",
            record(Changed, 1, 3),
        ),
        ("a removed row", "DELETE FROM audit_record WHERE seq = 16", Finding { count: 16, ..record(Missing, 1, 1) }),
        (
            "a removed last row",
            "DELETE FROM audit_record WHERE seq = 20",
            Finding { count: 4, ..record(Missing, 1, 17) },
        ),
        (
            "a removed first record",
            "UPDATE audit_record SET body = substr(body, instr(body, char(10)) + 1), hash = substr(hash, 33) \
             WHERE seq = 16",
            record(Missing, 1, 1),
        ),
        ("a cut hash", "UPDATE audit_record SET hash = substr(hash, 1, 511) WHERE seq = 16", record(Unreadable, 1, 16)),
    ] {
        for site in sites().await {
            let store = Store::open(&site.place).await.unwrap();
            for _ in 0..20 {
                store.audit_log().append(answered(), Durability::Batched).await.unwrap();
            }
            store.close().await.unwrap();
            let verdict = verify_after(&site, "SELECT 1").await;
            assert_eq!(verdict, Verdict::Verified(Extent { chains: 1, records: 20, lost: 0 }));
            let verdict = verify_after(&site, statements).await;
            let Verdict::Broken { findings, .. } = verdict else { panic!("{what}: {verdict:?}") };
            assert_eq!(findings, [found], "{what}");
        }
    }
    for (what, statements) in [
        ("a removed record", "UPDATE audit_record SET body = replace(body, '\"seq\":7}' || char(10), '')"),
        ("one hash more", "UPDATE audit_record SET hash = CAST(hash || zeroblob(32) AS BLOB) WHERE seq = 20"),
        ("one byte more", "UPDATE audit_record SET hash = CAST(hash || x'00' AS BLOB) WHERE seq = 20"),
        ("one line more", "UPDATE audit_record SET body = body || char(10) WHERE seq = 20"),
    ] {
        for site in sites().await {
            let store = Store::open(&site.place).await.unwrap();
            for _ in 0..20 {
                store.audit_log().append(answered(), Durability::Batched).await.unwrap();
            }
            store.close().await.unwrap();
            let verdict = verify_after(&site, statements).await;
            assert!(matches!(verdict, Verdict::Broken { .. }), "{what}: {verdict:?}");
        }
    }
}

async fn write_chains(place: &Place) {
    for _ in 0..CHAINS {
        write_chain(place).await;
    }
}

async fn write_chain(place: &Place) {
    let store = Store::open(place).await.unwrap();
    for _ in 0..RECORDS {
        store.audit_log().append(answered(), Durability::Synced).await.unwrap();
    }
    store.close().await.unwrap();
}

async fn verify_after(site: &Site, statements: &str) -> Verdict {
    site.change(statements).await;
    let store = Store::open_existing(&site.place).await.unwrap();
    let verdict = store.verify().await.unwrap();
    store.close().await.unwrap();
    verdict
}

const fn record(kind: FindingKind, chain: i64, seq: i64) -> Finding {
    Finding { kind, chain, seq: Some(seq), count: 1 }
}

const fn chain(kind: FindingKind, chain: i64) -> Finding {
    Finding { kind, chain, seq: None, count: 1 }
}
