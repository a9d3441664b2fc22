//! The disk alone, for `cargo xtask bench tasks`: how fast 4 KiB are on disk, time after time, at the end of a file that
//! grows and in one that has its size. Nobody who promises to keep a change answers sooner.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::{Value, json};

const BLOCK: [u8; 4096] = [b'x'; 4096];

/// Of a file that has its size; as many as fit into SQLite's log before it begins again.
const BLOCKS: u32 = 1000;

#[derive(Debug, Parser)]
struct Options {
    /// Written over, and left behind.
    file: PathBuf,
    seconds: u64,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The one who started it shows it.
            let _ = writeln!(io::stderr(), "{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let new = || File::create(&options.file);
    let fdatasync = measure(options, new()?, File::sync_data, u32::MAX)?;
    let fsync = measure(options, new()?, File::sync_all, u32::MAX)?;
    let mut file = new()?;
    for _ in 0..BLOCKS {
        file.write_all(&BLOCK)?;
    }
    file.sync_all()?;
    file.rewind()?;
    let again = measure(options, file, File::sync_data, BLOCKS)?;
    writeln!(io::stdout(), "{}", json!({"fdatasync": fdatasync, "fsync": fsync, "fdatasync_again": again}))?;
    Ok(())
}

/// From the start again after so many blocks.
fn measure(options: &Options, mut file: File, sync: fn(&File) -> io::Result<()>, blocks: u32) -> anyhow::Result<Value> {
    let (start, mut times) = (Instant::now(), Vec::new());
    let mut left = blocks;
    while start.elapsed() < Duration::from_secs(options.seconds) {
        if left == 0 {
            file.rewind()?;
            left = blocks;
        }
        left -= 1;
        let before = Instant::now();
        file.write_all(&BLOCK)?;
        sync(&file)?;
        times.push(before.elapsed());
    }
    let per_second = f64::from(u32::try_from(times.len())?) / start.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 100).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0);
    Ok(json!({"per_second": per_second, "p50_ms": at(50), "p99_ms": at(99)}))
}
