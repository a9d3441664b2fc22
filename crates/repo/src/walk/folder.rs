//! Folders and files opened beneath the root. No link is followed on the way, and nothing is waited for.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

/// Whatever is read here can be read without harm: a folder, nothing that a link leads to.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Links, pipes, sockets and devices are not for reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
}

#[derive(Debug, Default)]
pub(super) struct Listing {
    /// By name.
    pub(super) entries: Vec<Named>,
    pub(super) markers: Markers,
}

#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: CString,
    pub(super) kind: Kind,
    /// Of the file, on its device.
    pub(super) number: u64,
}

/// Names in a folder that say how to read it. What they stand for is not known yet.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a name that is there or not")]
pub(super) struct Markers {
    pub(super) rgignore: bool,
    pub(super) ignore: bool,
    pub(super) gitignore: bool,
    pub(super) git: bool,
    pub(super) jj: bool,
}

/// A folder by its path relative to the root.
pub(super) fn open_folder(root: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    if path.as_os_str().is_empty() {
        return Ok(openat(root, ".", FOLDER, Mode::empty())?);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(root, path, FOLDER, Mode::empty(), beneath) {
            // An old kernel, or a sandbox that knows no such call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return Ok(opened?),
        }
    }
    step_by_step(root, path)
}

fn step_by_step(root: BorrowedFd<'_>, path: &Path) -> io::Result<OwnedFd> {
    let mut folder = openat(root, ".", FOLDER, Mode::empty())?;
    for component in path.components() {
        let Component::Normal(name) = component else { return Err(Errno::INVAL.into()) };
        folder = openat(&folder, name, FOLDER, Mode::empty())?;
    }
    Ok(folder)
}

/// A regular file in an open folder.
pub(super) fn open_file(folder: BorrowedFd<'_>, name: &CString) -> io::Result<File> {
    Ok(File::from(openat(folder, name, FILE, Mode::empty())?))
}

/// What is in a folder that can be walked.
pub(super) fn list(folder: &OwnedFd) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for entry in Dir::new(folder.try_clone()?)? {
        let entry = entry?;
        let name = entry.file_name();
        match name.to_bytes() {
            b"." | b".." => continue,
            b".rgignore" => listing.markers.rgignore = true,
            b".ignore" => listing.markers.ignore = true,
            b".gitignore" => listing.markers.gitignore = true,
            b".git" => listing.markers.git = true,
            b".jj" => listing.markers.jj = true,
            _ => {}
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            // Some file systems do not say.
            let Ok(about) = statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            kind = FileType::from_raw_mode(about.st_mode);
        }
        let kind = if kind == FileType::RegularFile {
            Kind::File
        } else if kind == FileType::Directory {
            Kind::Folder
        } else {
            continue;
        };
        listing.entries.push(Named { name: name.to_owned(), kind, number: entry.ino() });
    }
    listing.entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_way_of_opening_a_folder_follows_links() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("root/a/b")).unwrap();
        fs::create_dir_all(place.path().join("outside/b")).unwrap();
        symlink("a", place.path().join("root/inside")).unwrap();
        symlink("../outside", place.path().join("root/out")).unwrap();
        let root = File::open(place.path().join("root")).unwrap();
        for (path, opens) in [("", true), ("a", true), ("a/b", true), ("inside", false), ("inside/b", false)] {
            assert_eq!(open_folder(root.as_fd(), Path::new(path)).is_ok(), opens, "{path}");
            assert_eq!(step_by_step(root.as_fd(), Path::new(path)).is_ok(), opens, "{path}, step by step");
        }
        for path in ["out", "out/b", "..", "a/../../outside", "a/nothing"] {
            assert!(open_folder(root.as_fd(), Path::new(path)).is_err(), "{path}");
            assert!(step_by_step(root.as_fd(), Path::new(path)).is_err(), "{path}, step by step");
        }
    }

    #[test]
    fn a_listing_has_what_can_be_walked() {
        let place = tempfile::tempdir().unwrap();
        for name in ["b", ".gitignore", "a"] {
            fs::write(place.path().join(name), "").unwrap();
        }
        fs::create_dir(place.path().join("folder")).unwrap();
        symlink("a", place.path().join(".ignore")).unwrap();
        let Listing { entries, markers } = list(&File::open(place.path()).unwrap().into()).unwrap();
        let names: Vec<_> = entries.iter().map(|entry| (entry.name.to_str().unwrap(), entry.kind)).collect();
        let expected = [(".gitignore", Kind::File), ("a", Kind::File), ("b", Kind::File), ("folder", Kind::Folder)];
        assert_eq!(names, expected);
        assert_eq!(markers, Markers { gitignore: true, ignore: true, ..Markers::default() });
    }
}
