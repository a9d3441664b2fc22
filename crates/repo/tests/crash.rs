//! `kill -9` at random while two processes append to one file: what was acknowledged is there once, no line is torn,
//! and nothing that was there changed.
//!
//! A process that is killed cannot be this one, so the writers are this same binary, started again.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may fail the test")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use countersign_repo::{AppendOnly, NewEntry};

const FOLDER: &str = "COUNTERSIGN_REPO_CRASH_FOLDER";
const WRITER: &str = "COUNTERSIGN_REPO_CRASH_WRITER";
const NAME: &str = "log.md";

/// However busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);

/// Several pages each, so that a kill can come in the middle of a write. Line breaks inside: a part may look whole.
const LINES_PER_ENTRY: usize = 100;

#[test]
fn every_acknowledged_entry_survives_every_kill() {
    let rounds = if std::env::var_os("COUNTERSIGN_LONG").is_some() { 2000 } else { 160 };
    let folder = tempfile::tempdir().unwrap();
    let (mut acknowledged, mut before, mut seed) = (BTreeSet::new(), Vec::new(), 0x9e37_79b9_7f4a_7c15_u64);
    for round in 0..rounds {
        // Two at a time: one that is killed holds the lock that the other waits for.
        let writers = [0, 1].map(|n| start(folder.path(), round * 2 + n));
        for mut writer in writers {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            std::thread::sleep(Duration::from_micros(3000 + seed % 12_000));
            writer.kill().unwrap();
            writer.wait().unwrap();
            let output = BufReader::new(writer.stdout.take().unwrap());
            // The last line may be torn itself: an acknowledgement that was not received.
            let whole = output.split(b'\n').map(Result::unwrap).filter(|line| line.ends_with(b"."));
            acknowledged.extend(whole.filter_map(|line| {
                let text = String::from_utf8(line).unwrap();
                text.strip_prefix("wrote ")?.strip_suffix('.').map(ToOwned::to_owned)
            }));
        }
        // One more writer finds whatever the killed ones left.
        let own = format!("after {round}");
        append(&files(folder.path()), &own);
        acknowledged.insert(own);
        let bytes = fs::read(folder.path().join("memory").join(NAME)).unwrap();
        assert!(bytes.starts_with(&before), "round {round} changed what was there");
        before = bytes;
    }
    let found = entries(&before);
    let unique: BTreeSet<_> = found.iter().cloned().collect();
    assert_eq!(unique.len(), found.len(), "an entry is there twice");
    let missing: Vec<_> = acknowledged.difference(&unique).collect();
    assert!(missing.is_empty(), "acknowledged and not there: {missing:?}");
    assert!(acknowledged.len() > 3 * rounds, "only {} entries in {} kills", acknowledged.len(), rounds * 2);
}

/// Not a test of its own: what the other one starts.
#[test]
fn writer() {
    let (Some(folder), Some(writer)) = (std::env::var_os(FOLDER), std::env::var_os(WRITER)) else { return };
    let writer = writer.to_string_lossy();
    let files = files(Path::new(&folder));
    let mut stdout = std::io::stdout();
    for n in 0.. {
        let name = format!("{writer} {n}");
        append(&files, &name);
        // Acknowledged by one write, after the append.
        stdout.write_all(format!("wrote {name}.\n").as_bytes()).unwrap();
        stdout.flush().unwrap();
    }
}

fn start(folder: &Path, writer: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["writer", "--exact", "--nocapture"]).env(FOLDER, folder).env(WRITER, format!("writer {writer}"));
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn files(folder: &Path) -> AppendOnly {
    AppendOnly::new(folder, &folder.join("memory"), folder)
}

fn append(files: &AppendOnly, name: &str) {
    let entry = NewEntry { text: &entry(name), is_line: |_| true, patience: PATIENCE, begin: &|| true };
    files.append(NAME, &entry).unwrap();
}

fn entry(name: &str) -> String {
    let lines: Vec<String> = (0..LINES_PER_ENTRY).map(|line| format!("{name} | {line} {}", "x".repeat(80))).collect();
    lines.join("\n")
}

/// The names of the entries; every one must be whole and in one piece.
fn entries(file: &[u8]) -> Vec<String> {
    let text = str::from_utf8(file).unwrap();
    assert!(text.ends_with('\n'));
    let lines: Vec<&str> = text.lines().collect();
    let (whole, rest) = lines.as_chunks::<LINES_PER_ENTRY>();
    assert!(rest.is_empty(), "a torn entry");
    let mut names = Vec::new();
    for lines in whole {
        let (name, _) = lines[0].split_once(" | ").unwrap_or_else(|| panic!("{}", lines[0]));
        assert_eq!(lines.join("\n"), entry(name));
        names.push(name.to_owned());
    }
    names
}
