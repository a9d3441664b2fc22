//! Python programs and libraries in an environment of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{is_installed, mark_installed};
use crate::workspace::Workspace;
use crate::{process, talk};

/// What is installed, pinned: a new release must not turn a green tree red.
const PINNED: [&str; 8] = [
    "jsonschema==4.26.0",
    "mcp==2.3.0",
    "mcp-server-fetch==2026.10.24",
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
    "openapi-spec-validator==0.9.0",
    // Without it `jsonschema` takes any text for a `date-time`.
    "rfc3339-validator==0.1.4",
    "schemathesis==4.32.5",
];

#[derive(Debug)]
pub(crate) struct Python {
    programs: PathBuf,
}

impl Python {
    /// Installs what is not there yet.
    pub(crate) fn set_up(workspace: &Workspace) -> anyhow::Result<Self> {
        Self::set_up_apart(workspace, "venv", &PINNED)
    }

    /// In a folder of its own, for what does not get along with the rest.
    pub(crate) fn set_up_apart(workspace: &Workspace, folder: &str, pinned: &[&str]) -> anyhow::Result<Self> {
        let venv = workspace.peers().join(folder);
        let programs = venv.join("bin");
        let packages = pinned;
        let pinned = pinned.join("\n");
        if !is_installed(&venv, &pinned) {
            talk::note("setting up Python programs, once, about a minute");
            process::output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
            let mut pip = Command::new(programs.join("python"));
            process::output(pip.args(["-m", "pip", "install", "--quiet"]).args(packages))?;
            mark_installed(&venv, &pinned)?;
        }
        Ok(Self { programs })
    }

    /// Where they are.
    pub(crate) fn programs(&self) -> &Path {
        &self.programs
    }

    /// The source of what is installed.
    pub(crate) fn libraries(&self) -> anyhow::Result<PathBuf> {
        let mut python = self.program("python");
        let path = process::output(python.args(["-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"]))?;
        Ok(PathBuf::from(path.trim()))
    }

    pub(crate) fn program(&self, name: &str) -> Command {
        Command::new(self.programs.join(name))
    }

    pub(crate) fn script(&self, script: &Path) -> Command {
        let mut command = self.program("python");
        command.arg(script);
        command
    }
}
