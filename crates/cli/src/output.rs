//! Data on stdout, talk on stderr.

use std::io::{self, Write as _};

use anyhow::Context as _;
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use serde_json::Value;

/// How a command shows its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

/// Data, as it is.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // `countersign … | head` is not a failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// JSON for a program on one line, for a person laid out.
pub(crate) fn print_json(format: Format, value: &Value) -> anyhow::Result<()> {
    match format {
        Format::Json => print(&format!("{value}\n")),
        Format::Text => print(&format!("{value:#}\n")),
    }
}

/// Talk: what happens, what to do. It is lost when nobody can read it.
pub(crate) fn say(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// A table without lines: easy on the eyes, and on `awk`.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header.to_vec());
    for row in rows {
        table.add_row(row);
    }
    table.lines().map(|line| format!("{}\n", line.trim())).collect()
}
