//! `countersign man`: the manual page on stdout, the commands' own pages after the main one.

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_mangen::Man;

use crate::args::Arguments;
use crate::failure::CommandResult;
use crate::output;

pub(super) fn run() -> CommandResult {
    let mut page = Vec::new();
    Man::new(Arguments::command()).render(&mut page).context("cannot render the manual page")?;
    Ok(output::print(&String::from_utf8_lossy(&page))?)
}
