//! Handles that lead to a file without opening it. What is behind one is judged first: to open a device can do something,
//! and to close any handle on a file drops all locks that this process has on it, those of our own database included.

#[cfg(target_os = "linux")]
pub(super) use self::linux::Handles;
#[cfg(not(target_os = "linux"))]
pub(super) use self::others::Handles;

/// Leads to something; only [`Handles::open`] opens it.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) file: std::fs::File,
    /// On the way there was no link, so that it lies where its name says.
    pub(super) straight: bool,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::{Path, PathBuf};
    use std::sync::OnceLock;

    use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
    use rustix::fs::{FsWord, Mode, OFlags, ResolveFlags};
    use rustix::io::Errno;
    use rustix::path::DecInt;

    use super::Handle;

    const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

    /// Without waiting for anyone to write into a pipe.
    const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

    const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

    /// ext4 and its elders, XFS, Btrfs, F2FS, bcachefs, ZFS, tmpfs and overlayfs, by the numbers in statfs(2).
    const AT_HAND: [FsWord; 8] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1, 0x0102_1994, 0x794c_7630];

    /// Something on the way was renamed meanwhile.
    const ATTEMPTS: usize = 8;

    /// The folder in which the system shows the handles of this process. It is opened once: to walk to it takes as long as
    /// what is asked of it.
    #[derive(Debug, Default)]
    pub(in crate::root) struct Handles {
        folder: OnceLock<OwnedFd>,
    }

    impl Handles {
        /// Beneath the folder, wherever links lead.
        pub(in crate::root) fn beneath(folder: &Dir, path: &Path) -> io::Result<Handle> {
            let look = |flags| rustix::fs::openat2(folder.as_fd(), path, LOOK, Mode::empty(), flags);
            let handle = |found: OwnedFd, straight| Handle { file: File::from(found), straight };
            match look(BENEATH | ResolveFlags::NO_SYMLINKS) {
                Ok(found) => return Ok(handle(found, true)),
                // There is a link on the way.
                Err(Errno::LOOP) => {}
                // An old kernel, or a sandbox that knows no such call.
                Err(Errno::NOSYS | Errno::PERM) => {
                    let mut options = OpenOptions::new();
                    options.read(true).custom_flags(OFlags::PATH.bits().cast_signed());
                    let found = folder.open_with(path, &options)?.into_std();
                    return Ok(Handle { file: found, straight: false });
                }
                Err(error) => return Err(error.into()),
            }
            for _ in 1..ATTEMPTS {
                match look(BENEATH) {
                    Err(Errno::AGAIN) => {}
                    found => return Ok(handle(found?, false)),
                }
            }
            Ok(handle(look(BENEATH)?, false))
        }

        /// Anywhere.
        pub(in crate::root) fn anywhere(path: &Path) -> io::Result<Handle> {
            let found = rustix::fs::open(path, LOOK, Mode::empty())?;
            Ok(Handle { file: File::from(found), straight: false })
        }

        /// Where it really lies.
        pub(in crate::root) fn place_of(&self, handle: &Handle, _folder: &Dir, _path: &Path) -> io::Result<PathBuf> {
            let place = rustix::fs::readlinkat(self.folder()?, DecInt::from_fd(&handle.file), Vec::new())?;
            Ok(PathBuf::from(OsString::from_vec(place.into_bytes())))
        }

        pub(in crate::root) fn open(&self, handle: &Handle) -> io::Result<File> {
            let opened = rustix::fs::openat(self.folder()?, DecInt::from_fd(&handle.file), READ, Mode::empty())?;
            Ok(File::from(opened))
        }

        /// Beneath the folder, with no link on the way, whatever it is: only for what is known. It waits for nothing: an error
        /// where the way is not in memory.
        pub(in crate::root) fn straight(folder: &Dir, path: &Path) -> io::Result<File> {
            let flags = BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV | ResolveFlags::CACHED;
            Ok(File::from(rustix::fs::openat2(folder.as_fd(), path, READ, Mode::empty(), flags)?))
        }

        /// Whether opening a file of its file system waits for nobody: for no program and no other machine.
        pub(in crate::root) fn is_at_hand(file: &File) -> bool {
            rustix::fs::fstatfs(file).is_ok_and(|about| AT_HAND.contains(&about.f_type))
        }

        fn folder(&self) -> io::Result<&OwnedFd> {
            if let Some(folder) = self.folder.get() {
                return Ok(folder);
            }
            let folder = rustix::fs::open("/proc/self/fd", LOOK | OFlags::DIRECTORY, Mode::empty())?;
            Ok(self.folder.get_or_init(|| folder))
        }
    }
}

/// Where there are no such handles, it is opened, and then judged.
#[cfg(not(target_os = "linux"))]
mod others {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::path::{Path, PathBuf};

    use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
    use rustix::fs::OFlags;

    use super::Handle;

    const FLAGS: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

    #[derive(Debug, Default)]
    pub(in crate::root) struct Handles;

    impl Handles {
        pub(in crate::root) fn beneath(folder: &Dir, path: &Path) -> io::Result<Handle> {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(FLAGS.bits().cast_signed());
            Ok(Handle { file: folder.open_with(path, &options)?.into_std(), straight: false })
        }

        pub(in crate::root) fn anywhere(path: &Path) -> io::Result<Handle> {
            let file = File::options().read(true).custom_flags(FLAGS.bits().cast_signed()).open(path)?;
            Ok(Handle { file, straight: false })
        }

        /// Nothing is known to be.
        pub(in crate::root) fn straight(_folder: &Dir, _path: &Path) -> io::Result<File> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::root) fn is_at_hand(_file: &File) -> bool {
            false
        }

        pub(in crate::root) fn place_of(&self, _handle: &Handle, folder: &Dir, path: &Path) -> io::Result<PathBuf> {
            let root = folder.canonicalize(".")?;
            folder.canonicalize(path).map(|inside| root.join(inside))
        }

        pub(in crate::root) fn open(&self, handle: &Handle) -> io::Result<File> {
            handle.file.try_clone()
        }
    }
}
