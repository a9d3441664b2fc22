//! The text files of the checkout, read once: tracked ones and new ones that git does not ignore.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;

use super::lexer::{self, Line};
use crate::workspace;

#[derive(Debug)]
pub(super) struct Tree {
    /// Sorted by path, each once.
    files: Vec<TextFile>,
}

#[derive(Debug)]
pub(super) struct TextFile {
    /// From the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
    /// Code and comments apart; empty for what is not Rust.
    pub(super) rust: Vec<Line>,
}

impl Tree {
    pub(super) fn load(root: &Path) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        for path in workspace::listed(root)? {
            match std::fs::read(root.join(&path)) {
                // What is not UTF-8 is not text.
                Ok(bytes) => files.extend(String::from_utf8(bytes).ok().map(|text| TextFile::new(&path, text))),
                // Deleted here and not yet in the index, a submodule, or a link to a folder.
                Err(err) if matches!(err.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) => {}
                Err(err) => return Err(err).with_context(|| format!("cannot read `{path}`")),
            }
        }
        Ok(Self::of(files))
    }

    pub(super) fn of(mut files: Vec<TextFile>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Self { files }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter()
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = &TextFile> {
        self.files().filter(|file| file.is_rust())
    }

    pub(super) fn file(&self, path: &str) -> Option<&TextFile> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(at)
    }
}

impl TextFile {
    pub(super) fn new(path: &str, text: String) -> Self {
        let rust = if is_rust(path) { lexer::split(&text) } else { Vec::new() };
        Self { path: path.to_owned(), text, rust }
    }

    pub(super) fn is_rust(&self) -> bool {
        is_rust(&self.path)
    }

    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether all of it is there for tests: `tests.rs`, or something under `tests/`, `fixtures/` and the like.
    pub(super) fn is_test(&self) -> bool {
        let mut folders = self.path.split('/').rev();
        folders.next() == Some("tests.rs")
            || folders.any(|folder| matches!(folder, "tests" | "benches" | "fixtures" | "testdata" | "snapshots"))
    }

    /// The lines of the trailing `#[cfg(test)] mod tests { … }`, as a range from 0; empty where there is none.
    pub(super) fn test_block(&self) -> std::ops::Range<usize> {
        let none = self.rust.len()..self.rust.len();
        let Some(module) = self.rust.iter().rposition(|line| line.code.trim_end() == "mod tests {") else {
            return none;
        };
        // Attributes stand above it: the condition, and expected lints perhaps.
        let before = self.rust.get(..module).unwrap_or_default();
        let attributes = before.iter().rev().take_while(|line| line.code.starts_with("#[")).count();
        let start = module - attributes;
        let conditional =
            self.rust.get(start..module).unwrap_or_default().iter().any(|line| line.code.contains("cfg(test)"));
        let after = self.rust.get(module..).unwrap_or_default();
        let Some(length) = after.iter().position(|line| line.code.trim_end() == "}") else { return none };
        if conditional { start..module + length + 1 } else { none }
    }
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}
