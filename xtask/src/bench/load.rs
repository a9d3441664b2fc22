//! The load generator: built once, run once a turn, one sample a level.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use anyhow::{Context as _, bail};
use serde::Deserialize;

use super::{Question, Scene, Wire};
use crate::process;
use crate::workspace::{Profile, Workspace};

/// Where the load generator lies beside a checkout.
const USUAL_PLACE: &str = "../shared/bench/mcpload";

/// The bare SDK server lies beside it.
const SDK_SERVER: &str = "rmcp-hello";

#[derive(Debug)]
pub(super) struct Loader {
    program: PathBuf,
    /// Ours, for long answers.
    pipe_client: PathBuf,
}

/// What one level of one turn gave: one line of the load generator.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Sample {
    #[serde(rename = "concurrency")]
    pub(super) callers: u32,
    #[serde(rename = "ok")]
    pub(super) answers: u32,
    pub(super) errors: u64,
    pub(super) error_kinds: serde_json::Value,
    pub(super) rps: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) bytes_per_answer: f64,
    /// From the start of the process to its first answer.
    startup_init_ms: f64,
    /// To its first list of tools, over MCP.
    startup_list_ms: Option<f64>,
    pub(super) rss_idle_mb: f64,
    server_cpu_s: f64,
}

impl Sample {
    /// From the start of the process until it was of use.
    pub(super) fn start_ms(&self) -> f64 {
        self.startup_list_ms.unwrap_or(self.startup_init_ms)
    }

    /// Not the load generator's own quotient, which is rounded to whole microseconds: three per cent of a small call.
    pub(super) fn cpu_us(&self) -> f64 {
        self.server_cpu_s * 1e6 / f64::from(self.answers.max(1))
    }
}

impl Loader {
    pub(super) fn build(workspace: &Workspace, folder: Option<&Path>) -> anyhow::Result<Self> {
        let folder = folder.map_or_else(|| workspace.root().join(USUAL_PLACE), Path::to_owned);
        if !folder.join("Cargo.toml").exists() {
            bail!("no load generator in `{}`; say where it is with `--loader DIR`", folder.display());
        }
        let pipe_client = workspace.build("xtask", "pipe-load", Profile::Release)?;
        Ok(Self { program: built(workspace, &folder, "mcpload")?, pipe_client })
    }

    /// The bare SDK server, from beside the load generator.
    pub(super) fn sdk_server(workspace: &Workspace, folder: Option<&Path>) -> anyhow::Result<PathBuf> {
        let folder = folder.map_or_else(|| workspace.root().join(USUAL_PLACE), Path::to_owned);
        built(workspace, &folder.join("..").join(SDK_SERVER), SDK_SERVER)
    }

    /// A program of ours that is built by itself: what it depends on is not for the workspace.
    pub(super) fn own(workspace: &Workspace, folder: &str, name: &str) -> anyhow::Result<PathBuf> {
        built(workspace, &workspace.root().join(folder), name)
    }

    /// One turn: starts the server, measures every level, ends the server.
    pub(super) fn measure(
        &self,
        scene: &Scene<'_>,
        server: &str,
        question: &Question<'_>,
        seconds: u32,
    ) -> anyhow::Result<Vec<Sample>> {
        let levels: Vec<String> = question.callers.iter().map(u32::to_string).collect();
        let said = scene.folder.join("stderr.log");
        let mut command = match question.wire {
            Wire::ToolOverStdio { .. } => Command::new(&self.pipe_client),
            Wire::Rest { .. }
            | Wire::McpOverHttp
            | Wire::OldMcpOverHttp
            | Wire::ListOverHttp { .. }
            | Wire::McpOverStdio => Command::new(&self.program),
        };
        match question.wire {
            Wire::Rest { path, body, expected } => {
                command.arg("--rest").arg(format!("http://127.0.0.1:{}{path}", scene.port));
                command.args(["--body", body, "--spawn", server]);
                command.args(expected.iter().flat_map(|text| ["--expect", text]));
            }
            Wire::McpOverHttp | Wire::OldMcpOverHttp => {
                let protocol = if matches!(question.wire, Wire::McpOverHttp) { MODERN } else { OLD };
                command.arg("--http").arg(format!("http://127.0.0.1:{}/mcp", scene.port)).args(["--spawn", server]);
                command.args(HELLO).args(["--protocol", protocol]);
            }
            Wire::ListOverHttp { expected } => {
                command.arg("--http").arg(format!("http://127.0.0.1:{}/mcp", scene.port)).args(["--spawn", server]);
                command.args(["--method", "tools/list", "--params", "{}", "--protocol", MODERN, "--expect", expected]);
            }
            Wire::McpOverStdio => {
                command.args(["--stdio", server]).args(HELLO).args(["--protocol", MODERN]);
            }
            Wire::ToolOverStdio { tool, arguments, expected } => {
                command.args(["--stdio", server, "--tool", tool, "--args", arguments, "--expect", expected]);
                command.args(["--protocol", OLD]);
            }
        }
        command.args(["--concurrency", &levels.join(",")]);
        command.args(["--duration", &seconds.to_string(), "--warmup", &question.warmup.to_string()]);
        command.args(["--ready", "20", "--stderr"]).arg(&said);
        let printed = process::output(&mut command).with_context(|| {
            let said = fs::read_to_string(&said).unwrap_or_default();
            format!("the server said: `{}`", said.lines().last().unwrap_or_default())
        })?;
        printed.lines().map(sample).collect()
    }
}

