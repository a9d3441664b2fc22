//! Files of our own: never shown, whatever happens to them meanwhile, and left alone even by what is refused. A process
//! that closes any handle on a file loses all its locks on it, and SQLite's are what keeps a database whole.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use countersign_repo::{
    Case, Consent, FileRefused, ParentRule, PathPolicy, Pattern, Places, Root, Sandbox, Scope, Stop, WriteRefused,
};
use rustix::fs::{FlockOperation, fcntl_lock};

const POLICY: PathPolicy = PathPolicy { blocked: &[], parents: ParentRule::Component, max_bytes: 1024 };

#[test]
#[cfg(target_os = "linux")]
fn what_is_refused_keeps_its_locks() {
    let (folder, _) = tree();
    let at = |name: &str| folder.path().join(name);
    let database = File::options().read(true).write(true).open(at("data/db")).unwrap();
    fcntl_lock(&database, FlockOperation::LockExclusive).unwrap();
    let number = database.metadata().unwrap().ino();
    assert!(is_locked(number));

    symlink("data/db", at("link")).unwrap();
    fs::hard_link(at("data/db"), at("other")).unwrap();
    // Lists of what to ignore are read on every walk.
    symlink("data/db", at(".ignore")).unwrap();
    fs::hard_link(at("data/db"), at(".gitignore")).unwrap();
    symlink("data/db", at(".git")).unwrap();
    let root = Root::open(folder.path(), &[at("data"), at("conf.yaml")]).unwrap();
    for name in ["data/db", "link", "other", ".ignore", ".gitignore"] {
        for refused in [Some(root.read(&POLICY, name)), root.read_at_once(&POLICY, name)].into_iter().flatten() {
            assert!(matches!(refused, Err(FileRefused::Denied)), "{name}: {refused:?}");
            assert!(is_locked(number), "{name}");
        }
    }
    let scope = Scope { policy: &POLICY, excluded: &[], files: None };
    let pattern = Pattern::new("secret", Case::Sensitive).unwrap();
    let found = root.grep(scope, &pattern, 10, &Stop::default()).unwrap();
    assert_eq!(found.occurrences.iter().map(|one| one.file.as_str()).collect::<Vec<_>>(), ["plain"]);
    assert!(is_locked(number), "after a walk");
    let places = Places { root: at(""), guarded: Vec::new(), notes: at("notes") };
    let sandbox = Sandbox::new(places, &root);
    for name in ["data/db", "link", "other"] {
        assert!(matches!(sandbox.read(&POLICY, name), Err(FileRefused::Denied)), "{name}");
    }
    assert!(is_locked(number), "after a sandbox");
}

/// What was read before is opened without being judged first; whatever takes its place is judged all the same.
#[test]
#[cfg(target_os = "linux")]
fn what_takes_the_place_of_a_familiar_file_is_judged() {
    let (folder, root) = tree();
    let at = |name: &str| folder.path().join(name);
    let database = File::options().read(true).write(true).open(at("data/db")).unwrap();
    fcntl_lock(&database, FlockOperation::LockExclusive).unwrap();
    let number = database.metadata().unwrap().ino();
    let read = |name: &str| root.read(&POLICY, name).map(|found| String::from_utf8(found.bytes).unwrap());
    // Once more after it was noticed.
    for round in 0..3 {
        fs::write(at("plain"), format!("first {round}")).unwrap();
        assert_eq!(
            (read("plain").unwrap(), read("plain").unwrap()),
            (format!("first {round}"), format!("first {round}"))
        );
        fs::write(at("plain"), "second").unwrap();
        assert_eq!(read("plain").unwrap(), "second");
        for put in [|from: &Path, to: &Path| fs::hard_link(from, to), |from: &Path, to: &Path| symlink(from, to)] {
            fs::remove_file(at("plain")).unwrap();
            put(&at("data/db"), &at("plain")).unwrap();
            assert!(matches!(read("plain"), Err(FileRefused::Denied)), "{round}");
            assert!(is_locked(number), "{round}");
        }
        fs::remove_file(at("plain")).unwrap();
        assert!(matches!(read("plain"), Err(FileRefused::NotFound)));
        fs::create_dir(at("plain")).unwrap();
        assert!(matches!(read("plain"), Err(FileRefused::NotFound)));
        fs::remove_dir(at("plain")).unwrap();
    }
    assert!(is_locked(number));
}

