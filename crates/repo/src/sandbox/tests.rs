//! What may be read and written, what stays as it was, and what is left behind.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

use super::{Places, Sandbox};
use crate::{Consent, FileRefused, ParentRule, PathPolicy, Root, WriteRefused};

const POLICY: PathPolicy = PathPolicy { blocked: &[], parents: ParentRule::Component, max_bytes: 1000 };

struct World {
    folder: TempDir,
    sandbox: Sandbox,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let repository = Root::open(&path, &[path.join("data/own"), path.join("data/our.log")]).unwrap();
        let places = Places {
            root: path.join("data"),
            guarded: vec![path.join("data/memory"), path.join("data/later/kept.txt")],
            notes: path.join("notes"),
        };
        let sandbox = Sandbox::new(places, &repository);
        Self { folder, sandbox }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn write(&self, request: &str, content: &str) -> Result<(), WriteRefused> {
        let consent = Consent { still_wanted: &|| true, begin: &|| true };
        self.sandbox.write(&POLICY, request, content.as_bytes(), consent)
    }

    /// `"ok"`, `"denied"` or `"failed"`.
    fn outcome(&self, request: &str) -> &'static str {
        match self.write(request, "new") {
            Ok(()) => "ok",
            Err(WriteRefused::Denied) => "denied",
            Err(WriteRefused::Io(_)) => "failed",
            Err(other) => panic!("{request}: {other}"),
        }
    }

    /// Every file and folder with its content or target, for finding out whether anything changed.
    fn everything(&self, below: &str) -> Vec<String> {
        let mut found = Vec::new();
        list(&self.path(below), &mut found);
        found.sort();
        found
    }
}

fn list(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.push(path.display().to_string());
            list(&path, found);
        } else if kind.is_file() {
            found.push(format!("{} {}", path.display(), fs::read_to_string(&path).unwrap()));
        } else {
            found.push(format!("{} {kind:?}", path.display()));
        }
    }
}

#[test]
fn what_was_written_is_read() {
    let world = World::new();
    assert!(matches!(world.sandbox.read(&POLICY, "a.txt"), Err(FileRefused::NotFound)), "there is no folder yet");
    let absolute = world.path("data/b/c.txt").display().to_string();
    for (request, place) in [
        ("a.txt", "data/a.txt"),
        ("./new//folder/./b.txt", "data/new/folder/b.txt"),
        (absolute.as_str(), "data/b/c.txt"),
        ("...", "data/..."),
    ] {
        for content in ["long content", "short", ""] {
            world.write(request, content).unwrap();
            assert_eq!(world.text(place), content, "{request}");
            assert_eq!(world.sandbox.read(&POLICY, request).unwrap().bytes, content.as_bytes(), "{request}");
        }
    }
    assert_eq!(world.everything("notes"), Vec::<String>::new());
}

/// Links that lead out, to what is ours, in circles and inside, and what is no file.
fn lay_traps(world: &World) {
    for (target, link) in [
        ("../outside/target.txt", "link_out"),
        ("../outside", "link_dir"),
        ("../outside/created.txt", "dangling_out"),
        ("..", "up"),
        ("own", "link_own"),
        ("memory", "link_memory"),
        ("memory/log.jsonl", "link_log"),
        ("loop", "loop"),
        ("sub", "link_sub"),
        ("../sub/./x/..", "sub/odd"),
    ] {
        symlink(target, world.path("data").join(link)).unwrap();
    }
    symlink(world.path("outside/target.txt"), world.path("data/link_absolute")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(world.path("data/fifo")).status().unwrap().success());
}

