//! ripgrep itself, built as its own releases are, from the newest versions of the crates that we use as well.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use crate::workspace::Workspace;
use crate::{process, talk};

/// The release that goes with the versions of its crates in our lockfile.
const VERSION: &str = "15.2.0";

#[derive(Debug)]
pub(crate) struct Ripgrep {
    program: PathBuf,
}

impl Ripgrep {
    /// Built where it is not there yet.
    pub(crate) fn set_up(workspace: &Workspace) -> anyhow::Result<Self> {
        let root = workspace.peers().join("ripgrep");
        let program = root.join("bin/rg");
        if !is_right(&program) {
            talk::note(format_args!("installing ripgrep {VERSION}, once, about two minutes"));
            // Not `--locked`: its crates are then those of our own lockfile.
            let install =
                ["install", "ripgrep", "--version", VERSION, "--profile", "release-lto", "--quiet", "--force"];
            let mut command = workspace.cargo(&install);
            command.arg("--root").arg(&root).arg("--target-dir").arg(root.join("build"));
            process::output(&mut command)?;
            let _ = std::fs::remove_dir_all(root.join("build"));
            if !is_right(&program) {
                bail!("`{}` is not ripgrep {VERSION}", program.display());
            }
        }
        Ok(Self { program })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.program
    }

    /// With none of the user's own settings.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--no-config");
        command
    }
}

/// `ripgrep 15.2.0`, and more lines.
fn is_right(program: &Path) -> bool {
    let printed = process::output(Command::new(program).arg("--version"));
    printed.is_ok_and(|printed| printed.split_whitespace().nth(1) == Some(VERSION))
}
