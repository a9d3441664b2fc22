//! Replacing a file as a whole: the new content is written beside it under a name of our own, and takes its place once
//! it is on disk. What a killed process leaves behind is noted in the data folder, and the next one removes it.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{Gid, Mode, OFlags, Uid};
use uuid::Uuid;

use crate::append::sync_folder;
use crate::root::{Ours, Unopened};

const PREFIX: &str = ".countersign-";
const SUFFIX: &str = ".tmp";

/// Written in one go; in between it is asked whether anybody still wants it.
const CHUNK: usize = 1024 * 1024;

/// Somebody who clears up may take our note in the moment before it is locked, once by accident.
const NOTE_ATTEMPTS: usize = 5;

/// Ample for a path.
const MAX_NOTE: u64 = 64 * 1024;

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteRefused {
    #[error("access denied")]
    Denied,
    /// The file is as it was.
    #[error("no space is left")]
    NoSpace(#[source] io::Error),
    /// The file is as it was.
    #[error("the file cannot be written")]
    Io(#[source] io::Error),
    /// Nobody waits for it any more; the file is as it was.
    #[error("nobody wants it any more")]
    Abandoned,
    /// The new content is in place, but a power failure may undo that.
    #[error("the folder cannot be synced")]
    Unsettled(#[source] io::Error),
}

impl WriteRefused {
    pub(crate) fn from_io(error: io::Error) -> Self {
        #[expect(clippy::wildcard_enum_match_arm, reason = "everything else is just a failure")]
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::NoSpace(error)
            }
            // Not the system's own refusal: the path leads out of the folder it was opened beneath.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Self::Denied,
            _ => Self::Io(error),
        }
    }
}

/// A name in an open folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) folder: &'a Dir,
    /// Where the folder is, for whoever comes after a crash.
    pub(crate) whereabouts: &'a Path,
    pub(crate) name: &'a OsStr,
}

/// What the one who replaces files keeps in mind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keeping<'a> {
    pub(crate) notes: &'a Path,
    pub(crate) ours: &'a Ours,
}

/// Asked by the one who replaces a file.
#[derive(Clone, Copy)]
pub struct Consent<'a> {
    /// Again and again: nobody waits for a writer whose caller went away.
    pub still_wanted: &'a dyn Fn() -> bool,
    /// Once, when the new content is on disk: from then on it takes its place.
    pub begin: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Consent<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Consent").finish_non_exhaustive()
    }
}

/// All of it is there and on disk afterwards, or nothing has changed. Links and second names are never written through:
/// the name gets another file.
pub(crate) fn replace(
    target: Target<'_>,
    content: &[u8],
    keeping: Keeping<'_>,
    consent: Consent<'_>,
) -> Result<(), WriteRefused> {
    let Keeping { notes, ours } = keeping;
    let old = writable(target, ours)?;
    // In this order: what is noted goes after what it speaks of.
    let note = Note::take(notes, target.whereabouts).map_err(WriteRefused::from_io)?;
    let mut temporary = Temporary::create(target.folder, &note, old.as_ref()).map_err(WriteRefused::from_io)?;
    for chunk in content.chunks(CHUNK) {
        if !(consent.still_wanted)() {
            return Err(WriteRefused::Abandoned);
        }
        temporary.file.write_all(chunk).map_err(WriteRefused::from_io)?;
    }
    temporary.file.sync_all().map_err(WriteRefused::from_io)?;
    if !(consent.begin)() {
        return Err(WriteRefused::Abandoned);
    }
    temporary.take_the_place_of(target.name).map_err(WriteRefused::from_io)?;
    sync_folder(target.folder).map_err(WriteRefused::Unsettled)
}

/// What is there, if it is a file that we may write ourselves: that a folder lets us put another in its place does not
/// lift what the file says. It is judged by what it is before it is opened, because it may be another name of ours.
fn writable(target: Target<'_>, ours: &Ours) -> Result<Option<Metadata>, WriteRefused> {
    let there = match Unopened::look(target.folder, Path::new(target.name)) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(WriteRefused::from_io(error)),
    };
    if there.is_one_of(&ours.look_again()) {
        return Err(WriteRefused::Denied);
    }
    if !there.about().is_file() {
        return Err(not_a_file());
    }
    let file = there.open(OFlags::WRONLY, ours).map_err(WriteRefused::from_io)?;
    file.metadata().map(Some).map_err(WriteRefused::from_io)
}

