//! `cargo xtask test`: every check there is, in one order, the same here and in CI.
//!
//! A step that fails does not stop the others; one that lacks something on this machine is skipped and says what.

mod clients;
mod deny;
mod extending;
mod grep;
mod peers;
mod upstreams;

use std::process::Command;
use std::time::{Duration, Instant};

use clap::builder::FalseyValueParser;

use crate::programs::{Node, Postgres};
use crate::workspace::Workspace;
use crate::{Verdict, codegen, conformance, process, talk, tidy};

pub(crate) const ABOUT: &str = "\
Run every check there is, the same here and in CI: format, lints, tidy, tests, generated files, what \
docs/extending.md tells people to do (extending), dependencies (`cargo deny`), the schemas and the HTTP interface \
against other people's validators (peers), other people's servers and misbehaving ones behind ours (upstreams), MCP \
against other people's clients (clients) and against the official conformance suite (conformance), and searches \
against ripgrep itself (grep).

What is missing is set up under target/xtask: cargo-deny and ripgrep by `cargo install`, the others' programs in a Python \
environment and from npm, with a Node of their own where the installed one is too old. PostgreSQL 14 or later is the \
machine's own; where there is none, root gets it from apt-get. The tests have a server of their own, which ends with \
them. Where something cannot be had, the step is skipped with the reason, and of the tests only those on PostgreSQL; \
with CI=true either is a failure.

`cargo deny` checks licences, bans and sources. Advisories need a database that cannot be had offline; run \
`cargo deny check advisories` where there is a network.";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Leave out what needs other people's programs
    #[arg(long)]
    fast: bool,
    /// More rounds: sets `COUNTERSIGN_LONG=1` for the tests
    #[arg(long)]
    long: bool,
    /// Run these steps only: fmt, clippy, tidy, test, codegen, extending, deny, peers, upstreams, clients, conformance,
    /// grep
    #[arg(long, value_name = "STEP", value_parser = STEPS.map(|step| step.name))]
    only: Vec<String>,
    /// A skipped step is a failure
    #[arg(long, env = "CI", value_parser = FalseyValueParser::new())]
    ci: bool,
}

/// How much to try where there is a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rounds {
    Usual,
    Many,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    /// This machine lacks something.
    Skipped(String),
    /// Not asked for.
    LeftOut(&'static str),
}

/// What a step that could not run means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gaps {
    Tolerated,
    Failures,
}

struct Step {
    name: &'static str,
    needs: Needs,
    run: fn(&Workspace, Rounds) -> anyhow::Result<Outcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Cargo,
    /// Programs of others, which take a while to set up.
    Peers,
}

