//! The floor of `cargo xtask bench files`: a server that answers every call with the same ready-made answer. What it
//! reaches is what the pipe and the reader allow; nobody who reads the file reaches more.

use std::io::{BufRead as _, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

fn main() -> ExitCode {
    match std::env::args().nth(1).and_then(|file| serve(&file).ok()) {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

/// As wide as an unprivileged process may have it.
const PIPE: usize = 1024 * 1024;

/// Written at once. A pipe belongs to its writer or to its reader: with longer parts, one waits for the other.
const PART: usize = 64 * 1024;

fn serve(file: &str) -> anyhow::Result<()> {
    let content = std::fs::read_to_string(file)?;
    let result = json!({"content": content, "path": file, "size": content.len()});
    let text = json!([{"type": "text", "text": result.to_string()}]);
    let answer = format!(",\"result\":{{\"content\":{text},\"structuredContent\":{result},\"isError\":false}}}}\n");
    rustix::pipe::fcntl_setpipe_size(std::io::stdout(), PIPE)?;
    let mut output = std::fs::File::from(std::os::fd::AsFd::as_fd(&std::io::stdout()).try_clone_to_owned()?);
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let id = &request["id"];
        match request["method"].as_str() {
            Some("tools/call") => {
                write!(output, "{{\"jsonrpc\":\"2.0\",\"id\":{id}")?;
                answer.as_bytes().chunks(PART).try_for_each(|part| output.write_all(part))?;
            }
            Some("initialize") => {
                let info = json!({"name": "floor", "version": "1"});
                let result =
                    json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info});
                writeln!(output, "{}", json!({"jsonrpc": "2.0", "id": id, "result": result}))?;
            }
            _ => {}
        }
        output.flush()?;
    }
    Ok(())
}
