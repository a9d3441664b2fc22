//! `countersign completions SHELL`: a completion script on stdout.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::failure::CommandResult;
use crate::output;

pub(super) fn run(shell: Shell) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "countersign", &mut script);
    Ok(output::print(&String::from_utf8_lossy(&script))?)
}