const STEPS: [Step; 12] = [
    Step { name: "fmt", needs: Needs::Cargo, run: |workspace, _| cargo(workspace, &["fmt", "--all", "--check"]) },
    Step {
        name: "clippy",
        needs: Needs::Cargo,
        run: |workspace, _| cargo(workspace, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    },
    Step { name: "tidy", needs: Needs::Cargo, run: |workspace, _| Ok(judged(tidy::run(workspace)?, "findings above")) },
    Step { name: "test", needs: Needs::Cargo, run: tests },
    Step {
        name: "codegen",
        needs: Needs::Cargo,
        run: |workspace, _| Ok(judged(codegen::check(workspace)?, "run cargo xtask codegen")),
    },
    Step { name: "extending", needs: Needs::Cargo, run: |workspace, _| extending::run(workspace) },
    Step { name: "deny", needs: Needs::Peers, run: |workspace, _| deny::run(workspace) },
    Step { name: "peers", needs: Needs::Peers, run: peers::run },
    Step { name: "upstreams", needs: Needs::Peers, run: |workspace, _| upstreams::run(workspace) },
    Step { name: "clients", needs: Needs::Peers, run: |workspace, _| clients::run(workspace) },
    Step { name: "conformance", needs: Needs::Peers, run: |workspace, _| conformant(workspace) },
    Step { name: "grep", needs: Needs::Peers, run: grep::run },
];

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Verdict {
    let rounds = if options.long { Rounds::Many } else { Rounds::Usual };
    let mut results = Vec::new();
    for step in &STEPS {
        let since = Instant::now();
        let outcome = left_out(step, options).unwrap_or_else(|| {
            talk::say(format_args!("==> {}", step.name));
            // A step that breaks is a failed step: the ones after it still have something to say.
            (step.run)(workspace, rounds).unwrap_or_else(|err| Outcome::Failed(format!("{err:#}")))
        });
        results.push((step.name, outcome, since.elapsed()));
    }
    talk::say("==> summary");
    for (name, outcome, took) in &results {
        talk::say(line(name, outcome, *took));
    }
    let gaps = if options.ci { Gaps::Failures } else { Gaps::Tolerated };
    verdict(results.iter().map(|(_, outcome, _)| outcome), gaps)
}

fn left_out(step: &Step, options: &Options) -> Option<Outcome> {
    if options.fast && step.needs == Needs::Peers {
        return Some(Outcome::LeftOut("--fast"));
    }
    let wanted = options.only.is_empty() || options.only.iter().any(|name| name == step.name);
    (!wanted).then_some(Outcome::LeftOut("--only"))
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<Outcome> {
    finish(&mut workspace.cargo(arguments))
}

/// Examples in documents, too. Where there is no PostgreSQL, all tests that do not need it still run.
fn tests(workspace: &Workspace, rounds: Rounds) -> anyhow::Result<Outcome> {
    // One crate's failure must not hide another's.
    let mut command = workspace.cargo(&["test", "--workspace", "--no-fail-fast"]);
    if rounds == Rounds::Many {
        command.env("COUNTERSIGN_LONG", "1");
    }
    match Postgres::start() {
        Ok(server) => {
            command.env("COUNTERSIGN_TEST_POSTGRES", server.url());
            command.env("COUNTERSIGN_TEST_POSTGRES_BIN", server.programs());
            finish(&mut command)
        }
        Err(err) => {
            talk::note(format_args!("the tests on PostgreSQL are left out: {err:#}"));
            command.env_remove("COUNTERSIGN_TEST_POSTGRES").env_remove("COUNTERSIGN_TEST_POSTGRES_BIN");
            process::succeed(&mut command)?;
            Ok(Outcome::Skipped(format!("only the tests on PostgreSQL, the others passed: {err:#}")))
        }
    }
}

fn conformant(workspace: &Workspace) -> anyhow::Result<Outcome> {
    match Node::set_up(workspace) {
        Ok(node) => Ok(judged(conformance::run_all(workspace, &node)?, "scenarios above")),
        Err(err) => Ok(Outcome::Skipped(format!("no programs from npm: {err:#}"))),
    }
}

fn finish(command: &mut Command) -> anyhow::Result<Outcome> {
    process::succeed(command)?;
    Ok(Outcome::Passed)
}

fn judged(verdict: Verdict, otherwise: &str) -> Outcome {
    match verdict {
        Verdict::Good => Outcome::Passed,
        Verdict::Bad => Outcome::Failed(otherwise.to_owned()),
    }
}

fn line(name: &str, outcome: &Outcome, took: Duration) -> String {
    let (word, why) = match outcome {
        Outcome::Passed => ("passed", ""),
        Outcome::Failed(why) => ("FAILED", why.as_str()),
        Outcome::Skipped(why) => ("skipped", why.as_str()),
        Outcome::LeftOut(why) => ("left out", *why),
    };
    format!("{word:<8}  {name:<12}{:>7.1} s  {why}", took.as_secs_f64()).trim_end().to_owned()
}

/// What was left out on request is nobody's fault; what was skipped is a gap that CI must not have.
fn verdict<'a>(mut outcomes: impl Iterator<Item = &'a Outcome>, gaps: Gaps) -> Verdict {
    let bad = outcomes.any(|outcome| match outcome {
        Outcome::Passed | Outcome::LeftOut(_) => false,
        Outcome::Skipped(_) => gaps == Gaps::Failures,
        Outcome::Failed(_) => true,
    });
    if bad { Verdict::Bad } else { Verdict::Good }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_step_fails_only_in_ci() {
        let skipped = || Outcome::Skipped("no python3".to_owned());
        let failed = || Outcome::Failed("exit 1".to_owned());
        for (outcomes, here, in_ci) in [
            (vec![Outcome::Passed, Outcome::LeftOut("--fast")], Verdict::Good, Verdict::Good),
            (vec![Outcome::Passed, skipped()], Verdict::Good, Verdict::Bad),
            (vec![failed(), Outcome::Passed], Verdict::Bad, Verdict::Bad),
        ] {
            assert_eq!(verdict(outcomes.iter(), Gaps::Tolerated), here, "{outcomes:?}");
            assert_eq!(verdict(outcomes.iter(), Gaps::Failures), in_ci, "{outcomes:?} in CI");
        }
    }

    #[test]
    fn the_summary_says_why() {
        let took = Duration::from_millis(1250);
        for (outcome, text) in [
            (Outcome::Passed, "passed    tidy            1.2 s"),
            (Outcome::Skipped("no python3".to_owned()), "skipped   tidy            1.2 s  no python3"),
        ] {
            assert_eq!(line("tidy", &outcome, took), text);
        }
    }
}
