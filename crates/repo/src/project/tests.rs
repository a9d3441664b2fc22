//! Small projects, made up, one for each language; and hostile ones.

mod compiled;
mod hostile;
mod scripted;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{Dependencies, Project};
use crate::{Name, NotParsed, ParentRule, PathPolicy, Root, Until};

const POLICY: PathPolicy = PathPolicy {
    blocked: &[Name::BeginsWith(".env"), Name::Is(".git"), Name::Is("node_modules")],
    parents: ParentRule::Component,
    max_bytes: 1024 * 1024,
};

/// A project in a folder of its own.
struct Made {
    folder: tempfile::TempDir,
    project: Project,
}

impl Made {
    /// Of paths and texts.
    fn of(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            put(&folder.path().join("repo").join(path), text);
        }
        let root = Root::open(&folder.path().join("repo"), &[]).unwrap();
        Self { project: Project::new(Arc::new(root), POLICY), folder }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("repo")
    }

    fn try_dependencies(&self, path: &str) -> Result<Dependencies, NotParsed> {
        let text = fs::read_to_string(self.path().join(path)).unwrap();
        self.project.dependencies(path, &text, &Until::new(Duration::from_secs(30), || false))
    }

    fn dependencies(&self, path: &str) -> Dependencies {
        self.try_dependencies(path).unwrap()
    }

    /// The paths that come along, in order.
    fn included(&self, path: &str) -> Vec<String> {
        self.dependencies(path).included.into_iter().map(|dependency| dependency.path).collect()
    }

    /// What does not, with the reason.
    fn left_out(&self, path: &str) -> Vec<String> {
        let left_out = self.dependencies(path).left_out.into_iter();
        left_out.map(|left_out| format!("{} {}", left_out.written, left_out.reason.as_str())).collect()
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
