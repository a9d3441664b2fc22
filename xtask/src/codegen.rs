//! `cargo xtask codegen`: everything in the repository that is derived from contracts and configuration types.
//!
//! Committed, so that a change of the public interface shows in a review; `--check` says what is not current.

mod configuration;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::Context as _;
use countersign_contract::{AnyTool, Contract, contract_file, contracts_markdown, examples_markdown};
use countersign_index::Index;
use countersign_repo::{AppendOnly, Places, Root, Sandbox};
use countersign_store::{Accesses, Tasks};
use countersign_tools::{Materials, SystemAudit, Web, WebSettings};
use serde_json::Value;

use crate::workspace::{Profile, Workspace};
use crate::{Verdict, process, talk};

/// Where every `.json` is ours; subfolders (overlays) are written by people.
const CONTRACTS: &str = "contracts";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Change nothing; list what is missing, stale or left over
    #[arg(long)]
    check: bool,
}

/// One file as it should be; the path is relative to the root.
#[derive(Debug)]
struct Generated {
    path: PathBuf,
    text: String,
}

/// How a file on disk differs from what is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Missing,
    Stale,
    /// Nothing generates it any more.
    LeftOver,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Stale => "stale",
            Self::LeftOver => "left over",
        }
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    if options.check { check(workspace) } else { write(workspace) }
}

/// Reports each file that is not as it would be generated.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Verdict> {
    let differences = compare(workspace.root(), &generate(workspace)?)?;
    for (path, state) in &differences {
        talk::say(format_args!("{}: {}", path.display(), state.as_str()));
    }
    if differences.is_empty() {
        return Ok(Verdict::Good);
    }
    talk::note("hint: run cargo xtask codegen");
    Ok(Verdict::Bad)
}

fn write(workspace: &Workspace) -> anyhow::Result<Verdict> {
    let generated = generate(workspace)?;
    for (path, state) in compare(workspace.root(), &generated)? {
        apply(workspace.root(), &generated, &path, state)?;
        talk::say(format_args!("{}: was {}", path.display(), state.as_str()));
    }
    Ok(Verdict::Good)
}

fn apply(root: &Path, generated: &[Generated], path: &Path, state: State) -> anyhow::Result<()> {
    let place = root.join(path);
    match state {
        State::LeftOver => fs::remove_file(&place).with_context(|| format!("cannot remove `{}`", path.display())),
        State::Missing | State::Stale => {
            let Some(file) = generated.iter().find(|file| file.path == path) else { return Ok(()) };
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
            }
            fs::write(&place, &file.text).with_context(|| format!("cannot write `{}`", path.display()))
        }
    }
}

fn generate(workspace: &Workspace) -> anyhow::Result<Vec<Generated>> {
    let mut files = from_tools(&tools(workspace.root())?);
    files.extend(from_binary(workspace)?);
    Ok(files)
}

/// Contracts do not depend on what the tools work on, but tools cannot be had without.
pub(crate) fn tools(path: &Path) -> anyhow::Result<Vec<Arc<dyn AnyTool>>> {
    let root = Arc::new(Root::open(path, &[]).context("cannot open the workspace")?);
    let memory = Arc::new(AppendOnly::new(path, path, path));
    let (tasks, accesses) = (Tasks::nowhere(), Accesses::nowhere());
    let nowhere = Places { root: path.into(), guarded: Vec::new(), notes: path.into() };
    let (sandbox, system_audit) = (Arc::new(Sandbox::new(nowhere, &root)), SystemAudit::default());
    let web = Arc::new(Web::new(WebSettings::default()));
    let index = Index::nowhere(Arc::clone(&root));
    Ok(countersign_tools::all(&Materials { root, memory, tasks, accesses, sandbox, system_audit, web, index })?)
}

