//! `add_task`: how much faster than one after the other, how much slower than the disk alone, and how often it syncs.

use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

use super::Programs;
use super::disk::{self, Disk, Floor, Pace};
use crate::bench::hello::serve;
use crate::bench::load::Sample;
use crate::bench::report::{Target, median};
use crate::bench::{Options, Question, Scene, Wire, free_port};
use crate::{Verdict, talk};

const ALONE: u32 = 1;
const TOGETHER: u32 = 64;
/// Each has its own turn, or their syncs could not be told apart.
const LEVELS: [(u32, &[u32]); 2] = [(ALONE, &[ALONE]), (TOGETHER, &[TOGETHER])];

const WARMUP: u32 = 200;

/// What all rounds gave.
#[derive(Default)]
struct Rounds {
    floors: Vec<Floor>,
    turns: Vec<Turn>,
}

struct Turn {
    sample: Sample,
    /// In each call, on the average.
    syncs: f64,
}

/// Medians over all rounds.
#[derive(Debug, Serialize)]
struct Report {
    bench: &'static str,
    rounds: u32,
    seconds: u32,
    floors: [FloorRow; 4],
    levels: [Level; 2],
    targets: Vec<Target>,
}

#[derive(Debug, Serialize)]
struct FloorRow {
    name: &'static str,
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
}

#[derive(Debug, Serialize)]
struct Level {
    callers: u32,
    cpu_us: f64,
    rps: f64,
    /// Divided by the commits a second of SQLite alone.
    rps_ratio: f64,
    p50_ms: f64,
    /// Divided by that of one fdatasync of a file that grows.
    p50_ratio: f64,
    p99_ms: f64,
    syncs_per_call: f64,
}

pub(super) fn run(programs: &Programs, folder: &Path, disk: Disk, options: &Options) -> anyhow::Result<Verdict> {
    let bench = match disk {
        Disk::AsItIs => "add_task",
        Disk::Slow => "add_task, each sync 4 ms longer",
    };
    let mut rounds = Rounds::default();
    for round in 1..=options.rounds {
        talk::note(format_args!("round {round} of {}: {bench}", options.rounds));
        let folder = tempfile::tempdir_in(folder).context("cannot create a temporary folder")?;
        rounds.floors.push(disk.floor(programs, folder.path(), options.seconds)?);
        for (_, callers) in LEVELS {
            rounds.turns.push(turn(programs, folder.path(), disk, callers, options.seconds)?);
        }
    }
    let mut report = rounds.report(bench, options);
    report.targets = report.targets();
    report.print(options)?;
    Ok(Target::verdict(&report.targets))
}

