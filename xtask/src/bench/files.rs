//! `cargo xtask bench files`: one file read over MCP on stdio, against the reference filesystem server.
//!
//! Both get the handshake of the older protocol, the only one the reference knows, and send the file twice, as text and as
//! structured content. Countersign keeps its logs, as it is shipped. What is wanted is wanted of one caller, as the figures
//! of the reference that it goes back to are; sixteen are shown beside it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::json;

use super::hello::quoted;
use super::load::{Loader, Sample};
use super::report::{Report, Target};
use super::{Contender, Measured, Options, Question, Scene, Wire, in_turns};
use crate::programs::Node;
use crate::workspace::{Profile, Workspace};
use crate::{Verdict, talk};

const PACKAGE: &str = "@modelcontextprotocol/server-filesystem";

const REFERENCE: &str = "reference";
const OURS: &str = "Countersign";
/// As fast as the pipe: it sends the same bytes again and again.
const READY: &str = "ready-made answer";

const ALONE: u32 = 1;
const CALLERS: &[u32] = &[ALONE, 16];

/// How the first line of each file begins.
const MARK: &str = "line 0000000";

/// Bytes of a line.
const LINE: u32 = 64;

/// One file, and what is wanted of reading it.
struct Case {
    title: &'static str,
    file: &'static str,
    bytes: u32,
    /// The reference is twice as fast once Node has compiled what is hot: after some 2,000 calls, or two seconds.
    warmup: u32,
    target: &'static str,
    times: f64,
}

const CASES: [Case; 2] = [
    Case {
        title: "files, 4 KB",
        file: "small.txt",
        bytes: 4 * 1024,
        warmup: 4000,
        target: "requests a second × reference, 4 KB, 1 caller",
        times: 5.0,
    },
    Case {
        title: "files, 900 KB",
        file: "large.txt",
        bytes: 900 * 1024,
        warmup: 100,
        target: "requests a second × reference, 900 KB, 1 caller",
        times: 8.0,
    },
];

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    let loader = Loader::build(workspace, options.loader.as_deref())?;
    let node = Node::set_up(workspace).context("no programs from npm")?;
    let countersign = workspace.build("countersign", "countersign", Profile::Release)?;
    let floor = workspace.build("xtask", "pipe-floor", Profile::Release)?;
    let root = tempfile::tempdir().context("cannot create a temporary folder")?;
    let mut reference = node.command(&node.file(PACKAGE, "dist/index.js"));
    reference.arg(root.path());
    let reference = line(&reference);
    let mut verdict = Verdict::Good;
    for case in CASES {
        let file = root.path().join(case.file);
        fs::write(&file, text(case.bytes)).context("cannot write the file to read")?;
        let (absolute, relative) =
            (json!({"path": file.display().to_string()}).to_string(), json!({"path": case.file}).to_string());
        let contenders = [
            Contender {
                name: REFERENCE,
                question: case.question("read_text_file", &absolute),
                prepare: Box::new(|_| Ok(reference.clone())),
            },
            Contender {
                name: OURS,
                question: case.question("read_repo_file", &relative),
                prepare: Box::new(|scene| serve(&countersign, root.path(), scene)),
            },
            Contender {
                name: READY,
                question: case.question("read_repo_file", &relative),
                prepare: Box::new(|_| Ok(format!("{} {}", quoted(&floor), quoted(&file)))),
            },
        ];
        let measured = in_turns(&loader, &contenders, options)?;
        check(&measured, case.bytes)?;
        if report(&case, &measured, options)? == Verdict::Bad {
            verdict = Verdict::Bad;
        }
    }
    Ok(verdict)
}

impl Case {
    fn question<'a>(&self, tool: &'static str, arguments: &'a str) -> Question<'a> {
        let wire = Wire::ToolOverStdio { tool, arguments, expected: MARK };
        Question { wire, callers: CALLERS, warmup: self.warmup }
    }
}

