//! Where the project's knowledge lies, and how it is read: files by the guard of the tools that read source code, the
//! memory files, and the history. What may not be read is not indexed.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use countersign_repo::{FileGlob, InvalidGlob, Listed, PathPolicy, Root, Scope, Stop, Until};
use countersign_store::{NewRow, OriginRows};
use jiff::Timestamp;

use crate::chunk::{Chunk, chunks_of_file, text_to_embed};
use crate::history;
use crate::origin::Origin;

/// A file that takes longer to cut along its syntax is cut along its lines.
const MAX_TIME_A_FILE: Duration = Duration::from_millis(500);

const GIT: &str = ".git";

/// In it: here is `exclude`.
const INFO: &str = "info";

/// What is indexed.
#[derive(Debug)]
pub struct Sources {
    pub root: Arc<Root>,
    /// The root's path: new commits are looked for in it.
    pub folder: PathBuf,
    pub policy: &'static PathPolicy,
    /// Names of folders that are not entered.
    pub excluded: &'static [&'static str],
    /// Files that the configuration leaves out.
    pub left_out: Option<FileGlob>,
    pub memory: Memory,
}

/// The folder of the memory files, wherever it lies. They count as such whatever ignores them, and the folder may come
/// later than we do.
#[derive(Debug)]
pub struct Memory {
    pub folder: PathBuf,
    /// What no tool sees.
    pub ours: Vec<PathBuf>,
    /// How results name the folder: relative to the repository where it lies in it.
    pub shown: String,
}

/// Something that may have to be indexed anew.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Relative to the root.
    File(String),
    /// Relative to the memory folder.
    Memory(String),
}

/// What one look at a place found.
#[derive(Debug)]
pub(crate) enum Look {
    /// `None` where the caller has the rows already.
    There(Option<OriginRows>),
    /// Not there, not to be read, or no text.
    Nothing,
}

impl Sources {
    /// Patterns as in `context.exclude`: what they match is left out.
    pub fn leaving_out(root: &Root, patterns: &[String]) -> Result<Option<FileGlob>, InvalidGlob> {
        if patterns.is_empty() { Ok(None) } else { FileGlob::excluding(root, patterns).map(Some) }
    }

    /// All files that may be of interest. Blocks on the disk.
    pub(crate) fn list(&self, stop: &Stop) -> io::Result<BTreeSet<Place>> {
        let scope = Scope { policy: self.policy, excluded: self.excluded, files: self.left_out.as_ref() };
        let inside = format!("{}/", self.memory.shown);
        let is_memory = |path: &str| path.starts_with(inside.as_str());
        let files = self.root.list_files(scope, stop)?.into_iter().map(|Listed { path, .. }| path);
        let mut places: BTreeSet<_> = files.filter(|path| !is_memory(path)).map(Place::File).collect();
        if let Some(root) = self.memory.open() {
            let scope = Scope { policy: self.policy, excluded: &[], files: None };
            let entries = root.list_files(scope, stop).unwrap_or_default();
            places.extend(entries.into_iter().map(|Listed { path, .. }| Place::Memory(path)));
        }
        Ok(places)
    }

    /// Reads it, and cuts it into chunks unless `known` says that this is what the index has. Blocks on the disk.
    pub(crate) fn look(&self, place: &Place, known: impl Fn(&Origin) -> bool) -> Look {
        let found = match place {
            Place::File(path) => self.root.read(self.policy, path).ok(),
            Place::Memory(path) => self.memory.open().and_then(|root| root.read(self.policy, path).ok()),
        };
        let Some(found) = found else { return Look::Nothing };
        let shown = self.shown(place);
        let Ok(text) = String::from_utf8(found.bytes) else { return Look::Nothing };
        let origin = Origin::of_file(&shown, &text);
        if known(&origin) {
            return Look::There(None);
        }
        let is_memory = matches!(place, Place::Memory(_));
        let until = Until::new(MAX_TIME_A_FILE, || false);
        let chunks = chunks_of_file(&shown, &text, found.modified.and_then(timestamp), is_memory, &until);
        Look::There(Some(rows(&origin, &chunks)))
    }

    /// The name under which a place is in the index.
    pub(crate) fn name(&self, place: &Place) -> String {
        Origin::name_of_file(&self.shown(place))
    }

    fn shown(&self, place: &Place) -> String {
        match place {
            Place::File(path) => path.clone(),
            Place::Memory(path) => format!("{}/{path}", self.memory.shown),
        }
    }

    /// Where a path that changed belongs, if the index may be concerned.
    pub(crate) fn place_of(&self, path: &Path) -> Option<Place> {
        if let Ok(inside) = path.strip_prefix(&self.memory.folder) {
            return inside.to_str().map(|path| Place::Memory(path.to_owned()));
        }
        let inside = path.strip_prefix(self.root.path()).ok()?;
        inside.to_str().map(|path| Place::File(path.to_owned()))
    }

    /// Folders in which something may change that concerns these places.
    pub(crate) fn folders<'p>(&self, places: impl Iterator<Item = &'p Place>) -> BTreeSet<PathBuf> {
        let mut folders: BTreeSet<PathBuf> = places
            .filter_map(|place| match place {
                Place::File(path) => self.root.path().join(path).parent().map(Path::to_owned),
                Place::Memory(path) => self.memory.folder.join(path).parent().map(Path::to_owned),
            })
            .collect();
        // A folder that holds folders only, up to the root.
        let above: Vec<PathBuf> = folders
            .iter()
            .flat_map(|folder| folder.ancestors().skip(1))
            .filter(|folder| folder.starts_with(self.root.path()))
            .map(Path::to_owned)
            .collect();
        folders.extend(above);
        let memory = &self.memory.folder;
        let others = [Some(self.root.path()), Some(memory.as_path()), memory.parent()];
        // Where a commit shows first, and where files are ignored for this copy only.
        let git = self.folder.join(GIT);
        let of_git = [git.join("logs"), git.join(INFO), git];
        folders.extend(others.into_iter().flatten().map(Path::to_owned).chain(of_git));
        folders.retain(|folder| folder.is_dir());
        folders
    }

    /// Whether a path that changed says that there are new commits; `info/exclude` says which files count instead.
    pub(crate) fn is_history(&self, path: &Path) -> bool {
        let git = self.folder.join(GIT);
        path.starts_with(&git) && !path.starts_with(git.join(INFO))
    }

    /// The days of the history, newest first. Blocks on the disk.
    pub(crate) fn sessions(&self, known: impl Fn(&Origin) -> bool, stop: &Stop) -> Vec<(Origin, Option<OriginRows>)> {
        let sessions = history::sessions(&self.root, &|| stop.is_stopped());
        let look = |session: history::Session| {
            let rows = (!known(&session.origin)).then(|| rows(&session.origin, &session.chunks));
            (session.origin, rows)
        };
        sessions.into_iter().map(look).collect()
    }
}

impl Memory {
    fn open(&self) -> Option<Root> {
        Root::open(&self.folder, &self.ours).ok()
    }
}

fn rows(origin: &Origin, chunks: &[Chunk]) -> OriginRows {
    let row = |chunk: &Chunk| {
        let text_hash = *blake3::hash(text_to_embed(chunk).as_bytes()).as_bytes();
        // A chunk is strings and numbers: there is nothing that cannot be written.
        NewRow { text_hash, body: serde_json::to_string(chunk).unwrap_or_default() }
    };
    OriginRows { name: origin.name.clone(), digest: origin.digest, rows: chunks.iter().map(row).collect() }
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    Timestamp::try_from(time).ok()
}
