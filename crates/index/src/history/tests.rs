use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use countersign_repo::Root;
use gix::ObjectId;
use gix::actor::SignatureRef;

use super::{Session, message, sessions};
use crate::chunk::{Kind, Source};

const ADA: (&str, &str) = ("Ada", "ada@example.test");

#[test]
fn a_day_of_one_author_is_a_session() {
    let place = tempfile::tempdir().unwrap();
    commit_all(
        place.path(),
        &[
            (
                ADA,
                "1768381200 +0000",
                "Choose PostgreSQL for the task store\n\nBecause.\n\nSigned-off-by: Ada <ada@example.test>\n",
            ),
            (ADA, "1768467600 +0000", "fix(auth): lock the token refresh"),
            (("ada l.", "ADA@example.test"), "1768467700 +0000", "fix(auth): and unlock it"),
            (("Bob", "bob@example.test"), "1768467800 +0000", "Document the nightly invoice import"),
            // Still the 14th where she was.
            (ADA, "1768440600 -0800", "Late"),
        ],
    );
    let found = read(place.path());
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
    assert_eq!(found, read(place.path()));
    assert!(sessions(&Root::open(place.path(), &[]).unwrap(), &|| true).is_empty());
}

#[test]
fn a_history_that_is_not_there_or_broken_is_empty() {
    let place = tempfile::tempdir().unwrap();
    assert!(read(place.path()).is_empty());
    fs::write(place.path().join(".git"), "gitdir: nowhere\n").unwrap();
    assert!(read(place.path()).is_empty());
    fs::remove_file(place.path().join(".git")).unwrap();
    fs::create_dir(place.path().join(".git")).unwrap();
    fs::write(place.path().join(".git/HEAD"), "garbage").unwrap();
    assert!(read(place.path()).is_empty());
    let unborn = tempfile::tempdir().unwrap();
    commit_all(unborn.path(), &[]);
    assert!(read(unborn.path()).is_empty());
    let torn = tempfile::tempdir().unwrap();
    commit_all(torn.path(), &[(("a", "a@b"), "1768381200 +0000", "One")]);
    fs::remove_dir_all(torn.path().join(".git/objects")).unwrap();
    fs::create_dir(torn.path().join(".git/objects")).unwrap();
    assert!(read(torn.path()).is_empty());
}

#[test]
fn packs_and_packed_references_are_read_and_a_history_without_its_beginning() {
    let place = tempfile::tempdir().unwrap();
    let (whole, shallow) = (place.path().join("whole"), place.path().join("shallow"));
    commit_all(&whole, &[(ADA, "1768381200 +0000", "One"), (ADA, "1768381201 +0000", "Two")]);
    let loose = read(&whole);
    git(&whole, &["repack", "-adq"]);
    git(&whole, &["pack-refs", "--all"]);
    assert!(!whole.join(".git/refs/heads/main").exists() && whole.join(".git/packed-refs").exists());
    assert_eq!((texts(&loose), read(&whole)), (vec!["One", "Two"], loose.clone()));
    let from = format!("file://{}", whole.display());
    git(place.path(), &["clone", "-q", "--depth", "1", &from, "shallow"]);
    assert_eq!(texts(&read(&shallow)), ["Two"]);
}

