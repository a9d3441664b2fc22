//! What we publish as others see it: our schemas and our OpenAPI document through validators, our server through a
//! fuzzer.
//!
//! All are Python programs; without Python or a registry the step is skipped.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::{Outcome, Rounds, finish};
use crate::http::get;
use crate::process::{self, Server};
use crate::programs::Python;
use crate::workspace::{Profile, Workspace};

pub(super) fn run(workspace: &Workspace, rounds: Rounds) -> anyhow::Result<Outcome> {
    let python = match Python::set_up(workspace) {
        Ok(python) => python,
        Err(err) => return Ok(Outcome::Skipped(format!("no Python environment: {err:#}"))),
    };
    let schemas = workspace.root().join("xtask/peers/contracts.py");
    process::find_nothing(python.script(&schemas).arg(workspace.root().join("contracts")))?;
    let binary = workspace.build("countersign", "countersign", Profile::Debug)?;
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    // Whatever is made up there: nobody outside this machine is asked for anything.
    let config = "web_fetch: {allowed_domains: [\"127.0.0.1\"]}\n";
    fs::write(folder.path().join("countersign.yaml"), config).context("cannot write the configuration")?;
    let server = Server::start(&binary, &["serve", "--listen", "127.0.0.1:0"], folder.path())?;
    let document = folder.path().join("openapi.json");
    fs::write(&document, get(server.address(), "/openapi.json")?).context("cannot keep openapi.json")?;
    let mut validator = python.program("openapi-spec-validator");
    process::succeed(validator.args(["--schema", "3.1", "--validation-errors", "all"]).arg(&document))?;
    let config = workspace.root().join("xtask/peers/schemathesis.toml");
    finish(&mut fuzz(&python, &config, server.address(), folder.path(), rounds))
}

/// A fuzzer that reads our document, asks everything it allows and forbids, and compares the answers with it. All of its
/// checks apply; what has to be excepted has its reason in the configuration. Two runs ask the same, without a seed.
fn fuzz(python: &Python, config: &Path, server: SocketAddr, folder: &Path, rounds: Rounds) -> Command {
    let examples = match rounds {
        Rounds::Usual => "50",
        Rounds::Many => "1000",
    };
    let mut command = python.program("schemathesis");
    command.arg("--config-file").arg(config);
    command.arg("run").arg(format!("http://{server}/openapi.json")).args(["--checks", "all"]);
    command.args(["--max-examples", examples, "--generation-deterministic", "--no-color"]);
    // It leaves its notes where it runs.
    command.current_dir(folder);
    command
}
