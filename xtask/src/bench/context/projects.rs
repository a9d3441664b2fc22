//! Projects of two, five and thirty-five thousand files: the first question, the index after a change, questions and memory.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::bench::report::{Target, median};
use crate::bench::session::{Session, configure};
use crate::bench::tree;
use crate::talk;

const NEVER_INDEXED_FILES: u32 = 2000;
/// The small project is so many copies of a part of so many files, the large one so many.
const FILES_IN_A_PART: u32 = 1000;
const FEW_PARTS: u32 = 5;
const MANY_PARTS: u32 = 35;

/// Of a level in each round; before the first some that do not count.
const QUESTIONS: u64 = 100;
const WARMUP: u64 = 20;

/// Between two looks at how much memory a process has.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, Serialize)]
pub(super) struct Projects {
    /// From the start of the process to the answer.
    first_question_ms: f64,
    /// `countersign index`, start to end, after one of 5,000 files was changed.
    one_change_ms: f64,
    small: Level,
    large: Level,
    /// `countersign index` of the large one, at most.
    indexing_peak_mb: f64,
}

#[derive(Debug, Serialize)]
struct Level {
    chunks: u64,
    lines: u64,
    p50_ms: f64,
    p95_ms: f64,
    resident_mb: f64,
}

/// What `countersign index` says.
#[derive(Debug, Deserialize)]
struct Indexed {
    changed: u64,
    chunks: u64,
    embedded: u64,
    seconds: f64,
}

pub(super) fn measure(binary: &Path, folder: &Path, rounds: u32) -> anyhow::Result<Projects> {
    let new = folder.join("new");
    tree::plant_project(&new, NEVER_INDEXED_FILES)?;
    let first_question_ms =
        median_of(rounds, |round| first_question(binary, &new, &folder.join(format!("new-{round}"))))?;
    let (tree, state) = (folder.join("tree"), folder.join("state"));
    plant_parts(&tree, 0..FEW_PARTS)?;
    let (indexed, _) = index(binary, &tree, &state)?;
    let changed = tree.join("part_0/changed.rs");
    let one_change_ms = median_of(rounds, |round| one_change(binary, &tree, &state, &changed, round))?;
    let small = questions(binary, &tree, &state, rounds, indexed.chunks)?;
    plant_parts(&tree, FEW_PARTS..MANY_PARTS)?;
    let (indexed, indexing_peak_mb) = index(binary, &tree, &state)?;
    ensure!(indexed.embedded < u64::from(FILES_IN_A_PART), "copies were embedded again: {indexed:?}");
    let large = questions(binary, &tree, &state, rounds, indexed.chunks)?;
    ensure!(small.chunks >= 10_000 && large.chunks >= 100_000, "fewer chunks than are said: {small:?}, {large:?}");
    Ok(Projects { first_question_ms, one_change_ms, small, large, indexing_peak_mb })
}

fn plant_parts(tree: &Path, parts: Range<u32>) -> anyhow::Result<()> {
    parts.into_iter().try_for_each(|part| tree::plant_project(&tree.join(format!("part_{part}")), FILES_IN_A_PART))
}

fn median_of(rounds: u32, measure: impl FnMut(u32) -> anyhow::Result<f64>) -> anyhow::Result<f64> {
    Ok(median((1..=rounds).map(measure).collect::<anyhow::Result<Vec<f64>>>()?.into_iter()))
}

fn first_question(binary: &Path, tree: &Path, folder: &Path) -> anyhow::Result<f64> {
    let start = Instant::now();
    let mut session = Session::start(binary, tree, folder)?;
    let (_, answer) = session.call("context_search", &json!({"query": "where is the token of a session checked"}))?;
    let took = milliseconds(start.elapsed());
    let found = answer["results"].as_array().map_or(0, Vec::len);
    ensure!(found > 0, "the first question found nothing: {answer}");
    Ok(took)
}

fn one_change(binary: &Path, tree: &Path, state: &Path, file: &Path, round: u32) -> anyhow::Result<f64> {
    let mut text = OpenOptions::new().append(true).create(true).open(file).context("cannot change a file")?;
    writeln!(text, "/// Added in round {round}.\npub fn added_{round}() {{}}\n").context("cannot change a file")?;
    let start = Instant::now();
    let (indexed, _) = index(binary, tree, state)?;
    let took = milliseconds(start.elapsed());
    ensure!(indexed.changed == 1, "one file was changed: {indexed:?}");
    Ok(took)
}

