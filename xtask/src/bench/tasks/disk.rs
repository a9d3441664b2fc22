//! What the disk does at best, and the same disk made slow.
//!
//! Many a virtual disk says that it has written what is only in its host's memory. What costs little beside a disk that
//! takes its time looks expensive there, so everything is measured both ways.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde::Deserialize;

use super::Programs;
use crate::bench::hello::quoted;
use crate::process;
use crate::workspace::Workspace;

#[derive(Debug, Clone, Copy)]
pub(super) enum Disk {
    AsItIs,
    /// Each sync takes 4 ms longer.
    Slow,
}

/// What stands between a program and its disk: a library that delays and counts.
#[derive(Debug)]
pub(super) struct Watch {
    library: PathBuf,
}

/// How fast something reached the disk, again and again, by one alone.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Pace {
    pub(super) per_second: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// 4 KiB at a time.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Syncs {
    /// At the end of a file.
    pub(super) fdatasync: Pace,
    pub(super) fsync: Pace,
    /// Over what was there, as SQLite does with its log once that has its size.
    pub(super) fdatasync_again: Pace,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Floor {
    pub(super) syncs: Syncs,
    /// One row a transaction in a database of its own, WAL and synchronous=FULL.
    pub(super) commits: Pace,
}

impl Watch {
    pub(super) fn build(workspace: &Workspace) -> anyhow::Result<Self> {
        let library = workspace.peers().join("slow_sync.so");
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library);
        process::succeed(compiler.arg(workspace.root().join("xtask/peers/slow_sync.c")).arg("-ldl"))?;
        Ok(Self { library })
    }

    /// The command line of a program that has such a disk. The log has a line for each of its syncs.
    pub(super) fn over(&self, disk: Disk, line: &str, log: &Path) -> String {
        let delay_us = match disk {
            Disk::AsItIs => 0,
            Disk::Slow => 4000,
        };
        let (library, log) = (quoted(&self.library), quoted(log));
        format!("env LD_PRELOAD={library} SYNC_LOG={log} SYNC_DELAY_US={delay_us} {line}")
    }
}

impl Disk {
    pub(super) fn floor(self, programs: &Programs, folder: &Path, seconds: u32) -> anyhow::Result<Floor> {
        let log = folder.join("floor.log");
        let printed = |line: String| {
            let line = programs.watch.over(self, &line, &log);
            process::output(Command::new("sh").args(["-c", &line]))
        };
        let file = quoted(&folder.join("floor.bin"));
        let syncs = printed(format!("{} {file} {seconds}", quoted(&programs.sync_floor)))?;
        let syncs = serde_json::from_str(&syncs).context("not a measurement of the disk")?;
        let file = quoted(&folder.join("floor.db"));
        let commits = printed(format!("python3 {} commit {file} {seconds}", quoted(&programs.sqlite_floor)))?;
        let commits = serde_json::from_str(&commits).context("not a measurement of SQLite")?;
        Ok(Floor { syncs, commits })
    }
}

/// How often Countersign's database was synced.
pub(super) fn syncs(log: &Path) -> anyhow::Result<u32> {
    Ok(count(&fs::read_to_string(log).context("nobody counted the syncs")?))
}

/// The file that a database is built as, once, has another name.
fn count(log: &str) -> u32 {
    log.lines().filter(|name| ["countersign.db", "countersign.db-wal"].contains(name)).map(|_| 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syncs_of_the_database_are_counted() {
        let log = "countersign.db.new\ndata\ncountersign.db-wal\nother\ncountersign.db\ncountersign.db-wal\n";
        assert_eq!(count(log), 3);
    }

    #[test]
    fn a_disk_is_put_under_a_program() {
        let watch = Watch { library: "slow.so".into() };
        for (disk, delay) in [(Disk::AsItIs, 0), (Disk::Slow, 4000)] {
            assert_eq!(
                watch.over(disk, "'server' serve", Path::new("it's")),
                format!(r"env LD_PRELOAD='slow.so' SYNC_LOG='it'\''s' SYNC_DELAY_US={delay} 'server' serve")
            );
        }
    }
}