const HELLO: [&str; 4] = ["--tool", "hello", "--args", r#"{"name":"@N@"}"#];
const MODERN: &str = "2026-07-28";
const OLD: &str = "2025-11-25";

/// Built from a copy: cargo writes a lockfile beside the manifest, and that folder is not ours (or read-only).
fn built(workspace: &Workspace, folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let target = workspace.target().join("bench");
    let copy = target.join(name);
    mirror(folder, &copy).with_context(|| format!("cannot copy `{}`", folder.display()))?;
    let mut command = workspace.cargo(&["build", "--quiet", "--release", "--target-dir"]);
    process::succeed(command.arg(&target).arg("--manifest-path").arg(copy.join("Cargo.toml")))?;
    Ok(target.join("release").join(name))
}

/// Copies what differs, so that cargo finds the rest unchanged. Hidden and built files stay behind.
fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, target) = (entry.file_name(), to.join(entry.file_name()));
        if name == "target" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            mirror(&entry.path(), &target)?;
            continue;
        }
        let mut contents = fs::read(entry.path())?;
        if name == "Cargo.toml" {
            // A package of its own: it lies inside our workspace now, and cargo would look for it there.
            contents.extend_from_slice(b"\n[workspace]\n");
        }
        if fs::read(&target).ok().as_ref() != Some(&contents) {
            fs::write(&target, contents)?;
        }
    }
    Ok(())
}

/// A wrong or missing answer makes every number of its turn worthless.
fn sample(line: &str) -> anyhow::Result<Sample> {
    let sample: Sample = serde_json::from_str(line).with_context(|| format!("not a sample: `{line}`"))?;
    if sample.errors > 0 || sample.answers == 0 {
        bail!("{} answers were wrong: {}", sample.errors, sample.error_kinds);
    }
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_becomes_a_sample() {
        let sample = sample(&line(0)).unwrap();
        assert_eq!((sample.callers, sample.answers), (16, 1000));
        assert!((sample.cpu_us() - 40.0).abs() < 1e-9);
    }

    #[test]
    fn wrong_answers_are_an_error() {
        let err = sample(&line(3)).unwrap_err();
        assert_eq!(err.to_string(), r#"3 answers were wrong: {"another request's answer":3}"#);
    }

    #[test]
    fn a_missing_load_generator_is_named() {
        let workspace = Workspace::find().unwrap();
        let err = Loader::build(&workspace, Some(Path::new("nowhere"))).unwrap_err();
        assert_eq!(err.to_string(), "no load generator in `nowhere`; say where it is with `--loader DIR`");
    }

    #[test]
    fn a_copy_is_written_once() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for path in ["Cargo.toml", "src/main.rs", "target/built", ".git/config"] {
            fs::create_dir_all(from.path().join(path).parent().unwrap()).unwrap();
            fs::write(from.path().join(path), "x").unwrap();
        }
        mirror(from.path(), to.path()).unwrap();
        let copied = to.path().join("src/main.rs");
        let written = fs::metadata(&copied).unwrap().modified().unwrap();
        mirror(from.path(), to.path()).unwrap();
        assert_eq!(fs::metadata(&copied).unwrap().modified().unwrap(), written);
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 2);
    }

    fn line(errors: u64) -> String {
        json!({
            "label": "", "concurrency": 16, "ok": 1000, "errors": errors,
            "error_kinds": {"another request's answer": errors}, "rps": 500.0, "p50_ms": 1.0, "p99_ms": 2.0,
            "bytes_per_answer": 100.0, "startup_init_ms": 10.0, "rss_idle_mb": 5.0, "server_cpu_s": 0.04,
            "server_cpu_us_per_req": 40.0,
        })
        .to_string()
    }
}
