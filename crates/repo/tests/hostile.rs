//! Whatever is asked, and whatever happens to the tree meanwhile: no byte from outside the root or behind a blocked
//! name comes out, and every allowed file does.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use countersign_repo::{FileRefused, Found, Name, ParentRule, PathPolicy, Root};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tempfile::TempDir;

const POLICY: PathPolicy = PathPolicy {
    blocked: &[Name::Is(".git"), Name::BeginsWith(".env"), Name::Contains("secret"), Name::Contains("credential")],
    parents: ParentRule::TwoDots,
    max_bytes: 64,
};

const FORBIDDEN: &[u8] = b"CANARY";

struct World {
    folder: TempDir,
    root: Root,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["repo/src", "repo/.git", "repo/secrets", "repo/data", "outside", "repo-evil"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["README.md", "src/main.rs", "src/.gitignore", "src/a..b"] {
            fs::write(at("repo").join(name), format!("OK {name}")).unwrap();
        }
        for name in [
            "repo/.git/config",
            "repo/.env",
            "repo/secrets/x",
            "repo/data/db",
            "outside/x",
            "repo-evil/x",
            "repo/src/.Env",
        ] {
            fs::write(at(name), FORBIDDEN).unwrap();
        }
        fs::write(at("repo/large"), [b'x'; 65]).unwrap();
        fs::write(at("repo/full"), [b'x'; 64]).unwrap();
        for (target, link) in [
            ("src/main.rs", "inside"),
            ("../outside/x", "out"),
            ("../outside", "outdir"),
            (".env", "hidden"),
            (".git", "gitdir"),
            ("data/db", "ours"),
            ("/proc/self", "proc"),
            ("loop", "loop"),
            ("nowhere", "dangling"),
            ("../repo-evil/x", "beside"),
        ] {
            symlink(target, at("repo").join(link)).unwrap();
        }
        symlink(folder.path().join("outside/x"), at("repo/absolute")).unwrap();
        let root = Root::open(&at("repo"), &[at("repo/data")]).unwrap();
        Self { folder, root }
    }

