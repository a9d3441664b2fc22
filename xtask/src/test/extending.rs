//! `docs/extending.md`, followed to the letter in a copy of the repository: what it says to write is written, what it
//! says to run is run, and what it says is printed is compared.
//!
//! The copy has a version of its own and compiles into the workspace's build folder, so that other people's crates are
//! not compiled again.

mod page;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use self::page::Block;
use super::Outcome;
use crate::process::{self, How};
use crate::talk;
use crate::workspace::{self, Workspace};

const PAGE: &str = "docs/extending.md";
/// How long one command may take; ours compile in a minute or two where the crates of others are compiled already.
const PATIENCE: Duration = Duration::from_mins(20);

/// Where cargo puts what the page says to run.
const TARGET: &str = "target";

/// By path from the root, with `/`.
type Files = BTreeMap<String, Vec<u8>>;

pub(super) fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let mut files = files(workspace.root())?;
    let blocks = page::blocks(text(&files, PAGE)?).with_context(|| format!("cannot follow `{PAGE}`"))?;
    for block in &blocks {
        edit(&mut files, block)?;
    }
    set_apart(&mut files)?;
    let copy = workspace.peers().join("extending");
    bring_about(&copy, &files)?;
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-e", "-c", script]).current_dir(&copy);
        // The programs themselves have the same names as the workspace's own, and must not replace them.
        command.env_remove("CARGO_TARGET_DIR").env("CARGO_BUILD_BUILD_DIR", workspace.build_folder());
        command
    };
    for block in &blocks {
        perform(block, shell)?;
    }
    Ok(Outcome::Passed)
}

fn files(root: &Path) -> anyhow::Result<Files> {
    let mut files = Files::new();
    for path in workspace::listed(root)? {
        match fs::read(root.join(&path)) {
            Ok(bytes) => drop(files.insert(path, bytes)),
            // Deleted here and not yet in the index.
            Err(err) if err.kind() == ErrorKind::NotFound => {}
            Err(err) => return Err(err).with_context(|| format!("cannot read `{path}`")),
        }
    }
    Ok(files)
}

fn text<'a>(files: &'a Files, path: &str) -> anyhow::Result<&'a str> {
    let bytes = files.get(path).with_context(|| format!("there is no `{path}`"))?;
    std::str::from_utf8(bytes).with_context(|| format!("`{path}` is not text"))
}

fn edit(files: &mut Files, block: &Block) -> anyhow::Result<()> {
    match block {
        Block::NewFile { path, text } => {
            if files.insert(path.clone(), text.clone().into_bytes()).is_some() {
                bail!("`{path}` is there already");
            }
        }
        Block::Change { path, hunks } => {
            let mut changed = text(files, path)?.to_owned();
            for hunk in hunks {
                changed = hunk.apply(&changed).with_context(|| format!("cannot change `{path}`"))?;
            }
            files.insert(path.clone(), changed.into_bytes());
        }
        Block::Commands(_) | Block::Dialogue { .. } => {}
    }
    Ok(())
}

/// Cargo tells two copies of a workspace in one build folder apart by the versions of their crates, and by nothing else:
/// without this, each would be given what was compiled for the other.
fn set_apart(files: &mut Files) -> anyhow::Result<()> {
    let shares = |(path, bytes): (&String, &Vec<u8>)| {
        // What peers are made of is no member.
        let member = path.ends_with("/Cargo.toml") && !path.starts_with("xtask/peers/");
        !member || String::from_utf8_lossy(bytes).contains("\nversion.workspace = true\n")
    };
    if !files.iter().all(shares) {
        bail!("a crate has not the version of the workspace");
    }
    let manifest = text(files, "Cargo.toml")?;
    let line = manifest.lines().find(|line| line.starts_with("version = ")).context("the workspace has no version")?;
    let changed = manifest.replacen(line, &format!("{}+copy\"", line.trim_end_matches('"')), 1);
    files.insert("Cargo.toml".to_owned(), changed.into_bytes());
    Ok(())
}

/// Makes the folder contain these files and no others. What is as it should be is not touched: cargo compiles again what
/// is newer than it was.
fn bring_about(folder: &Path, files: &Files) -> anyhow::Result<()> {
    fs::create_dir_all(folder).context("cannot create a folder")?;
    remove_others(folder, "", files).context("cannot clear the copy")?;
    for (path, bytes) in files {
        let place = folder.join(path);
        if fs::read(&place).is_ok_and(|found| found == *bytes) {
            continue;
        }
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).context("cannot create a folder")?;
        }
        fs::write(&place, bytes).with_context(|| format!("cannot write `{}`", place.display()))?;
    }
    Ok(())
}

