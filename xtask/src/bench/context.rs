//! `cargo xtask bench context`: the context index as it is shipped, on projects that grow.
//!
//! Both projects are copies of one part: what has the same text in the same place is embedded once, but every copy has
//! its rows, its words and its line in the matrix, so a question costs what it costs.

mod embedding;
mod projects;

use std::fs;

use anyhow::Context as _;
use serde::Serialize;

use self::embedding::Embedding;
use self::projects::Projects;
use super::Options;
use super::report::Target;
use crate::workspace::{Profile, Workspace};
use crate::{Verdict, talk};

const MEGABYTE: f64 = 1_000_000.0;

/// For `--json`.
#[derive(Debug, Serialize)]
struct Results {
    bench: &'static str,
    rounds: u32,
    binary_mb: f64,
    embedding: Embedding,
    projects: Projects,
    targets: Vec<Target>,
}

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    let countersign = workspace.build("countersign", "countersign", Profile::Release)?;
    let size = fs::metadata(&countersign).context("cannot look at the binary")?.len();
    #[expect(clippy::cast_precision_loss, reason = "megabytes of a file")]
    let binary_mb = size as f64 / MEGABYTE;
    let embedding = embedding::measure(workspace, options.rounds)?;
    let folder = tempfile::tempdir_in(workspace.peers()).context("cannot create a temporary folder")?;
    let projects = projects::measure(&countersign, folder.path(), options.rounds)?;
    let mut targets = vec![Target::new("binary with model and grammars, MB", binary_mb, 90.0)];
    targets.extend(embedding.targets());
    targets.extend(projects.targets());
    let results = Results { bench: "context", rounds: options.rounds, binary_mb, embedding, projects, targets };
    results.print(options)?;
    Ok(Target::verdict(&results.targets))
}

impl Results {
    fn print(&self, options: &Options) -> anyhow::Result<()> {
        if options.json {
            talk::say(serde_json::to_string(self)?);
            return Ok(());
        }
        self.embedding.print();
        self.projects.print();
        Target::print(&self.targets);
        Ok(())
    }
}
