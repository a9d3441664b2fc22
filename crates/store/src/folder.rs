//! The folder for what is kept beside the database, and on SQLite for the database itself.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use crate::StoreError;

/// Makes the folder, where there is none, for its owner alone. One that is there already may be someone else's and gets
/// no `.gitignore`.
pub fn create_data_folder(folder: &Path) -> Result<(), StoreError> {
    create(folder).map_err(|source| StoreError::Folder { path: folder.to_owned(), source })
}

fn create(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => return Ok(()),
        Err(error) => return Err(error),
    }
    let ignore = folder.join(".gitignore");
    fs::write(&ignore, "*\n").inspect_err(|_| {
        // Undone, so that the next attempt finds nothing and makes both. What cannot be undone stays as it is.
        fs::remove_file(&ignore).unwrap_or_default();
        fs::remove_dir(folder).unwrap_or_default();
    })
}
