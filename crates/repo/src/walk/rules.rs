//! What `.gitignore` and its kin say, with ripgrep's matcher and in ripgrep's order: `.rgignore`, `.ignore`,
//! `.gitignore`, `.git/info/exclude`, then the user's own. The nearest folder with a word on a path decides within a kind.
//!
//! Reading them is ours: files only, without waiting, a bounded part, and in the tree no link that leads out of it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::folder::Markers;
use crate::Root;

/// Lists that people keep are a hundred times shorter; what comes after this much is not read.
const READ_MAX: u64 = 1024 * 1024;

/// The rules of a folder and of those above it. A folder that adds none has its parent's.
pub(super) struct Rules {
    above: Option<Arc<Self>>,
    /// By kind, in the order in which they count.
    here: [Gitignore; 4],
    /// A repository begins here; git's rules of the folders above do not reach into it.
    repository: bool,
    /// Without one around, git's rules do not count.
    in_repository: bool,
    /// The user's own.
    global: Arc<Gitignore>,
}

/// From this kind on they are git's.
const GIT: usize = 2;

impl Rules {
    /// What holds for the root because of where it lies. The user's own rules are relative to it.
    pub(super) fn above(root: &Root) -> Arc<Self> {
        let (global, _errors) = GitignoreBuilder::new(&root.path).build_global();
        let mut rules = Arc::new(Self {
            above: None,
            here: std::array::from_fn(|_| Gitignore::empty()),
            repository: false,
            in_repository: false,
            global: Arc::new(global),
        });
        let folders: Vec<_> = root.path.ancestors().skip(1).collect();
        for folder in folders.into_iter().rev() {
            let read = |name: &str| compiled(folder, outside(root, &folder.join(name)));
            let git = folder.join(".git").metadata().ok();
            let exclude = git.as_ref().and_then(|_| exclude_file(root, folder)).and_then(|file| outside(root, &file));
            let here = [read(".rgignore"), read(".ignore"), read(".gitignore"), compiled(folder, exclude)];
            rules = rules.and(here, git.is_some() || folder.join(".jj").exists());
        }
        rules
    }

    /// With those of an open folder of the tree.
    pub(super) fn with(self: &Arc<Self>, root: &Root, path: &Path, inside: &Path, markers: Markers) -> Arc<Self> {
        if markers == Markers::default() {
            return Arc::clone(self);
        }
        let read = |there: bool, name: &str| {
            let text = there.then(|| beneath(root, &inside.join(name))).flatten();
            compiled(path, text)
        };
        let exclude = markers.git.then(|| excluded(root, path, inside)).flatten();
        let here = [
            read(markers.rgignore, ".rgignore"),
            read(markers.ignore, ".ignore"),
            read(markers.gitignore, ".gitignore"),
            compiled(path, exclude),
        ];
        self.and(here, markers.git || markers.jj)
    }

    fn and(self: &Arc<Self>, here: [Gitignore; 4], repository: bool) -> Arc<Self> {
        if !repository && here.iter().all(Gitignore::is_empty) {
            return Arc::clone(self);
        }
        Arc::new(Self {
            above: Some(Arc::clone(self)),
            here,
            repository,
            in_repository: self.in_repository || repository,
            global: Arc::clone(&self.global),
        })
    }

    pub(super) fn ignore(&self, path: &Path, is_folder: bool) -> bool {
        let mut said = [const { Match::None }; 4];
        let kinds = if self.in_repository { said.len() } else { GIT };
        let (mut rules, mut left) = (Some(self), false);
        while let Some(level) = rules {
            for (kind, (said, here)) in said.iter_mut().zip(&level.here).enumerate().take(kinds) {
                if said.is_none() && !(left && kind >= GIT) {
                    *said = here.matched(path, is_folder);
                }
            }
            left |= level.repository;
            rules = level.above.as_deref();
        }
        let last = if self.in_repository { self.global.matched(path, is_folder) } else { Match::None };
        said.into_iter().fold(Match::None, Match::or).or(last).is_ignore()
    }
}

fn compiled(folder: &Path, text: Option<Vec<u8>>) -> Gitignore {
    let Some(text) = text else { return Gitignore::empty() };
    let mut builder = GitignoreBuilder::new(folder);
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
    for line in text.split(|byte| *byte == b'\n') {
        // What is no text ends the list, as it does for ripgrep; a line that is no rule is left out.
        let Ok(line) = str::from_utf8(line) else { break };
        drop(builder.add_line(None, line.strip_suffix('\r').unwrap_or(line)));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// `.git/info/exclude`, wherever that is.
fn excluded(root: &Root, path: &Path, inside: &Path) -> Option<Vec<u8>> {
    let git = inside.join(".git");
    if root.dir.metadata(&git).is_ok_and(|about| about.is_dir()) {
        return beneath(root, &git.join("info/exclude"));
    }
    outside(root, &exclude_file(root, path)?)
}

/// A list in the tree; a link is followed while it stays there.
fn beneath(root: &Root, inside: &Path) -> Option<Vec<u8>> {
    contents(root.open_any(inside).ok()?)
}

/// The list of a repository that is not for committing. A worktree shares that of the repository it belongs to.
fn exclude_file(root: &Root, folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    let line = |file: &Path| {
        let text = String::from_utf8(outside(root, file)?).ok()?;
        text.lines().next().map(str::to_owned)
    };
    let home = match line(&git) {
        Some(link) => {
            let worktree = PathBuf::from(link.strip_prefix("gitdir: ")?);
            let common = worktree.is_absolute().then(|| line(&worktree.join("commondir"))).flatten()?;
            worktree.join(common)
        }
        None => git,
    };
    Some(home.join("info/exclude"))
}

/// A file outside of the tree: lists that lie above it or belong to the user. Nothing of them is ever shown.
fn outside(root: &Root, path: &Path) -> Option<Vec<u8>> {
    contents(root.open_outside(path).ok()?)
}

fn contents(file: File) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    file.take(READ_MAX).read_to_end(&mut text).ok()?;
    Some(text)
}
