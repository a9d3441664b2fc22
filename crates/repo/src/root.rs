//! The root and the way into it. Nothing outside can be opened through it: the kernel resolves every path beneath an
//! open folder (`openat2` where there is one), so no name is trusted after it was checked.

mod handles;
mod look;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};

use self::handles::Handles;
pub(crate) use self::look::{Entry, Look};
use crate::PathPolicy;

/// The longest path that systems take.
const MAX_PATH_BYTES: usize = 4096;

/// The folder whose files tools may see, without those of our own that lie in it.
#[derive(Debug)]
pub struct Root {
    pub(crate) dir: Dir,
    pub(crate) path: PathBuf,
    /// Files and folders that no tool reads, resolved.
    pub(crate) ours: Vec<PathBuf>,
    /// Held by the one who reads without a thread for it.
    at_once: Mutex<()>,
    handles: Handles,
}

/// A file that may be read, read.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    pub bytes: Vec<u8>,
    /// As it was asked for, without detours: relative to the root.
    pub path: String,
    /// `None` where the system does not know.
    pub modified: Option<SystemTime>,
}

/// Why a file is not given out. Which rule it was is not said: that would tell what is there.
#[derive(Debug, thiserror::Error)]
pub enum FileRefused {
    #[error("access denied")]
    Denied,
    /// Nothing there, or nothing that is a file.
    #[error("file not found")]
    NotFound,
    #[error("larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("cannot read the file")]
    Io(#[source] io::Error),
}

impl Root {
    /// `ours` is what no tool may see wherever it lies: data folder, log, configuration.
    pub fn open(path: &Path, ours: &[PathBuf]) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
        let ours = ours.iter().map(|place| resolved_as_far_as_it_exists(place)).collect();
        Ok(Self { dir, path, ours, at_once: Mutex::default(), handles: Handles::default() })
    }

    /// Where it lies, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Blocks on the disk; not for an async thread.
    pub fn read(&self, policy: &PathPolicy, request: &str) -> Result<Found, FileRefused> {
        let Opened { file, length, path, modified } = self.open_checked(policy, request)?;
        let limit = policy.max_bytes;
        // It may have grown since; one byte too many is enough to know.
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
        file.take(limit + 1).read_to_end(&mut bytes).map_err(FileRefused::Io)?;
        if bytes.len() as u64 > limit {
            return Err(FileRefused::TooLarge { limit });
        }
        Ok(Found { bytes, path, modified })
    }

    /// The same where the content is in memory already; `None` where it is not, or somebody else is at it. Looking up the
    /// name may have to wait for the disk after all, so this is for one thread of several at a time.
    pub fn read_at_once(&self, policy: &PathPolicy, request: &str) -> Option<Result<Found, FileRefused>> {
        let _one = self.at_once.try_lock().ok()?;
        let Opened { file, length, path, modified } = match self.open_checked(policy, request) {
            Ok(opened) => opened,
            Err(refused) => return Some(Err(refused)),
        };
        // One more, to find the end.
        let mut bytes = vec![0; usize::try_from(length).ok()? + 1];
        let mut filled = 0;
        loop {
            match read_cached(&file, &mut bytes[filled..], filled as u64)? {
                0 => break,
                count => filled += count,
            }
            if filled == bytes.len() {
                // It grew meanwhile.
                return None;
            }
        }
        bytes.truncate(filled);
        Some(Ok(Found { bytes, path, modified }))
    }

    /// The file behind the request, if all rules let it through.
    fn open_checked(&self, policy: &PathPolicy, request: &str) -> Result<Opened, FileRefused> {
        let path = plain(policy, request)?;
        let file = self.open_file(&path)?;
        let about = file.metadata().map_err(FileRefused::Io)?;
        if !about.is_file() {
            return Err(FileRefused::NotFound);
        }
        self.check_what_it_is(policy, &file, &path)?;
        if about.len() > policy.max_bytes {
            return Err(FileRefused::TooLarge { limit: policy.max_bytes });
        }
        Ok(Opened { length: about.len(), modified: about.modified().ok(), file, path })
    }

