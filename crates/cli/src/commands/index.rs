//! `countersign index`: the context index, in the foreground. What is done is done: interrupted, it goes on the next time
//! where it was.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use countersign_index::{BuildError, Built, EmbedError, Stage};
use countersign_transports::ExitCode;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::args::Common;
use crate::failure::{CommandError, CommandResult};
use crate::logging::Stderr;
use crate::output::{self, Format};
use crate::signals::StopSignals;
use crate::wiring;

/// Often enough to look alive.
const REDRAWS_A_SECOND: u8 = 10;

pub(super) fn run(common: &Common, watch: bool) -> CommandResult {
    let config = wiring::load(common, None)?;
    wiring::runtime()?.block_on(async {
        let mut stop = StopSignals::listen().context("cannot listen for signals")?;
        let place = wiring::IndexPlace::open(&config, Stderr::Warnings).await?;
        let outcome = tokio::select! {
            built = build(common, &place) => built,
            _ = stop.next() => Err(CommandError::message(ExitCode::Interrupted, "interrupted")
                .hint("what was indexed is kept; the next run goes on from there")),
        };
        if outcome.is_ok() && watch {
            output::say("watching for changes; Ctrl-C ends it\n");
            let stopping = CancellationToken::new();
            tokio::select! {
                () = Arc::clone(&place.index).run(stopping.clone()) => {}
                _ = stop.next() => stopping.cancel(),
            }
        }
        place.close().await;
        outcome
    })
}

async fn build(common: &Common, place: &wiring::IndexPlace) -> CommandResult {
    let started = Instant::now();
    let bar = Bar::new();
    let built = place.index.build(|stage| bar.show(stage)).await;
    bar.end();
    match built {
        Ok(built) => report(common, built, started.elapsed()),
        Err(BuildError::Busy) if wiring::format(common) == Format::Json => {
            Ok(output::print_json(Format::Json, &json!({"busy": "another process keeps this index up to date"}))?)
        }
        Err(BuildError::Busy) => {
            output::say("another process keeps this index up to date; there is nothing to do\n");
            Ok(())
        }
        Err(error @ BuildError::Embed(EmbedError::Remote(_))) => Err(CommandError::new(ExitCode::Unreachable, error)
            .hint("is `context.embedder` right? What was read is kept; the next run goes on from there")),
        Err(error @ (BuildError::Index(_) | BuildError::Embed(EmbedError::Local(_)) | BuildError::Lock(_))) => {
            Err(CommandError::new(ExitCode::ToolError, error).hint("`countersign doctor` looks closer"))
        }
    }
}

fn report(common: &Common, built: Built, took: Duration) -> CommandResult {
    let Built { progress, chunks, embedded } = built;
    let a_second = |count: usize| per_second(count, took);
    let found = json!({
        "files": progress.looked_at,
        "changed": progress.changed,
        "removed": progress.removed,
        "chunks": chunks,
        "embedded": embedded,
        "seconds": took.as_secs_f64(),
        "files_per_second": a_second(progress.looked_at),
        "chunks_per_second": a_second(embedded),
    });
    if wiring::format(common) == Format::Json {
        return Ok(output::print_json(Format::Json, &found)?);
    }
    Ok(output::print(&format!(
        "{chunks} chunks of {} files and days of history; {} changed, {} removed, {embedded} chunks embedded in {:.1} s \
         ({:.0} files/s, {:.0} chunks/s)\n",
        progress.looked_at,
        progress.changed,
        progress.removed,
        took.as_secs_f64(),
        a_second(progress.looked_at),
        a_second(embedded),
    ))?)
}

#[expect(clippy::cast_precision_loss, reason = "a rate for a person")]
fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64().max(0.001)
}

/// On stderr, and only where that is a terminal.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(REDRAWS_A_SECOND));
        let style = ProgressStyle::with_template("{msg:<9} {bar:30} {pos}/{len}  {per_sec}  {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }

    fn show(&self, stage: Stage) {
        let (name, done, of) = match stage {
            Stage::Reading(progress) => ("reading", progress.looked_at, progress.of),
            Stage::Embedding { done, of } => ("embedding", done, of),
        };
        if self.0.message() != name {
            self.0.reset();
            self.0.set_message(name);
        }
        self.0.set_length(of as u64);
        self.0.set_position(done as u64);
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}