/// For the shell that the load generator starts the server with.
pub(super) fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| quoted(Path::new(word))).collect::<Vec<_>>().join(" ")
}

/// Lines of plain text, `bytes` long together.
fn text(bytes: u32) -> String {
    let line = |number| format!("line {number:07} of a text that both servers read, again and again.\n");
    (0..bytes / LINE).map(line).collect::<Vec<_>>().concat()
}

/// The command line of Countersign on the files. What it keeps lies in the scene's folder, which is new each time. It
/// offers the one tool: with the search, it would index the file meanwhile, which the reference does not.
fn serve(binary: &Path, root: &Path, scene: &Scene<'_>) -> anyhow::Result<String> {
    let file = scene.folder.join("countersign.yaml");
    let keys =
        format!("root: {}\ndata_dir: {}/data\ntools: [read_repo_file]\n", root.display(), scene.folder.display());
    fs::write(&file, keys).context("cannot write the configuration")?;
    Ok(format!("{} mcp --config {}", quoted(binary), quoted(&file)))
}

/// A server that sends less has less to do. Only the length is compared: to look for the file's last line, byte by
/// byte, would keep the load generator busy while the server waits.
fn check(measured: &[Measured], bytes: u32) -> anyhow::Result<()> {
    for Measured { name, samples } in measured {
        let whole = |sample: &Sample| sample.bytes_per_answer >= 2.0 * f64::from(bytes);
        if samples.is_empty() || !samples.iter().all(whole) {
            bail!("`{name}` did not always send the file of {bytes} bytes twice");
        }
    }
    Ok(())
}

fn report(case: &Case, measured: &[Measured], options: &Options) -> anyhow::Result<Verdict> {
    let mut report = Report::new(case.title, options, CALLERS, measured);
    let ratio = report.server(OURS).map_or(f64::NAN, |server| server.rps_ratio(ALONE));
    report.targets = vec![Target::at_least(case.target, ratio, case.times)];
    if !options.json {
        talk::say(format_args!("\n{}\n", case.title));
    }
    report.print(options)?;
    Ok(report.verdict())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_have_the_size_they_are_named_for() {
        for case in CASES {
            let text = text(case.bytes);
            assert_eq!(text.len(), case.bytes as usize, "{}", case.title);
            assert!(text.is_ascii() && text.starts_with(MARK), "{}", case.title);
        }
    }

    #[test]
    fn an_answer_without_the_whole_file_is_no_answer() {
        for (bytes, good) in [(8192.0, true), (8191.0, false), (f64::NAN, false)] {
            assert_eq!(check(&[measured(bytes)], 4096).is_ok(), good, "{bytes}");
        }
        assert!(check(&[Measured { name: OURS, samples: Vec::new() }], 4096).is_err());
    }

    #[test]
    fn the_server_reads_in_one_folder_and_keeps_in_another() {
        let folder = tempfile::tempdir().unwrap();
        let scene = Scene { folder: folder.path(), port: 4321 };
        let command = serve(Path::new("it's"), Path::new("files"), &scene).unwrap();
        let place = folder.path().display();
        assert_eq!(command, format!(r"'it'\''s' mcp --config '{place}/countersign.yaml'"));
        let written = fs::read_to_string(folder.path().join("countersign.yaml")).unwrap();
        assert_eq!(written, format!("root: files\ndata_dir: {place}/data\ntools: [read_repo_file]\n"));
    }

    fn measured(bytes_per_answer: f64) -> Measured {
        let mut sample: Sample = serde_json::from_value(json!({
            "concurrency": 1, "ok": 1, "errors": 0, "error_kinds": {}, "rps": 1.0, "p50_ms": 1.0, "p99_ms": 1.0,
            "bytes_per_answer": 0.0, "startup_init_ms": 1.0, "rss_idle_mb": 1.0, "server_cpu_s": 1.0,
        }))
        .unwrap();
        // JSON has no word for what is not a number.
        sample.bytes_per_answer = bytes_per_answer;
        Measured { name: OURS, samples: vec![sample] }
    }
}
