//! The floor of `cargo xtask bench files`: a server that answers every call with the same ready-made answer. What it
//! reaches is what the pipe and the reader allow; nobody who reads the file reaches more.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};

fn main() -> ExitCode {
    match std::env::args().nth(1).and_then(|file| serve(&file).ok()) {
        Some(()) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

fn serve(file: &str) -> anyhow::Result<()> {
    let content = std::fs::read_to_string(file)?;
    let result = json!({"content": content, "path": file, "size": content.len()});
    let text = json!([{"type": "text", "text": result.to_string()}]);
    let answer = format!(",\"result\":{{\"content\":{text},\"structuredContent\":{result},\"isError\":false}}}}\n");
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let id = &request["id"];
        match request["method"].as_str() {
            Some("tools/call") => {
                write!(output, "{{\"jsonrpc\":\"2.0\",\"id\":{id}")?;
                output.write_all(answer.as_bytes())?;
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
