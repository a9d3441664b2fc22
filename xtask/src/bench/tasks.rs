//! `cargo xtask bench tasks`: what a change costs that is on disk when it is answered, and what a page of a list costs.
//!
//! Changes are compared with the disk alone and with SQLite alone, pages with the same page of a short list. Countersign
//! keeps its log and its audit log, as it is shipped.

mod disk;
mod writes;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::{Value, json};

use self::disk::{Disk, Watch};
use super::hello::serve;
use super::load::Loader;
use super::report::{Report, Server, Target, worst};
use super::{Contender, Options, Question, Scene, Wire, free_port, in_turns};
use crate::workspace::{Profile, Workspace};
use crate::{Verdict, process, talk};

const CALLERS: &[u32] = &[ALONE, TOGETHER];
const ALONE: u32 = 1;
const TOGETHER: u32 = 16;

/// A database, and how many tasks are in it.
struct List {
    name: &'static str,
    tasks: u32,
}

/// The first is what the other is compared with.
const LISTS: [List; 2] = [SHORT, LONG];
const SHORT: List = List { name: "1,000 tasks", tasks: 1_000 };
const LONG: List = List { name: "1,000,000 tasks", tasks: 1_000_000 };

struct Page {
    title: &'static str,
    /// What is asked, given how many tasks there are.
    arguments: fn(u32) -> Value,
}

/// The completed tasks are the last ones: without an index all the others would have to be passed over.
const PAGES: [Page; 3] = [
    Page { title: "list_tasks, the first 10", arguments: |_| json!({"limit": 10}) },
    Page { title: "list_tasks, 10 in the middle", arguments: |tasks| json!({"limit": 10, "after": tasks / 2}) },
    Page { title: "list_tasks, 10 completed", arguments: |_| json!({"limit": 10, "status": "completed"}) },
];

struct Programs {
    loader: Loader,
    countersign: PathBuf,
    sync_floor: PathBuf,
    /// Python, of which only the standard library is used.
    sqlite_floor: PathBuf,
    watch: Watch,
}

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    // Not where temporary files usually are: that may be memory.
    let peers = workspace.peers();
    fs::create_dir_all(&peers).context("cannot create a folder")?;
    let folder = tempfile::tempdir_in(peers).context("cannot create a temporary folder")?;
    let programs = Programs {
        loader: Loader::build(workspace, options.loader.as_deref())?,
        countersign: workspace.build("countersign", "countersign", Profile::Release)?,
        sync_floor: workspace.build("xtask", "sync-floor", Profile::Release)?,
        sqlite_floor: workspace.root().join("xtask/peers/sqlite_floor.py"),
        watch: Watch::build(workspace)?,
    };
    let mut verdicts = Vec::new();
    for disk in [Disk::AsItIs, Disk::Slow] {
        verdicts.push(writes::run(&programs, folder.path(), disk, options)?);
    }
    let short = programs.filled(folder.path(), &SHORT)?;
    let long = programs.filled(folder.path(), &LONG)?;
    for page in &PAGES {
        verdicts.push(read(&programs, [&short, &long], page, options)?);
    }
    Ok(if verdicts.contains(&Verdict::Bad) { Verdict::Bad } else { Verdict::Good })
}

impl Programs {
    /// A folder with a database that Countersign made and that has so many tasks.
    fn filled(&self, folder: &Path, list: &List) -> anyhow::Result<PathBuf> {
        talk::note(format_args!("a database of {}", list.name));
        let folder = folder.join(list.tasks.to_string());
        fs::create_dir(&folder).context("cannot create a folder")?;
        serve(&self.countersign, &Scene { folder: &folder, port: free_port()? }, "")?;
        let arguments = ["serve", "--config", "countersign.yaml"];
        drop(process::Server::start(&self.countersign, &arguments, &folder)?);
        let mut fill = Command::new("python3");
        fill.arg(&self.sqlite_floor).arg("fill").arg(folder.join("data/countersign.db")).arg(list.tasks.to_string());
        process::output(&mut fill)?;
        Ok(folder)
    }
}

fn read(programs: &Programs, folders: [&Path; 2], page: &Page, options: &Options) -> anyhow::Result<Verdict> {
    let bodies = LISTS.map(|list| (page.arguments)(list.tasks).to_string());
    let parts = LISTS.iter().zip(folders).zip(&bodies);
    let contenders: Vec<Contender<'_>> = parts
        .map(|((list, folder), body)| Contender {
            name: list.name,
            question: Question {
                wire: Wire::Rest { path: "/mcp/tool/list_tasks", body, expected: Some("10 tasks found") },
                callers: CALLERS,
                warmup: 500,
            },
            prepare: Box::new(move |scene| serve(&programs.countersign, &Scene { folder, port: scene.port }, "")),
        })
        .collect();
    let measured = in_turns(&programs.loader, &contenders, options)?;
    let mut report = Report::new(page.title, options, CALLERS, &measured);
    report.targets = targets(&report);
    if !options.json {
        talk::say(format_args!("\n{}\n", page.title));
    }
    report.print(options)?;
    Ok(report.verdict())
}

fn targets(report: &Report) -> Vec<Target> {
    let of = |list: &List, value: fn(&Server) -> f64| report.server(list.name).map_or(f64::NAN, value);
    let slower = worst(LISTS.iter().map(|list| of(list, |server| server.rps(TOGETHER))), f64::min);
    let longer = of(&LONG, |server| server.p50_ms(ALONE)) / of(&SHORT, |server| server.p50_ms(ALONE));
    vec![
        Target::at_least("requests a second, 16 callers", slower, 10_000.0),
        Target::new("p50 × that of 1,000 tasks, 1 caller", longer, 1.2),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_asked_for_by_what_is_there() {
        let asked = |tasks| PAGES.iter().map(|page| (page.arguments)(tasks).to_string()).collect::<Vec<_>>();
        assert_eq!(
            asked(1000),
            [r#"{"limit":10}"#, r#"{"after":500,"limit":10}"#, r#"{"limit":10,"status":"completed"}"#]
        );
    }
}
