//! `countersign man [COMMAND]`: a manual page on stdout.

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_mangen::Man;
use countersign_transports::ExitCode;

use crate::args::Arguments;
use crate::failure::{CommandError, CommandResult};
use crate::output;

pub(super) fn run(command: Option<&str>) -> CommandResult {
    let mut program = Arguments::command();
    // Gives the commands their full names and the flags they share.
    program.build();
    let page = match command {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            CommandError::message(ExitCode::Usage, format!("there is no command `{name}`"))
                .hint("`countersign --help` lists them")
        })?,
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text).context("cannot render the manual page")?;
    Ok(output::print(&String::from_utf8_lossy(&text))?)
}
