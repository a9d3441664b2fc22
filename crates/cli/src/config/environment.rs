//! The environment as a value, so that only one function asks the process and tests need not change it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

/// Where programs are on most machines.
const USUAL_FOLDERS: [&str; 5] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/opt/homebrew/bin"];

/// Environment variables. Names that are not UTF-8 cannot be ours and are left out.
pub(crate) struct Environment(BTreeMap<String, OsString>);

pub(super) enum Lookup<'a> {
    Unset,
    Text(&'a str),
    NotText,
}

impl Environment {
    /// The one place where the process is asked.
    pub(crate) fn of_process() -> Self {
        let named = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value));
        Self(std::env::vars_os().filter_map(named).collect())
    }

    #[cfg(test)]
    pub(crate) fn from_pairs<N: Into<String>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    pub(super) fn raw(&self, name: &str) -> Option<&OsStr> {
        self.0.get(name).map(OsString::as_os_str)
    }

    pub(super) fn look_up(&self, name: &str) -> Lookup<'_> {
        match self.0.get(name).map(|value| value.to_str()) {
            None => Lookup::Unset,
            Some(Some(value)) => Lookup::Text(value),
            Some(None) => Lookup::NotText,
        }
    }

    /// The folders of `PATH`, without those that depend on the current one, and the usual ones.
    pub(super) fn search_path(&self) -> Vec<PathBuf> {
        let named = std::env::split_paths(self.raw("PATH").unwrap_or_default()).filter(|folder| folder.is_absolute());
        let mut folders = Vec::new();
        for folder in named.chain(USUAL_FOLDERS.map(PathBuf::from)) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }

    /// The variables whose names begin like this, in the order of their names.
    pub(super) fn starting_with(&self, prefix: &str) -> impl Iterator<Item = (&str, Lookup<'_>)> {
        let names = self.0.keys().filter(move |name| name.starts_with(prefix));
        names.map(|name| (name.as_str(), self.look_up(name)))
    }
}

impl fmt::Debug for Environment {
    /// Names only: values are often secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}