/// To the end, and how much memory it had at most, in megabytes.
fn index(binary: &Path, tree: &Path, state: &Path) -> anyhow::Result<(Indexed, f64)> {
    let config = configure(tree, state)?;
    let mut command = Command::new(binary);
    command.args(["index", "--json", "--config"]).arg(config).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().context("cannot run countersign")?;
    let mut peak = 0.0_f64;
    while child.try_wait().context("cannot wait for countersign")?.is_none() {
        // What has ended meanwhile has no memory any more.
        peak = peak.max(memory_mb(child.id(), "VmHWM:").unwrap_or_default());
        thread::sleep(LOOK);
    }
    let output = child.wait_with_output().context("cannot wait for countersign")?;
    ensure!(output.status.success(), "`countersign index` failed ({})", output.status);
    let indexed: Indexed = serde_json::from_slice(&output.stdout).context("`countersign index` says something else")?;
    talk::note(format_args!("{} chunks, {} embedded in {:.1} s", indexed.chunks, indexed.embedded, indexed.seconds));
    Ok((indexed, peak))
}

fn questions(binary: &Path, tree: &Path, state: &Path, rounds: u32, chunks: u64) -> anyhow::Result<Level> {
    let mut session = Session::start(binary, tree, state)?;
    let mut times = Vec::new();
    for number in 0..WARMUP + u64::from(rounds) * QUESTIONS {
        let (took, _) = session.call("context_search", &json!({"query": tree::question(number)}))?;
        if number >= WARMUP {
            times.push(milliseconds(took));
        }
    }
    times.sort_by(f64::total_cmp);
    talk::note(format_args!("{} questions to {chunks} chunks", times.len()));
    Ok(Level {
        chunks,
        lines: lines_below(tree)?,
        p95_ms: times.get(times.len() * 95 / 100).copied().unwrap_or(f64::NAN),
        p50_ms: median(times.into_iter()),
        resident_mb: memory_mb(session.pid(), "VmRSS:").context("the server has no memory")?,
    })
}

fn lines_below(folder: &Path) -> anyhow::Result<u64> {
    let mut lines = 0;
    for entry in fs::read_dir(folder).context("cannot read a folder")? {
        let entry = entry.context("cannot read a folder")?;
        lines += if entry.file_type().context("cannot look at a file")?.is_dir() {
            lines_below(&entry.path())?
        } else {
            fs::read_to_string(entry.path()).context("cannot read a file")?.lines().count() as u64
        };
    }
    Ok(lines)
}

fn memory_mb(process: u32, key: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix(key))?.trim().strip_suffix(" kB")?;
    Some(kilobytes.parse::<f64>().ok()? * 1024.0 / super::MEGABYTE)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

impl Projects {
    pub(super) fn targets(&self) -> [Target; 7] {
        [
            Target::new("first question, 2,000 files, ms", self.first_question_ms, 2000.0),
            Target::new("index after one change in 5,000 files, ms", self.one_change_ms, 1000.0),
            Target::new("question, 10,000 chunks, p50 ms", self.small.p50_ms, 15.0),
            Target::new("question, 10,000 chunks, p95 ms", self.small.p95_ms, 50.0),
            Target::new("question, 100,000 chunks, p50 ms", self.large.p50_ms, 40.0),
            Target::new("resident with 100,000 chunks, MB", self.large.resident_mb, 400.0),
            // Nobody gave a figure: what indexes on a small machine leaves half of a gigabyte alone.
            Target::new("indexing over a million lines, peak MB", self.indexing_peak_mb, 512.0),
        ]
    }

    pub(super) fn print(&self) {
        talk::say("\n  chunks      lines    p50 ms    p95 ms   resident MB");
        for Level { chunks, lines, p50_ms, p95_ms, resident_mb } in [&self.small, &self.large] {
            talk::say(format_args!("{chunks:>8}{lines:>11}{p50_ms:>10.1}{p95_ms:>10.1}{resident_mb:>14.0}"));
        }
    }
}