pub(crate) fn not_a_file() -> WriteRefused {
    WriteRefused::Io(io::Error::new(io::ErrorKind::IsADirectory, "it is not a regular file"))
}

/// A file under a name that no tool reads or lists. It goes when it is dropped, unless it has taken its place.
struct Temporary<'a> {
    folder: &'a Dir,
    name: String,
    file: File,
    in_place: bool,
}

impl<'a> Temporary<'a> {
    /// With owner and rights of the file that is to be replaced, before the first byte is in it.
    fn create(folder: &'a Dir, note: &Note, old: Option<&Metadata>) -> io::Result<Self> {
        let name = temporary_name(&note.id);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(if old.is_some() { 0o600 } else { 0o666 });
        let file = folder.open_with(&name, &options)?.into_std();
        let temporary = Self { folder, name, file, in_place: false };
        if let Some(old) = old {
            let new = temporary.file.metadata()?;
            if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
                // Only some users may give files away; the others own what they write.
                let (owner, group) = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
                let _ = rustix::fs::fchown(&temporary.file, Some(owner), Some(group));
            }
            rustix::fs::fchmod(&temporary.file, Mode::from_raw_mode(old.mode() & 0o777))?;
        }
        Ok(temporary)
    }

    fn take_the_place_of(&mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, name)?;
        self.in_place = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.in_place
            && let Err(error) = self.folder.remove_file(&self.name)
        {
            tracing::warn!(%error, name = self.name, "cannot remove a temporary file");
        }
    }
}

/// Says in which folder a temporary file is, as long as there is one. Its writer keeps it locked, so it is known to be
/// alive; a lock ends with its process.
struct Note {
    id: String,
    path: PathBuf,
    _locked: File,
}

impl Note {
    fn take(notes: &Path, folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(notes)?;
        for _ in 0..NOTE_ATTEMPTS {
            let id = Uuid::new_v4().simple().to_string();
            let path = notes.join(&id);
            let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => {
                    let _ = fs::remove_file(&path);
                    return Err(error);
                }
            }
            if file.metadata()?.nlink() == 0 {
                continue;
            }
            let written = file.write_all(folder.as_os_str().as_bytes());
            let note = Self { id, path, _locked: file };
            return written.map(|()| note);
        }
        Err(io::Error::other("somebody removes our notes"))
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        // One that stays is cleared up at the next start.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what dead processes left, and answers how many files that were. Nothing is touched that no note names, or
/// whose writer lives.
pub(crate) fn clear_leftovers(notes: &Path) -> io::Result<usize> {
    let entries = match fs::read_dir(notes) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut removed = 0;
    for entry in entries {
        let path = entry?.path();
        match clear(&path) {
            Ok(count) => removed += count,
            Err(error) => tracing::warn!(%error, note = %path.display(), "cannot remove what a killed process left"),
        }
    }
    Ok(removed)
}

fn clear(note: &Path) -> io::Result<usize> {
    let Some(id) = note.file_name().and_then(OsStr::to_str).filter(|name| is_id(name)) else { return Ok(0) };
    let file = match File::open(note) {
        Ok(file) => file,
        // Its writer was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(0),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut folder = Vec::new();
    (&file).take(MAX_NOTE).read_to_end(&mut folder)?;
    let mut removed = 0;
    if !folder.is_empty() {
        let left = Path::new(OsStr::from_bytes(&folder)).join(temporary_name(id));
        match fs::symlink_metadata(&left) {
            Ok(about) if about.is_file() => {
                fs::remove_file(&left)?;
                removed = 1;
            }
            Err(error) if !is_gone(&error) => return Err(error),
            Ok(_) | Err(_) => {}
        }
    }
    fs::remove_file(note)?;
    Ok(removed)
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn temporary_name(id: &str) -> String {
    format!("{PREFIX}{id}{SUFFIX}")
}

/// Whether this is the name of a file that is being written.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)).is_some_and(is_id)
}

fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
