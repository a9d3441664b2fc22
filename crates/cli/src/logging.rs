//! The main log file: JSON lines, one per tool call and one per diagnostic, written by a thread of their own so that
//! no call waits for the disk. stdout is never touched: it belongs to data and protocols.

mod causes;
mod file;

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use self::causes::WithCauses;
pub(crate) use self::file::{LogFile, LogFileError};
use crate::config::LogLevel;

/// What goes to stderr beside the log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stderr {
    /// A server's: everything at the configured level.
    Diagnostics,
    /// A command's: only what someone must act on.
    Warnings,
}

pub(crate) fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

/// Sends diagnostics to the log file and stderr from now on, panics included.
pub(crate) fn start(file: &Path, level: LevelFilter, stderr: Stderr) -> Result<Option<Arc<LogFile>>, LogFileError> {
    let file = (level > LevelFilter::OFF).then(|| LogFile::open(file)).transpose()?.map(Arc::new);
    // The SDK warns of every mistake that a client makes; the client is told, and nobody here has to act.
    let ours = |level: LevelFilter| {
        Targets::new()
            .with_default(level.min(LevelFilter::WARN))
            .with_target("countersign", level)
            .with_target("rmcp", level.min(LevelFilter::ERROR))
    };
    let to_file = file.clone().map(|file| {
        let format = WithCauses(tracing_subscriber::fmt::format().json().flatten_event(true));
        let lines = tracing_subscriber::fmt::layer().json().event_format(format).with_writer(file);
        lines.with_filter(ours(level))
    });
    let shown = match stderr {
        Stderr::Diagnostics => level,
        Stderr::Warnings => level.min(LevelFilter::WARN),
    };
    let to_stderr = tracing_subscriber::fmt::layer().compact().without_time().with_target(false);
    let to_stderr =
        to_stderr.with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr).with_filter(ours(shown));
    // A second start in one process keeps the first subscriber.
    let _ = tracing_subscriber::registry().with(to_file).with(to_stderr).try_init();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(panic = %panic.payload_as_str().unwrap_or("without a message"), place, "panic");
    }));
    Ok(file)
}
