//! Nothing in the repository depends on the machine it was written on, nor on where its packages came from.

use super::Finding;
use super::tree::{TextFile, Tree};

/// Folders at the root of a machine that are somebody's own.
const PRIVATE_FOLDERS: [&str; 4] = ["work", "root", "home", "tmp"];

/// Parts of registry addresses; written in two parts so that this file does not mention them.
const REGISTRIES: [&str; 6] = [
    concat!("crates.io", "-index"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("npm", "js"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
];

/// Cargo writes the registry into it; nobody else does.
const LOCKFILE: &str = "Cargo.lock";

pub(super) fn paths(tree: &Tree) -> Vec<Finding> {
    find(tree, |line| {
        let folder = PRIVATE_FOLDERS.into_iter().find(|folder| names_folder(line, folder))?;
        Some(format!("`/{folder}/` is a path of one machine"))
    })
}

pub(super) fn registries(tree: &Tree) -> Vec<Finding> {
    find(tree, |line| {
        let host = REGISTRIES.into_iter().find(|host| line.contains(host))?;
        Some(format!("`{host}`: which registry is used is up to the machine"))
    })
}

/// Looks at every line that is not there for tests: a test may well need a path that exists nowhere.
fn find(tree: &Tree, judge: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| !file.is_test() && file.name() != LOCKFILE) {
        findings.extend(
            lines(file)
                .filter_map(|(line, text)| Some(Finding { path: file.path.clone(), line, message: judge(text)? })),
        );
    }
    findings
}

fn lines(file: &TextFile) -> impl Iterator<Item = (usize, &str)> {
    let tests = file.test_block();
    let outside = move |(at, _): &(usize, &str)| !tests.contains(at);
    file.text.lines().enumerate().filter(outside).map(|(at, text)| (at + 1, text))
}

/// Whether a path starts with this folder; `target/home/x` and `https://host/home/x` do not.
fn names_folder(line: &str, folder: &str) -> bool {
    let pattern = format!("/{folder}/");
    line.match_indices(&pattern).any(|(at, _)| {
        let before = line.split_at(at).0.chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '~' | '}' | ')' | '>' | '*'))
    })
}
