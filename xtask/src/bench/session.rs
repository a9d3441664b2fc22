//! `countersign mcp` on a tree, asked one question after the other.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

pub(super) struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

/// As it is shipped, but without limits on how often; `folder` is for what is kept. Gives the configuration's path.
pub(super) fn configure(tree: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder).context("cannot create a folder")?;
    let config = folder.join("countersign.yaml");
    let limits = json!({"rate_per_minute": {"grep_codebase": 0, "read_file": 0, "context_search": 0}});
    let keys = json!({"root": tree, "data_dir": folder.join("data"), "limits": limits});
    fs::write(&config, keys.to_string()).context("cannot write the configuration")?;
    Ok(config)
}

impl Session {
    pub(super) fn start(binary: &Path, tree: &Path, folder: &Path) -> anyhow::Result<Self> {
        let config = configure(tree, folder)?;
        let mut command = Command::new(binary);
        command.arg("mcp").arg("--config").arg(&config).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().context("cannot run countersign")?;
        let input = child.stdin.take().context("no stdin")?;
        let output = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut session = Self { child, input, output, id: 0 };
        let client = json!({"name": "bench", "version": "1"});
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        session.ask("initialize", &hello)?;
        writeln!(session.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(session)
    }

    /// How long until the answer is here, and the structured result. To parse it is not the server's work.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<(Duration, Value)> {
        let start = Instant::now();
        let line = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let took = start.elapsed();
        let mut answer = serde_json::from_str::<Value>(&line).context("the answer is no JSON")?;
        let result = &mut answer["result"];
        if result["isError"] != json!(false) {
            bail!("`{tool}` failed: {answer}");
        }
        Ok((took, result["structuredContent"].take()))
    }

    /// Of the server.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The answer's line, unread.
    fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<String> {
        self.id += 1;
        writeln!(self.input, "{}", json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}))?;
        let mut line = String::new();
        while self.output.read_line(&mut line)? > 0 {
            if line.contains(&format!("\"id\":{}", self.id)) {
                return Ok(line);
            }
            line.clear();
        }
        bail!("the server ended")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
