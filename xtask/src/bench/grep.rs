//! `cargo xtask bench grep`: `grep_codebase` over MCP on stdio, as it is shipped, against ripgrep as a process, on the same
//! tree in memory; and how long the tools of the Context documents take on a project of 500 files.
//!
//! ripgrep's start is part of its time, as it is of everybody's who calls it; what it is by itself is printed, too. Ours
//! answers with the first fifty occurrences and their context besides counting them all.

mod reading;

use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde::Serialize;
use serde_json::json;

use super::report::{Target, median};
use super::session::Session;
use super::{Options, tree};
use crate::programs::Ripgrep;
use crate::workspace::{Profile, Workspace};
use crate::{Verdict, process, talk};

struct Case {
    title: &'static str,
    pattern: &'static str,
    counted: &'static str,
    shown: &'static str,
}

const CASES: [Case; 3] = [
    Case {
        title: "literal",
        pattern: "self.invoice",
        counted: "literal × rg --count-matches",
        shown: "literal × rg --json -C2",
    },
    Case {
        title: "regex",
        pattern: r"fn (fetch|merge)_\w+\(token",
        counted: "regex × rg --count-matches",
        shown: "regex × rg --json -C2",
    },
    Case {
        title: "no match",
        pattern: "zqnowhere",
        counted: "no match × rg --count-matches",
        shown: "no match × rg --json -C2",
    },
];

/// Limits on the ratio of medians.
const COUNTED: f64 = 1.15;
const SHOWN: f64 = 1.0;

/// The bench's result, for `--json`.
#[derive(Debug, Serialize)]
struct Results {
    bench: &'static str,
    rounds: u32,
    files: u64,
    project: Vec<reading::Measured>,
    ripgrep_start_ms: f64,
    cases: Vec<Measured>,
    targets: Vec<Target>,
}

/// Medians, in milliseconds.
#[derive(Debug, Serialize)]
struct Measured {
    case: &'static str,
    files: u64,
    occurrences: u64,
    ours_ms: f64,
    count_matches_ms: f64,
    json_ms: f64,
}

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    let ripgrep = Ripgrep::set_up(workspace)?;
    let countersign = workspace.build("countersign", "countersign", Profile::Release)?;
    let folder = tempfile::tempdir_in(workspace.peers()).context("cannot create a temporary folder")?;
    let tree = folder.path().join("tree");
    // First, because whoever serves the large tree begins to index it.
    let project = reading::measure(&countersign, folder.path(), options.rounds)?;
    talk::note(format_args!("a tree of {} files", tree::FILES));
    tree::plant(&tree)?;
    let mut session = Session::start(&countersign, &tree, folder.path())?;
    let mut results = Results {
        bench: "grep",
        rounds: options.rounds,
        files: 0,
        project,
        ripgrep_start_ms: median((0..20).map(|_| start_of(&ripgrep))),
        cases: Vec::new(),
        targets: Vec::new(),
    };
    results.targets.extend(reading::targets(&results.project));
    for case in &CASES {
        let measured = in_turns(case, &ripgrep, &tree, &mut session, options.rounds)?;
        results.files = measured.files;
        results.targets.push(Target::new(case.counted, measured.ours_ms / measured.count_matches_ms, COUNTED));
        results.targets.push(Target::new(case.shown, measured.ours_ms / measured.json_ms, SHOWN));
        results.cases.push(measured);
    }
    results.print(options)?;
    Ok(Target::verdict(&results.targets))
}

/// Each once a round, after a round that does not count.
fn in_turns(
    case: &Case,
    ripgrep: &Ripgrep,
    tree: &Path,
    session: &mut Session,
    rounds: u32,
) -> anyhow::Result<Measured> {
    let (mut ours, mut counted, mut shown) = (Vec::new(), Vec::new(), Vec::new());
    let (mut files, mut occurrences) = (0, 0);
    for round in 0..=rounds {
        talk::note(format_args!("{}: round {round} of {rounds}", case.title));
        let arguments = json!({"pattern": case.pattern, "caseSensitive": true});
        let (took, answer) = session.call("grep_codebase", &arguments)?;
        let total = answer["totalMatches"].as_u64().context("no total")?;
        let (count_took, printed) = rg(ripgrep, tree, &["--count-matches", "-e", case.pattern])?;
        let theirs = total_of(&printed)?;
        ensure!(total == theirs, "`{}`: {total} occurrences, ripgrep has {theirs}", case.pattern);
        let (json_took, _) = rg(ripgrep, tree, &["--json", "-C2", "-e", case.pattern])?;
        if round > 0 {
            for (list, took) in [(&mut ours, took), (&mut counted, count_took), (&mut shown, json_took)] {
                list.push(took.as_secs_f64() * 1000.0);
            }
        }
        occurrences = total;
        files = answer["filesSearched"].as_u64().context("no number of files")?;
    }
    Ok(Measured {
        case: case.title,
        files,
        occurrences,
        ours_ms: median(ours.into_iter()),
        count_matches_ms: median(counted.into_iter()),
        json_ms: median(shown.into_iter()),
    })
}

/// In the tree, by the same rules; what else we leave out is ignored there anyway.
fn rg(ripgrep: &Ripgrep, tree: &Path, arguments: &[&str]) -> anyhow::Result<(Duration, Vec<u8>)> {
    let mut command = ripgrep.command();
    command.args(["--hidden", "-s", "-g", "!.git"]).args(arguments).arg(".").current_dir(tree);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().context("cannot run ripgrep")?;
    let mut printed = Vec::new();
    if let Some(stdout) = &mut child.stdout {
        stdout.read_to_end(&mut printed).context("cannot read what ripgrep prints")?;
    }
    let status = child.wait().context("cannot wait for ripgrep")?;
    let took = start.elapsed();
    // 1 is nothing found.
    ensure!(matches!(status.code(), Some(0 | 1)), "ripgrep failed ({status})");
    Ok((took, printed))
}

/// What its process costs before it searches anything.
fn start_of(ripgrep: &Ripgrep) -> f64 {
    let start = Instant::now();
    let ended = process::output(ripgrep.command().arg("--version"));
    if ended.is_ok() { start.elapsed().as_secs_f64() * 1000.0 } else { f64::NAN }
}

/// Lines of `file:count`.
fn total_of(printed: &[u8]) -> anyhow::Result<u64> {
    let text = str::from_utf8(printed).context("ripgrep did not print UTF-8")?;
    let count = |line: &str| line.rsplit(':').next().and_then(|count| count.parse::<u64>().ok());
    text.lines().map(|line| count(line).with_context(|| format!("no count in `{line}`"))).sum()
}

impl Results {
    fn print(&self, options: &Options) -> anyhow::Result<()> {
        if options.json {
            talk::say(serde_json::to_string(self)?);
            return Ok(());
        }
        talk::say(format_args!("\n{} files; ripgrep's start takes {:.1} ms\n", self.files, self.ripgrep_start_ms));
        talk::say("pattern      occurrences    ours ms   rg --count-matches ms   rg --json -C2 ms");
        for Measured { case, files: _, occurrences, ours_ms, count_matches_ms, json_ms } in &self.cases {
            talk::say(format_args!(
                "{case:<12}{occurrences:>12}{ours_ms:>11.1}{count_matches_ms:>24.1}{json_ms:>19.1}"
            ));
        }
        reading::print(&self.project);
        Target::print(&self.targets);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_added_up() {
        assert_eq!(total_of(b"a:1\nb/c:d:20\n").unwrap(), 21);
        assert_eq!(total_of(b"").unwrap(), 0);
        assert!(total_of(b"no count\n").is_err());
    }
}