fn turn(programs: &Programs, folder: &Path, disk: Disk, callers: &'static [u32], seconds: u32) -> anyhow::Result<Turn> {
    let folder = tempfile::tempdir_in(folder).context("cannot create a temporary folder")?;
    let scene = Scene { folder: folder.path(), port: free_port()? };
    let log = folder.path().join("syncs.log");
    let server = programs.watch.over(disk, &serve(&programs.countersign, &scene, "")?, &log);
    let wire = Wire::Rest { path: "/mcp/tool/add_task", body: r#"{"title":"@N@"}"#, expected: None };
    let question = Question { wire, callers, warmup: WARMUP };
    let samples = programs.loader.measure(&scene, &server, &question, seconds)?;
    let sample = samples.into_iter().next().context("the load generator measured nothing")?;
    // One more: the load generator asks once to see whether the server is up.
    let calls = f64::from(sample.answers + WARMUP + 1);
    Ok(Turn { sample, syncs: f64::from(disk::syncs(&log)?) / calls })
}

impl Rounds {
    fn report(&self, bench: &'static str, options: &Options) -> Report {
        let floor = |name, pace: fn(&Floor) -> Pace| {
            let of = |value: fn(Pace) -> f64| median(self.floors.iter().map(|floor| value(pace(floor))));
            FloorRow {
                name,
                per_second: of(|pace| pace.per_second),
                p50_ms: of(|pace| pace.p50_ms),
                p99_ms: of(|pace| pace.p99_ms),
            }
        };
        let floors = [
            floor("fdatasync, 4 KiB more", |floor| floor.syncs.fdatasync),
            floor("fsync, 4 KiB more", |floor| floor.syncs.fsync),
            floor("fdatasync, 4 KiB again", |floor| floor.syncs.fdatasync_again),
            floor("SQLite, one row a commit", |floor| floor.commits),
        ];
        let commits_per_second = median(self.floors.iter().map(|floor| floor.commits.per_second));
        let fdatasync_ms = median(self.floors.iter().map(|floor| floor.syncs.fdatasync.p50_ms));
        let levels = LEVELS.map(|(callers, _)| self.level(callers, commits_per_second, fdatasync_ms));
        Report { bench, rounds: options.rounds, seconds: options.seconds, floors, levels, targets: Vec::new() }
    }

    fn level(&self, callers: u32, commits_per_second: f64, fdatasync_ms: f64) -> Level {
        let of = |value: fn(&Turn) -> f64| {
            median(self.turns.iter().filter(|turn| turn.sample.callers == callers).map(value))
        };
        let (rps, p50_ms) = (of(|turn| turn.sample.rps), of(|turn| turn.sample.p50_ms));
        Level {
            callers,
            cpu_us: of(|turn| turn.sample.cpu_us()),
            rps,
            rps_ratio: rps / commits_per_second,
            p50_ms,
            p50_ratio: p50_ms / fdatasync_ms,
            p99_ms: of(|turn| turn.sample.p99_ms),
            syncs_per_call: of(|turn| turn.syncs),
        }
    }
}

impl Report {
    fn targets(&self) -> Vec<Target> {
        let [alone, together] = &self.levels;
        vec![
            Target::at_least("requests a second × SQLite, 64 callers", together.rps_ratio, 15.0),
            Target::new("p50 × fdatasync, 1 caller", alone.p50_ratio, 1.5),
            // More than one, because SQLite moves what is in its log into the database now and then.
            Target::new("syncs a call, 1 caller", alone.syncs_per_call, 1.05),
        ]
    }

    fn print(&self, options: &Options) -> anyhow::Result<()> {
        if options.json {
            talk::say(serde_json::to_string(self)?);
            return Ok(());
        }
        talk::say(format_args!("\n{}\n\nfloor                        a second    p50 ms    p99 ms", self.bench));
        for FloorRow { name, per_second, p50_ms, p99_ms } in &self.floors {
            talk::say(format_args!("{name:<27}{per_second:>10.0}{p50_ms:>10.3}{p99_ms:>10.3}"));
        }
        talk::say("\ncallers    CPU µs     req/s  × SQLite    p50 ms   × fdatasync    p99 ms  syncs a call");
        for level in &self.levels {
            let Level { callers, cpu_us, rps, rps_ratio, p50_ms, p50_ratio, p99_ms, syncs_per_call } = level;
            talk::say(format_args!(
                "{callers:>7}{cpu_us:>10.1}{rps:>10.0}{rps_ratio:>10.2}{p50_ms:>10.3}{p50_ratio:>14.2}{p99_ms:>10.3}{syncs_per_call:>14.3}"
            ));
        }
        Target::print(&self.targets);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tasks::disk::Syncs;
    use serde_json::json;

    #[test]
    fn calls_are_compared_with_the_disk_of_the_same_rounds() {
        let options = Options { json: false, rounds: 3, seconds: 2, loader: None };
        let rounds = Rounds {
            floors: vec![floor(4.0), floor(90.0), floor(2.0)],
            turns: vec![turn(ALONE, 5.0, 6.0, 1.02), turn(TOGETHER, 60.0, 20.0, 0.1)],
        };
        assert_eq!(Target::verdict(&rounds.report("x", &options).targets()), Verdict::Good);
        assert_eq!(Target::verdict(&Rounds::default().report("x", &options).targets()), Verdict::Bad);
    }

    /// Commits and the fdatasync that counts are the same number.
    fn floor(number: f64) -> Floor {
        let pace = |number| Pace { per_second: number, p50_ms: number, p99_ms: number };
        let other = pace(number / 10.0);
        Floor { syncs: Syncs { fdatasync: pace(number), fsync: other, fdatasync_again: other }, commits: pace(number) }
    }

    fn turn(callers: u32, rps: f64, p50_ms: f64, syncs: f64) -> Turn {
        Turn { sample: sample(callers, rps, p50_ms), syncs }
    }

    fn sample(callers: u32, rps: f64, p50_ms: f64) -> Sample {
        serde_json::from_value(json!({
            "concurrency": callers, "ok": 1, "errors": 0, "error_kinds": {}, "rps": rps, "p50_ms": p50_ms, "p99_ms": 1.0,
            "bytes_per_answer": 1.0, "startup_init_ms": 1.0, "rss_idle_mb": 1.0, "server_cpu_s": 1.0,
        }))
        .unwrap()
    }
}
