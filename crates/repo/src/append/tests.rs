//! Real files, in the states that crashes, people and attackers leave them in.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{AppendError, AppendOnly, NewEntry};

const NAME: &str = "log.jsonl";

struct Bench {
    folder: TempDir,
    files: AppendOnly,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let notes = folder.path().join("notes");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&notes).unwrap();
        let files = AppendOnly::new(&root, &root.join("deep/memory"), &notes);
        Self { folder, files }
    }

    fn with(content: &str) -> Self {
        let bench = Self::new();
        fs::create_dir_all(bench.path().parent().unwrap()).unwrap();
        fs::write(bench.path(), content).unwrap();
        bench
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("root/deep/memory").join(NAME)
    }

    fn note(&self) -> PathBuf {
        self.files.note(NAME).path
    }

    fn append(&self, entry: &str) -> Result<u64, AppendError> {
        self.append_within(entry, Duration::from_secs(10), &|| true)
    }

    fn append_within(&self, text: &str, patience: Duration, begin: &dyn Fn() -> bool) -> Result<u64, AppendError> {
        let is_line = |line: &[u8]| line.ends_with(b"}");
        self.files.append(NAME, &NewEntry { text, is_line, patience, begin })
    }

    /// The file, and what was set aside.
    fn content(&self) -> (String, Option<String>) {
        let aside = self.path().with_file_name(format!("{NAME}.torn"));
        (fs::read_to_string(self.path()).unwrap(), fs::read_to_string(aside).ok())
    }
}

#[test]
fn entries_follow_each_other_and_folders_are_made() {
    let bench = Bench::new();
    assert_eq!(bench.append("{1}").unwrap(), 4);
    assert_eq!(bench.append("{é}").unwrap(), 5);
    assert_eq!(bench.content(), ("{1}\n{é}\n".to_owned(), None));
    assert!(!bench.note().exists());
}

#[test]
fn what_a_crash_left_is_set_aside() {
    for (before, note, file, aside) in [
        // By the note: half an entry, and one that ends in the middle at a line break.
        ("{1}\n{2", Some("4\n{2}\n"), "{1}\n", Some("{2\n")),
        ("{1}\n{2\n", Some("4\n{2\n3}\n"), "{1}\n", Some("{2\n\n")),
        ("{1", Some("0\n{1}\n"), "", Some("{1\n")),
        // By itself: no line, and nobody noted it.
        ("{1}\n{2", None, "{1}\n", Some("{2\n")),
        ("{", None, "", Some("{\n")),
        // A whole entry whose note was not cleared any more.
        ("{1}\n{2}\n", Some("4\n{2}\n"), "{1}\n{2}\n", None),
        // Somebody else wrote since: the note speaks of something that is not there.
        ("{1}\nmine}\n", Some("4\n{2}\n"), "{1}\nmine}\n", None),
        ("{1}\n", Some("4\n{2}\n"), "{1}\n", None),
        ("{1}\n", Some("nonsense"), "{1}\n", None),
        ("{1}\n", Some("999\n{2}\n"), "{1}\n", None),
        // A person left out the line break.
        ("{1}\n{2}", None, "{1}\n{2}\n", None),
    ] {
        let bench = Bench::with(before);
        if let Some(note) = note {
            fs::write(bench.note(), note).unwrap();
        }
        let added = bench.append("{new}").unwrap();
        let completed = u64::from(file.len() > before.len());
        assert_eq!(added, 6 + completed, "{before:?}");
        let expected = (format!("{file}{{new}}\n"), aside.map(ToOwned::to_owned));
        assert_eq!(bench.content(), expected, "{before:?} {note:?}");
    }
}

#[test]
fn a_long_torn_line_is_found_to_its_beginning() {
    let torn = "x".repeat(30_000);
    let bench = Bench::with(&format!("{{1}}\n{torn}"));
    bench.append("{2}").unwrap();
    assert_eq!(bench.content(), ("{1}\n{2}\n".to_owned(), Some(format!("{torn}\n"))));
}

#[test]
fn nothing_is_reached_through_links() {
    let bench = Bench::with("");
    let outside = bench.folder.path().join("outside");
    fs::write(&outside, "theirs\n").unwrap();
    fs::remove_file(bench.path()).unwrap();
    symlink(&outside, bench.path()).unwrap();
    assert!(matches!(bench.append("{1}"), Err(AppendError::NotPlain)));
    fs::remove_file(bench.path()).unwrap();
    fs::hard_link(&outside, bench.path()).unwrap();
    assert!(matches!(bench.append("{1}"), Err(AppendError::NotPlain)));
    fs::remove_file(bench.path()).unwrap();
    fs::create_dir(bench.path()).unwrap();
    assert!(bench.append("{1}").is_err());

    let bench = Bench::new();
    let theirs = bench.folder.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    symlink(&theirs, bench.folder.path().join("root/deep")).unwrap();
    assert!(bench.append("{1}").is_err());
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "theirs\n");
}