fn from_tools(tools: &[Arc<dyn AnyTool>]) -> Vec<Generated> {
    let contracts: Vec<&Contract> = tools.iter().map(|tool| tool.contract().as_ref()).collect();
    let mut files: Vec<Generated> = contracts
        .iter()
        .map(|contract| Generated {
            path: Path::new(CONTRACTS).join(format!("{}.json", contract.name)),
            text: format!("{:#}\n", contract_file(contract)),
        })
        .collect();
    for (path, text) in [
        ("docs/contracts.md", contracts_markdown(contracts.iter().copied())),
        ("docs/examples.md", examples_markdown(contracts.iter().copied())),
    ] {
        files.push(Generated { path: path.into(), text });
    }
    files
}

/// What only the composed program knows: its routes and its configuration keys.
fn from_binary(workspace: &Workspace) -> anyhow::Result<Vec<Generated>> {
    let binary = workspace.build("countersign", "countersign", Profile::Debug)?;
    // Run where no configuration file can change the answer.
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    process::output(Command::new(&binary).args(["contracts", "export", "exported"]).current_dir(folder.path()))?;
    let openapi = fs::read_to_string(folder.path().join("exported/openapi.json"))
        .context("`countersign contracts export` wrote no openapi.json")?;
    let config = process::output(Command::new(&binary).args(["config", "schema"]).current_dir(folder.path()))?;
    let schema: Value = serde_json::from_str(&config).context("the configuration's schema is not JSON")?;
    let page = configuration::markdown(&schema);
    // Kept as printed, not printed again: what is committed is what a user gets.
    let files = [
        ("contracts/openapi.json", openapi),
        ("contracts/config.schema.json", config),
        ("docs/configuration.md", page),
    ];
    let files = files.map(|(path, text)| Generated { path: path.into(), text: format!("{}\n", text.trim_end()) });
    Ok(files.into())
}

/// What differs on disk, sorted by path.
fn compare(root: &Path, generated: &[Generated]) -> anyhow::Result<Vec<(PathBuf, State)>> {
    let mut differences = Vec::new();
    for file in generated {
        let place = root.join(&file.path);
        if !place.exists() {
            differences.push((file.path.clone(), State::Missing));
        } else if fs::read(&place).with_context(|| format!("cannot read `{}`", place.display()))?
            != file.text.as_bytes()
        {
            differences.push((file.path.clone(), State::Stale));
        }
    }
    let expected: BTreeSet<&Path> = generated.iter().map(|file| file.path.as_path()).collect();
    for path in contract_files(root)? {
        if !expected.contains(path.as_path()) {
            differences.push((path, State::LeftOver));
        }
    }
    differences.sort();
    Ok(differences)
}

fn contract_files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folder = root.join(CONTRACTS);
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).context("cannot list the contracts")? {
        let entry = entry.context("cannot list the contracts")?;
        let path = Path::new(CONTRACTS).join(entry.file_name());
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_found_and_repaired() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("contracts/current.json", "{}\n"),
            ("contracts/stale.json", "{}"),
            ("contracts/gone.json", "{}\n"),
            ("contracts/overlays/docs/by_hand.json", "{}\n"),
            ("contracts/notes.md", "by hand"),
        ] {
            put(root.path(), path, text);
        }
        let generated: Vec<Generated> = ["contracts/current.json", "contracts/stale.json", "docs/contracts.md"]
            .map(|path| Generated { path: path.into(), text: "{}\n".to_owned() })
            .into();

        let differences = compare(root.path(), &generated).unwrap();
        assert_eq!(
            differences,
            [
                ("contracts/gone.json".into(), State::LeftOver),
                ("contracts/stale.json".into(), State::Stale),
                ("docs/contracts.md".into(), State::Missing),
            ]
        );

        for (path, state) in &differences {
            apply(root.path(), &generated, path, *state).unwrap();
        }
        assert_eq!(compare(root.path(), &generated).unwrap(), []);
        assert!(root.path().join("contracts/overlays/docs/by_hand.json").exists());
    }

    #[test]
    fn every_tool_has_a_contract_file() {
        let tools = tools(Path::new(".")).unwrap();
        let files = from_tools(&tools);
        assert_eq!(files.len(), tools.len() + 2);
        for file in files {
            assert!(file.text.ends_with('\n') && !file.text.ends_with("\n\n"), "{}", file.path.display());
        }
    }

    fn put(root: &Path, path: &str, text: &str) {
        let place = root.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
}
