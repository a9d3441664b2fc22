//! `grep_codebase` against ripgrep itself: the same occurrences, totals and numbers of files, on source trees of three
//! languages, for patterns made of what is in them.

use std::path::PathBuf;

use anyhow::Context as _;
use cargo_metadata::MetadataCommand;

use super::{Outcome, Rounds, finish};
use crate::programs::{Node, Python, Ripgrep};
use crate::workspace::{Profile, Workspace};

/// One of our dependencies: its source is on every machine that built us.
const RUST: &str = "tokio";

pub(super) fn run(workspace: &Workspace, rounds: Rounds) -> anyhow::Result<Outcome> {
    let ripgrep = match Ripgrep::set_up(workspace) {
        Ok(ripgrep) => ripgrep,
        Err(err) => return Ok(Outcome::Skipped(format!("ripgrep cannot be installed: {err:#}"))),
    };
    let python = match Python::set_up(workspace) {
        Ok(python) => python,
        Err(err) => return Ok(Outcome::Skipped(format!("no Python environment: {err:#}"))),
    };
    let node = match Node::set_up(workspace) {
        Ok(node) => node,
        Err(err) => return Ok(Outcome::Skipped(format!("no programs from npm: {err:#}"))),
    };
    let binary = workspace.build("countersign", "countersign", Profile::Debug)?;
    let mut script = python.script(&workspace.root().join("xtask/peers/grep.py"));
    script.arg("--binary").arg(binary).arg("--ripgrep").arg(ripgrep.path());
    script.args(["--patterns", if rounds == Rounds::Many { "300" } else { "80" }]);
    script.arg(rust(workspace)?).arg(python.libraries()?).arg(node.packages().join("@modelcontextprotocol"));
    finish(&mut script)
}

fn rust(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let metadata = MetadataCommand::new().manifest_path(workspace.root().join("Cargo.toml")).exec()?;
    let package = metadata.packages.iter().find(|package| package.name.as_str() == RUST);
    let manifest = &package.with_context(|| format!("we do not depend on `{RUST}`"))?.manifest_path;
    Ok(manifest.parent().context("a manifest lies in a folder")?.as_std_path().to_owned())
}
