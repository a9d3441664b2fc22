//! `cargo xtask bench mcp`: what the gate costs on top of the SDK, on stdio and on stateless HTTP.
//!
//! The floor is a bare SDK server with the same tool and no checks; it answers with the text alone.

use super::hello::{NOTHING_KEPT, command, quoted, serve};
use super::load::Loader;
use super::report::{Report, Server, Target};
use super::{Contender, Options, Question, Wire, in_turns};
use crate::workspace::{Profile, Workspace};
use crate::{Verdict, talk};

const FLOOR: &str = "bare SDK";
const QUIET: &str = "log and audit off";
const SHIPPED: &str = "log and audit on";

const CALLERS: &[u32] = &[1, 16, 64];
const ON_STDIO: Question<'_> = Question { wire: Wire::McpOverStdio, callers: CALLERS, warmup: 500 };
const ON_HTTP: Question<'_> = Question { wire: Wire::McpOverHttp, callers: CALLERS, warmup: 500 };

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    let loader = Loader::build(workspace, options.loader.as_deref())?;
    let floor = Loader::sdk_server(workspace, options.loader.as_deref())?;
    let countersign = workspace.build("countersign", "countersign", Profile::Release)?;
    let stdio = [
        Contender { name: FLOOR, question: ON_STDIO, prepare: Box::new(|_| Ok(quoted(&floor))) },
        Contender {
            name: QUIET,
            question: ON_STDIO,
            prepare: Box::new(|scene| command(&countersign, "mcp", scene, NOTHING_KEPT)),
        },
        Contender {
            name: SHIPPED,
            question: ON_STDIO,
            prepare: Box::new(|scene| command(&countersign, "mcp", scene, "")),
        },
    ];
    let http = [
        Contender {
            name: FLOOR,
            question: ON_HTTP,
            prepare: Box::new(|scene| Ok(format!("{} http {} stateless nodelay", quoted(&floor), scene.port))),
        },
        Contender {
            name: QUIET,
            question: ON_HTTP,
            prepare: Box::new(|scene| serve(&countersign, scene, NOTHING_KEPT)),
        },
        Contender { name: SHIPPED, question: ON_HTTP, prepare: Box::new(|scene| serve(&countersign, scene, "")) },
    ];
    let mut verdict = Verdict::Good;
    for (name, contenders) in [("mcp over stdio", stdio), ("mcp over http", http)] {
        let measured = in_turns(&loader, &contenders, options)?;
        let mut report = Report::new(name, options, CALLERS, &measured);
        report.targets = targets(&report);
        if !options.json {
            talk::say(format_args!("\n{name}\n"));
        }
        report.print(options)?;
        if report.verdict() == Verdict::Bad {
            verdict = Verdict::Bad;
        }
    }
    Ok(verdict)
}

fn targets(report: &Report) -> Vec<Target> {
    let of = |name, value: fn(&Server) -> f64| report.server(name).map_or(f64::NAN, value);
    vec![
        Target::at_least("requests a second × bare SDK, both off", of(QUIET, Server::worst_rps_ratio), 0.85),
        Target::at_least("requests a second × bare SDK, both on", of(SHIPPED, Server::worst_rps_ratio), 0.7),
        Target::new("start to first answer, ms", of(SHIPPED, |server| server.start_ms), 50.0),
    ]
}