    fn open_file(&self, path: &str) -> Result<File, FileRefused> {
        let mut options = OpenOptions::new();
        // Without waiting for anyone to write into a pipe.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.read(true).custom_flags(flags.bits().cast_signed());
        match self.dir.open_with(path, &options) {
            Ok(file) => Ok(file.into_std()),
            #[expect(clippy::wildcard_enum_match_arm, reason = "whatever else can go wrong is not the caller's doing")]
            Err(error) => Err(match error.kind() {
                io::ErrorKind::PermissionDenied => FileRefused::Denied,
                io::ErrorKind::NotFound
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::IsADirectory
                | io::ErrorKind::InvalidFilename
                | io::ErrorKind::InvalidInput => FileRefused::NotFound,
                // Links that lead in a circle, and sockets and devices without anybody behind them.
                _ if is_no_file(&error) => FileRefused::NotFound,
                _ => FileRefused::Io(error),
            }),
        }
    }

    /// The rules again, on where the handle really leads.
    fn check_what_it_is(&self, policy: &PathPolicy, file: &File, path: &str) -> Result<(), FileRefused> {
        let found = self.resolved(file, path).map_err(FileRefused::Io)?;
        let inside = found.strip_prefix(&self.path).map_err(|_| FileRefused::Denied)?;
        let blocked = |component: Component<'_>| policy.blocks(&component.as_os_str().to_string_lossy());
        if inside.components().any(blocked) || self.ours.iter().any(|place| found.starts_with(place)) {
            return Err(FileRefused::Denied);
        }
        Ok(())
    }

    /// Asked of the handle itself where the system can be asked; by name otherwise.
    fn resolved(&self, file: &File, path: &str) -> io::Result<PathBuf> {
        if cfg!(target_os = "linux") {
            return self.handles.place_of(file);
        }
        self.dir.canonicalize(path).map(|inside| self.path.join(inside))
    }
}

struct Opened {
    file: File,
    length: u64,
    path: String,
    modified: Option<SystemTime>,
}

/// `None` where that would have to wait.
#[cfg(target_os = "linux")]
fn read_cached(file: &File, buffer: &mut [u8], offset: u64) -> Option<usize> {
    let flags = rustix::io::ReadWriteFlags::NOWAIT;
    rustix::io::preadv2(file, &mut [io::IoSliceMut::new(buffer)], offset, flags).ok()
}

#[cfg(not(target_os = "linux"))]
fn read_cached(_file: &File, _buffer: &mut [u8], _offset: u64) -> Option<usize> {
    None
}

/// The request without `.` and doubled slashes, if the rules let it through.
pub(crate) fn plain(policy: &PathPolicy, request: &str) -> Result<String, FileRefused> {
    if request.starts_with('/') || policy.goes_up(request) || request.contains('\0') {
        return Err(FileRefused::Denied);
    }
    let components: Vec<&str> =
        request.split('/').filter(|component| !component.is_empty() && *component != ".").collect();
    if components.iter().any(|component| policy.blocks(component)) {
        return Err(FileRefused::Denied);
    }
    let path = components.join("/");
    if path.is_empty() || path.len() > MAX_PATH_BYTES { Err(FileRefused::NotFound) } else { Ok(path) }
}

/// A file that is not there yet will be where its folder leads.
pub(crate) fn resolved_as_far_as_it_exists(place: &Path) -> PathBuf {
    if let Ok(resolved) = place.canonicalize() {
        return resolved;
    }
    match (place.parent(), place.file_name()) {
        (Some(folder), Some(name)) => resolved_as_far_as_it_exists(folder).join(name),
        _ => place.to_owned(),
    }
}

fn is_no_file(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let raw = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(raw, Some(Errno::LOOP | Errno::NXIO | Errno::NODEV | Errno::NAMETOOLONG))
}
