//! Files that only grow: whole entries at their end, one writer at a time over all processes, on disk before the
//! answer. What a crash left half-written is set aside, never glued to the next entry.

use std::fmt;
use std::fs::{File, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

use crate::root::{Ours, Unopened, resolved_as_far_as_it_exists, without_parents};

const LOCK_POLL: Duration = Duration::from_millis(2);

/// How much is looked at in one go for the beginning of the last line.
const BLOCK: u64 = 8192;

/// A last line that is longer is no entry of ours, and stays as it is.
const MAX_TORN: u64 = 1024 * 1024;

/// Somebody may replace the file while we wait for it, once by accident.
const OPEN_ATTEMPTS: usize = 5;

/// A folder of such files.
#[derive(Debug)]
pub struct AppendOnly {
    root: PathBuf,
    /// Without `..`, and below `root` by its name if it lies there at all.
    dir: PathBuf,
    /// Where it is noted what is being written, for whoever comes after a crash.
    notes: PathBuf,
    /// What lies beside the notes.
    ours: Ours,
}

/// What is to be added, and how.
pub struct NewEntry<'a> {
    /// Without the line break at its end.
    pub text: &'a str,
    /// Whether a last line without a line break may be what a person left so.
    pub is_line: fn(&[u8]) -> bool,
    /// How long to wait for other writers, all in all.
    pub patience: Duration,
    /// Asked once, when all is ready: from then on the entry is written, or taken back as a whole.
    pub begin: &'a dyn Fn() -> bool,
}

#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// A link, a folder, a pipe, a file of our own, or one that has another name elsewhere: writing could reach something
    /// else.
    #[error("it is not a plain file of its own")]
    NotPlain,
    /// The file is as it was.
    #[error("nobody wants it any more")]
    Abandoned,
    #[error("another process keeps the file locked")]
    Locked,
    #[error("no space is left")]
    NoSpace(#[source] io::Error),
    /// The file is as it was.
    #[error("the file cannot be written")]
    Io(#[from] io::Error),
    /// Neither written nor taken back: what the disk holds will show.
    #[error("the file could not be written, nor put back as it was")]
    Unknown(#[source] io::Error),
}

impl fmt::Debug for NewEntry<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NewEntry").field("text", &self.text).finish_non_exhaustive()
    }
}

impl AppendOnly {
    /// `dir` is made when the first entry comes. Where it lies below `root`, no link leads out of there. What else is in
    /// the folder of the notes, our database for one, is no file for entries, whatever it is called by then.
    pub fn new(root: &Path, dir: &Path, notes: &Path) -> Self {
        let (root, dir) = placed(root, dir);
        let ours = Ours::without(&[notes.to_owned()], Some(&dir));
        Self { root, dir, notes: notes.to_owned(), ours }
    }

    /// Adds the entry and a line break, and answers how many bytes were added. Blocks on the disk; not for an async thread.
    pub fn append(&self, name: &str, entry: &NewEntry<'_>) -> Result<u64, AppendError> {
        let (folder, above) = self.folder()?;
        self.ours.look_again();
        let files = Files { folder: &folder, ours: &self.ours, give_up: Instant::now() + entry.patience };
        let mut file = files.open_locked(name)?;
        let note = self.note(name);
        if let Some(from) = torn_from(&file, &note, entry.is_line)? {
            files.set_aside(&mut file, name, from)?;
        }
        let before = file.metadata()?.len();
        if before == 0 {
            // Whoever made file and folders may not have come so far.
            above.iter().chain([&folder]).try_for_each(sync_folder)?;
        }
        let mut text = String::with_capacity(entry.text.len() + 2);
        if before > 0 && last_byte(&file, before)? != b'\n' {
            // What a person left without a line break stays as it is, on a line of its own.
            text.push('\n');
        }
        text.push_str(entry.text);
        text.push('\n');
        let written = note.write(before, &text).map_err(no_space_or).and_then(|()| {
            if !(entry.begin)() {
                return Err(AppendError::Abandoned);
            }
            write_whole(&mut file, before, text.as_bytes())
        });
        match written {
            // What the disk holds will show, and whoever comes then needs the note.
            Err(AppendError::Unknown(error)) => return Err(AppendError::Unknown(error)),
            // A person may write the same words, and they are not torn.
            written => {
                note.clear();
                written?;
            }
        }
        if !is_current(&folder, name, &file)? {
            let error = io::Error::other("the file was replaced while it was written");
            return Err(AppendError::Unknown(error));
        }
        Ok(text.len() as u64)
    }

