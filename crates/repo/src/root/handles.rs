//! Where an open file lies, asked of the system. Linux tells it by links in one folder, which is opened once: to walk to
//! it anew takes as long as to read such a link.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};
use rustix::path::DecInt;

/// The files that this process has open.
#[derive(Debug, Default)]
pub(super) struct Handles {
    folder: OnceLock<OwnedFd>,
}

impl Handles {
    pub(super) fn place_of(&self, file: &File) -> io::Result<PathBuf> {
        let place = rustix::fs::readlinkat(self.folder()?, DecInt::from_fd(file), Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(place.into_bytes())))
    }

    fn folder(&self) -> io::Result<&OwnedFd> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        let folder =
            rustix::fs::open("/proc/self/fd", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(self.folder.get_or_init(|| folder))
    }
}
