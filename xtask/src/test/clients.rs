//! MCP as other people's clients see it, over stdio and HTTP, in both protocol eras.
//!
//! The scripts in xtask/peers ask everything that the server announces; the Inspector lints the schemas and makes one
//! call. Without Python, npm or a registry the step is skipped.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::Outcome;
use crate::process::{self, Ended, How, Server};
use crate::programs::{Node, Python};
use crate::talk;
use crate::workspace::{Profile, Workspace};

/// How long a script may take for all its connections; each of its requests has a limit of its own.
const SCRIPT: Duration = Duration::from_mins(2);
/// How long one run of the Inspector may take.
const INSPECTION: Duration = Duration::from_secs(30);

pub(super) fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let python = match Python::set_up(workspace) {
        Ok(python) => python,
        Err(err) => return Ok(Outcome::Skipped(format!("no Python environment: {err:#}"))),
    };
    let node = match Node::set_up(workspace) {
        Ok(node) => node,
        Err(err) => return Ok(Outcome::Skipped(format!("no programs from npm: {err:#}"))),
    };
    let binary = workspace.build("countersign", "countersign", Profile::Debug)?;
    let scripts = workspace.root().join("xtask/peers");
    let mut failed = Vec::new();
    for (name, command) in [
        ("Python", python.script(&scripts.join("client.py"))),
        ("TypeScript", node.own_script(&scripts.join("client.mjs"))?),
    ] {
        talk::note(format_args!("the {name} client"));
        if let Err(err) = with_server(&binary, |server, folder| script(command, &binary, server, folder)) {
            talk::say(format_args!("{err:#}"));
            failed.push(name);
        }
    }
    talk::note("the Inspector");
    if let Err(err) = with_server(&binary, |server, folder| inspect(&node, &binary, server, folder)) {
        talk::say(format_args!("{err:#}"));
        failed.push("Inspector");
    }
    Ok(if failed.is_empty() { Outcome::Passed } else { Outcome::Failed(format!("{} above", failed.join(", "))) })
}

/// A server for each client: limits count calls, and one client's must not be used up by another.
fn with_server(binary: &Path, ask: impl FnOnce(SocketAddr, &Path) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let server = Server::start(binary, &["serve", "--listen", "127.0.0.1:0"], folder.path())?;
    ask(server.address(), folder.path())
}

fn script(mut command: Command, binary: &Path, server: SocketAddr, folder: &Path) -> anyhow::Result<()> {
    command.arg(binary).arg(url(server)).current_dir(folder);
    let ended = process::within(SCRIPT, &mut command)?;
    talk::say(ended.stdout.trim_end());
    if ended.how != How::Well {
        bail!("{}\nthe client ended: {:?}", ended.stderr, ended.how);
    }
    Ok(())
}

fn inspect(node: &Node, binary: &Path, server: SocketAddr, folder: &Path) -> anyhow::Result<()> {
    let launcher = node.file("@modelcontextprotocol/inspector", "clients/launcher/build/index.js");
    let binary = binary.display().to_string();
    for target in [vec![binary, "mcp".to_owned()], vec![url(server)]] {
        for era in ["modern", "legacy"] {
            for question in [Question::List, Question::Call] {
                let mut command = node.command(&launcher);
                command.args(arguments(era, question)).args(&target).current_dir(folder);
                // It keeps a catalog of servers there.
                command.env("HOME", folder);
                let ended = process::within(INSPECTION, &mut command)?;
                complaint(question, &ended).map_or(Ok(()), |complaint| {
                    let said = format!("{}{}", ended.stdout, ended.stderr);
                    Err(anyhow::anyhow!("{said}\n{question:?}, {era}, {}: {complaint}", target.join(" ")))
                })?;
            }
        }
    }
    talk::say("stdio and HTTP, both eras: no complaint");
    Ok(())
}

fn url(server: SocketAddr) -> String {
    format!("http://{server}/mcp")
}

#[derive(Debug, Clone, Copy)]
enum Question {
    List,
    Call,
}

fn arguments(era: &str, question: Question) -> Vec<&str> {
    let mut arguments = vec!["--cli", "--protocol-era", era, "--format", "json"];
    arguments.extend(match question {
        Question::List => ["--method", "tools/list", "--strict"].as_slice(),
        Question::Call => &["--method", "tools/call", "--tool-name", "hello", "--tool-args-json", r#"{"name":"Ada"}"#],
    });
    // What follows is the target, whatever it looks like.
    arguments.push("--");
    arguments
}

/// What is not as it should be. The lint lets mere advice pass with exit code 0, so its findings are looked for.
fn complaint(question: Question, ended: &Ended) -> Option<String> {
    if ended.how != How::Well {
        return Some(format!("{:?}", ended.how));
    }
    let answer: Value = match serde_json::from_str(&ended.stdout) {
        Ok(answer) => answer,
        Err(err) => return Some(format!("not JSON: {err}")),
    };
    if let Some(findings) = answer.get("schemaFindings") {
        return Some(findings.to_string());
    }
    let good = match question {
        Question::List => answer.pointer("/result/tools").and_then(Value::as_array).is_some_and(|all| !all.is_empty()),
        Question::Call => answer.pointer("/result/structuredContent/message").is_some_and(|said| said == "Hello, Ada!"),
    };
    (!good).then(|| "another answer".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inspector_is_understood() {
        use Question::{Call, List};
        let findings = r#"{"result":{"tools":[{"name":"hello"}]},"schemaFindings":[{"tool":"hello"}]}"#;
        for (question, stdout, complaints) in [
            (List, r#"{"result":{"tools":[{"name":"hello"}]}}"#, None),
            (List, r#"{"result":{"tools":[]}}"#, Some("another answer")),
            (List, findings, Some(r#"[{"tool":"hello"}]"#)),
            (Call, r#"{"result":{"structuredContent":{"message":"Hello, Ada!"},"isError":false}}"#, None),
            (Call, r#"{"result":{"content":[],"isError":true}}"#, Some("another answer")),
        ] {
            let ended = Ended { how: How::Well, stdout: stdout.to_owned(), stderr: String::new() };
            assert_eq!(complaint(question, &ended).as_deref(), complaints, "{question:?} {stdout}");
        }
        let late = Ended { how: How::TooLate, stdout: String::new(), stderr: String::new() };
        assert_eq!(complaint(List, &late).as_deref(), Some("TooLate"));
    }

    #[test]
    fn the_target_comes_last() {
        let words = arguments("legacy", Question::List).join(" ");
        assert_eq!(words, "--cli --protocol-era legacy --format json --method tools/list --strict --");
    }
}
