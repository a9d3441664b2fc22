//! The disk alone, for `cargo xtask bench tasks`: how fast a file that grows by 4 KiB at a time is on disk each time,
//! with `fdatasync` and with `fsync`. Nobody who promises to keep a change answers sooner.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::{Value, json};

const BLOCK: [u8; 4096] = [b'x'; 4096];

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
    let line = json!({"fdatasync": measure(options, File::sync_data)?, "fsync": measure(options, File::sync_all)?});
    writeln!(io::stdout(), "{line}")?;
    Ok(())
}

fn measure(options: &Options, sync: fn(&File) -> io::Result<()>) -> anyhow::Result<Value> {
    let mut file = File::create(&options.file)?;
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < Duration::from_secs(options.seconds) {
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
