//! What is where, without opening it. Names are checked as for reading; where links lead is checked when a file is read.

use std::io;

use super::{Root, plain};
use crate::PathPolicy;

/// Entries of one folder that are looked at.
const ENTRIES_MAX: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    File,
    Folder,
    /// By the rules, or by the system: the way may lead out of the root.
    Refused,
    Nothing,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) look: Look,
    pub(crate) link: bool,
}

impl Root {
    pub(crate) fn look(&self, policy: &PathPolicy, path: &str) -> Look {
        let path = match plain(policy, path) {
            Ok(path) => path,
            Err(super::FileRefused::Denied) => return Look::Refused,
            Err(_) => return Look::Nothing,
        };
        match self.dir.metadata(path) {
            Ok(about) if about.is_file() => Look::File,
            Ok(about) if about.is_dir() => Look::Folder,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Look::Refused,
            Ok(_) | Err(_) => Look::Nothing,
        }
    }

    /// In the order of names, without those that the rules refuse. A folder that cannot be read is empty.
    pub(crate) fn list(&self, policy: &PathPolicy, folder: &str) -> Vec<Entry> {
        let inside = if folder.is_empty() { Ok(".".to_owned()) } else { plain(policy, folder) };
        let Some(entries) = inside.ok().and_then(|folder| self.dir.read_dir(folder).ok()) else { return Vec::new() };
        let mut found = Vec::new();
        for entry in entries.take(ENTRIES_MAX).filter_map(Result::ok) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if policy.blocks(&name) {
                continue;
            }
            let look = if kind.is_file() {
                Look::File
            } else if kind.is_dir() {
                Look::Folder
            } else if kind.is_symlink() {
                self.look(policy, &if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") })
            } else {
                Look::Nothing
            };
            found.push(Entry { name, look, link: kind.is_symlink() });
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }
}