/// What came into a folder of ours a moment ago is known as soon as it takes the place of a familiar file.
#[test]
#[cfg(target_os = "linux")]
fn a_new_file_of_ours_in_the_place_of_a_familiar_one_is_not_shown() {
    let (folder, root) = tree();
    let at = |name: &str| folder.path().join(name);
    // Looks, so that for a second it will not by itself.
    std::thread::sleep(Duration::from_millis(1100));
    for _ in 0..2 {
        root.read(&POLICY, "plain").unwrap();
    }
    let database = File::options().read(true).write(true).create_new(true).open(at("data/new")).unwrap();
    fcntl_lock(&database, FlockOperation::LockExclusive).unwrap();
    let number = database.metadata().unwrap().ino();
    fs::remove_file(at("plain")).unwrap();
    fs::hard_link(at("data/new"), at("plain")).unwrap();
    for _ in 0..2 {
        let refused = root.read(&POLICY, "plain");
        assert!(matches!(refused, Err(FileRefused::Denied)), "{refused:?}");
        assert!(is_locked(number));
    }
}

/// To open a pipe lets go of whoever waits to write into it.
#[test]
#[cfg(target_os = "linux")]
fn a_pipe_in_the_place_of_a_familiar_file_is_opened_no_second_time() {
    let (folder, root) = tree();
    let path = folder.path().join("plain");
    for _ in 0..2 {
        root.read(&POLICY, "plain").unwrap();
    }
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for _ in 0..2 {
        assert!(matches!(root.read(&POLICY, "plain"), Err(FileRefused::NotFound)));
    }
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| File::options().write(true).open(&path).unwrap());
        std::thread::sleep(Duration::from_millis(50));
        assert!(matches!(root.read(&POLICY, "plain"), Err(FileRefused::NotFound)));
        std::thread::sleep(Duration::from_millis(50));
        let waits = !writer.is_finished();
        drop(File::open(&path).unwrap());
        assert!(waits);
    });
}

/// What is put in the place of a file between the look at the folder and the opening of the file.
#[test]
#[cfg(target_os = "linux")]
fn a_walk_shows_nothing_of_ours_that_is_swapped_in() {
    let (folder, root) = tree();
    let at = |name: &str| folder.path().join(name);
    for name in 0..300 {
        fs::write(at(&format!("a{name}")), "plain").unwrap();
    }
    let database = File::options().read(true).write(true).open(at("data/db")).unwrap();
    fcntl_lock(&database, FlockOperation::LockExclusive).unwrap();
    let number = database.metadata().unwrap().ino();
    let (scope, stop) = (Scope { policy: &POLICY, excluded: &[], files: None }, Stop::default());
    let pattern = Pattern::new("secret", Case::Sensitive).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for (name, ours) in [("z1", "data/db"), ("z2", "conf.yaml")] {
                    fs::write(at("new"), "plain").unwrap();
                    fs::rename(at("new"), at(name)).unwrap();
                    fs::hard_link(at(ours), at("linked")).unwrap();
                    fs::rename(at("linked"), at(name)).unwrap();
                }
            }
        });
        let mut shown = Vec::new();
        for _ in 0..400 {
            let found = root.grep(scope, &pattern, 10, &stop).unwrap().occurrences;
            shown.extend(found.into_iter().map(|one| one.file).filter(|file| file != "plain"));
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(shown, Vec::<String>::new());
    });
    assert!(is_locked(number));
}

/// Under whatever names it is written to.
#[test]
#[cfg(target_os = "linux")]
fn a_sandbox_leaves_our_locks_alone_when_it_writes() {
    let (folder, root) = tree();
    let at = |name: &str| folder.path().join(name);
    let database = File::options().read(true).write(true).open(at("data/db")).unwrap();
    fcntl_lock(&database, FlockOperation::LockExclusive).unwrap();
    let number = database.metadata().unwrap().ino();
    let places = Places { root: at("files"), guarded: Vec::new(), notes: at("data/writing") };
    let sandbox = Sandbox::new(places, &root);
    let consent = Consent { still_wanted: &|| true, begin: &|| true };
    let write = |name: &str| sandbox.write(&POLICY, name, b"new", consent);
    write("plain").unwrap();
    fs::hard_link(at("data/db"), at("files/linked")).unwrap();
    symlink("linked", at("files/link")).unwrap();
    for name in ["linked", "link"] {
        assert!(matches!(write(name), Err(WriteRefused::Denied)), "{name}");
        assert!(is_locked(number), "{name}");
    }
    fs::rename(at("data/db"), at("files/renamed")).unwrap();
    assert!(matches!(write("renamed"), Err(WriteRefused::Denied)));
    assert!(matches!(sandbox.read(&POLICY, "renamed"), Err(FileRefused::Denied)));
    assert!(is_locked(number), "renamed");
    write("plain").unwrap();
}