#[test]
fn nothing_outside_and_nothing_of_ours_is_reached() {
    let world = World::new();
    world.put("outside/target.txt", "CANARY");
    world.put("data-evil/x.txt", "CANARY");
    for name in ["data/own/db", "data/our.log", "data/memory/log.jsonl", "data/file.txt", "data/sub/x"] {
        world.put(name, "old");
    }
    lay_traps(&world);
    let before = world.everything("");
    let temporary = format!("x/.countersign-{}.tmp", "0123456789abcdef".repeat(2));
    let evil = world.path("data-evil/x.txt").display().to_string();
    for (request, outcome) in [
        ("/etc/passwd", "denied"),
        (evil.as_str(), "denied"),
        ("../data-evil/x.txt", "denied"),
        ("..", "denied"),
        ("sub/../a.txt", "denied"),
        ("a\0b", "denied"),
        ("link_out", "denied"),
        ("link_absolute", "denied"),
        ("link_dir/target.txt", "denied"),
        ("link_dir/n1/n2/x.txt", "denied"),
        ("dangling_out", "denied"),
        ("up", "denied"),
        ("up/outside/target.txt", "denied"),
        ("own/db", "denied"),
        ("own/new/folder/x", "denied"),
        ("link_own/new/x", "denied"),
        ("our.log", "denied"),
        ("memory/log.jsonl", "denied"),
        ("memory/new/x", "denied"),
        ("link_memory/new/x", "denied"),
        ("link_log", "denied"),
        ("later/kept.txt", "denied"),
        (temporary.as_str(), "denied"),
        ("", "failed"),
        (".", "failed"),
        ("sub", "failed"),
        ("link_sub", "failed"),
        ("sub/odd", "failed"),
        ("fifo", "failed"),
        ("file.txt/x", "failed"),
        ("loop", "failed"),
        ("loop/x", "failed"),
        (&"a".repeat(256), "failed"),
        (&"d/".repeat(300), "failed"),
    ] {
        assert_eq!(world.outcome(request), outcome, "{request}");
        assert_eq!(world.everything(""), before, "{request}");
    }
    assert_eq!(world.sandbox.read(&POLICY, "memory/log.jsonl").unwrap().bytes, b"old");
    for request in ["own/db", "our.log", "link_own/db", temporary.as_str(), "link_out", evil.as_str()] {
        assert!(matches!(world.sandbox.read(&POLICY, request), Err(FileRefused::Denied)), "{request}");
    }
}

#[test]
fn links_inside_are_followed_and_second_names_are_not() {
    let world = World::new();
    world.put("data/sub/real.txt", "old");
    world.put("outside/other_name.txt", "old");
    symlink("sub/real.txt", world.path("data/link")).unwrap();
    symlink("link", world.path("data/chain")).unwrap();
    symlink("sub", world.path("data/folder")).unwrap();
    symlink("sub/made.txt", world.path("data/dangling")).unwrap();
    symlink("../sub/real.txt", world.path("data/sub/detour")).unwrap();
    fs::hard_link(world.path("outside/other_name.txt"), world.path("data/hard.txt")).unwrap();
    for (request, place) in [
        ("link", "data/sub/real.txt"),
        ("chain", "data/sub/real.txt"),
        ("folder/new.txt", "data/sub/new.txt"),
        ("dangling", "data/sub/made.txt"),
        ("folder/detour", "data/sub/real.txt"),
        ("hard.txt", "data/hard.txt"),
    ] {
        world.write(request, request).unwrap();
        assert_eq!(world.text(place), request, "{request}");
    }
    assert_eq!(world.text("outside/other_name.txt"), "old");
    assert!(world.path("data/link").is_symlink() && world.path("data/dangling").is_symlink());
}

#[test]
fn rights_stay() {
    let world = World::new();
    for (name, mode) in [("private.txt", 0o600), ("script.sh", 0o755), ("odd.txt", 0o4711)] {
        let file = world.path("data").join(name);
        world.put(&format!("data/{name}"), "old");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        world.write(name, "new").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, mode & 0o777, "{name}");
    }
}

#[test]
fn what_nobody_wants_any_more_changes_nothing() {
    let world = World::new();
    world.put("data/a.txt", "old");
    let before = world.everything("");
    for wanted in [false, true] {
        for request in ["a.txt", "new/folder/b.txt"] {
            let consent = Consent { still_wanted: &|| wanted, begin: &|| false };
            let refused = world.sandbox.write(&POLICY, request, b"new", consent);
            assert!(matches!(refused, Err(WriteRefused::Abandoned)), "{request}");
        }
        let left: Vec<_> = world.everything("").into_iter().filter(|path| !path.ends_with("/notes")).collect();
        assert_eq!(left, before);
    }
}

