//! Other people's programs that we measure ourselves with, pinned and set up under target/xtask; PostgreSQL is the
//! machine's own.
//!
//! Only what is named here has an exact version; what those bring along is chosen by pip and npm.

mod node;
mod postgres;
mod python;
mod ripgrep;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context as _;

pub(crate) use self::node::Node;
pub(crate) use self::postgres::Postgres;
pub(crate) use self::python::Python;
pub(crate) use self::ripgrep::Ripgrep;

/// Says which versions are installed; written last, so that half an installation is none.
const STAMP: &str = "pinned.txt";

fn is_installed(folder: &Path, pinned: &str) -> bool {
    fs::read_to_string(folder.join(STAMP)).is_ok_and(|installed| installed == pinned)
}

fn mark_installed(folder: &Path, pinned: &str) -> anyhow::Result<()> {
    fs::write(folder.join(STAMP), pinned).context("cannot write the stamp")
}

/// An empty folder, whatever was there.
fn cleared(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(err) if err.kind() != ErrorKind::NotFound => return Err(err).context("cannot clear the old folder"),
        Ok(()) | Err(_) => {}
    }
    fs::create_dir_all(folder).context("cannot create a folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_counts_when_it_is_whole_and_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("node");
        cleared(&inner).unwrap();
        assert!(!is_installed(&inner, "a@1"));
        mark_installed(&inner, "a@1").unwrap();
        assert!(is_installed(&inner, "a@1"));
        assert!(!is_installed(&inner, "a@2"));
        cleared(&inner).unwrap();
        assert!(!is_installed(&inner, "a@1"));
    }
}
