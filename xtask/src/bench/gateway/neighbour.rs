//! What servers that misbehave cost a healthy one beside them: its p99 in one Countersign with them, against that of
//! the same server in a Countersign of its own at the same time. The programs that misbehave cost both the same processors.

use serde::{Deserialize, Serialize};

use super::super::Options;
use super::super::report::{Target, median};
use super::Programs;
use crate::programs::Python;
use crate::workspace::Workspace;
use crate::{Verdict, process, talk};

/// What `misbehave.py --times` writes: milliseconds, but for the number of calls.
#[derive(Debug, Serialize, Deserialize)]
struct Times {
    calls: u64,
    p99: f64,
    p99_apart: f64,
    p99_alone: f64,
    slowest: f64,
}

#[derive(Debug, Serialize)]
struct Neighbour {
    bench: &'static str,
    rounds: Vec<Times>,
    targets: Vec<Target>,
}

pub(super) fn run(workspace: &Workspace, programs: &Programs, options: &Options) -> anyhow::Result<Verdict> {
    let (python, folder) = (Python::set_up(workspace)?, tempfile::tempdir()?);
    let mut rounds: Vec<Times> = Vec::new();
    for round in 1..=options.rounds {
        talk::note(format_args!("round {round} of {}: every way to misbehave, 50 s", options.rounds));
        let times = folder.path().join("times.json");
        let mut script = python.script(&workspace.root().join("xtask/peers/misbehave.py"));
        process::output(script.arg(&programs.countersign).arg("--times").arg(&times))?;
        rounds.push(serde_json::from_slice(&std::fs::read(times)?)?);
    }
    let slower = median(rounds.iter().map(|times| times.p99 / times.p99_apart));
    let targets = vec![Target::new("a neighbour's p99, × that of one apart", slower, 1.2)];
    let (bench, verdict) = ("gateway, a healthy neighbour", Target::verdict(&targets));
    let measured = Neighbour { bench, rounds, targets };
    if options.json {
        talk::say(serde_json::to_string(&measured)?);
        return Ok(verdict);
    }
    talk::say(format_args!("\n{bench}\n\n     calls    p99 ms  apart ms  alone ms  slowest ms"));
    for Times { calls, p99, p99_apart, p99_alone, slowest } in &measured.rounds {
        talk::say(format_args!("{calls:>10}{p99:>10.2}{p99_apart:>10.2}{p99_alone:>10.2}{slowest:>12.0}"));
    }
    Target::print(&measured.targets);
    Ok(verdict)
}
