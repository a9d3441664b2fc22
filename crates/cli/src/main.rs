//! `countersign`: a contract-enforcing host for AI tools.

mod args;
mod commands;
mod config;
mod failure;
mod logging;
mod output;
mod reload;
mod signals;
mod upstreams;
mod wiring;

use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use crate::args::Arguments;
use crate::failure::CommandError;

fn main() -> ExitCode {
    // Asked for before the arguments are parsed: a failure to parse them must be JSON, too.
    let json = std::env::args_os().any(|argument| argument == "--json");
    let outcome = match Arguments::try_parse() {
        Ok(arguments) => commands::run(arguments),
        Err(help) if !help.use_stderr() => return show_help(&help),
        Err(mistake) => Err(usage(&mistake)),
    };
    match outcome {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(error) => {
            output::say(&if json { format!("{}\n", error.json()) } else { error.text() });
            ExitCode::from(error.exit as u8)
        }
    }
}

fn show_help(help: &clap::Error) -> ExitCode {
    match output::print(&help.render().ansi().to_string()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// clap's own words, under our exit code.
fn usage(mistake: &clap::Error) -> CommandError {
    let text = mistake.render().to_string();
    let text = text.trim().trim_start_matches("error: ");
    let usage = countersign_transports::ExitCode::Usage;
    if mistake.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return CommandError::message(usage, format!("no command given\n\n{text}"));
    }
    CommandError::message(usage, text)
}
