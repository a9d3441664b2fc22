//! `cargo xtask bench hello`: what a call costs beyond parsing, answering and HTTP itself, start-up and memory.
//!
//! The floor is `rest-floor`; Countersign runs with log and audit off, then with both on as it is shipped.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::load::Loader;
use super::report::{Report, Server, Target};
use super::{Contender, Options, Question, Scene, Wire, in_turns};
use crate::Verdict;
use crate::workspace::{Profile, Workspace};

const FLOOR: &str = "floor";
const QUIET: &str = "log and audit off";
const SHIPPED: &str = "log and audit on";

/// Log and audit off.
pub(super) const NOTHING_KEPT: &str = "log: {level: \"off\"}\naudit: off\n";

const QUESTION: Question<'_> = Question {
    wire: Wire::Rest { path: "/v1/tools/hello", body: r#"{"args":{"name":"@N@"}}"#, expected: None },
    callers: &[1, 16, 64],
    warmup: 500,
};

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    let loader = Loader::build(workspace, options.loader.as_deref())?;
    let floor = workspace.build("xtask", "rest-floor", Profile::Release)?;
    let countersign = workspace.build("countersign", "countersign", Profile::Release)?;
    let contenders = [
        Contender {
            name: FLOOR,
            question: QUESTION,
            prepare: Box::new(|scene| Ok(format!("{} 127.0.0.1:{}", quoted(&floor), scene.port))),
        },
        Contender {
            name: QUIET,
            question: QUESTION,
            prepare: Box::new(|scene| serve(&countersign, scene, NOTHING_KEPT)),
        },
        Contender { name: SHIPPED, question: QUESTION, prepare: Box::new(|scene| serve(&countersign, scene, "")) },
    ];
    let measured = in_turns(&loader, &contenders, options)?;
    let mut report = Report::new("hello", options, QUESTION.callers, &measured);
    report.targets = targets(&report);
    report.print(options)?;
    Ok(report.verdict())
}

/// The command line of a server whose every file lies in the scene's folder.
pub(super) fn serve(binary: &Path, scene: &Scene<'_>, keys: &str) -> anyhow::Result<String> {
    command(binary, "serve", scene, keys)
}

pub(super) fn command(binary: &Path, command: &str, scene: &Scene<'_>, keys: &str) -> anyhow::Result<String> {
    let file = scene.folder.join("countersign.yaml");
    let folder = scene.folder.display();
    let port = scene.port;
    let places = format!("root: {folder}\ndata_dir: {folder}/data\nhttp: {{listen: \"127.0.0.1:{port}\"}}\n");
    fs::write(&file, places + keys).context("cannot write the configuration")?;
    Ok(format!("{} {command} --config {}", quoted(binary), quoted(&file)))
}

fn targets(report: &Report) -> Vec<Target> {
    let of = |name, value: fn(&Server) -> f64| report.server(name).map_or(f64::NAN, value);
    vec![
        Target::new("CPU per call × floor, log and audit off", of(QUIET, Server::worst_cpu_ratio), 1.3),
        Target::new("CPU per call × floor, log and audit on", of(SHIPPED, Server::worst_cpu_ratio), 2.0),
        Target::new("start to first answer, ms", of(SHIPPED, |server| server.start_ms), 50.0),
        Target::new("idle memory, MB", of(SHIPPED, |server| server.idle_mb), 25.0),
    ]
}

/// For the shell that the load generator starts the server with.
pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_keeps_to_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let scene = Scene { folder: folder.path(), port: 4321 };
        let command = serve(Path::new("it's"), &scene, "audit: off\n").unwrap();
        let place = folder.path().display();
        assert_eq!(command, format!(r"'it'\''s' serve --config '{place}/countersign.yaml'"));
        assert_eq!(
            fs::read_to_string(folder.path().join("countersign.yaml")).unwrap(),
            format!("root: {place}\ndata_dir: {place}/data\nhttp: {{listen: \"127.0.0.1:4321\"}}\naudit: off\n")
        );
    }
}
