//! Commands for people who work on Countersign: `cargo xtask <command>`.
//!
//! Nothing here is shipped. What a command finds wrong is printed in full before it ends with exit code 1.

mod bench;
mod codegen;
mod conformance;
mod eval;
mod http;
mod process;
mod programs;
mod talk;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

use crate::workspace::Workspace;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Commands for people who work on Countersign")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Measure against a floor, in turns in one run; exit 1 when a target is missed
    #[command(subcommand)]
    Bench(bench::Subject),
    /// Write contracts/*.json, docs/contracts.md and docs/examples.md from the code
    Codegen(codegen::Options),
    /// Run the official conformance suite of MCP; prints `passed/required` last, exit 1 when something did not pass
    Conformance(conformance::Options),
    /// Measure how good answers are
    #[command(subcommand)]
    Eval(eval::Subject),
    /// Run every check there is, the same here and in CI
    #[command(long_about = test::ABOUT)]
    Test(test::Options),
    /// Check what the compiler does not: crate arrows, file lengths, module docs, forgotten files
    Tidy,
}

/// What a command found; that it could not find out is an error instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    Bad,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::FAILURE,
        Err(err) => {
            talk::note(format_args!("error: {err:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<Verdict> {
    let workspace = Workspace::find()?;
    match command {
        Command::Bench(subject) => bench::run(&workspace, &subject),
        Command::Codegen(options) => codegen::run(&workspace, &options),
        Command::Conformance(options) => conformance::run(&workspace, &options),
        Command::Eval(subject) => eval::run(&workspace, &subject),
        Command::Test(options) => Ok(test::run(&workspace, &options)),
        Command::Tidy => tidy::run(&workspace),
    }
}
