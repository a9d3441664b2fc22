//! Handles on what is ours, so that another name changes nothing: a file that was renamed is still known by its number, and
//! a folder still listed. They open nothing (`O_PATH`), so that no lock is lost when they are closed. What was removed is let
//! go, and its place on the disk with it, at the next look.

#[cfg(target_os = "linux")]
pub(super) use self::linux::survey;
#[cfg(not(target_os = "linux"))]
pub(super) use self::others::survey;

/// Of all that is ours, so many entries are looked at; it has a dozen.
const ENTRIES_MAX: usize = 1000;

/// Of those that come first, the named ones before all. What is beyond it is known as long as it stays where it is.
#[cfg(target_os = "linux")]
const HELD_MAX: usize = 128;

/// What a survey has found.
#[derive(Debug, Clone, Default)]
pub(super) struct Survey {
    /// Number and device, in order.
    pub(super) identities: Vec<(u64, u64)>,
    #[cfg(target_os = "linux")]
    held: Vec<linux::Held>,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{HashSet, VecDeque};
    use std::ffi::{CStr, OsString};
    use std::fs::{File, Metadata};
    use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
    use std::os::unix::ffi::OsStringExt as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use rustix::fs::{CWD, Dir, Mode, OFlags, openat, readlinkat};

    use super::{ENTRIES_MAX, HELD_MAX, Survey};

    const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
    const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    /// As long as it is held, nothing else gets its number.
    #[derive(Debug, Clone)]
    pub(super) struct Held {
        handle: Arc<File>,
        identity: (u64, u64),
        is_folder: bool,
    }

    /// What is in these places now, and what was found before and still has a name. Places to which folders were renamed are
    /// added; `except` and what is in it is left out.
    pub(in crate::root::ours) fn survey(before: &Survey, places: &mut Vec<PathBuf>, except: Option<&Path>) -> Survey {
        let except = except.and_then(|place| place.metadata().ok()).map(|about| identity(&about));
        let mut round =
            Round { held: Vec::new(), met: except.into_iter().collect(), folders: VecDeque::new(), looked: 0 };
        for held in before.held.iter().filter(|held| held.has_a_name()) {
            if let Some(place) = held.place().filter(|_| held.is_folder)
                && !places.iter().any(|known| place.starts_with(known))
            {
                places.push(place);
            }
            round.add(held.clone());
        }
        for place in &*places {
            if let Ok(found) = openat(CWD, place, LOOK, Mode::empty()) {
                round.meet(found);
            }
        }
        while let Some(folder) = round.folders.pop_front() {
            round.list(&folder);
        }
        let Round { held, mut met, .. } = round;
        if let Some(except) = except {
            met.remove(&except);
        }
        let mut identities: Vec<_> = met.into_iter().collect();
        identities.sort_unstable();
        Survey { identities, held }
    }

    /// One look at everything.
    struct Round {
        held: Vec<Held>,
        met: HashSet<(u64, u64)>,
        folders: VecDeque<Held>,
        looked: usize,
    }

    impl Round {
        fn meet(&mut self, found: OwnedFd) {
            let handle = File::from(found);
            let Ok(about) = handle.metadata() else { return };
            if about.is_file() || about.is_dir() {
                self.add(Held { handle: Arc::new(handle), identity: identity(&about), is_folder: about.is_dir() });
            }
        }

        fn add(&mut self, found: Held) {
            if !self.met.insert(found.identity) || self.held.len() >= HELD_MAX {
                return;
            }
            if found.is_folder {
                self.folders.push_back(found.clone());
            }
            self.held.push(found);
        }

        fn list(&mut self, folder: &Held) {
            let Ok(entries) = openat(&folder.handle, ".", LIST, Mode::empty()).and_then(Dir::new) else { return };
            for entry in entries.filter_map(Result::ok) {
                if entry.file_name().to_bytes() == b"." || entry.file_name().to_bytes() == b".." {
                    continue;
                }
                if self.looked == ENTRIES_MAX {
                    return;
                }
                self.looked += 1;
                // To ask what is known already costs three calls.
                if !self.met.contains(&(entry.ino(), folder.identity.1))
                    && let Some(found) = look(&folder.handle, entry.file_name())
                {
                    self.meet(found);
                }
            }
        }
    }

    impl Held {
        fn has_a_name(&self) -> bool {
            self.handle.metadata().is_ok_and(|about| about.nlink() > 0)
        }

        /// Where it is now.
        fn place(&self) -> Option<PathBuf> {
            let link = format!("/proc/self/fd/{}", self.handle.as_raw_fd());
            let place = readlinkat(CWD, link, Vec::new()).ok()?;
            Some(PathBuf::from(OsString::from_vec(place.into_bytes())))
        }
    }

    /// No link is followed: what it leads to is not ours for that.
    fn look(folder: impl AsFd, name: &CStr) -> Option<OwnedFd> {
        openat(folder, name, LOOK | OFlags::NOFOLLOW, Mode::empty()).ok()
    }

    fn identity(about: &Metadata) -> (u64, u64) {
        (about.ino(), about.dev())
    }
}

/// Where nothing can be held without opening it, things are known as long as they are where they were named.
#[cfg(not(target_os = "linux"))]
mod others {
    use std::fs::{self, Metadata};
    use std::os::unix::fs::MetadataExt as _;
    use std::path::{Path, PathBuf};

    use super::{ENTRIES_MAX, Survey};

    pub(in crate::root::ours) fn survey(_before: &Survey, places: &mut Vec<PathBuf>, except: Option<&Path>) -> Survey {
        let except = except.and_then(|place| place.metadata().ok()).map(|about| identity(&about));
        let (mut identities, mut looked) = (Vec::new(), 0);
        let mut waiting: Vec<(PathBuf, Metadata)> =
            places.iter().filter_map(|place| Some((place.clone(), fs::metadata(place).ok()?))).collect();
        while let Some((place, about)) = waiting.pop() {
            let identity = identity(&about);
            if Some(identity) == except || identities.contains(&identity) || !(about.is_file() || about.is_dir()) {
                continue;
            }
            identities.push(identity);
            if about.is_dir() {
                let entries = fs::read_dir(&place).into_iter().flatten().take(ENTRIES_MAX - looked);
                let found = entries
                    .filter_map(|entry| entry.ok().and_then(|entry| Some((entry.path(), entry.metadata().ok()?))));
                let found: Vec<_> = found.collect();
                looked += found.len();
                waiting.extend(found);
            }
        }
        identities.sort_unstable();
        Survey { identities }
    }

    fn identity(about: &Metadata) -> (u64, u64) {
        (about.ino(), about.dev())
    }
}