    fn read(&self, request: &str) -> Result<String, FileRefused> {
        let checked = |found: Found| {
            assert!(!found.bytes.windows(FORBIDDEN.len()).any(|window| window == FORBIDDEN), "{request}");
            String::from_utf8(found.bytes).unwrap()
        };
        // Both ways: what the one refuses the other must not give.
        self.root.read_at_once(&POLICY, request).map(|read| read.map(checked));
        self.root.read(&POLICY, request).map(checked)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

#[test]
fn each_rule_holds() {
    let world = World::new();
    for (request, path) in [
        ("README.md", "README.md"),
        ("./README.md", "README.md"),
        ("src//main.rs", "src/main.rs"),
        ("src/.gitignore", "src/.gitignore"),
        ("inside", "inside"),
        ("full", "full"),
    ] {
        let found = world.root.read(&POLICY, request).unwrap();
        assert_eq!(found.path, path, "{request}");
    }
    let denied = |request: &str| matches!(world.read(request), Err(FileRefused::Denied));
    for request in [
        ".env",
        ".ENV",
        "src/.Env",
        ".git/config",
        ".GIT/config",
        ".git/./config",
        "secrets/x",
        "Secrets/none",
        "out",
        "outdir/x",
        "hidden",
        "gitdir/config",
        "ours",
        "data/db",
        "proc/environ",
        "absolute",
        "beside",
        "..",
        "src/..",
        "../outside/x",
        "/etc/passwd",
        "src/a..b",
        "none/../../outside/x",
        "a\0b",
    ] {
        assert!(denied(request), "{request}: {:?}", world.read(request));
    }
    let long = "a".repeat(300);
    for request in ["", ".", "src", "src/", "none", "README.md/x", "loop", "dangling", &long, &"a/".repeat(3000)] {
        assert!(matches!(world.read(request), Err(FileRefused::NotFound)), "{request}: {:?}", world.read(request));
    }
    assert!(matches!(world.read("large"), Err(FileRefused::TooLarge { limit: 64 })));
}

#[test]
fn what_is_not_a_file_is_not_read_and_not_waited_for() {
    let world = World::new();
    let made = std::process::Command::new("mkfifo").arg(world.path("repo/pipe")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(world.path("repo/socket")).unwrap();
    for request in ["pipe", "socket"] {
        assert!(matches!(world.read(request), Err(FileRefused::NotFound)), "{request}: {:?}", world.read(request));
    }
}

#[test]
fn no_generated_path_gets_out() {
    let world = World::new();
    let rounds = if std::env::var_os("COUNTERSIGN_LONG").is_some() { 1_000_000 } else { 100_000 };
    let word = prop_oneof![
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just(String::new()),
        Just("src".to_owned()),
        Just("main.rs".to_owned()),
        Just("README.md".to_owned()),
        Just("outside".to_owned()),
        Just("repo".to_owned()),
        Just("x".to_owned()),
        Just(".git".to_owned()),
        Just("config".to_owned()),
        Just(".eNv".to_owned()),
        Just("secrets".to_owned()),
        Just("out".to_owned()),
        Just("outdir".to_owned()),
        Just("gitdir".to_owned()),
        Just("inside".to_owned()),
        Just("hidden".to_owned()),
        Just("ours".to_owned()),
        Just("data".to_owned()),
        Just("db".to_owned()),
        Just("proc".to_owned()),
        Just("loop".to_owned()),
        "[ -~]{0,6}",
    ];
    let path = (prop::collection::vec(word, 0..6), prop::bool::weighted(0.1))
        .prop_map(|(words, absolute)| format!("{}{}", if absolute { "/" } else { "" }, words.join("/")));
    let config = Config { cases: rounds, failure_persistence: None, ..Config::default() };
    let served = AtomicUsize::new(0);
    TestRunner::new(config)
        .run(&path, |path| {
            let plain: Vec<_> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            let plain = plain.join("/");
            let allowed = ["README.md", "src/main.rs", "inside"].contains(&plain.as_str()) && !path.starts_with('/');
            let found = world.read(&path);
            prop_assert_eq!(found.is_ok(), allowed, "{:?}: {:?}", path, found);
            served.fetch_add(usize::from(allowed), Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    assert!(served.load(Ordering::Relaxed) > 100, "allowed paths were among them");
}

#[test]
fn a_link_that_is_swapped_while_it_is_read_lets_nothing_out() {
    let world = World::new();
    let rounds = if std::env::var_os("COUNTERSIGN_LONG").is_some() { 500_000 } else { 20_000 };
    let (done, reads, served) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    let (link, spare) = (world.path("repo/swapped"), world.path("repo/spare"));
    let folder = (world.path("repo/folder"), world.path("repo/spare-folder"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..rounds {
                let target = ["src/main.rs", "../outside/x", ".env", "data/db"][round % 4];
                swap(target, &spare, &link);
                swap(["src", "../outside", ".git", "secrets"][round % 4], &folder.1, &folder.0);
            }
            done.store(true, Ordering::Relaxed);
        });
        for request in ["swapped", "folder/x", "folder/main.rs"] {
            let (world, done, reads, served) = (&world, &done, &reads, &served);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    reads.fetch_add(1, Ordering::Relaxed);
                    if let Ok(text) = world.read(request) {
                        assert_eq!(text, "OK src/main.rs", "{request}");
                        served.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert!(served.load(Ordering::Relaxed) > 0, "of {} reads some met the allowed file", reads.load(Ordering::Relaxed));
}

/// In one step: at no moment is there no link.
fn swap(target: &str, spare: &Path, link: &Path) {
    symlink(target, spare).unwrap();
    fs::rename(spare, link).unwrap();
}
