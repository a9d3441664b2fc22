//! The embedded model alone, for `cargo xtask bench context`: how long it takes to load, and then for the texts in a file
//! (an array in JSON), on one thread.

use std::fs;
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use countersign_index::Local;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

#[derive(Debug, Parser)]
struct Options {
    texts: PathBuf,
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
    let texts: Vec<String> = serde_json::from_slice(&fs::read(&options.texts)?)?;
    let start = Instant::now();
    Local::load()?;
    let load_ms = start.elapsed().as_secs_f64() * 1000.0;
    let model = Local::on(NonZeroUsize::MIN);
    // The first runs find no memory to use again.
    model.embed_now(&texts[..texts.len().min(10)])?;
    let before = cpu_seconds();
    let vectors = model.embed_now(&texts)?;
    let cpu_s = cpu_seconds() - before;
    writeln!(io::stdout(), "{}", json!({"load_ms": load_ms, "texts": vectors.len(), "cpu_s": cpu_s}))?;
    Ok(())
}

/// Of all threads of this process.
#[expect(clippy::cast_precision_loss, reason = "seconds since the process began")]
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