    /// Files of the same name in other folders have notes of their own.
    fn note(&self, name: &str) -> Note {
        let mut hasher = DefaultHasher::new();
        self.dir.hash(&mut hasher);
        Note { path: self.notes.join(format!("{name}.{:016x}.writing", hasher.finish())) }
    }

    /// The folder, made where it is missing, and those on the way to it.
    fn folder(&self) -> Result<(Dir, Vec<Dir>), AppendError> {
        let base = match self.dir.strip_prefix(&self.root) {
            Ok(_) => self.root.as_path(),
            Err(_) => self.dir.ancestors().find(|folder| folder.is_dir()).unwrap_or(&self.dir),
        };
        let mut folder = Dir::open_ambient_dir(base, ambient_authority())?;
        let mut above = Vec::new();
        for component in self.dir.strip_prefix(base).unwrap_or(&self.dir) {
            match folder.create_dir(component) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(no_space_or(error)),
                Ok(()) | Err(_) => {}
            }
            let below = folder.open_dir(component)?;
            above.push(std::mem::replace(&mut folder, below));
        }
        Ok((folder, above))
    }
}

/// Both without `..`. First by their names: a link that leads out of the root is found on the way, and refused.
fn placed(root: &Path, dir: &Path) -> (PathBuf, PathBuf) {
    let (root, dir) = (without_parents(root), without_parents(dir));
    let (real_root, real_dir) = (resolved_as_far_as_it_exists(&root), resolved_as_far_as_it_exists(&dir));
    let inside = dir.strip_prefix(&root).or_else(|_| dir.strip_prefix(&real_root));
    match inside.or_else(|_| real_dir.strip_prefix(&real_root)) {
        Ok(inside) => (root.clone(), root.join(inside)),
        Err(_) => (root, dir),
    }
}

/// The folder for one entry.
struct Files<'a> {
    folder: &'a Dir,
    ours: &'a Ours,
    /// On whichever file the others are.
    give_up: Instant,
}

impl Files<'_> {
    /// The file that is there when it is our turn.
    fn open_locked(&self, name: &str) -> Result<File, AppendError> {
        for _ in 0..OPEN_ATTEMPTS {
            let file = self.open(name)?;
            lock(&file, self.give_up)?;
            if !is_current(self.folder, name, &file)? {
                continue;
            }
            let about = file.metadata()?;
            let plain = about.is_file() && about.nlink() == 1;
            return if plain { Ok(file) } else { Err(AppendError::NotPlain) };
        }
        Err(AppendError::Locked)
    }

    /// Never through a link, and never a file that is ours: that would lose the locks of our database.
    fn open(&self, name: &str) -> Result<File, AppendError> {
        let mut options = OpenOptions::new();
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.read(true).append(true).create_new(true).custom_flags(flags.bits().cast_signed());
        match self.folder.open_with(name, &options) {
            Ok(file) => return Ok(file.into_std()),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(no_space_or(error)),
            Err(_) => {}
        }
        let there = Unopened::look(self.folder, Path::new(name))?;
        let about = there.about();
        if !about.is_file() || about.nlink() != 1 || there.is_one_of(&self.ours.now()) {
            return Err(AppendError::NotPlain);
        }
        Ok(there.open(OFlags::RDWR | OFlags::APPEND, self.ours)?)
    }

    fn set_aside(&self, file: &mut File, name: &str, from: u64) -> Result<(), AppendError> {
        let mut torn = read_from(file, from, file.metadata()?.len())?;
        torn.push(b'\n');
        let mut aside = self.open_locked(&format!("{name}.torn"))?;
        let before = aside.metadata()?.len();
        write_whole(&mut aside, before, &torn)?;
        sync_folder(self.folder)?;
        // Only now: whatever happens in between, the bytes are in one of the two.
        file.set_len(from)?;
        file.sync_data()?;
        Ok(())
    }
}

