//! A project of 500 files, as the Context documents have it in mind: one file read by both tools that read, a file with
//! ten dependencies, a search through everything. The documents' time budgets have to hold ten times over.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::Serialize;
use serde_json::{Value, json};

use crate::bench::report::{Target, median};
use crate::bench::session::Session;
use crate::talk;

const FILES: usize = 500;
const DEPENDENCIES: usize = 10;

/// Of each question in a round; the first round does not count.
const CALLS: usize = 200;

const FILE_BYTES: usize = 4096;

struct Case {
    title: &'static str,
    tool: &'static str,
    arguments: fn() -> Value,
    /// The document's target in milliseconds, where it has one.
    budget: Option<(&'static str, f64)>,
}

const PLAIN: &str = "read_repo_file, 4 KB";
const READ: &str = "read_file, 4 KB";
const WITH_DEPENDENCIES: &str = "read_file with 10 dependencies";

const CASES: [Case; 4] = [
    Case { title: PLAIN, tool: "read_repo_file", arguments: || json!({"path": file(0)}), budget: None },
    Case {
        title: READ,
        tool: "read_file",
        arguments: || json!({"path": file(0)}),
        budget: Some(("read_file × a tenth of its 100 ms", 10.0)),
    },
    Case {
        title: WITH_DEPENDENCIES,
        tool: "read_file",
        arguments: || json!({"path": "src/app.ts", "includeDeps": true}),
        budget: Some(("with dependencies × a tenth of its 500 ms", 50.0)),
    },
    Case {
        title: "grep_codebase, 500 files",
        tool: "grep_codebase",
        arguments: || json!({"pattern": "export function \\w+9\\("}),
        budget: Some(("grep_codebase × a tenth of its 1 s", 100.0)),
    },
];

/// Milliseconds.
#[derive(Debug, Serialize)]
pub(super) struct Measured {
    case: &'static str,
    p50_ms: f64,
    slowest_ms: f64,
}

pub(super) fn measure(binary: &Path, folder: &Path, rounds: u32) -> anyhow::Result<Vec<Measured>> {
    let tree = folder.join("project");
    plant(&tree)?;
    let mut session = Session::start(binary, &tree, &folder.join("project-state"))?;
    let mut times: [Vec<f64>; CASES.len()] = Default::default();
    for round in 0..=rounds {
        for _ in 0..CALLS {
            // In turns, so that all of them meet the same machine.
            for (case, times) in CASES.iter().zip(&mut times) {
                let (took, answer) = session.call(case.tool, &(case.arguments)())?;
                if case.title == WITH_DEPENDENCIES {
                    let brought = answer["dependencies"].as_array().map_or(0, Vec::len);
                    ensure!(brought == DEPENDENCIES, "{brought} dependencies came along: {answer}");
                }
                if round > 0 {
                    times.push(took.as_secs_f64() * 1000.0);
                }
            }
        }
    }
    let measured = CASES.iter().zip(times).map(|(case, times)| Measured {
        case: case.title,
        slowest_ms: times.iter().copied().fold(f64::NAN, f64::max),
        p50_ms: median(times.into_iter()),
    });
    Ok(measured.collect())
}

/// The medians against each other and a limit of their own, the slowest of all calls against the documents' budgets.
pub(super) fn targets(measured: &[Measured]) -> Vec<Target> {
    let of = |title: &str| measured.iter().find(|measured| measured.case == title);
    let p50 = |title: &str| of(title).map_or(f64::NAN, |measured| measured.p50_ms);
    let mut targets = vec![
        Target::new("read_file × read_repo_file, p50, 4 KB", p50(READ) / p50(PLAIN), 1.5),
        Target::new("read_file with 10 dependencies, p50, ms", p50(WITH_DEPENDENCIES), 3.0),
    ];
    for case in &CASES {
        if let Some((what, tenth)) = case.budget {
            targets.push(Target::new(
                what,
                of(case.title).map_or(f64::NAN, |measured| measured.slowest_ms / tenth),
                1.0,
            ));
        }
    }
    targets
}

pub(super) fn print(measured: &[Measured]) {
    talk::say(format_args!("\n{:<34}{:>10}{:>14}", "a project of 500 files", "p50 ms", "slowest ms"));
    for Measured { case, p50_ms, slowest_ms } in measured {
        talk::say(format_args!("{case:<34}{p50_ms:>10.3}{slowest_ms:>14.3}"));
    }
}

fn file(number: usize) -> String {
    format!("src/module{}/part{number}.ts", number / 25)
}

/// TypeScript; `src/app.ts` imports the first ten.
fn plant(tree: &Path) -> anyhow::Result<()> {
    let mut app = String::new();
    for number in 0..FILES - 1 {
        let path = tree.join(file(number));
        fs::create_dir_all(path.parent().context("a file lies in a folder")?).context("cannot create a folder")?;
        fs::write(path, part(number)).context("cannot write a file")?;
        if number < DEPENDENCIES {
            let module = file(number);
            let module = module.trim_start_matches("src/").trim_end_matches(".ts");
            let _ = writeln!(app, "import {{ step{number} }} from './{module}';");
        }
    }
    fs::write(tree.join("package.json"), "{\"name\": \"project\"}\n").context("cannot write a file")?;
    fs::write(tree.join("src/app.ts"), app).context("cannot write a file")
}

/// Four kilobytes of code.
fn part(number: usize) -> String {
    let mut text = String::new();
    let mut line = number;
    while text.len() < FILE_BYTES - 100 {
        let _ = writeln!(text, "export function step{line}(input: string): string {{ return input + '{line}'; }}");
        line += 1;
    }
    let _ = writeln!(text, "// {}", "-".repeat(FILE_BYTES - 4 - text.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_size_they_are_named_for() {
        for number in [0, 7, 498] {
            assert_eq!(part(number).len(), FILE_BYTES, "{number}");
        }
    }

    #[test]
    fn the_slowest_call_counts_against_a_budget() {
        let measured: Vec<Measured> =
            CASES.iter().map(|case| Measured { case: case.title, p50_ms: 1.0, slowest_ms: 60.0 }).collect();
        let met: Vec<bool> = targets(&measured).iter().map(Target::is_met).collect();
        assert_eq!(met, [true, true, false, false, true]);
    }
}