#[test]
fn what_has_begun_is_not_asked_about_again() {
    let world = World::new();
    world.put("data/a.txt", "old");
    let begun = Cell::new(0);
    let still_wanted = || begun.get() == 0;
    let begin = || {
        assert_eq!(world.text("data/a.txt"), "old");
        let ready = |path: &String| path.contains(".countersign-") && path.ends_with(" new");
        assert!(world.everything("data").iter().any(ready), "nothing is ready to take its place");
        begun.replace(begun.get() + 1) == 0
    };
    let consent = Consent { still_wanted: &still_wanted, begin: &begin };
    world.sandbox.write(&POLICY, "a.txt", b"new", consent).unwrap();
    assert_eq!((world.text("data/a.txt").as_str(), begun.get()), ("new", 1));
}

#[test]
fn what_is_guarded_is_so_by_whatever_way_it_was_named() {
    let mut world = World::new();
    world.sandbox.places.guarded = vec![world.path("data/not-there/../kept"), world.path("data/x/y/../../z")];
    for (request, outcome) in [("kept/log.jsonl", "denied"), ("z", "denied"), ("x/y", "ok")] {
        assert_eq!(world.outcome(request), outcome, "{request}");
    }
}

#[test]
fn only_what_the_dead_left_is_cleared_up() {
    let world = World::new();
    let (dead, alive, nobodys) = ("0".repeat(32), "1".repeat(32), "2".repeat(32));
    let temporary = |id: &str| format!("data/sub/.countersign-{id}.tmp");
    for id in [&dead, &alive, &nobodys] {
        world.put(&temporary(id), "half of it");
    }
    world.put("data/sub/precious.txt", "stays");
    let folder = world.path("data/sub").display().to_string();
    world.put(&format!("notes/{dead}"), &folder);
    world.put(&format!("notes/{alive}"), &folder);
    world.put(&format!("notes/{}", "3".repeat(32)), &world.path("data/gone").display().to_string());
    world.put(&format!("notes/{}", "4".repeat(32)), "");
    world.put("notes/precious.txt", &folder);
    let writer = fs::File::open(world.path(&format!("notes/{alive}"))).unwrap();
    writer.lock().unwrap();
    assert_eq!(world.sandbox.places.clear_leftovers().unwrap(), 1);
    let left: Vec<_> = [&dead, &alive, &nobodys].map(|id| world.path(&temporary(id)).exists()).into();
    assert_eq!(left, [false, true, true]);
    assert_eq!(world.text("data/sub/precious.txt"), "stays");
    let notes: Vec<_> = fs::read_dir(world.path("notes")).unwrap().map(|note| note.unwrap().file_name()).collect();
    assert!(notes.len() == 2 && notes.contains(&alive.as_str().into()), "{notes:?}");
    drop(writer);
    assert_eq!(world.sandbox.places.clear_leftovers().unwrap(), 1);
    assert!(!world.path(&temporary(&alive)).exists() && world.path(&temporary(&nobodys)).exists());
}

#[test]
fn a_folder_that_is_swapped_for_a_link_never_leads_outside() {
    let world = World::new();
    world.put("outside/x.txt", "CANARY");
    world.put("data/race/x.txt", "old");
    let before = world.everything("outside");
    let (race, link) = (world.path("data/race"), world.path("data/link"));
    symlink(world.path("outside"), &link).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &race, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                std::thread::yield_now();
            }
        });
        let mut written = 0;
        for round in 0..400 {
            written += usize::from(world.write("race/x.txt", &format!("round {round}")).is_ok());
            let _ = world.write("race/new/y.txt", "deep");
        }
        over.store(true, Ordering::Relaxed);
        assert!(written > 0, "no write came through");
    });
    assert_eq!(world.everything("outside"), before);
    let left = world.everything("data");
    assert!(!left.iter().any(|path| path.contains(".countersign-")), "{left:?}");
}
