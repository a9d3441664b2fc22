//! What a search finds, in files of every kind, and what it never shows, whatever happens to the tree meanwhile.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use countersign_repo::{
    Case, FileGlob, GrepFailed, Name, Occurrence, ParentRule, PathPolicy, Pattern, Report, Root, Scope, Stop,
};
use tempfile::TempDir;

const POLICY: PathPolicy = PathPolicy {
    blocked: &[Name::BeginsWith(".env"), Name::Is(".git"), Name::Is("node_modules")],
    parents: ParentRule::Component,
    max_bytes: 1024,
};

const EXCLUDED: &[&str] = &["dist", "build"];

/// A tree of its own, searched with the rules above.
struct Tree {
    folder: TempDir,
    root: Root,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        let root = Root::open(&folder.path().join("root"), &[]).unwrap();
        let tree = Self { folder, root };
        for (name, text) in files {
            tree.put(name, text.as_bytes());
        }
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("root").join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), bytes).unwrap();
    }

    fn grep(&self, pattern: &str) -> Report {
        self.grep_in(pattern, None, 100)
    }

    fn grep_in(&self, pattern: &str, glob: Option<&str>, limit: usize) -> Report {
        let files = glob.map(|glob| FileGlob::new(&self.root, glob).unwrap());
        let scope = Scope { policy: &POLICY, excluded: EXCLUDED, files: files.as_ref() };
        let pattern = Pattern::new(pattern, Case::Insensitive).unwrap();
        self.root.grep(scope, &pattern, limit, &Stop::default()).unwrap()
    }

    fn places(&self, pattern: &str) -> Vec<(String, u64, u64)> {
        self.grep(pattern).occurrences.into_iter().map(|found| (found.file, found.line, found.column)).collect()
    }
}

fn places(list: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    list.iter().map(|(file, line, column)| ((*file).to_owned(), *line, *column)).collect()
}

#[test]
fn an_occurrence_has_its_place_and_its_surroundings() {
    let tree = Tree::new(&[("src/a.ts", "one\ntwo\nthree\n  const token = jwt.sign(x);\nfive\nsix\nseven\n")]);
    let report = tree.grep(r"jwt\.sign");
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let expected = Occurrence {
        file: "src/a.ts".to_owned(),
        line: 4,
        column: 17,
        text: "  const token = jwt.sign(x);".to_owned(),
        before: texts(&["two", "three"]),
        after: texts(&["five", "six"]),
    };
    assert_eq!(report, Report { occurrences: vec![expected], total: 1, files: 1 });
}

#[test]
fn contexts_overlap_and_end_at_the_edges_of_the_file() {
    let tree = Tree::new(&[("a", "x1\nx2\n.\nx3\n.\n.\n.\nx4")]);
    let around: Vec<_> =
        tree.grep("x").occurrences.into_iter().map(|found| (found.line, found.before, found.after)).collect();
    let lines = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let expected = [
        (1, lines(&[]), lines(&["x2", "."])),
        (2, lines(&["x1"]), lines(&[".", "x3"])),
        (4, lines(&["x2", "."]), lines(&[".", "."])),
        (8, lines(&[".", "."]), lines(&[])),
    ];
    assert_eq!(around, expected);
}

#[test]
fn the_order_is_that_of_paths_and_lines_and_everything_is_counted() {
    let tree = Tree::new(&[("b", "x x\nx\n"), ("a.txt", "x\n"), ("a/z", "x\n"), ("c/d/e", "xxx\n")]);
    let all = [
        ("a/z", 1, 1),
        ("a.txt", 1, 1),
        ("b", 1, 1),
        ("b", 1, 3),
        ("b", 2, 1),
        ("c/d/e", 1, 1),
        ("c/d/e", 1, 2),
        ("c/d/e", 1, 3),
    ];
    assert_eq!(tree.places("x"), places(&all));
    for limit in 1..=8 {
        let report = tree.grep_in("x", None, limit);
        let found: Vec<_> =
            report.occurrences.into_iter().map(|found| (found.file, found.line, found.column)).collect();
        assert_eq!((found, report.total, report.files), (places(&all[..limit]), 8, 4), "{limit}");
    }
}

#[test]
fn columns_are_characters_and_line_ends_are_not_text() {
    let tree = Tree::new(&[("a", "äöü needle 😀needle\r\nneedle\r\n")]);
    tree.put("latin1", b"caf\xe9 needle\n");
    assert_eq!(tree.places("needle"), places(&[("a", 1, 5), ("a", 1, 13), ("a", 2, 1), ("latin1", 1, 6)]));
    let texts: Vec<_> = tree.grep("needle").occurrences.into_iter().map(|found| found.text).collect();
    assert_eq!(texts, ["äöü needle 😀needle", "äöü needle 😀needle", "needle", "caf\u{fffd} needle"]);
}

