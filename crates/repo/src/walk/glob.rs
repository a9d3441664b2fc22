//! Which files a caller is interested in, as ripgrep's `--glob` reads it, except that it never brings back what is
//! ignored.

use std::path::Path;

use ignore::overrides::{Override, OverrideBuilder};

use crate::Root;

/// `*.ts` in any folder, `src/**/*.ts` from the root on, `!*.ts` all others.
#[derive(Debug, Clone)]
pub struct FileGlob(Override);

/// Why a glob is none, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidGlob(String);

impl FileGlob {
    pub fn new(root: &Root, glob: &str) -> Result<Self, InvalidGlob> {
        let mut builder = OverrideBuilder::new(&root.path);
        builder.add(&spelled_out(glob)).map_err(said)?;
        builder.build().map(Self).map_err(said)
    }

    /// All files but those that one of the patterns matches.
    pub fn excluding(root: &Root, patterns: &[String]) -> Result<Self, InvalidGlob> {
        let mut builder = OverrideBuilder::new(&root.path);
        for pattern in patterns {
            builder.add(&format!("!{}", spelled_out(pattern))).map_err(said)?;
        }
        builder.build().map(Self).map_err(said)
    }

    /// A file's whole path.
    pub(super) fn matches(&self, path: &Path) -> bool {
        !self.0.matched(path, false).is_ignore()
    }
}

/// What people write, as rules are written: `./src/` is everything in the folder, `#` begins no comment.
fn spelled_out(glob: &str) -> String {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let escape = if glob.starts_with('#') { "\\" } else { "" };
    let all = if glob.ends_with('/') { "**" } else { "" };
    format!("{escape}{glob}{all}")
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the crate has more kinds of errors than globs")]
fn said(error: ignore::Error) -> InvalidGlob {
    InvalidGlob(match error {
        ignore::Error::Glob { err, .. } => err,
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_read_as_ripgrep_reads_them() {
        let place = tempfile::tempdir().unwrap();
        let root = Root::open(place.path(), &[]).unwrap();
        for (glob, matching, others) in [
            ("*.md", vec!["a.md", "x/y/a.md"], vec!["a.mdx", "md"]),
            ("src/**/*.rs", vec!["src/a.rs", "src/x/y/a.rs"], vec!["a.rs", "x/src/a.rs"]),
            ("src/*.rs", vec!["src/a.rs"], vec!["src/x/a.rs"]),
            ("./src/", vec!["src/a", "src/x/a"], vec!["x/src/a", "a"]),
            ("/a.rs", vec!["a.rs"], vec!["src/a.rs"]),
            ("**/*.{ts,tsx}", vec!["a.ts", "x/a.tsx"], vec!["a.js"]),
            ("!*.md", vec!["a.rs"], vec!["a.md", "x/a.md"]),
            ("#a", vec!["#a"], vec!["a"]),
            ("../*", vec![], vec!["a", "x/a"]),
        ] {
            let read = FileGlob::new(&root, glob).unwrap();
            assert!(matching.iter().all(|path| read.matches(&root.path.join(path))), "{glob}");
            assert!(!others.iter().any(|path| read.matches(&root.path.join(path))), "not {glob}");
        }
        for glob in ["[a", "{a", "a{b,c"] {
            assert!(FileGlob::new(&root, glob).is_err(), "{glob}");
        }
    }
}