/// Whatever is done to names, what was ours is known as long as it has one.
#[test]
#[cfg(target_os = "linux")]
fn what_is_renamed_stays_ours() {
    let (folder, _) = tree();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("state/data/deep/er")).unwrap();
    fs::write(at("state/data/deep/er/part"), "secret").unwrap();
    fs::write(at("state/data/log"), "secret").unwrap();
    let root = Root::open(folder.path(), &[at("state/data"), at("conf.yaml")]).unwrap();
    let wait = || std::thread::sleep(Duration::from_millis(1100));
    let denied = |names: &[&str]| {
        for name in names {
            assert!(matches!(root.read(&POLICY, name), Err(FileRefused::Denied)), "{name}");
        }
    };
    fs::hard_link(at("conf.yaml"), at("linked")).unwrap();
    fs::hard_link(at("state/data/deep/er/part"), at("part")).unwrap();
    denied(&["linked", "part"]);
    // Saved anew, as editors do, with the old one as a backup.
    fs::rename(at("conf.yaml"), at("conf.bak")).unwrap();
    fs::write(at("conf.yaml"), "secret").unwrap();
    fs::rename(at("state"), at("old")).unwrap();
    denied(&["linked", "conf.bak", "conf.yaml", "old/data/log", "old/data/deep/er/part"]);
    wait();
    denied(&["linked", "conf.bak", "conf.yaml", "old/data/log", "old/data/deep/er/part", "part"]);
    // What comes into a renamed folder is ours, too.
    fs::write(at("old/data/new"), "secret").unwrap();
    denied(&["old/data/new"]);
    let (scope, pattern) =
        (Scope { policy: &POLICY, excluded: &[], files: None }, Pattern::new("secret", Case::Sensitive).unwrap());
    let found = root.grep(scope, &pattern, 10, &Stop::default()).unwrap().occurrences;
    assert_eq!(found.into_iter().map(|one| one.file).collect::<Vec<_>>(), ["data/db", "plain"]);
    // A number that is free again is anybody's.
    for name in ["linked", "conf.bak"] {
        fs::remove_file(at(name)).unwrap();
    }
    wait();
    denied(&["conf.yaml"]);
    for name in 0..100 {
        fs::write(at(&format!("new{name}")), "").unwrap();
        root.read(&POLICY, &format!("new{name}")).unwrap();
    }
}

/// Saved by writing another file and renaming it, as editors do.
#[test]
fn a_configuration_is_not_shown_while_it_is_saved() {
    let (folder, root) = tree();
    let at = |name: &str| folder.path().join(name);
    symlink("conf.yaml", at("link")).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                fs::write(at("data/new"), "secret").unwrap();
                fs::rename(at("data/new"), at("conf.yaml")).unwrap();
            }
        });
        let shown = (0..20_000).flat_map(|_| ["conf.yaml", "link"]).find(|name| root.read(&POLICY, name).is_ok());
        done.store(true, Ordering::Relaxed);
        assert_eq!(shown, None);
    });
    assert!(root.read(&POLICY, "plain").is_ok());
}

#[test]
fn a_link_that_is_pointed_elsewhere_takes_its_secrecy_along() {
    let (folder, _) = tree();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("conf-2.yaml"), "secret").unwrap();
    symlink("conf.yaml", at("active")).unwrap();
    let root = Root::open(folder.path(), &[at("active")]).unwrap();
    assert!(root.read(&POLICY, "conf-2.yaml").is_ok(), "not in use");

    symlink("conf-2.yaml", at("next")).unwrap();
    fs::rename(at("next"), at("active")).unwrap();
    assert!(root.read(&POLICY, "active").is_err());
    // What links lead to is asked anew after a second.
    std::thread::sleep(Duration::from_millis(1100));
    for name in ["active", "conf-2.yaml", "conf.yaml"] {
        assert!(matches!(root.read(&POLICY, name), Err(FileRefused::Denied)), "{name}");
    }
}

/// `plain` may be read; `data` and `conf.yaml` are ours.
fn tree() -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    fs::create_dir(at("data")).unwrap();
    for name in ["plain", "data/db", "conf.yaml"] {
        fs::write(at(name), "secret").unwrap();
    }
    let root = Root::open(folder.path(), &[at("data"), at("conf.yaml")]).unwrap();
    (folder, root)
}

/// By this process; other tests have other files.
fn is_locked(number: u64) -> bool {
    let (locks, me) = (fs::read_to_string(Path::new("/proc/locks")).unwrap(), std::process::id().to_string());
    let number = format!(":{number}");
    locks.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.get(1) == Some(&"POSIX")
            && fields.get(4) == Some(&me.as_str())
            && fields.get(5).is_some_and(|file| file.ends_with(&number))
    })
}
