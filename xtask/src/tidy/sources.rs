//! How a Rust file reads: its length, its opening lines, and marks that must not stay.

use super::Finding;
use super::tree::{TextFile, Tree};

/// Lines of a file without its trailing tests: what one person can hold in mind.
const MAX_LINES: usize = 500;
/// Lines of a file that is all tests; tables are longer and simpler than code.
const MAX_TEST_LINES: usize = 800;
/// `//!` lines of a module.
const MAX_OPENING: usize = 5;
/// `//!` lines of `lib.rs` and `main.rs`, which introduce a whole crate.
const MAX_CRATE_OPENING: usize = 12;

pub(super) fn lengths(tree: &Tree) -> Vec<Finding> {
    let judge = |file: &TextFile| {
        let limit = if file.is_test() { MAX_TEST_LINES } else { MAX_LINES };
        let length = file.rust.len() - file.test_block().len();
        let message = format!("{length} lines without tests, limit {limit}: give a part of it its own module");
        (length > limit).then(|| Finding { path: file.path.clone(), line: limit + 1, message })
    };
    tree.rust().filter_map(judge).collect()
}

/// Each module says what it is for before anything else.
pub(super) fn openings(tree: &Tree) -> Vec<Finding> {
    let judge = |file: &TextFile| {
        let limit = if matches!(file.name(), "lib.rs" | "main.rs") { MAX_CRATE_OPENING } else { MAX_OPENING };
        let length = file.rust.iter().take_while(|line| line.comment.starts_with("//!")).count();
        let message = match length {
            0 => "the module does not open with `//!`: say what it is for".to_owned(),
            _ if length > limit => format!("the module opens with {length} lines of `//!`, limit {limit}"),
            _ => return None,
        };
        Some(Finding { path: file.path.clone(), line: 1, message })
    };
    tree.rust().filter(|file| file.name() != "tests.rs").filter_map(judge).collect()
}

/// Work left undone has an issue; tests run; lints are expected with a reason; nothing prints for debugging.
pub(super) fn marks(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (at, line) in file.rust.iter().enumerate() {
            let mut report = |message: String| {
                findings.push(Finding { path: file.path.clone(), line: at + 1, message });
            };
            for word in ["TODO", "FIXME"] {
                if mentions_without_issue(&line.comment, word) {
                    report(format!("`{word}` needs an issue: `{word}(#123)`"));
                }
            }
            for (code, message) in [
                ("#[ignore", "a test that does not run is no test: repair or delete it"),
                ("#[allow(", "use `#[expect(…, reason = …)]`, which goes when it is no longer needed"),
                ("#![allow(", "use `#![expect(…, reason = …)]`, which goes when it is no longer needed"),
                ("dbg!", "`dbg!` is for debugging only"),
            ] {
                if line.code.contains(code) {
                    report(message.to_owned());
                }
            }
        }
    }
    findings
}

/// A word in backticks is talked about, not used.
fn mentions_without_issue(comment: &str, word: &str) -> bool {
    comment.match_indices(word).any(|(at, _)| {
        let (before, rest) = comment.split_at(at);
        let after = rest.strip_prefix(word).unwrap_or_default();
        let inside_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '`');
        let whole = !before.ends_with(inside_word) && !after.starts_with(inside_word);
        let issue = after.strip_prefix("(#").and_then(|rest| rest.split_once(')'));
        whole && !issue.is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    })
}
