//! The context index in real databases, from several processes' stores at once.

use std::time::Duration;

use super::{
    BYTES_MAX, ContextRow, ContextRows, Digest, NewRow, ORIGINS_MAX, OriginRows, ROWS_MAX, VECTORS_MAX, batches,
};
use crate::db::testing::{Site, sites};
use crate::{Store, StoreError};

#[tokio::test]
async fn rows_come_change_and_go_with_their_origin() {
    for (_site, store) in open().await {
        let context = store.context("/repo".into());
        assert_eq!((origins(&context).await, revision(&context).await), (vec![], 0));
        context.replace(vec![origin("b.rs", 1, &["b0", "b1"]), origin("a.md", 1, &["a0"])]).await.unwrap();
        assert_eq!(origins(&context).await, [("a.md".to_owned(), [1; 32]), ("b.rs".to_owned(), [1; 32])]);
        let rows = rows_of(&context, &["b.rs", "a.md", "missing"]).await;
        assert_eq!(told(&rows), [("a.md", 0, "a0"), ("b.rs", 0, "b0"), ("b.rs", 1, "b1")]);
        assert_eq!(rows[1].text_hash, hash("b0"));
        let first = revision(&context).await;
        assert!(first > 0);

        context.replace(vec![origin("b.rs", 2, &["b1"])]).await.unwrap();
        let newer = rows_of(&context, &["b.rs"]).await;
        assert_eq!(told(&newer), [("b.rs", 0, "b1")]);
        assert!(newer[0].id > rows[2].id, "no id is given twice");
        assert_eq!(origins(&context).await[1], ("b.rs".to_owned(), [2; 32]));
        let second = revision(&context).await;
        assert!(second > first);

        let ids = [rows[0].id, rows[1].id, newer[0].id];
        let mut bodies = context.bodies(&ids).await.unwrap();
        bodies.sort();
        assert_eq!(bodies, [(rows[0].id, "a0".to_owned()), (newer[0].id, "b1".to_owned())]);

        context.remove(vec!["b.rs".to_owned(), "missing".to_owned()]).await.unwrap();
        assert_eq!(origins(&context).await, [("a.md".to_owned(), [1; 32])]);
        assert_eq!(
            (rows_of(&context, &["b.rs"]).await, context.bodies(&[newer[0].id]).await.unwrap()),
            (vec![], vec![])
        );
        let third = revision(&context).await;
        assert!(third > second);
        context.remove(vec!["b.rs".to_owned()]).await.unwrap();
        assert_eq!(revision(&context).await, third, "there was nothing to remove");
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn an_origin_with_the_same_digest_is_left_alone() {
    for (_site, store) in open().await {
        let context = store.context("/repo".into());
        context.replace(vec![origin("a", 1, &["one"]), origin("empty", 1, &[])]).await.unwrap();
        let (before, rows) = (revision(&context).await, rows_of(&context, &["a"]).await);
        context.replace(vec![origin("a", 1, &["other"]), origin("empty", 1, &["now"])]).await.unwrap();
        assert_eq!((revision(&context).await, rows_of(&context, &["a", "empty"]).await), (before, rows));

        context.replace(vec![origin("a", 2, &["first"]), origin("a", 3, &["last"])]).await.unwrap();
        assert_eq!(origins(&context).await[0], ("a".to_owned(), [3; 32]), "of two the later one counts");
        assert_eq!(told(&rows_of(&context, &["a"]).await), [("a", 0, "last")]);
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn scopes_know_nothing_of_each_other() {
    for (_site, store) in open().await {
        let (one, other) = (store.context("/one".into()), store.context("/other".into()));
        one.replace(vec![origin("a", 1, &["of one"])]).await.unwrap();
        assert_eq!((origins(&other).await, revision(&other).await), (vec![], 0));
        other.replace(vec![origin("a", 1, &["of the other"])]).await.unwrap();
        let before = revision(&one).await;
        other.remove(vec!["a".to_owned()]).await.unwrap();
        other.keep_vectors("m", vec![(hash("x"), vec![1])]).await.unwrap();
        assert_eq!((told(&rows_of(&one, &["a"]).await), revision(&one).await), (vec![("a", 0, "of one")], before));
        assert_eq!(vectors(&one, "m", &["x"]).await, [(hash("x"), vec![1])], "texts are the same everywhere");
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn what_has_no_vector_is_known() {
    for (_site, store) in open().await {
        let (context, other) = (store.context("/repo".into()), store.context("/other".into()));
        context.replace(vec![origin("a", 1, &["x", "y", "x"]), origin("b", 1, &["y", "z"])]).await.unwrap();
        other.replace(vec![origin("a", 1, &["w"])]).await.unwrap();
        context.keep_vectors("m", vec![(hash("y"), vec![1])]).await.unwrap();
        let lacking: Vec<Digest> =
            context.without_vectors("m").await.unwrap().into_iter().map(|(_, hash)| hash).collect();
        assert_eq!(lacking, [hash("x"), hash("z")]);
        assert_eq!(context.without_vectors("another").await.unwrap().len(), 3);
        assert_eq!((context.count().await.unwrap(), other.count().await.unwrap()), (5, 1));
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn vectors_of_two_models_are_kept_apart() {
    for (_site, store) in open().await {
        let context = store.context("/repo".into());
        let long = "model".repeat(1000);
        context.keep_vectors("small", vec![(hash("a"), vec![1, 2]), (hash("b"), vec![3])]).await.unwrap();
        context.keep_vectors(&long, vec![(hash("a"), vec![0, 255])]).await.unwrap();
        assert_eq!(vectors(&context, "small", &["a", "c"]).await, [(hash("a"), vec![1, 2])]);
        assert_eq!(vectors(&context, &long, &["a", "b"]).await, [(hash("a"), vec![0, 255])]);
        assert_eq!(vectors(&context, "unknown", &["a"]).await, []);

        let before = revision(&context).await;
        assert!(before > 0);
        context.keep_vectors("small", vec![(hash("a"), vec![9]), (hash("a"), vec![8])]).await.unwrap();
        assert_eq!(vectors(&context, "small", &["a"]).await, [(hash("a"), vec![1, 2])]);
        assert_eq!(revision(&context).await, before, "nothing was added");
        context.keep_vectors("small", vec![(hash("c"), vec![7])]).await.unwrap();
        assert_eq!(vectors(&context, "small", &["c"]).await, [(hash("c"), vec![7])]);
        assert!(revision(&context).await > before);
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn many_at_once_are_found_at_once() {
    for (_site, store) in open().await {
        let context = store.context("/repo".into());
        let texts: Vec<String> = (0..VECTORS_MAX + 100).map(|number| number.to_string()).collect();
        let made = texts.iter().map(|text| (hash(text), text.repeat(100).into_bytes())).collect();
        context.keep_vectors("m", made).await.unwrap();
        let asked: Vec<Digest> = texts[..500].iter().map(|text| hash(text)).collect();
        let found = context.vectors("m", &asked).await.unwrap();
        assert_eq!(found.len(), 500);
        for (text, vector) in texts.iter().zip(&asked).map(|(text, asked)| (text, of(&found, asked))) {
            assert_eq!(vector, text.repeat(100).as_bytes());
        }
        let all: Vec<Digest> = texts.iter().map(|text| hash(text)).collect();
        assert_eq!(context.vectors("m", &all).await.unwrap().len(), VECTORS_MAX + 100, "in two statements");

        // More than one transaction, and statements of several sizes.
        let names: Vec<String> = (0..2 * ORIGINS_MAX + 3).map(|number| format!("{number:04}")).collect();
        let rows: Vec<&str> = texts[..47].iter().map(String::as_str).collect();
        context.replace(names.iter().map(|name| origin(name, 1, &rows)).collect()).await.unwrap();
        let read = context.rows_of(&names).await.unwrap();
        assert_eq!(read.len(), names.len() * rows.len());
        let mut expected = names.iter().flat_map(|name| rows.iter().map(move |row| (name.as_str(), *row)));
        assert!(read.iter().all(|row| expected.next() == Some((row.origin.as_str(), row.body.as_str()))));
        let ids: Vec<i64> = read.iter().map(|row| row.id).collect();
        assert_eq!(context.bodies(&ids).await.unwrap().len(), ids.len());
        context.remove(names).await.unwrap();
        assert_eq!((origins(&context).await, context.bodies(&ids).await.unwrap()), (vec![], vec![]));
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn every_name_and_every_text_can_be_kept() {
    for (_site, store) in open().await {
        let scope = format!("/{}", "ü".repeat(2000));
        let context = store.context(scope.as_str().into());
        let long = "x".repeat(4095);
        let (one, other) = (format!("{long}1"), format!("{long}2"));
        let strange = "docs/Überblick – 東京 'quoted' $1 ?.md";
        let body = serde_json::json!({ "text": "a\0b \u{1f980} \\u0000 'quoted' naïve \u{ffff}" }).to_string();
        assert!(body.contains("\\u0000"));
        let kept = [origin(&one, 1, &["1"]), origin(&other, 2, &["2"]), origin(strange, 3, &[&body])];
        context.replace(kept.to_vec()).await.unwrap();
        let rows = rows_of(&context, &[&one, &other, strange]).await;
        assert_eq!(told(&rows), [(strange, 0, body.as_str()), (one.as_str(), 0, "1"), (other.as_str(), 0, "2")]);
        assert_eq!(context.bodies(&[rows[0].id]).await.unwrap(), [(rows[0].id, body)]);
        context.remove(vec![one]).await.unwrap();
        assert_eq!(origins(&context).await, [(strange.to_owned(), [3; 32]), (other, [2; 32])]);
        store.close().await.unwrap();
    }
}

/// Several replicas may index the same at the same moment.
#[tokio::test]
async fn of_two_who_write_the_same_one_does() {
    for (site, store) in open().await {
        let second = Store::open(&site.place).await.unwrap();
        let (one, other) = (store.context("/repo".into()), second.context("/repo".into()));
        let names: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        let all = || names.iter().map(|name| origin(name, 1, &["x", "y"])).collect::<Vec<_>>();
        let reversed = || all().into_iter().rev().collect::<Vec<_>>();
        let (first, then) = tokio::join!(one.replace(all()), other.replace(reversed()));
        first.unwrap();
        then.unwrap();
        assert_eq!((origins(&one).await.len(), revision(&one).await), (40, 1));
        assert_eq!(other.rows_of(&names).await.unwrap().len(), 80);
        let made: Vec<_> = names.iter().map(|name| (hash(name), vec![1])).collect();
        let (first, then) = tokio::join!(one.keep_vectors("m", made.clone()), other.keep_vectors("m", made));
        first.unwrap();
        then.unwrap();
        assert_eq!(revision(&other).await, 2);
        second.close().await.unwrap();
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn what_fails_leaves_every_origin_as_it_was() {
    for (site, store) in open().await {
        let context = store.context("/repo".into());
        context.replace(vec![origin("a", 1, &["old"]), origin("b", 1, &["old"])]).await.unwrap();
        let before = (origins(&context).await, rows_of(&context, &["a", "b"]).await, revision(&context).await);
        let refuse = if site.is_postgres() {
            "ALTER TABLE context_row ADD CHECK (body <> 'poison')"
        } else {
            "CREATE TRIGGER refuse BEFORE INSERT ON context_row WHEN new.body = 'poison' \
             BEGIN SELECT RAISE(ABORT, 'poison'); END"
        };
        site.change(refuse).await;
        let refused = context.replace(vec![origin("a", 2, &["new"]), origin("b", 2, &["new", "poison"])]).await;
        assert!(matches!(refused, Err(StoreError::Unwritable)), "{refused:?}");
        let after = (origins(&context).await, rows_of(&context, &["a", "b"]).await, revision(&context).await);
        assert_eq!(after, before);
        context.replace(vec![origin("a", 2, &["new"])]).await.unwrap();
        assert_eq!(told(&rows_of(&context, &["a"]).await), [("a", 0, "new")]);

        site.change("DROP TABLE context_vector").await;
        let refused = context.keep_vectors("m", vec![(hash("x"), vec![1])]).await;
        assert!(matches!(refused, Err(StoreError::Unwritable)), "{refused:?}");
        let unread = context.vectors("m", &[hash("x")]).await;
        assert!(matches!(unread, Err(StoreError::Read(_))), "{unread:?}");
        store.close().await.unwrap();
        let late = context.remove(vec!["a".to_owned()]).await;
        assert!(matches!(late, Err(StoreError::Unwritable)), "{late:?}");
    }
}

#[tokio::test]
async fn vectors_that_nobody_uses_for_long_are_dropped() {
    for (site, store) in open().await {
        let context = store.context("/repo".into());
        let texts: Vec<String> = (0..1200).map(|number| number.to_string()).collect();
        let used: Vec<&str> = texts[..600].iter().map(String::as_str).collect();
        context.replace(vec![origin("a", 1, &used)]).await.unwrap();
        for model in ["m", "n"] {
            let made = texts.iter().map(|text| (hash(text), vec![1])).collect();
            context.keep_vectors(model, made).await.unwrap();
        }
        let all: Vec<Digest> = texts.iter().map(|text| hash(text)).collect();
        let left =
            async || (context.vectors("m", &all).await.unwrap().len(), vectors(&context, "n", &["7"]).await.len());
        context.drop_unused_vectors().await.unwrap();
        assert_eq!(left().await, (1200, 1), "they were never seen unused before");

        // A text that comes back in time, and a month in which nobody looks again.
        store.context("/other".into()).replace(vec![origin("b", 1, &["1100"])]).await.unwrap();
        site.change("UPDATE context_vector SET unused_since = 1 WHERE unused_since IS NOT NULL").await;
        context.drop_unused_vectors().await.unwrap();
        assert_eq!(left().await, (1200, 1), "it was done today");
        let before = revision(&context).await;
        site.change("UPDATE context_sweep SET swept_at = 0").await;
        context.drop_unused_vectors().await.unwrap();
        assert_eq!(left().await, (601, 1));
        assert_eq!((vectors(&context, "n", &["1100", "1101"]).await.len(), revision(&context).await), (1, before));
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn without_a_database_there_is_nothing() {
    let context = ContextRows::nowhere();
    assert_eq!((origins(&context).await, rows_of(&context, &["a"]).await), (vec![], vec![]));
    assert_eq!((revision(&context).await, context.bodies(&[1]).await.unwrap()), (0, vec![]));
    assert_eq!(vectors(&context, "m", &["a"]).await, []);
    let refused = [
        context.replace(vec![origin("a", 1, &[])]).await,
        context.remove(vec!["a".to_owned()]).await,
        context.keep_vectors("m", vec![(hash("a"), vec![1])]).await,
        context.drop_unused_vectors().await,
    ];
    assert!(refused.iter().all(|refused| matches!(refused, Err(StoreError::Unwritable))), "{refused:?}");
}

/// Tasks are written in between, however much there is to index.
#[tokio::test]
async fn others_write_meanwhile() {
    for (_site, store) in open().await {
        let context = store.context("/repo".into());
        let row = "x".repeat(200);
        let rows = vec![row.as_str(); 40];
        let many = (0..500).map(|number| origin(&number.to_string(), 1, &rows)).collect();
        let mut added = 0;
        let add = async {
            loop {
                store.tasks().add("t".to_owned(), None, None).await.unwrap();
                added += 1;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::select! {
            replaced = context.replace(many) => replaced.unwrap(),
            () = add => {}
        }
        assert!(added > 3, "{added} tasks");
        store.close().await.unwrap();
    }
}

#[test]
fn batches_are_small_and_origins_whole() {
    let sizes = |origins: Vec<OriginRows>| batches(origins).iter().map(Vec::len).collect::<Vec<_>>();
    let few = |rows: usize| origin("x", 1, &vec!["row"; rows]);
    assert_eq!(sizes(vec![]), [0_usize; 0]);
    assert_eq!(sizes(vec![few(1); 2 * ORIGINS_MAX + 1]), [ORIGINS_MAX, ORIGINS_MAX, 1]);
    assert_eq!(sizes(vec![few(ROWS_MAX / 2); 5]), [2, 2, 1]);
    assert_eq!(sizes(vec![few(3), few(ROWS_MAX + 1), few(3), few(3)]), [1, 1, 2]);
    let large = "x".repeat(BYTES_MAX / 2 + 1);
    assert_eq!(sizes(vec![origin("x", 1, &[&large]); 2]), [1, 1]);
}

async fn open() -> Vec<(Site, Store)> {
    let mut opened = Vec::new();
    for site in sites().await {
        let store = Store::open(&site.place).await.unwrap();
        opened.push((site, store));
    }
    opened
}

/// Its rows' texts are their bodies.
fn origin(name: &str, digest: u8, bodies: &[&str]) -> OriginRows {
    let rows = bodies.iter().map(|body| NewRow { text_hash: hash(body), body: (*body).to_owned() });
    OriginRows { name: name.to_owned(), digest: [digest; 32], rows: rows.collect() }
}

fn hash(text: &str) -> Digest {
    use sha2::Digest as _;
    sha2::Sha256::digest(text).into()
}

async fn origins(context: &ContextRows) -> Vec<(String, Digest)> {
    context.origins().await.unwrap()
}

async fn rows_of(context: &ContextRows, origins: &[&str]) -> Vec<ContextRow> {
    let origins: Vec<String> = origins.iter().copied().map(str::to_owned).collect();
    context.rows_of(&origins).await.unwrap()
}

fn told(rows: &[ContextRow]) -> Vec<(&str, i64, &str)> {
    rows.iter().map(|row| (row.origin.as_str(), row.ordinal, row.body.as_str())).collect()
}

async fn revision(context: &ContextRows) -> i64 {
    context.revision().await.unwrap()
}

async fn vectors(context: &ContextRows, model: &str, texts: &[&str]) -> Vec<(Digest, Vec<u8>)> {
    let hashes: Vec<Digest> = texts.iter().map(|text| hash(text)).collect();
    context.vectors(model, &hashes).await.unwrap()
}

fn of<'v>(found: &'v [(Digest, Vec<u8>)], wanted: &Digest) -> &'v [u8] {
    found.iter().find(|(hash, _)| hash == wanted).map(|(_, vector)| vector.as_slice()).unwrap()
}