#[test]
fn a_pipe_does_not_keep_us() {
    let bench = Bench::with("");
    fs::remove_file(bench.path()).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, bench.path(), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(bench.append("{1}").is_err());
}

#[test]
fn a_file_that_stays_locked_is_not_written_later() {
    let bench = Bench::with("{1}\n");
    let other = fs::OpenOptions::new().append(true).open(bench.path()).unwrap();
    other.lock().unwrap();
    let refused = bench.append_within("{2}", Duration::from_millis(20), &|| true);
    assert!(matches!(refused, Err(AppendError::Locked)), "{refused:?}");
    drop(other);
    assert_eq!(bench.content(), ("{1}\n".to_owned(), None));
}

#[test]
fn a_very_long_last_line_is_left_alone() {
    let long = "x".repeat(2 * 1024 * 1024);
    let bench = Bench::with(&long);
    bench.append("{1}").unwrap();
    assert_eq!(bench.content(), (format!("{long}\n{{1}}\n"), None));
}

#[test]
fn writers_take_turns() {
    let bench = Bench::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let bench = &bench;
            scope.spawn(move || {
                for n in 0..50 {
                    bench.append(&format!("{{{writer} {n} {}}}", "x".repeat(5000))).unwrap();
                }
            });
        }
    });
    let (content, aside) = bench.content();
    assert_eq!((content.lines().count(), aside), (200, None));
    for writer in 0..4 {
        let own = content.lines().filter(|line| line.starts_with(&format!("{{{writer} ")));
        let numbers: Vec<usize> = own.map(|line| line.split(' ').nth(1).unwrap().parse().unwrap()).collect();
        assert_eq!(numbers, (0..50).collect::<Vec<_>>());
    }
}

#[test]
fn a_folder_outside_the_root_is_made_too() {
    let folder = tempfile::tempdir().unwrap();
    let (root, dir) = (folder.path().join("root"), folder.path().join("elsewhere/memory"));
    fs::create_dir(&root).unwrap();
    let files = AppendOnly::new(&root, &dir, folder.path());
    let entry = NewEntry { text: "{1}", is_line: |_| true, patience: Duration::ZERO, begin: &|| true };
    files.append(NAME, &entry).unwrap();
    assert_eq!(fs::read_to_string(dir.join(NAME)).unwrap(), "{1}\n");
}

#[test]
fn a_folder_is_found_by_whatever_way_it_was_named() {
    let entry = NewEntry { text: "{1}", is_line: |_| true, patience: Duration::ZERO, begin: &|| true };
    for (root, dir, place) in [
        ("root", "root/sub/../notes", "root/notes"),
        ("root", "root/not-there/../notes", "root/notes"),
        ("root", "root/../shared/memory", "shared/memory"),
        ("root", "root/../not-there/../shared/memory", "shared/memory"),
        ("root", "root/../root/notes", "root/notes"),
        ("root/sub/..", "root/notes", "root/notes"),
        ("link", "root/notes", "root/notes"),
        ("link", "link/../deep/root/notes", "deep/root/notes"),
        ("link", "link/sub/../notes", "root/notes"),
        // Behind a link `..` means where it leads.
        ("root", "root/out/../memory", "shared/memory"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("root/sub")).unwrap();
        fs::create_dir_all(at("shared/there")).unwrap();
        fs::create_dir_all(at("deep")).unwrap();
        symlink("root", at("link")).unwrap();
        symlink("../shared/there", at("root/out")).unwrap();
        let files = AppendOnly::new(&at(root), &at(dir), folder.path());
        files.append(NAME, &entry).unwrap_or_else(|error| panic!("{dir}: {error:?}"));
        assert_eq!(fs::read_to_string(at(place).join(NAME)).unwrap(), "{1}\n", "{dir}");
        assert!(!at("not-there").exists() && !at("root/not-there").exists());
    }
}

/// The root may be named by a link itself, and its folders in several ways.
#[test]
fn no_way_of_naming_lets_a_link_lead_out() {
    let entry = NewEntry { text: "{1}", is_line: |_| true, patience: Duration::ZERO, begin: &|| true };
    for (root, dir) in [
        ("root", "root/out/memory"),
        ("root", "root/sub/../out/memory"),
        ("root/sub/..", "root/out/memory"),
        ("link", "root/out/memory"),
        ("link", "link/sub/../out/memory"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("root/sub")).unwrap();
        fs::create_dir(at("theirs")).unwrap();
        symlink("root", at("link")).unwrap();
        symlink("../theirs", at("root/out")).unwrap();
        let files = AppendOnly::new(&at(root), &at(dir), folder.path());
        assert!(files.append(NAME, &entry).is_err(), "{root} {dir}");
        assert_eq!(fs::read_dir(at("theirs")).unwrap().count(), 0, "{root} {dir}");
    }
}

