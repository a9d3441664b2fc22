//! The suite as a program: how it is started, what it requires, and where it leaves its results.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use serde::Deserialize;

use super::Revision;
use super::results::{self, Judgement, Results};
use crate::process::{self, Ended, How};
use crate::programs::Node;

const PACKAGE: &str = "@modelcontextprotocol/conformance";

/// How long one scenario may take; the slowest waits a few seconds for events that must not come.
const SCENARIO: Duration = Duration::from_secs(15);
/// How long a run may take. All scenarios together need some seconds; this is for a server that answers none of them.
const RUN: Duration = Duration::from_mins(4);

#[derive(Debug)]
pub(super) struct Suite<'n> {
    node: &'n Node,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Which<'s> {
    Required,
    One(&'s str),
}

impl<'n> Suite<'n> {
    pub(super) fn new(node: &'n Node) -> Self {
        Self { node }
    }

    /// The scenarios that a server has to pass; the suite runs more than these.
    pub(super) fn required(&self, revision: Revision) -> anyhow::Result<Vec<String>> {
        Ok(self.requirements(revision)?.server)
    }

    /// Those that a client has to pass which does not log in by OAuth.
    pub(super) fn required_of_clients(&self, revision: Revision) -> anyhow::Result<Vec<String>> {
        let all = self.requirements(revision)?.client;
        Ok(all.into_iter().filter(|name| !name.starts_with("auth/")).collect())
    }

    fn requirements(&self, revision: Revision) -> anyhow::Result<Requirements> {
        let file = self.node.file(PACKAGE, &format!("requirements/{}.yaml", revision.as_str()));
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        requirements(&text)
    }

    /// One scenario, with a client that is given the URL of the suite's server.
    pub(super) fn run_client(&self, client: &Path, revision: Revision, scenario: &str) -> anyhow::Result<Run> {
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        let mut command = self.node.command(&self.program());
        command.arg("client").arg("--command").arg(client);
        command.args(["--scenario", scenario, "--spec-version", revision.as_str()]);
        command.arg("--output-dir").arg(folder.path());
        let ended = process::within(RUN, &mut command)?;
        Ok(Run { ended, results: results::read(folder.path())? })
    }

    pub(super) fn run(&self, server: SocketAddr, revision: Revision, which: Which<'_>) -> anyhow::Result<Run> {
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        let mut command = self.node.command(&self.program());
        asking(&mut command, server, revision, which, folder.path());
        let ended = process::within(RUN, &mut command)?;
        Ok(Run { ended, results: results::read(folder.path())? })
    }

    fn program(&self) -> PathBuf {
        self.node.file(PACKAGE, "dist/index.js")
    }
}

/// One run of the suite.
#[derive(Debug)]
pub(super) struct Run {
    ended: Ended,
    results: Results,
}

impl Run {
    pub(super) fn judge(&self, scenario: &str, excused: &[&str]) -> Judgement {
        results::judge(self.results.get(scenario).map(Vec::as_slice), excused)
    }
}

/// All that it said.
impl Display for Run {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.ended.stdout, self.ended.stderr)?;
        match self.ended.how {
            How::Well => write!(f, "the suite ended well"),
            How::Badly(status) => write!(f, "the suite ended with {status}"),
            How::TooLate => write!(f, "the suite was ended after {} s", RUN.as_secs()),
        }
    }
}

fn asking(command: &mut Command, server: SocketAddr, revision: Revision, which: Which<'_>, results: &Path) {
    command.args(["server", "--url", &format!("http://{server}/mcp")]);
    match which {
        Which::Required => command.args(["--requirements", revision.as_str()]),
        Which::One(name) => command.args(["--scenario", name, "--spec-version", revision.as_str()]),
    };
    command.args(["--timeout", &SCENARIO.as_millis().to_string()]).arg("--output-dir").arg(results);
}

/// The rest of the file is about what counts for nothing.
#[derive(Debug, Deserialize)]
struct Requirements {
    server: Vec<String>,
    client: Vec<String>,
}

fn requirements(text: &str) -> anyhow::Result<Requirements> {
    serde_saphyr::from_str(text).context("cannot understand the requirements")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_required_of_servers_counts() {
        let text = "# Frozen.\nserver:\n  - ping\n  - tools-list\nclient:\n  - initialize\n\
                    not_scored:\n  - scenario: json-schema-2020-12\n    leg: server\n    reason: pending\n    note: >-\n      later\n";
        let required = requirements(text).unwrap();
        assert_eq!(
            (required.server, required.client),
            (vec!["ping".into(), "tools-list".into()], vec!["initialize".into()])
        );
        assert!(requirements("client: []").is_err());
    }

    #[test]
    fn a_requirement_set_or_one_scenario_is_asked_for() {
        let server = SocketAddr::from(([127, 0, 0, 1], 4321));
        let tail = "--timeout 15000 --output-dir out";
        for (which, options) in [
            (Which::Required, "--requirements 2026-07-28"),
            (Which::One("ping"), "--scenario ping --spec-version 2026-07-28"),
        ] {
            let mut command = Command::new("suite");
            asking(&mut command, server, Revision::Modern, which, Path::new("out"));
            let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
            assert_eq!(words.join(" "), format!("server --url http://127.0.0.1:4321/mcp {options} {tail}"));
        }
    }
}