/// Whether the name still leads to this file.
fn is_current(folder: &Dir, name: &str, file: &File) -> io::Result<bool> {
    let opened = cap_std::fs::Metadata::from_file(file)?;
    let identity = |about: &cap_std::fs::Metadata| (about.dev(), about.ino());
    Ok(folder.symlink_metadata(name).ok().as_ref().map(identity) == Some(identity(&opened)))
}

/// Released when the file is closed, by a crash, too.
fn lock(file: &File, give_up: Instant) -> Result<(), AppendError> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if Instant::now() < give_up => std::thread::sleep(LOCK_POLL),
            Err(TryLockError::WouldBlock) => return Err(AppendError::Locked),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

/// All of it, in one write and on disk, or nothing.
fn write_whole(file: &mut File, before: u64, text: &[u8]) -> Result<(), AppendError> {
    let written = file.write(text).and_then(|count| {
        if count < text.len() {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "only a part could be written"));
        }
        file.sync_data()
    });
    let Err(error) = written else { return Ok(()) };
    match file.set_len(before).and_then(|()| file.sync_data()) {
        Ok(()) => Err(no_space_or(error)),
        Err(_) => Err(AppendError::Unknown(error)),
    }
}

fn no_space_or(error: io::Error) -> AppendError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "everything else is just a failure")]
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            AppendError::NoSpace(error)
        }
        _ => AppendError::Io(error),
    }
}

/// Where a half-written entry begins, if there is one: what the note says was being written, as far as it came, or a
/// last line that is none.
fn torn_from(file: &File, note: &Note, is_line: fn(&[u8]) -> bool) -> io::Result<Option<u64>> {
    let length = file.metadata()?.len();
    if let Some((offset, text)) = note.read()
        && (1..text.len() as u64).contains(&length.saturating_sub(offset))
        && text.as_bytes().starts_with(&read_from(file, offset, length)?)
    {
        return Ok(Some(offset));
    }
    if length == 0 || last_byte(file, length)? == b'\n' {
        return Ok(None);
    }
    let line = last_line_start(file, length)?;
    if length - line > MAX_TORN {
        return Ok(None);
    }
    Ok((!is_line(&read_from(file, line, length)?)).then_some(line))
}

fn read_from(file: &File, from: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length.saturating_sub(from)).unwrap_or_default()];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}

fn last_byte(file: &File, length: u64) -> io::Result<u8> {
    let mut byte = [0];
    file.read_exact_at(&mut byte, length.saturating_sub(1))?;
    Ok(byte[0])
}

/// Where the last line begins: after the last line break, or at the very beginning.
fn last_line_start(file: &File, length: u64) -> io::Result<u64> {
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let mut block = vec![0; usize::try_from(end - start).unwrap_or_default()];
        file.read_exact_at(&mut block, start)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

pub(crate) fn sync_folder(folder: &Dir) -> io::Result<()> {
    // Through the handle, which may have been opened for looking up names only.
    folder.open(".")?.sync_all()
}

/// What is being written, and where, in a file of its own. It need not reach the disk: after a crash of the process it
/// is there, and after one of the machine the file speaks for itself as far as it can.
struct Note {
    path: PathBuf,
}

impl Note {
    fn read(&self) -> Option<(u64, String)> {
        let note = std::fs::read_to_string(&self.path).ok()?;
        let (offset, text) = note.split_once('\n')?;
        Some((offset.parse().ok()?, text.to_owned()))
    }

    fn write(&self, offset: u64, text: &str) -> io::Result<()> {
        std::fs::write(&self.path, format!("{offset}\n{text}"))
    }

    fn clear(&self) {
        // One that stays is harmless: what it speaks of is there as a whole.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests;
