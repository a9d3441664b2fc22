//! Other people's servers behind ours, and servers that misbehave in every way we could think of.
//!
//! The scripts in xtask/peers say what is expected. Without Python, npm or a registry the step is skipped.

use super::Outcome;
use crate::process;
use crate::programs::{Node, Python};
use crate::workspace::{Profile, Workspace};

pub(super) fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let python = match Python::set_up(workspace) {
        Ok(python) => python,
        Err(err) => return Ok(Outcome::Skipped(format!("no Python environment: {err:#}"))),
    };
    let node = match Node::set_up(workspace) {
        Ok(node) => node,
        Err(err) => return Ok(Outcome::Skipped(format!("no programs from npm: {err:#}"))),
    };
    let binary = workspace.build("countersign", "countersign", Profile::Debug)?;
    let scripts = workspace.root().join("xtask/peers");
    let mut references = python.script(&scripts.join("references.py"));
    references.arg("--binary").arg(&binary).arg("--node").arg(node.path());
    references.arg("--node-modules").arg(node.packages()).arg("--python-servers").arg(python.programs());
    process::find_nothing(&mut references)?;
    process::find_nothing(python.script(&scripts.join("misbehave.py")).arg(&binary))?;
    Ok(Outcome::Passed)
}