/// What it is, and how it is made of a folder of git beside a folder of ours.
type Hostile = (&'static str, fn(&Path));

/// Each of these would make the library open a file of ours and close it again, or read what belongs to somebody else.
#[test]
fn a_folder_of_git_that_leads_elsewhere_has_no_history() {
    let hostile: [Hostile; 9] = [
        ("a pack is a link", |git| symlink("../../../data/db", git.join("objects/pack/pack-1.idx")).unwrap()),
        ("a pack is ours", |git| fs::hard_link(git.join("../data/db"), git.join("objects/pack/pack-1.idx")).unwrap()),
        ("a folder is a link", |git| symlink("../../data", git.join("objects/00")).unwrap()),
        ("alternates", |git| fs::write(git.join("objects/info/alternates"), "/elsewhere/.git/objects\n").unwrap()),
        ("alternates that are a link", |git| {
            symlink("../../../data/db", git.join("objects/info/alternates")).unwrap();
        }),
        ("objects are a link", |git| {
            fs::rename(git.join("objects"), git.join("elsewhere")).unwrap();
            symlink("elsewhere", git.join("objects")).unwrap();
        }),
        ("the whole is a link", |git| {
            fs::rename(git, git.with_file_name("git")).unwrap();
            symlink("git", git).unwrap();
        }),
        ("references are ours", |git| {
            fs::remove_file(git.join("refs/heads/main")).unwrap();
            fs::hard_link(git.join("../data/db"), git.join("packed-refs")).unwrap();
        }),
        ("`HEAD` is ours", |git| {
            fs::remove_file(git.join("HEAD")).unwrap();
            symlink("../data/db", git.join("HEAD")).unwrap();
        }),
    ];
    for (what, make) in hostile {
        let place = tempfile::tempdir().unwrap();
        let data = place.path().join("data");
        fs::create_dir(&data).unwrap();
        commit_all(place.path(), &[(ADA, "1768381200 +0000", "One")]);
        let id = fs::read_to_string(place.path().join(".git/refs/heads/main")).unwrap();
        // It would do, as `HEAD` and as `packed-refs`.
        fs::write(data.join("db"), format!("{id}{} refs/heads/main\n", id.trim())).unwrap();
        let root = Root::open(place.path(), &[data]).unwrap();
        assert_eq!(sessions(&root, &|| false).len(), 1, "{what}");
        make(&place.path().join(".git"));
        assert_eq!(sessions(&root, &|| false), [], "{what}");
    }
}

/// A hook that is a link to a script is nobody's concern, and neither is what only git reads.
#[test]
fn what_is_not_read_may_be_anything() {
    let place = tempfile::tempdir().unwrap();
    commit_all(place.path(), &[(ADA, "1768381200 +0000", "One")]);
    let git = place.path().join(".git");
    symlink("../../hooks/pre-commit", git.join("hooks/pre-commit")).unwrap();
    fs::write(git.join("config"), "[include] path = /elsewhere\n[core] worktree = /elsewhere\nnonsense").unwrap();
    fs::write(git.join("commondir"), "/elsewhere\n").unwrap();
    assert_eq!(texts(&read(place.path())), ["One"]);
}

#[test]
fn a_repository_elsewhere_is_read_if_it_names_this_folder() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { place.path().canonicalize().unwrap().join(name) };
    commit_all(&at("main"), &[(ADA, "1768381200 +0000", "One")]);
    git(&at("main"), &["worktree", "add", "-q", "-b", "side", "../linked"]);
    git(&at("main"), &["clone", "-q", "--separate-git-dir", "../of-separate", ".", "../separate"]);
    fs::create_dir(at("main/.git/modules")).unwrap();
    git(&at("main"), &["clone", "-q", "--separate-git-dir", ".git/modules/inner", ".", "inner"]);
    git(&at("main/inner"), &["config", "core.worktree", "../../../inner"]);
    git(&at("separate"), &["config", "core.worktree", "../separate"]);
    for folder in ["linked", "separate", "main/inner"] {
        assert_eq!(texts(&read(&at(folder))), ["One"], "{folder}");
    }
    // Somebody else's, by whatever it is named.
    fs::create_dir_all(at("forged/worktrees/it")).unwrap();
    fs::write(at("forged/worktrees/it/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(at("forged/worktrees/it/commondir"), at("main/.git").to_str().unwrap()).unwrap();
    fs::write(at("forged/worktrees/it/gitdir"), at("thief/.git").to_str().unwrap()).unwrap();
    fs::create_dir(at("thief")).unwrap();
    symlink(at("main/.git"), at("thief/link")).unwrap();
    for gitdir in ["../main/.git", "link", "../main/.git/worktrees/linked", "../of-separate", "../forged/worktrees/it"]
    {
        fs::write(at("thief/.git"), format!("gitdir: {gitdir}\n")).unwrap();
        assert_eq!(read(&at("thief")), [], "{gitdir}");
    }
    // What lies beneath the root is the root's.
    fs::rename(at("main/.git"), at("main/bare")).unwrap();
    fs::write(at("main/.git"), "gitdir: ./bare\n").unwrap();
    assert_eq!(texts(&read(&at("main"))), ["One"]);
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

fn read(folder: &Path) -> Vec<Session> {
    sessions(&Root::open(folder, &[]).unwrap(), &|| false)
}

/// Of all commits, oldest first.
fn texts(sessions: &[Session]) -> Vec<&str> {
    let commits = sessions.iter().rev().flat_map(|session| session.chunks.iter().skip(1));
    commits.map(|chunk| chunk.text.as_str()).collect()
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "protocol.file.allow=always"]).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
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
