//! What we publish as others see it: our schemas and our OpenAPI document through validators, our server through a
//! fuzzer.
//!
//! All are Python programs; without Python or a registry the step is skipped.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::{Outcome, Rounds, finish};
use crate::process::{self, Server};
use crate::programs::Python;
use crate::workspace::{Profile, Workspace};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(workspace: &Workspace, rounds: Rounds) -> anyhow::Result<Outcome> {
    let python = match Python::set_up(workspace) {
        Ok(python) => python,
        Err(err) => return Ok(Outcome::Skipped(format!("no Python environment: {err:#}"))),
    };
    let schemas = workspace.root().join("xtask/peers/contracts.py");
    process::succeed(python.script(&schemas).arg(workspace.root().join("contracts")))?;
    let binary = workspace.build("countersign", "countersign", Profile::Debug)?;
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let server = Server::start(&binary, &["serve", "--listen", "127.0.0.1:0"], folder.path())?;
    let document = folder.path().join("openapi.json");
    fs::write(&document, get(server.address(), "/openapi.json")?).context("cannot keep openapi.json")?;
    let mut validator = python.program("openapi-spec-validator");
    process::succeed(validator.args(["--schema", "3.1", "--validation-errors", "all"]).arg(&document))?;
    let config = workspace.root().join("xtask/peers/schemathesis.toml");
    finish(&mut fuzz(&python, &config, server.address(), folder.path(), rounds))
}

/// A fuzzer that reads our document, asks everything it allows and forbids, and compares the answers with it. All of its
/// checks apply; what has to be excepted has its reason in the configuration. Two runs ask the same, without a seed.
fn fuzz(python: &Python, config: &Path, server: SocketAddr, folder: &Path, rounds: Rounds) -> Command {
    let examples = match rounds {
        Rounds::Usual => "50",
        Rounds::Many => "1000",
    };
    let mut command = python.program("schemathesis");
    command.arg("--config-file").arg(config);
    command.arg("run").arg(format!("http://{server}/openapi.json")).args(["--checks", "all"]);
    command.args(["--max-examples", examples, "--generation-deterministic", "--no-color"]);
    // It leaves its notes where it runs.
    command.current_dir(folder);
    command
}

/// The body of one answer. HTTP/1.0, so that it ends with the connection and is not cut into chunks.
fn get(server: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut answer = String::new();
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE).context("cannot connect")?;
    stream.set_read_timeout(Some(PATIENCE)).context("cannot set a timeout")?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {server}\r\n\r\n");
    stream.write_all(request.as_bytes()).context("cannot ask")?;
    stream.read_to_string(&mut answer).with_context(|| format!("cannot read the answer to GET {path}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer.as_str(), ""));
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        bail!("GET {path} answered `{status}`");
    }
    Ok(body.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    #[test]
    fn an_answer_is_read_to_its_end() {
        assert_eq!(ask("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap(), "{}");
        let err = ask("HTTP/1.0 404 Not Found\r\n\r\n").unwrap_err();
        assert_eq!(err.to_string(), "GET /openapi.json answered `HTTP/1.0 404 Not Found`");
    }

    fn ask(answer: &'static str) -> anyhow::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let body = get(address, "/openapi.json");
        server.join().unwrap();
        body
    }
}
