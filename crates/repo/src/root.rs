//! The root and the way into it. Nothing outside can be opened through it: the kernel resolves every path beneath an
//! open folder (`openat2` where there is one), so no name is trusted after it was checked.

mod anywhere;
mod familiar;
mod handles;
mod look;
mod ours;
mod unopened;

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use self::familiar::Familiar;
use self::handles::{Handle, Handles};
pub(crate) use self::look::{Entry, Look};
pub(crate) use self::ours::{Known, Ours, resolved_as_far_as_it_exists, without_parents};
pub(crate) use self::unopened::Unopened;
use crate::PathPolicy;

/// The longest path that systems take.
const MAX_PATH_BYTES: usize = 4096;

/// Of a file that a link leads to and that is replaced again and again.
const ATTEMPTS: usize = 8;

/// The folder whose files tools may see, without those of our own that lie in it.
#[derive(Debug)]
pub struct Root {
    pub(crate) dir: Dir,
    pub(crate) path: PathBuf,
    /// Files and folders that no tool reads.
    pub(crate) ours: Arc<Ours>,
    handles: Handles,
    familiar: Familiar,
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
        Self::beside(path, Arc::new(Ours::new(ours)))
    }

    /// Where somebody keeps in mind what is ours.
    pub(crate) fn beside(path: &Path, ours: Arc<Ours>) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
        Ok(Self { dir, path, ours, handles: Handles::default(), familiar: Familiar::default() })
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

    /// The same for a file that was read a moment ago, where that waits for nothing: neither for the disk nor for whoever is
    /// behind a file system. `None` otherwise.
    pub fn read_at_once(&self, policy: &PathPolicy, request: &str) -> Option<Result<Found, FileRefused>> {
        let path = plain(policy, request).ok()?;
        let ours = self.ours.as_looked_at()?;
        let (file, about) = self.familiar.open(&self.dir, &path, &ours, &self.ours)?;
        let (length, modified) = (about.len(), about.modified().ok());
        if length > policy.max_bytes {
            return Some(Err(FileRefused::TooLarge { limit: policy.max_bytes }));
        }
        // One more, to find the end.
        let mut bytes = vec![0; usize::try_from(length).ok()? + 1];
        let mut filled = 0;
        loop {
            match read_cached(&file, &mut bytes[filled..], filled as u64)? {
                0 => break,
                count => filled += count,
            }
            if filled as u64 == length {
                // There was room for more.
                break;
            }
            if filled == bytes.len() {
                // It grew meanwhile.
                return None;
            }
        }
        bytes.truncate(filled);
        Some(Ok(Found { bytes, path, modified }))
    }

    /// The file behind the request, if all rules let it through. What is refused is not opened, unless it was put in the
    /// place of a familiar file (`familiar.rs`).
    fn open_checked(&self, policy: &PathPolicy, request: &str) -> Result<Opened, FileRefused> {
        let path = plain(policy, request)?;
        let ours = self.ours.now();
        let (file, about) = match self.familiar.open(&self.dir, &path, &ours, &self.ours) {
            Some(known) => known,
            // What was found in the place of a familiar file may have had us look again.
            None => self.open_judged(policy, &path, &self.ours.now())?,
        };
        let (length, limit) = (about.len(), policy.max_bytes);
        if length > limit {
            return Err(FileRefused::TooLarge { limit });
        }
        Ok(Opened { length, modified: about.modified().ok(), file, path })
    }

    fn open_judged(&self, policy: &PathPolicy, path: &str, ours: &Arc<Known>) -> Result<(File, Metadata), FileRefused> {
        let blocked = |component: Component<'_>| policy.blocks(&component.as_os_str().to_string_lossy());
        let (handle, about) = self.judged(Path::new(path), ours, |inside| !inside.components().any(blocked))?;
        if about.len() > policy.max_bytes {
            return Err(FileRefused::TooLarge { limit: policy.max_bytes });
        }
        let file = self.handles.open(&handle).map_err(refused)?;
        if handle.straight {
            self.familiar.remember(path, &file, &about, ours);
        }
        Ok((file, about))
    }

    /// A file beneath the root that is none of ours, whatever it is called; a link to it is followed.
    pub(crate) fn open_any(&self, path: &Path) -> Result<File, FileRefused> {
        let (handle, _) = self.judged(path, &self.ours.now(), |_| true)?;
        self.handles.open(&handle).map_err(FileRefused::Io)
    }

    /// The same outside of the root. Nothing of it may be shown.
    pub(crate) fn open_outside(&self, path: &Path) -> Result<File, FileRefused> {
        let handle = Handles::anywhere(path).map_err(refused)?;
        Self::regular(&handle, &self.ours.now())?;
        self.handles.open(&handle).map_err(FileRefused::Io)
    }

    /// A regular file that is none of ours and lies where it is allowed to.
    fn judged(
        &self,
        path: &Path,
        ours: &Known,
        allowed: impl Fn(&Path) -> bool,
    ) -> Result<(Handle, Metadata), FileRefused> {
        if ours.cover(&self.path.join(path)) {
            return Err(FileRefused::Denied);
        }
        for _ in 0..ATTEMPTS {
            let handle = Handles::beneath(&self.dir, path).map_err(refused)?;
            let about = Self::regular(&handle, ours)?;
            if handle.straight {
                // The rules were applied to the name, and it lies where its name says.
                return Ok((handle, about));
            }
            let found = self.handles.place_of(&handle, &self.dir, path).map_err(FileRefused::Io)?;
            // Where it was removed or replaced meanwhile, its name says nothing any more.
            let still_there =
                found.symlink_metadata().is_ok_and(|now| (now.dev(), now.ino()) == (about.dev(), about.ino()));
            if still_there {
                let inside = found.strip_prefix(&self.path).map_err(|_| FileRefused::Denied)?;
                let fine = allowed(inside) && !ours.cover(&found);
                return if fine { Ok((handle, about)) } else { Err(FileRefused::Denied) };
            }
        }
        Err(FileRefused::NotFound)
    }

    fn regular(handle: &Handle, ours: &Known) -> Result<Metadata, FileRefused> {
        let about = handle.file.metadata().map_err(FileRefused::Io)?;
        if !about.is_file() {
            return Err(FileRefused::NotFound);
        }
        if ours.are(&about) { Err(FileRefused::Denied) } else { Ok(about) }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "whatever else can go wrong is not the caller's doing")]
fn refused(error: io::Error) -> FileRefused {
    match error.kind() {
        // The latter is a way out of the root.
        io::ErrorKind::PermissionDenied | io::ErrorKind::CrossesDevices => FileRefused::Denied,
        io::ErrorKind::NotFound
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::InvalidFilename
        | io::ErrorKind::InvalidInput => FileRefused::NotFound,
        // Links that lead in a circle, and sockets and devices without anybody behind them.
        _ if is_no_file(&error) => FileRefused::NotFound,
        _ => FileRefused::Io(error),
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

fn is_no_file(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let raw = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(raw, Some(Errno::LOOP | Errno::NXIO | Errno::NODEV | Errno::NAMETOOLONG))
}
