//! `cargo xtask eval`: how good answers are, on data that other people have annotated.

mod grounding;
mod metrics;
mod retrieval;

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use crate::workspace::{Profile, Workspace};
use crate::{Verdict, talk};

/// Where the data usually lies, from the root.
const USUAL_PLACE: &str = "../shared/eval";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Subject {
    /// NDCG@10 of the search, for each collection and kind of question, and what each rule of the ranking contributes
    Retrieval(Options),
    /// Of labelled claims, how many that are carried by their evidence are kept and how many others are caught
    Grounding(grounding::Options),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Folder with collections: `corpus.jsonl`, `queries*.jsonl` and `qrels*.tsv`, or a `.tsv` of questions about
    /// checked-out repositories [default: ../shared/eval beside the checkout]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder with a checked-out repository for each name in the `.tsv` [default: where the `.tsv` is]
    #[arg(long, value_name = "DIR")]
    repos: Option<PathBuf>,
    /// Search the whole repository, documents and open ends, too; otherwise only code below the folder that all answers
    /// are in
    #[arg(long)]
    whole: bool,
    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(workspace: &Workspace, subject: &Subject) -> anyhow::Result<Verdict> {
    if cfg!(debug_assertions) {
        return run_optimised(workspace);
    }
    match subject {
        Subject::Retrieval(options) => retrieval::run(workspace, options),
        Subject::Grounding(options) => grounding::run(workspace, options),
    }
}

/// A model that was not optimised takes hours for what takes minutes.
fn run_optimised(workspace: &Workspace) -> anyhow::Result<Verdict> {
    talk::note("building an optimised xtask, some minutes the first time");
    let program = workspace.build("xtask", "xtask", Profile::Release)?;
    let status =
        Command::new(program).args(env::args_os().skip(1)).status().context("cannot run the optimised xtask")?;
    Ok(if status.success() { Verdict::Good } else { Verdict::Bad })
}

impl Options {
    fn data(&self, workspace: &Workspace) -> PathBuf {
        self.data.clone().unwrap_or_else(|| workspace.root().join(USUAL_PLACE))
    }
}