#[test]
fn other_encodings_are_read_and_binary_files_are_not() {
    let tree = Tree::new(&[("plain", "needle\n"), ("bom", "\u{feff}needle\n")]);
    let utf16 =
        |order: fn(u16) -> [u8; 2]| -> Vec<u8> { "\u{feff}é needle\n".encode_utf16().flat_map(order).collect() };
    tree.put("utf16be", &utf16(u16::to_be_bytes));
    tree.put("utf16le", &utf16(u16::to_le_bytes));
    tree.put("binary", b"needle\n\0needle\n");
    // What makes it binary is beyond what is read at once.
    let mut late = b"needle\n".repeat(20_000);
    late.push(0);
    tree.put("late", &late);
    let expected = [("bom", 1, 1), ("plain", 1, 1), ("utf16be", 1, 3), ("utf16le", 1, 3)];
    assert_eq!(tree.places("needle"), places(&expected));
    let report = tree.grep("needle");
    assert_eq!((report.total, report.files), (4, 6));
}

#[test]
fn rules_in_the_tree_are_followed() {
    let tree = Tree::new(&[
        (".git/info/exclude", "excluded\n"),
        (".gitignore", "*.log\n/target/\n!keep.log\n"),
        (".ignore", "ignored\n"),
        (".rgignore", "also\n"),
        ("a.log", "x"),
        ("keep.log", "x"),
        ("target/a", "x"),
        ("sub/target/a", "x"),
        ("sub/.gitignore", "inner\n!a.log\n"),
        ("sub/inner", "x"),
        ("sub/a.log", "x"),
        ("inner", "x"),
        ("excluded", "x"),
        ("ignored", "x"),
        ("also", "x"),
        (".github/ci.yml", "x"),
        ("dist/a", "x"),
        ("sub/build/a", "x"),
        ("src/build", "x"),
        (".env", "x"),
        ("sub/.ENV.local", "x"),
        ("node_modules/a", "x"),
        ("sub/Node_Modules/a", "x"),
        ("sub/.git", "x"),
        ("my_secrets", "x"),
    ]);
    let files: Vec<_> = tree.grep("^x$").occurrences.into_iter().map(|found| found.file).collect();
    // A `.git` makes a repository of its folder: what is above does not count there, its own rules do.
    let expected = [".github/ci.yml", "inner", "keep.log", "my_secrets", "src/build", "sub/a.log", "sub/target/a"];
    assert_eq!(files, expected);
}

#[test]
fn a_glob_narrows_and_never_widens() {
    let tree = Tree::new(&[
        (".git/HEAD", ""),
        (".gitignore", "*.log\n"),
        ("a.rs", "x"),
        ("src/b.rs", "x"),
        ("a.log", "x"),
        (".env", "x"),
        ("dist/c.rs", "x"),
    ]);
    for (glob, found) in [
        ("*.rs", vec!["a.rs", "src/b.rs"]),
        ("src/**", vec!["src/b.rs"]),
        ("*.log", vec![]),
        (".env*", vec![]),
        (".git/**", vec![]),
        ("dist/**", vec![]),
        ("/etc/*", vec![]),
        ("../**", vec![]),
    ] {
        let files: Vec<_> = tree.grep_in("x", Some(glob), 9).occurrences.into_iter().map(|found| found.file).collect();
        assert_eq!(files, found, "{glob}");
    }
}