/// The database is a file beside the notes. Every name that it has can be put where an entry goes.
#[test]
#[cfg(target_os = "linux")]
fn a_file_of_our_own_is_never_opened() {
    for (name, rename) in [(NAME, false), (NAME, true), ("log.jsonl.torn", false), ("log.jsonl.torn", true)] {
        // Torn, so that it is set aside.
        let bench = Bench::with("{1}\n{2");
        let (database, place) = (bench.folder.path().join("notes/db"), bench.path().with_file_name(name));
        fs::write(&database, "rows\n").unwrap();
        let handle = fs::File::options().read(true).write(true).open(&database).unwrap();
        rustix::fs::fcntl_lock(&handle, rustix::fs::FlockOperation::LockExclusive).unwrap();
        let number = handle.metadata().unwrap().ino();
        bench.files.ours.look_again();
        let _ = fs::remove_file(&place);
        if rename {
            fs::rename(&database, &place).unwrap();
        } else {
            fs::hard_link(&database, &place).unwrap();
        }
        let appended = bench.append("{3}");
        assert!(name != NAME && !rename || matches!(appended, Err(AppendError::NotPlain)), "{name}: {appended:?}");
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let ours = |line: &str| line.contains(" POSIX ") && line.contains(&format!(":{number} "));
        assert!(locks.lines().any(ours), "{name} {rename}: {appended:?}");
        assert_eq!(fs::read_to_string(&place).unwrap(), "rows\n", "{name} {rename}");
    }
}

#[test]
fn memory_may_lie_beside_the_notes() {
    let folder = tempfile::tempdir().unwrap();
    let files = AppendOnly::new(folder.path(), &folder.path().join("memory"), folder.path());
    let entry = NewEntry { text: "{1}", is_line: |_| true, patience: Duration::ZERO, begin: &|| true };
    for _ in 0..2 {
        files.append(NAME, &entry).unwrap();
    }
    assert_eq!(fs::read_to_string(folder.path().join("memory").join(NAME)).unwrap(), "{1}\n{1}\n");
}

#[test]
fn what_nobody_wants_any_more_is_not_written() {
    let bench = Bench::with("{1}\n");
    let refused = bench.append_within("{2}", Duration::from_secs(10), &|| false);
    assert!(matches!(refused, Err(AppendError::Abandoned)), "{refused:?}");
    assert_eq!(bench.content(), ("{1}\n".to_owned(), None));
    assert!(!bench.note().exists());
    // A person begins the same line: it is theirs, not the rest of ours.
    fs::write(bench.path(), "{1}\n{2}").unwrap();
    bench.append("{3}").unwrap();
    assert_eq!(bench.content(), ("{1}\n{2}\n{3}\n".to_owned(), None));
}

/// A limit on files is like a full disk. It is for a whole process, and kills unless that is ignored, so this starts
/// itself once more.
#[test]
fn what_was_taken_back_leaves_no_note() {
    const FOLDER: &str = "COUNTERSIGN_REPO_FULL_FOLDER";
    let long = format!("{}}}\n", "x".repeat(1020));
    let files = |folder: &Path| AppendOnly::new(folder, &folder.join("memory"), folder);
    if let Some(folder) = std::env::var_os(FOLDER) {
        use rustix::process::{Resource, Rlimit, setrlimit};
        setrlimit(Resource::Fsize, Rlimit { current: Some(1024), maximum: None }).unwrap();
        let entry = NewEntry { text: "{2}", is_line: |_| true, patience: Duration::ZERO, begin: &|| true };
        let refused = files(Path::new(&folder)).append(NAME, &entry);
        assert!(matches!(refused, Err(AppendError::NoSpace(_))), "{refused:?}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory").join(NAME);
    fs::create_dir(folder.path().join("memory")).unwrap();
    fs::write(&path, &long).unwrap();
    let mut again = std::process::Command::new("sh");
    again.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    again.args(["--exact", "append::tests::what_was_taken_back_leaves_no_note"]).env(FOLDER, folder.path());
    let output = again.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(fs::read_to_string(&path).unwrap(), long);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["memory"], "no note");
}

#[test]
fn one_patience_is_for_all_that_is_waited_for() {
    let bench = Bench::with("{1}\n{2");
    let aside = bench.path().with_file_name(format!("{NAME}.torn"));
    let lock = |path: &Path| {
        let file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.lock().unwrap();
        file
    };
    let (first, _second) = (lock(&bench.path()), lock(&aside));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(400));
            drop(first);
        });
        let refused = bench.append_within("{3}", Duration::from_millis(600), &|| true);
        assert!(matches!(refused, Err(AppendError::Locked)), "{refused:?}");
    });
    // Twice the patience would be a second.
    assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
}
