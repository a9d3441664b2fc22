use std::fs;
use std::path::Path;

use gix::ObjectId;
use gix::actor::SignatureRef;

use super::{message, sessions};
use crate::chunk::{Kind, Source};

#[test]
fn a_day_of_one_author_is_a_session() {
    let place = tempfile::tempdir().unwrap();
    let ada = ("Ada", "ada@example.test");
    commit_all(
        place.path(),
        &[
            (
                ada,
                "1768381200 +0000",
                "Choose PostgreSQL for the task store\n\nBecause.\n\nSigned-off-by: Ada <ada@example.test>\n",
            ),
            (ada, "1768467600 +0000", "fix(auth): lock the token refresh"),
            (("ada l.", "ADA@example.test"), "1768467700 +0000", "fix(auth): and unlock it"),
            (("Bob", "bob@example.test"), "1768467800 +0000", "Document the nightly invoice import"),
            // Still the 14th where she was.
            (ada, "1768440600 -0800", "Late"),
        ],
    );
    let found = sessions(place.path(), &|| false);
    let shown: Vec<(&str, usize)> =
        found.iter().map(|session| (&session.origin.name[..26], session.chunks.len())).collect();
    let (fourteenth, fifteenth) = ("session:session-2026-01-14", "session:session-2026-01-15");
    assert_eq!(shown.iter().filter(|(name, _)| *name == fifteenth).count(), 2, "{shown:?}");
    assert_eq!(shown[2..], [(fourteenth, 3)]);
    let day = found.iter().find(|session| session.chunks[0].text.contains("unlock")).unwrap();
    let [session, first, second] = day.chunks.as_slice() else { panic!("{day:?}") };
    assert_eq!(session.text, "ada l., 2026-01-15:\n- fix(auth): lock the token refresh\n- fix(auth): and unlock it");
    assert_eq!(
        (session.source, session.kind, session.module.as_deref()),
        (Source::Session, Kind::Session, Some("auth"))
    );
    assert_eq!((first.source, first.kind, first.module.as_deref()), (Source::Discovery, Kind::Issue, Some("auth")));
    assert_eq!(first.date.unwrap().to_string(), "2026-01-15T09:00:00Z");
    let id = session.session.clone().unwrap();
    assert_eq!((first.session.as_ref(), second.session.as_ref()), (Some(&id), Some(&id)));
    assert_eq!(day.origin.name, format!("session:{id}"));
    assert!(!id.contains("example"), "{id}");
    assert_eq!(found[2].chunks[1].text, "Choose PostgreSQL for the task store\n\nBecause.");
    assert_eq!(found, sessions(place.path(), &|| false));
    assert!(sessions(place.path(), &|| true).is_empty());
}

#[test]
fn a_history_that_is_not_there_or_broken_is_empty() {
    let place = tempfile::tempdir().unwrap();
    assert!(sessions(place.path(), &|| false).is_empty());
    fs::write(place.path().join(".git"), "gitdir: nowhere\n").unwrap();
    assert!(sessions(place.path(), &|| false).is_empty());
    fs::remove_file(place.path().join(".git")).unwrap();
    fs::create_dir(place.path().join(".git")).unwrap();
    fs::write(place.path().join(".git/HEAD"), "garbage").unwrap();
    assert!(sessions(place.path(), &|| false).is_empty());
    let unborn = tempfile::tempdir().unwrap();
    commit_all(unborn.path(), &[]);
    assert!(sessions(unborn.path(), &|| false).is_empty());
    let torn = tempfile::tempdir().unwrap();
    commit_all(torn.path(), &[(("a", "a@b"), "1768381200 +0000", "One")]);
    fs::remove_dir_all(torn.path().join(".git/objects")).unwrap();
    fs::create_dir(torn.path().join(".git/objects")).unwrap();
    assert!(sessions(torn.path(), &|| false).is_empty());
}

#[test]
fn messages_are_for_people_and_bounded() {
    for (raw, expected) in
        [("One\r\n\r\nTwo  \n", "One\n\nTwo"), ("One\n\nCo-authored-by: X <x@y>\n", "One"), ("\0", ""), ("", "")]
    {
        assert_eq!(message(raw), expected, "{raw:?}");
    }
    assert_eq!(message(&"é".repeat(5000)).len(), 1500);
}

/// One after the other, oldest first; no file is touched.
fn commit_all(folder: &Path, commits: &[((&str, &str), &str, &str)]) {
    let repository: gix::Repository = gix::ThreadSafeRepository::init_opts(
        folder,
        gix::create::Kind::WithWorktree,
        gix::create::Options::default(),
        gix::open::Options::isolated(),
    )
    .unwrap()
    .into();
    let tree = ObjectId::empty_tree(gix::hash::Kind::Sha1);
    let mut parent: Option<ObjectId> = None;
    for &((name, email), time, message) in commits {
        let who = SignatureRef { name: name.into(), email: email.into(), time };
        let id = repository.commit_as(who, who, "HEAD", message, tree, parent).unwrap();
        parent = Some(id.detach());
    }
}
