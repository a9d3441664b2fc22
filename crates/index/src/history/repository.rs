//! Where the commits lie, and which is the newest: found, and looked through, before the library opens anything. Whoever
//! makes a `.git` decides what its names lead to: to files of our own, whose locks are lost when they are closed, or to
//! other people's repositories. So the library gets a folder of objects in which there are only files and folders, and
//! nothing else: what `.git` is, `HEAD` and the references are read here, through the guard, and of the configuration
//! nothing counts.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use countersign_repo::{FileRefused, Root};
use gix::ObjectId;
use gix::bstr::ByteSlice as _;
use gix::config::file::Metadata;
use gix::config::file::init::Options;
use gix::config::{File, Source};

const GIT: &str = ".git";

/// Of the folder of objects. Git packs its objects when there are 7,000.
const ENTRIES_MAX: usize = 200_000;

/// Of a file that has one line, or the configuration.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Of all references in one file: some repositories have hundreds of thousands.
const PACKED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// References that lead to others: as many as git follows.
const HOPS_MAX: usize = 5;

/// These have each worktree for itself.
const OF_A_WORKTREE: [&str; 3] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// What is safe to read.
#[derive(Debug)]
pub(super) struct Repository {
    pub(super) head: ObjectId,
    /// The folder of objects.
    pub(super) objects: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum NotRead {
    #[error("there are no commits")]
    Nothing,
    #[error("the history is broken")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("`{}` {reason}", place.display())]
    Refused { place: PathBuf, reason: &'static str },
}

impl From<io::Error> for NotRead {
    fn from(error: io::Error) -> Self {
        Self::Broken(Box::new(error))
    }
}

impl Repository {
    pub(super) fn find(root: &Root) -> Result<Self, NotRead> {
        let folders = Folders::find(root)?;
        let objects = folders.common.join("objects");
        look_through(root, &objects)?;
        Ok(Self { head: folders.head(root)?, objects })
    }
}

/// Two of them are the same, except in a linked worktree.
struct Folders {
    /// Where `HEAD` is.
    git: PathBuf,
    /// Where objects and most references are.
    common: PathBuf,
}

impl Folders {
    fn find(root: &Root) -> Result<Self, NotRead> {
        let dot_git = root.path().join(GIT);
        let about = dot_git.symlink_metadata().map_err(|_| NotRead::Nothing)?;
        if about.is_dir() {
            // Git would follow a `commondir` here, too, but never makes one.
            return Ok(Self { common: dot_git.clone(), git: dot_git });
        }
        if !about.is_file() {
            return Err(refused(&dot_git, "is neither a file nor a folder"));
        }
        let text = read(root, &dot_git, FILE_BYTES_MAX)?.ok_or(NotRead::Nothing)?;
        let named = text.strip_prefix(b"gitdir:").ok_or(NotRead::Nothing)?;
        let git = resolved(root.path(), named)?;
        let common = match read(root, &git.join("commondir"), FILE_BYTES_MAX)? {
            Some(named) => resolved(&git, &named)?,
            None => git.clone(),
        };
        let folders = Self { git, common };
        if folders.lie_beneath(root) || folders.name_worktree(root)? || folders.configure_worktree(root)? {
            return Ok(folders);
        }
        Err(refused(&dot_git, "names a repository elsewhere that does not name this folder"))
    }

    fn lie_beneath(&self, root: &Root) -> bool {
        self.git.starts_with(root.path()) && self.common.starts_with(root.path())
    }

    /// A worktree that `git worktree add` made: the repository has a folder for it that says where it is. A repository
    /// that has no such folder was not asked, whatever `commondir` says.
    fn name_worktree(&self, root: &Root) -> Result<bool, NotRead> {
        let of_worktrees = self.git.parent().filter(|folder| folder.file_name() == Some(OsStr::new("worktrees")));
        if of_worktrees.and_then(Path::parent) != Some(&self.common) {
            return Ok(false);
        }
        let Some(named) = read(root, &self.git.join("gitdir"), FILE_BYTES_MAX)? else { return Ok(false) };
        Ok(resolved(&self.git, &named).is_ok_and(|named| named == root.path().join(GIT)))
    }

    /// A submodule, or a repository that was told to lie elsewhere: its configuration says where its files are.
    fn configure_worktree(&self, root: &Root) -> Result<bool, NotRead> {
        if self.git != self.common {
            return Ok(false);
        }
        let Some(text) = read(root, &self.git.join("config"), FILE_BYTES_MAX)? else { return Ok(false) };
        let config = File::from_bytes_no_includes(&text, Metadata::from(Source::Local), Options::default());
        let named = config.ok().and_then(|config| config.string("core.worktree"));
        Ok(named.is_some_and(|named| resolved(&self.git, &named).is_ok_and(|named| named == root.path())))
    }

    fn head(&self, root: &Root) -> Result<ObjectId, NotRead> {
        let mut name = "HEAD".to_owned();
        for _ in 0..HOPS_MAX {
            let is_shared = name.starts_with("refs/") && !OF_A_WORKTREE.iter().any(|prefix| name.starts_with(prefix));
            let folder = if is_shared { &self.common } else { &self.git };
            let Some(text) = read(root, &folder.join(&name), FILE_BYTES_MAX)? else { return self.packed(root, &name) };
            let Some(target) = text.strip_prefix(b"ref:") else { return id(&text) };
            let target = target.trim();
            let is_name = target.starts_with(b"refs/") && gix::validate::reference::name(target.as_bstr()).is_ok();
            let target = target.to_str().ok().filter(|_| is_name).ok_or(NotRead::Nothing)?;
            target.clone_into(&mut name);
        }
        Err(NotRead::Nothing)
    }

    fn packed(&self, root: &Root, name: &str) -> Result<ObjectId, NotRead> {
        let text = read(root, &self.common.join("packed-refs"), PACKED_BYTES_MAX)?.ok_or(NotRead::Nothing)?;
        let named = |line: &&[u8]| line.rsplit(|byte| *byte == b' ').next() == Some(name.as_bytes());
        text.lines().find(named).map_or(Err(NotRead::Nothing), id)
    }
}

/// The number at the beginning.
fn id(text: &[u8]) -> Result<ObjectId, NotRead> {
    let digits = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    ObjectId::from_hex(digits).map_err(|_| NotRead::Nothing)
}

/// Nothing in it is opened.
fn look_through(root: &Root, objects: &Path) -> Result<(), NotRead> {
    let about = objects.symlink_metadata().map_err(|_| NotRead::Nothing)?;
    if !about.is_dir() {
        return Err(refused(objects, "is no folder"));
    }
    if objects.join("info/alternates").symlink_metadata().is_ok_and(|about| about.len() > 0) {
        return Err(refused(&objects.join("info/alternates"), "leads to other repositories"));
    }
    let mut folders = vec![objects.to_owned()];
    let mut entries = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            entries += 1;
            if entries > ENTRIES_MAX {
                return Err(refused(objects, "has too many files to look through"));
            }
            let (place, about) = match entry.metadata() {
                Ok(about) => (entry.path(), about),
                // Git packs objects, and removes them, whenever it likes.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error.into()),
            };
            if root.is_ours(&place, &about) {
                return Err(refused(&place, "is one of our own files"));
            }
            if about.is_dir() {
                folders.push(place);
            } else if !about.is_file() {
                return Err(refused(&place, "is neither a file nor a folder"));
            }
        }
    }
    Ok(())
}

/// `None` if there is no such file.
fn read(root: &Root, place: &Path, limit: u64) -> Result<Option<Vec<u8>>, NotRead> {
    match root.read_anywhere(place, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(FileRefused::NotFound) => Ok(None),
        Err(FileRefused::Denied) => Err(refused(place, "may not be read")),
        Err(FileRefused::TooLarge { .. }) => Err(refused(place, "is too large")),
        Err(FileRefused::Io(error)) => Err(error.into()),
    }
}

/// Where the named folder or file really lies.
fn resolved(folder: &Path, named: &[u8]) -> Result<PathBuf, NotRead> {
    folder.join(OsStr::from_bytes(named.trim())).canonicalize().map_err(|_| NotRead::Nothing)
}

fn refused(place: &Path, reason: &'static str) -> NotRead {
    NotRead::Refused { place: place.to_owned(), reason }
}
