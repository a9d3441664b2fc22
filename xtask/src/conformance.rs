//! `cargo xtask conformance`: the official conformance suite of MCP against our servers.
//!
//! `server` is a fixture that has what every scenario asks for by name, behind our real transport and gate; `gateway` is
//! the program with that fixture as its upstream server; `client` is our connector; `product` is the program itself,
//! with those scenarios that do without. The last line is `passed/required`.

mod gateway;
mod product;
mod results;
mod suite;

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::ValueEnum;

use self::gateway::Gateway;
use self::results::Judgement;
use self::suite::{Run, Suite, Which};
use crate::process::Server;
use crate::programs::Node;
use crate::workspace::{Profile, Workspace};
use crate::{Verdict, talk};

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// What is measured
    subject: Subject,
    /// What this revision of MCP requires; every revision we speak when not given
    #[arg(long, value_name = "REVISION")]
    requirements: Option<Revision>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Subject {
    /// A fixture server behind our transport and gate, with all required scenarios
    Server,
    /// `countersign serve` with that fixture as an upstream server, with all required scenarios
    Gateway,
    /// How we connect upstream servers, with the required scenarios that need no OAuth
    Client,
    /// `countersign serve`, with the required scenarios that ask for nothing by name
    Product,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Revision {
    #[value(name = "2026-07-28")]
    Modern,
    #[value(name = "2025-11-25")]
    Legacy,
}

impl Revision {
    const ALL: [Self; 2] = [Self::Modern, Self::Legacy];

    fn as_str(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }
}

/// How many scenarios passed, of those that have to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Score {
    passed: usize,
    required: usize,
}

impl Score {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.required += other.required;
    }

    /// Nothing required is nothing shown.
    fn verdict(self) -> Verdict {
        if self.required > 0 && self.passed == self.required { Verdict::Good } else { Verdict::Bad }
    }
}

impl Display for Score {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.passed, self.required)
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    let node = Node::set_up(workspace).context("no programs from npm")?;
    let revisions = options.requirements.map_or(Revision::ALL.to_vec(), |one| vec![one]);
    measure(workspace, &node, options.subject, &revisions)
}

/// Everything, for `cargo xtask test`.
pub(crate) fn run_all(workspace: &Workspace, node: &Node) -> anyhow::Result<Verdict> {
    let mut all = Verdict::Good;
    for subject in [Subject::Server, Subject::Gateway, Subject::Client, Subject::Product] {
        if measure(workspace, node, subject, &Revision::ALL)? == Verdict::Bad {
            all = Verdict::Bad;
        }
    }
    Ok(all)
}

fn measure(workspace: &Workspace, node: &Node, subject: Subject, revisions: &[Revision]) -> anyhow::Result<Verdict> {
    let suite = Suite::new(node);
    let mut total = Score::default();
    for &revision in revisions {
        // A server for each, so that what one revision left behind cannot help or hurt the other.
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        let score = match subject {
            Subject::Server => {
                let server = Server::start(&fixture(workspace)?, &["127.0.0.1:0"], folder.path())?;
                whole(&suite, server.address(), revision)?
            }
            Subject::Gateway => {
                let program = workspace.build("countersign", "countersign", Profile::Debug)?;
                let gateway = Gateway::start(&fixture(workspace)?, &program, folder.path())?;
                whole(&suite, gateway.address(), revision)?
            }
            Subject::Client => {
                let client = workspace.build_example("conformance_client")?;
                as_client(&suite, &client, revision)?
            }
            Subject::Product => {
                let program = workspace.build("countersign", "countersign", Profile::Debug)?;
                let server = Server::start(&program, &["serve", "--listen", "127.0.0.1:0"], folder.path())?;
                one_by_one(&suite, server.address(), revision)?
            }
        };
        talk::say(format_args!("{}: {score}", revision.as_str()));
        total.add(score);
    }
    talk::say(total);
    Ok(total.verdict())
}

fn fixture(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    workspace.build_example("conformance")
}

/// Each scenario is a server of its own.
fn as_client(suite: &Suite, client: &Path, revision: Revision) -> anyhow::Result<Score> {
    let mut total = Score::default();
    for scenario in suite.required_of_clients(revision)? {
        let run = suite.run_client(client, revision, &scenario)?;
        total.add(score(&run, &[(&scenario, run.judge(&scenario, &[]))]));
    }
    Ok(total)
}

/// Everything that the revision requires, in one run of the suite.
fn whole(suite: &Suite, server: SocketAddr, revision: Revision) -> anyhow::Result<Score> {
    let required = suite.required(revision)?;
    let run = suite.run(server, revision, Which::Required)?;
    let judged = required.iter().map(|name| (name.as_str(), run.judge(name, &[]))).collect::<Vec<_>>();
    Ok(score(&run, &judged))
}

/// What the product can be asked, each in a run of its own: a requirement set cannot be cut down.
fn one_by_one(suite: &Suite, server: SocketAddr, revision: Revision) -> anyhow::Result<Score> {
    let required = suite.required(revision)?;
    let mut total = Score::default();
    for scenario in product::scenarios(revision) {
        if !required.iter().any(|name| name == scenario.name) {
            bail!("`{}` is not required by {}: see xtask/src/conformance/product.rs", scenario.name, revision.as_str());
        }
        let run = suite.run(server, revision, Which::One(scenario.name))?;
        total.add(score(&run, &[(scenario.name, run.judge(scenario.name, scenario.excused))]));
    }
    Ok(total)
}

/// Counts, and says what was wrong, after all that the suite said if something was.
fn score(run: &Run, judged: &[(&str, Judgement)]) -> Score {
    let passed = judged.iter().filter(|(_, judgement)| judgement.wrong.is_empty()).count();
    if passed < judged.len() {
        talk::say(run);
    }
    for (name, judgement) in judged {
        for wrong in &judgement.wrong {
            talk::say(format_args!("FAILED {name}: {wrong}"));
        }
        for warning in &judgement.warnings {
            talk::say(format_args!("warning {name}: {warning}"));
        }
    }
    Score { passed, required: judged.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_everything_is_enough() {
        for (passed, required, verdict) in [(37, 37, Verdict::Good), (36, 37, Verdict::Bad), (0, 0, Verdict::Bad)] {
            assert_eq!(Score { passed, required }.verdict(), verdict, "{passed}/{required}");
        }
        let mut total = Score { passed: 36, required: 37 };
        total.add(Score { passed: 30, required: 30 });
        assert_eq!(total.to_string(), "66/67");
    }

    #[test]
    fn revisions_are_named_as_the_suite_names_them() {
        for revision in Revision::ALL {
            assert_eq!(revision.to_possible_value().unwrap().get_name(), revision.as_str());
        }
    }
}
