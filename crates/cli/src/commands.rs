//! One file per command; this one sends each to its place.

mod approvals;
mod ask;
mod audit;
mod call;
mod check;
mod client;
mod completions;
mod config;
mod contracts;
mod doctor;
mod index;
mod man;
mod mcp;
mod receipts;
mod search;
mod serve;
mod stats;
mod tools;

use countersign_transports::ExitCode;

use crate::args::{Arguments, ClientCommand, Command};
use crate::failure::CommandError;

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, CommandError> {
    let common = arguments.common;
    let done = match arguments.command {
        Command::Supervise { sandbox, program } => return supervise(&sandbox, &program),
        Command::Enter { sandbox, program } => {
            let error = countersign_upstream::enter(&sandbox, &program);
            return Err(CommandError::new(ExitCode::Unreachable, error));
        }
        Command::Serve { listen } => return serve::run(&common, listen),
        Command::Mcp => return mcp::run(&common),
        Command::Tools => tools::run(&common),
        Command::Call(call) => call::run(&common, &call),
        Command::Index { watch } => index::run(&common, watch),
        Command::Search(arguments) => search::run(&common, &arguments),
        Command::Ask(arguments) => ask::run(&common, &arguments),
        Command::Contracts(command) => contracts::run(&common, command),
        Command::Check(arguments) => check::run(&common, &arguments),
        Command::Stats { since } => stats::run(&common, since.as_deref()),
        Command::Approvals { command, watch } => approvals::run(&common, command, watch),
        Command::Audit { command } => audit::run(&common, command),
        Command::Receipts { command } => receipts::run(&common, command),
        Command::Client(ClientCommand::Config(arguments)) => client::config(&common, &arguments),
        Command::Config { command } => config::run(&common, command),
        Command::Doctor => doctor::run(&common),
        Command::Completions { shell } => completions::run(shell),
        Command::Man { command } => man::run(command.as_deref()),
    };
    done.map(|()| ExitCode::Ok)
}

/// Whether the program ended well.
fn supervise(sandbox: &str, program: &[std::ffi::OsString]) -> Result<ExitCode, CommandError> {
    match countersign_upstream::supervise(sandbox, program) {
        Ok(0) => Ok(ExitCode::Ok),
        Ok(_) => Ok(ExitCode::ToolError),
        Err(error) => Err(CommandError::new(ExitCode::Unreachable, error)),
    }
}
