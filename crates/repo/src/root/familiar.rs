//! Files that were read a moment ago. To judge a file before it is opened takes three calls of the system more, most of the
//! time that a small one takes. So one that was let through is opened at once the next time, and looked at then: it
//! must be the same one, unchanged since it was judged. Whatever was put in its place is opened that once, and never shown:
//! a pipe lets go of whoever waits at its other end, and a handle on a file of ours is never closed.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::fs::Dir;

use super::handles::Handles;
use super::ours::{Known, Ours};

/// Then all are forgotten.
const FILES_MAX: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Familiar {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// What was ours when these were judged.
    ours: Arc<Known>,
    files: HashMap<Box<str>, Identity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    number: u64,
    /// Seconds and nanoseconds; another name, other rights and other content change it.
    changed: (i64, i64),
}

impl Familiar {
    /// `None` where it has to be judged first. `known` is what is ours now.
    pub(super) fn open(&self, dir: &Dir, path: &str, known: &Arc<Known>, ours: &Ours) -> Option<(File, Metadata)> {
        let expected = {
            let seen = self.seen();
            if ours.is_wary() || !Arc::ptr_eq(&seen.ours, known) {
                return None;
            }
            *seen.files.get(path)?
        };
        let file = Handles::straight(dir, Path::new(path)).ok()?;
        let about = file.metadata().ok()?;
        if Identity::of(&about) == expected {
            return Some((file, about));
        }
        self.seen().files.remove(path);
        if ours.look_again().are(&about) {
            ours.leave_open(file);
        }
        None
    }

    /// It was let through, and lies where its name says.
    pub(super) fn remember(&self, path: &str, file: &File, about: &Metadata, known: &Arc<Known>) {
        if !Handles::is_at_hand(file) {
            return;
        }
        let mut seen = self.seen();
        if !Arc::ptr_eq(&seen.ours, known) {
            seen.ours = Arc::clone(known);
            seen.files.clear();
        }
        if seen.files.len() >= FILES_MAX {
            seen.files.clear();
        }
        seen.files.insert(path.into(), Identity::of(about));
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Identity {
    fn of(about: &Metadata) -> Self {
        Self { device: about.dev(), number: about.ino(), changed: (about.ctime(), about.ctime_nsec()) }
    }
}
