//! `cargo deny`: licences, bans and sources of every dependency, by the rules in `deny.toml`.
//!
//! Advisories are left to a machine with a network. The program is found under target/xtask or on the path, or built.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Outcome, finish};
use crate::workspace::Workspace;
use crate::{process, talk};

/// The version that is installed where there is none; `deny.toml` is written for it.
const VERSION: &str = "0.20.2";

/// The oldest minor version (of 0.x) that reads our lockfile and `deny.toml`; the prebuilt 0.14 ends in a panic.
const OLDEST_MINOR: u32 = 18;

pub(super) fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let program = match find_or_install(workspace) {
        Ok(program) => program,
        Err(err) => return Ok(Outcome::Skipped(format!("cargo-deny {VERSION} cannot be installed: {err:#}"))),
    };
    let checks = ["check", "--hide-inclusion-graph", "licenses", "bans", "sources"];
    finish(Command::new(program).args(checks).current_dir(workspace.root()))
}

fn find_or_install(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let root = workspace.peers().join("cargo-deny");
    let own = root.join("bin/cargo-deny");
    for program in [own.as_path(), Path::new("cargo-deny")] {
        let printed = process::output(Command::new(program).arg("--version"));
        if printed.is_ok_and(|printed| is_usable(&printed)) {
            return Ok(program.to_owned());
        }
    }
    talk::note(format_args!("installing cargo-deny {VERSION}, once, about two minutes"));
    // Unoptimised: it takes half the time to build and three seconds to run.
    let install = ["install", "cargo-deny", "--version", VERSION, "--locked", "--debug", "--quiet", "--force"];
    let mut command = workspace.cargo(&install);
    command.arg("--root").arg(&root).arg("--target-dir").arg(root.join("build"));
    process::output(&mut command)?;
    // Only the binary is kept: what it was built from takes a gigabyte.
    let _ = std::fs::remove_dir_all(root.join("build"));
    Ok(own)
}

/// `cargo-deny 0.20.2`
fn is_usable(printed: &str) -> bool {
    let version = printed.trim().strip_prefix("cargo-deny ").unwrap_or_default();
    let mut numbers = version.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(0)), Some(Ok(minor))) => minor >= OLDEST_MINOR,
        (Some(Ok(_)), Some(Ok(_))) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_not_used() {
        for (printed, usable) in [
            ("cargo-deny 0.20.2\n", true),
            ("cargo-deny 0.18.0", true),
            ("cargo-deny 1.0.0", true),
            ("cargo-deny 0.14.2", false),
            ("something else", false),
        ] {
            assert_eq!(is_usable(printed), usable, "{printed}");
        }
    }
}
