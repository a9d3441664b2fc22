//! Which file is the configuration, and its text. A file that was named must be there; one that was not may be missing.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::Overrides;
use super::environment::Environment;
use super::mistakes::{ConfigMistake, ConfigMistakes, Place};

/// Looked for in the current folder, in this order.
pub(crate) const NAMES: [&str; 2] = ["countersign.yaml", "adam.yaml"];

const VARIABLE: &str = "COUNTERSIGN_CONFIG";

/// A configuration written by hand has a few kilobytes; this is for mistaken paths.
const MAX_BYTES: usize = 1024 * 1024;

const HINT_NAMED: &str = "check the path; without `--config` and `COUNTERSIGN_CONFIG`, `countersign.yaml` or `adam.yaml` in \
                          the current folder is used, and the defaults if there is none";
const HINT_TEXT: &str = "a configuration is a YAML file of up to 1 MiB in UTF-8";

#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// As the user knows it: the path as given, or the name in the current folder.
    pub(super) shown: String,
    pub(super) text: String,
}

/// `None` when there is no file: then the defaults hold.
pub(super) fn locate(
    overrides: &Overrides,
    environment: &Environment,
    cwd: &Path,
) -> Result<Option<Found>, ConfigMistakes> {
    let variable = environment.raw(VARIABLE).filter(|value| !value.is_empty()).map(Path::new);
    if let Some(named) = overrides.config.as_deref().or(variable) {
        return read(cwd, named, HINT_NAMED).map(Some);
    }
    for name in NAMES {
        // Not `exists`: a dangling link or a folder without permission is a mistake, not an absent file.
        let missing = matches!(cwd.join(name).symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound);
        if !missing {
            return read(cwd, Path::new(name), HINT_TEXT).map(Some);
        }
    }
    Ok(None)
}

fn read(cwd: &Path, name: &Path, hint: &'static str) -> Result<Found, ConfigMistakes> {
    let path = cwd.join(name);
    let shown = name.display().to_string();
    let refuse = |message: String, line: Option<usize>, hint| {
        let place = Place::File { file: shown.clone(), line };
        ConfigMistakes::one(ConfigMistake { place, key: String::new(), message }, hint)
    };
    let bytes = read_bounded(&path).map_err(|error| refuse(reason(&error), None, hint))?;
    if bytes.len() > MAX_BYTES {
        return Err(refuse("is larger than 1 MiB".to_owned(), None, HINT_TEXT));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = before.split(|byte| *byte == b'\n').count();
        refuse("is not UTF-8 text".to_owned(), Some(line), HINT_TEXT)
    })?;
    let text = match text.strip_prefix('\u{FEFF}') {
        Some(without_mark) => without_mark.to_owned(),
        None => text,
    };
    Ok(Found { path, shown, text })
}

/// One byte more than allowed tells that there is more, without reading all of it.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn reason(error: &io::Error) -> String {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the system's own words do for all other kinds")]
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "may not be read by this user".to_owned(),
        ErrorKind::IsADirectory => "is a folder, not a file".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}
