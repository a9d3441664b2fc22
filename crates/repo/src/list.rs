//! Every file that a tool may see, by its path: for whoever wants to read them all, or to know which have changed.

use std::io;
use std::time::SystemTime;

use crate::Root;
use crate::walk::{Met, Scope, Stop, Visit};

/// A file of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Relative to the root.
    pub path: String,
    /// `None` where the system does not know.
    pub modified: Option<SystemTime>,
    pub length: u64,
}

impl Root {
    /// The files in scope, by path. Also those that are too large for its policy: their length is known here. A list
    /// that was stopped is not whole.
    pub fn list_files(&self, scope: Scope<'_>, stop: &Stop) -> io::Result<Vec<Listed>> {
        let lists = self.walk(scope, stop, List::default)?;
        let mut files: Vec<Listed> = lists.into_iter().flat_map(|list| list.0).collect();
        files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    }
}

/// One thread's part.
#[derive(Default)]
struct List(Vec<Listed>);

impl Visit for List {
    fn visit(&mut self, met: &Met<'_>) -> io::Result<()> {
        // Nobody can ask for a name that is no text.
        let Some(path) = met.path.to_str() else { return Ok(()) };
        // Opened, not looked at by name: what cannot be read is not listed.
        let (_, about) = met.open()?;
        self.0.push(Listed { path: path.to_owned(), modified: about.modified().ok(), length: about.len() });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use crate::{Name, ParentRule, PathPolicy, Root, Scope, Stop};

    const POLICY: PathPolicy = PathPolicy {
        blocked: &[Name::Is(".git"), Name::BeginsWith(".env")],
        parents: ParentRule::TwoDots,
        max_bytes: 4,
    };

    #[test]
    fn a_list_has_what_may_be_read_in_order() {
        let place = tempfile::tempdir().unwrap();
        for folder in [".git", "src/deep", "node_modules/x"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        for (path, text) in [
            ("src/deep/b.rs", "fn b() {}"),
            ("src/a.rs", "a"),
            ("README.md", ""),
            (".git/config", "x"),
            (".env", "x"),
            ("ignored.log", "x"),
            (".gitignore", "*.log\n"),
            ("node_modules/x/index.js", "x"),
        ] {
            fs::write(place.path().join(path), text).unwrap();
        }
        symlink("src/a.rs", place.path().join("link.rs")).unwrap();
        let root = Root::open(place.path(), &[]).unwrap();
        let scope = Scope { policy: &POLICY, excluded: &["node_modules"], files: None };
        let files = root.list_files(scope, &Stop::default()).unwrap();
        let found: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.length)).collect();
        assert_eq!(found, [(".gitignore", 6), ("README.md", 0), ("src/a.rs", 1), ("src/deep/b.rs", 9)]);
        assert!(files.iter().all(|file| file.modified.is_some()));
        let stop = Stop::default();
        stop.stop();
        assert!(root.list_files(scope, &stop).unwrap().is_empty());
    }
}
