//! The only place that prints: findings and tables on stdout, progress and errors on stderr.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program has to say something somewhere")]

use std::fmt::Display;

/// What was asked for.
pub(crate) fn say(line: impl Display) {
    println!("{line}");
}

/// What goes on meanwhile, and what went wrong.
pub(crate) fn note(line: impl Display) {
    eprintln!("{line}");
}