#[test]
fn what_is_no_readable_file_stops_nothing() {
    let tree = Tree::new(&[("good", "needle\n"), ("folder/locked", "needle\n"), ("closed/a", "needle\n")]);
    for fifo in ["fifo", ".gitignore", "folder/.ignore"] {
        assert!(std::process::Command::new("mkfifo").arg(tree.path(fifo)).status().unwrap().success());
    }
    fs::create_dir(tree.path(".git")).unwrap();
    drop(std::os::unix::net::UnixListener::bind(tree.path("socket")).unwrap());
    for (target, link) in
        [("loop", "loop"), (".", "again"), ("..", "up"), ("/etc", "etc"), ("good", "link"), ("/dev/zero", ".rgignore")]
    {
        symlink(target, tree.path(link)).unwrap();
    }
    fs::File::create(tree.path("sparse")).unwrap().set_len(1 << 30).unwrap();
    fs::set_permissions(tree.path("folder/locked"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(tree.path("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let start = Instant::now();
    let found = tree.places("needle");
    fs::set_permissions(tree.path("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    // Whoever is root reads everything.
    let readable = found.iter().filter(|(file, ..)| file == "good" || file == "folder/locked" || file == "closed/a");
    assert_eq!(readable.count(), found.len());
    assert!(found.contains(&("good".to_owned(), 1, 1)));
}

#[test]
fn our_own_files_and_a_root_among_them_are_not_searched() {
    let tree = Tree::new(&[("data/db", "needle"), ("app.log", "needle"), ("app.log.md", "needle")]);
    let search = |root: &Path| {
        let root = Root::open(root, &[tree.path("data"), tree.path("app.log")]).unwrap();
        let scope = Scope { policy: &POLICY, excluded: EXCLUDED, files: None };
        let pattern = Pattern::new("needle", Case::Sensitive).unwrap();
        root.grep(scope, &pattern, 9, &Stop::default()).unwrap()
    };
    let files: Vec<_> = search(&tree.path("")).occurrences.into_iter().map(|found| found.file).collect();
    assert_eq!(files, ["app.log.md"]);
    assert_eq!(search(&tree.path("data")), Report { occurrences: Vec::new(), total: 0, files: 0 });
}

#[test]
fn a_million_matches_are_counted_and_a_hundred_kept() {
    let tree = Tree::new(&[]);
    tree.put("lines", &b"needle\n".repeat(500_000));
    tree.put("one-line", &b"needle ".repeat(500_000));
    let report = tree.grep_in("needle", None, 100);
    assert_eq!((report.total, report.files, report.occurrences.len()), (1_000_000, 2, 100));
    let in_the_line = tree.grep_in("needle", Some("one-line"), 100);
    let last = in_the_line.occurrences.last().unwrap();
    assert_eq!((last.line, last.column), (1, 99 * 7 + 1));
    assert!(last.text.len() < 600 && last.text.contains("needle"));
}

#[test]
fn a_line_that_never_ends_is_no_text() {
    let tree = Tree::new(&[("good", "xx\n")]);
    tree.put("endless", &vec![b'x'; 40 * 1024 * 1024]);
    let report = tree.grep("xx");
    assert_eq!((report.total, report.files), (1, 1));
}

#[test]
fn patterns_that_break_other_engines_are_answered() {
    let tree = Tree::new(&[]);
    tree.put("redos", format!("{}!\n", "a".repeat(50_000)).as_bytes());
    for pattern in
        ["(a+)+$", "(a|a?)+$", "([a-zA-Z]+)*$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*a){25}", "a{0,50}a{0,50}a{0,50}b"]
    {
        let start = Instant::now();
        tree.grep(pattern);
        assert!(start.elapsed() < Duration::from_secs(20), "{pattern}: {:?}", start.elapsed());
    }
}

#[test]
fn stopping_it_ends_all_of_it() {
    let tree = Tree::new(&[]);
    let text = "some words that are not it\n".repeat(2000);
    for number in 0..400 {
        tree.put(&format!("{}/{number}", number % 20), text.as_bytes());
    }
    tree.put("long", text.repeat(2000).as_bytes());
    let stop = Stop::default();
    let pattern = Pattern::new(r"(\w+\s+){5}\d", Case::Insensitive).unwrap();
    let scope = Scope { policy: &POLICY, excluded: EXCLUDED, files: None };
    let took = std::thread::scope(|threads| {
        let search = threads.spawn(|| tree.root.grep(scope, &pattern, 9, &stop));
        std::thread::sleep(Duration::from_millis(5));
        let stopped = Instant::now();
        stop.stop();
        assert!(matches!(search.join().unwrap(), Err(GrepFailed::Stopped)));
        stopped.elapsed()
    });
    assert!(took < Duration::from_secs(2), "{took:?}");
}

/// Links swapped in and out, files that come, go and grow: nothing from outside is shown, nothing breaks.
#[test]
fn a_tree_in_motion_shows_nothing_from_outside() {
    let tree = Tree::new(&[("a", "needle\n"), ("folder/file", "needle\n"), ("spare/file", "needle\n")]);
    let outside = tree.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "needle CANARY\n").unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let (folder, link, kept) = (tree.path("folder"), tree.path("link"), tree.path("kept"));
            let mut turn = 0_u32;
            while !over.load(Ordering::Relaxed) {
                let _ = fs::rename(&folder, &kept);
                let _ = symlink(&outside, &folder);
                let _ = fs::remove_file(&folder);
                let _ = fs::rename(&kept, &folder);
                let _ = symlink(outside.join("file"), &link);
                let _ = fs::rename(&link, tree.path("spare/file"));
                let _ = fs::write(tree.path("changing"), "needle\n".repeat(turn as usize % 30_000));
                let _ = fs::remove_file(tree.path("spare/file"));
                turn = turn.wrapping_add(997);
            }
        });
        let _over = SetOnDrop(&over);
        for _ in 0..300 {
            let report = tree.grep("needle");
            assert!(report.occurrences.iter().any(|found| found.file == "a"));
            let shown = |found: &Occurrence| found.text.contains("CANARY");
            assert!(!report.occurrences.iter().any(shown), "{report:?}");
        }
    });
}

/// Also when an assertion fails: a scope waits for its threads.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Of a last line without a line break, too; ripgrep counts it as well.
#[test]
fn the_end_of_every_line_is_found() {
    let tree = Tree::new(&[("a.txt", "one\ntwo")]);
    let found = tree.grep("$");
    assert_eq!(found.total, 2);
    assert_eq!(found.occurrences.iter().map(|found| (found.line, found.column)).collect::<Vec<_>>(), [(1, 4), (2, 4)]);
}
