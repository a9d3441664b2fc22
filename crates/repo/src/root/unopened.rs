//! What is in an open folder under a name, judged before it is opened: whoever closes a file of ours loses the locks of
//! our database.

use std::fs::File;
use std::io;
use std::path::Path;

use cap_std::fs::{Dir, Metadata, MetadataExt as _};
use rustix::fs::OFlags;

use super::ours::{Known, Ours};

/// Leads to it without opening it. A link is itself, not what it leads to.
#[derive(Debug)]
pub(crate) struct Unopened {
    about: Metadata,
    way: system::Way,
}

impl Unopened {
    pub(crate) fn look(folder: &Dir, name: &Path) -> io::Result<Self> {
        let (way, about) = system::Way::to(folder, name)?;
        Ok(Self { about, way })
    }

    pub(crate) fn about(&self) -> &Metadata {
        &self.about
    }

    pub(crate) fn is_one_of(&self, ours: &Known) -> bool {
        ours.have(self.about.dev(), self.about.ino())
    }

    /// For a regular file that is none of ours.
    pub(crate) fn open(&self, flags: OFlags, ours: &Ours) -> io::Result<File> {
        self.way.open(flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC, &self.about, ours)
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd as _;
    use std::path::Path;

    use cap_std::fs::{Dir, Metadata};
    use rustix::fs::{Mode, OFlags, open, openat};

    use super::Ours;

    #[derive(Debug)]
    pub(super) struct Way(File);

    impl Way {
        pub(super) fn to(folder: &Dir, name: &Path) -> io::Result<(Self, Metadata)> {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = File::from(openat(folder, name, flags, Mode::empty())?);
            let about = Metadata::from_file(&handle)?;
            Ok((Self(handle), about))
        }

        pub(super) fn open(&self, flags: OFlags, _about: &Metadata, _ours: &Ours) -> io::Result<File> {
            let link = format!("/proc/self/fd/{}", self.0.as_raw_fd());
            Ok(File::from(open(link, flags, Mode::empty())?))
        }
    }
}

/// Without handles that open nothing it is looked at by its name, and once more when it is open.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::{Path, PathBuf};

    use cap_std::fs::{Dir, Metadata, MetadataExt as _};
    use rustix::fs::{Mode, OFlags, openat};

    use super::Ours;

    #[derive(Debug)]
    pub(super) struct Way {
        folder: Dir,
        name: PathBuf,
    }

    impl Way {
        pub(super) fn to(folder: &Dir, name: &Path) -> io::Result<(Self, Metadata)> {
            let about = folder.symlink_metadata(name)?;
            Ok((Self { folder: folder.try_clone()?, name: name.to_owned() }, about))
        }

        pub(super) fn open(&self, flags: OFlags, about: &Metadata, ours: &Ours) -> io::Result<File> {
            let file = File::from(openat(&self.folder, &self.name, flags | OFlags::NOFOLLOW, Mode::empty())?);
            let opened = file.metadata()?;
            if (opened.dev(), opened.ino()) == (about.dev(), about.ino()) {
                return Ok(file);
            }
            if ours.look_again().are(&opened) {
                ours.leave_open(file);
            }
            Err(io::Error::other("the file was replaced while it was opened"))
        }
    }
}