fn remove_others(folder: &Path, prefix: &str, files: &Files) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if path == TARGET {
            continue;
        }
        if entry.file_type()?.is_dir() {
            remove_others(&entry.path(), &format!("{path}/"), files)?;
            // Refused where there is still something in it. Without, a crate that is gone would still have its folder.
            let _ = fs::remove_dir(entry.path());
        } else if !files.contains_key(&path) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn perform(block: &Block, shell: impl Fn(&str) -> Command) -> anyhow::Result<()> {
    match block {
        Block::Commands(commands) => {
            for command in commands {
                let said = answer(command, shell(command))?;
                talk::say(said.trim_end());
                // Crates without one are no mistake, as long as there is one somewhere.
                let found = said.lines().filter_map(|line| line.strip_prefix("running "));
                if command.starts_with("cargo test") && !found.into_iter().any(|count| !count.starts_with("0 ")) {
                    bail!("`{command}` finds no tests");
                }
            }
        }
        Block::Dialogue { command, answer: expected } => {
            let said = answer(command, shell(command))?;
            if said != *expected {
                talk::say(format_args!("this is said:\n{said}this is on the page:\n{expected}"));
                bail!("`{command}` answers something else");
            }
        }
        Block::NewFile { .. } | Block::Change { .. } => {}
    }
    Ok(())
}

fn answer(line: &str, mut command: Command) -> anyhow::Result<String> {
    talk::note(format_args!("$ {line}"));
    let ended = process::within(PATIENCE, &mut command)?;
    if ended.how != How::Well {
        talk::say(format_args!("{}{}", ended.stdout, ended.stderr));
        bail!("`{line}` ended: {:?}", ended.how);
    }
    Ok(ended.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_fits_the_repository() {
        let mut files = files(Workspace::find().unwrap().root()).unwrap();
        for block in page::blocks(text(&files, PAGE).unwrap()).unwrap() {
            edit(&mut files, &block).unwrap();
        }
        let list = text(&files, "crates/tools/src/lib.rs").unwrap();
        assert!(list.contains("\nmod count_lines;\n"), "{list}");
        assert!(files.contains_key("crates/tools/src/count_lines.rs"));
    }

    #[test]
    fn the_copy_has_a_version_of_its_own() {
        let member = |version: &str| format!("[package]\nname = \"a\"\n{version}\n").into_bytes();
        let root = b"[workspace.package]\nversion = \"0.1.0\"\n\n[workspace.dependencies]\nb = { version = \"1\" }\n";
        let mut files: Files = [("Cargo.toml".to_owned(), root.to_vec())].into();
        files.insert("a/Cargo.toml".to_owned(), member("version.workspace = true"));
        set_apart(&mut files).unwrap();
        let changed = text(&files, "Cargo.toml").unwrap();
        assert_eq!(changed, String::from_utf8_lossy(root).replace("0.1.0", "0.1.0+copy"));
        files.insert("a/Cargo.toml".to_owned(), member("version = \"0.1.0\""));
        assert_eq!(set_apart(&mut files).unwrap_err().to_string(), "a crate has not the version of the workspace");
    }

    #[test]
    fn the_copy_is_made_without_touching_what_is_right() {
        let folder = tempfile::tempdir().unwrap();
        let files = |files: &[(&str, &str)]| -> Files {
            files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
        };
        bring_about(folder.path(), &files(&[("a/same", "1"), ("a/other", "2"), ("gone", "3")])).unwrap();
        let written = || fs::metadata(folder.path().join("a/same")).unwrap().modified().unwrap();
        let before = written();
        let wanted = files(&[("a/same", "1"), ("a/other", "4"), ("b/new", "5")]);
        bring_about(folder.path(), &wanted).unwrap();
        assert_eq!(written(), before);
        let mut found = Files::new();
        for path in ["a/same", "a/other", "b/new", "gone"] {
            found.extend(fs::read(folder.path().join(path)).ok().map(|bytes| (path.to_owned(), bytes)));
        }
        assert_eq!(found, wanted);
    }
}
