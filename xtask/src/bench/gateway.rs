//! `cargo xtask bench gateway`: what it costs to call a tool of an upstream server through Countersign, against calling
//! it directly, a gateway that checks nothing, and others' gateways.
//!
//! Every answer must repeat the number that its question had, so one that went to another caller is an error.

mod neighbour;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::hello::{command, quoted, serve};
use super::load::Loader;
use super::report::{Report, Server, Target};
use super::{Contender, Measured, Options, Question, Scene, Wire, free_port, in_turns};
use crate::programs::Python;
use crate::workspace::{Profile, Workspace};
use crate::{Verdict, talk};

const DIRECT: &str = "direct";
const NAIVE: &str = "naive SDK gateway";
const OURS: &str = "Countersign";
/// A client that would talk to the program itself on stdio can talk to us there, too.
const OURS_ON_STDIO: &str = "Countersign, stdio";

const ALONE: u32 = 1;
const MANY: u32 = 64;

const QUESTION: Question<'_> = Question { wire: Wire::McpOverHttp, callers: &[ALONE, MANY], warmup: 500 };
const ON_STDIO: Question<'_> = Question { wire: Wire::McpOverStdio, callers: &[ALONE, MANY], warmup: 500 };

/// Others' gateways: released, pinned, each in an environment of its own, with the upstream on stdio. Not all of them
/// give each caller its own answer when there are many, so they are asked by one.
const MCPO: &str = "mcpo";
const MCP_PROXY: &str = "mcp-proxy";
const FASTMCP: &str = "fastmcp proxy";
const OTHERS: [(&str, &[&str], Wire<'_>); 3] = [
    (
        MCPO,
        // It does not start with newer ones of these.
        &["mcpo==0.0.20", "mcp==1.27.0", "fastapi==0.128.0"],
        Wire::Rest { path: "/hello", body: r#"{"name":"@N@"}"#, expected: None },
    ),
    (MCP_PROXY, &["mcp-proxy==0.13.0"], Wire::OldMcpOverHttp),
    (FASTMCP, &["fastmcp==4.1.0"], Wire::OldMcpOverHttp),
];

/// A long list: so many servers with so many tools each. The last tool of the last server has to be in it.
const SERVERS: u16 = 50;
const TOOLS: u16 = 20;
const LAST: &str = "s49__hello_19";
const LIST: Question<'_> = Question { wire: Wire::ListOverHttp { expected: LAST }, callers: &[ALONE], warmup: 300 };

/// How the gateways reach the upstream server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upstream {
    Http,
    Stdio,
}

struct Programs {
    upstream: PathBuf,
    naive: PathBuf,
    countersign: PathBuf,
}

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    let loader = Loader::build(workspace, options.loader.as_deref())?;
    let naive = Loader::own(workspace, "xtask/peers/naive-gateway", "naive-gateway")?;
    let programs = Programs {
        upstream: naive.with_file_name("greeter"),
        naive,
        countersign: workspace.build("countersign", "countersign", Profile::Release)?,
    };
    let mut verdict = Verdict::Good;
    for upstream in [Upstream::Http, Upstream::Stdio] {
        let mut contenders = programs.contenders(upstream);
        if upstream == Upstream::Stdio {
            for (name, pinned, wire) in OTHERS {
                let folder = name.split(' ').next().unwrap_or(name);
                let python = Python::set_up_apart(workspace, folder, pinned)?;
                let question = Question { wire, callers: &[ALONE], warmup: 100 };
                let programs = &programs;
                let prepare = Box::new(move |scene: &Scene<'_>| programs.other(name, &python, scene));
                contenders.push(Contender { name, question, prepare });
            }
        }
        let measured = in_turns(&loader, &contenders, options)?;
        if report(upstream, &measured, options)? == Verdict::Bad {
            verdict = Verdict::Bad;
        }
    }
    let longest = Contender { name: OURS, question: LIST, prepare: Box::new(|scene| programs.many_servers(scene)) };
    let measured = in_turns(&loader, &[longest], options)?;
    if report_list(&measured, options)? == Verdict::Bad {
        verdict = Verdict::Bad;
    }
    if neighbour::run(workspace, &programs, options)? == Verdict::Bad {
        verdict = Verdict::Bad;
    }
    Ok(verdict)
}

fn report_list(measured: &[Measured], options: &Options) -> anyhow::Result<Verdict> {
    let title = "gateway, 50 servers with 20 tools each";
    let mut report = Report::new(title, options, LIST.callers, measured);
    let p50 = report.server(OURS).map_or(f64::NAN, |server| server.p50_ms(ALONE));
    report.targets = vec![Target::new("tools/list, p50, 1 caller, ms", p50, 5.0)];
    if !options.json {
        talk::say(format_args!("\n{title}\n"));
    }
    report.print(options)?;
    Ok(report.verdict())
}

impl Programs {
    fn contenders(&self, upstream: Upstream) -> Vec<Contender<'_>> {
        let mut contenders = vec![
            Contender {
                name: DIRECT,
                question: if upstream == Upstream::Http { QUESTION } else { ON_STDIO },
                prepare: Box::new(move |scene| Ok(self.direct(upstream, scene.port))),
            },
            Contender {
                name: NAIVE,
                question: QUESTION,
                prepare: Box::new(move |scene| self.behind(upstream, |port| Ok(self.naive(port, scene)))),
            },
            Contender {
                name: OURS,
                question: QUESTION,
                prepare: Box::new(move |scene| self.behind(upstream, |port| self.countersign("serve", port, scene))),
            },
        ];
        if upstream == Upstream::Stdio {
            contenders.push(Contender {
                name: OURS_ON_STDIO,
                question: ON_STDIO,
                prepare: Box::new(|scene| self.countersign("mcp", None, scene)),
            });
        }
        contenders
    }

    fn direct(&self, upstream: Upstream, port: u16) -> String {
        match upstream {
            Upstream::Http => format!("{} {port}", quoted(&self.upstream)),
            Upstream::Stdio => quoted(&self.upstream),
        }
    }

    /// A gateway's command line, with the upstream server beside it where that is a server of its own. Both end with the
    /// process group that they are started in.
    fn behind(
        &self,
        upstream: Upstream,
        gateway: impl Fn(Option<u16>) -> anyhow::Result<String>,
    ) -> anyhow::Result<String> {
        if upstream == Upstream::Stdio {
            return gateway(None);
        }
        let port = free_port()?;
        let both = format!("{} & sleep 0.2; exec {}", self.direct(upstream, port), gateway(Some(port))?);
        Ok(format!("sh -c {}", quoted(Path::new(&both))))
    }

    fn naive(&self, upstream: Option<u16>, scene: &Scene<'_>) -> String {
        let upstream = match upstream {
            Some(port) => format!("http http://127.0.0.1:{port}/mcp"),
            None => format!("program {}", quoted(&self.upstream)),
        };
        format!("{} {} {upstream}", quoted(&self.naive), scene.port)
    }

    /// As shipped: strict, with log and audit. The tool is called by its own name.
    fn countersign(&self, wire: &str, upstream: Option<u16>, scene: &Scene<'_>) -> anyhow::Result<String> {
        let server = if let Some(port) = upstream {
            format!("{{url: \"http://127.0.0.1:{port}/mcp\", prefix: none}}")
        } else {
            format!("{{command: {:?}, prefix: none}}", self.upstream_text()?)
        };
        command(&self.countersign, wire, scene, &format!("tools: []\nservers:\n  hello: {server}\n"))
    }

    /// One upstream server that stands for all of them.
    fn many_servers(&self, scene: &Scene<'_>) -> anyhow::Result<String> {
        let port = free_port()?;
        let server = |number| format!("  s{number}: {{url: \"http://127.0.0.1:{port}/mcp\"}}\n");
        let servers: String = (0..SERVERS).map(server).collect();
        let gateway = serve(&self.countersign, scene, &format!("tools: []\nservers:\n{servers}"))?;
        let both = format!("{} {port} {TOOLS} & sleep 0.2; exec {gateway}", quoted(&self.upstream));
        Ok(format!("sh -c {}", quoted(Path::new(&both))))
    }

    fn other(&self, name: &str, python: &Python, scene: &Scene<'_>) -> anyhow::Result<String> {
        let (upstream, port) = (quoted(&self.upstream), scene.port);
        let program = |program: &str| quoted(&python.programs().join(program));
        Ok(match name {
            MCPO => format!("{} --host 127.0.0.1 --port {port} --log-level ERROR -- {upstream}", program("mcpo")),
            MCP_PROXY => format!("{} --port {port} --log-level ERROR {upstream}", program("mcp-proxy")),
            _ => {
                let script = scene.folder.join("proxy.py");
                let text = format!(
                    "from fastmcp.server import create_proxy\n\
                     proxy = create_proxy({{'mcpServers': {{'hello': {{'command': {:?}, 'args': []}}}}}})\n\
                     proxy.run(transport='http', host='127.0.0.1', port={port}, path='/mcp', log_level='error', show_banner=False)\n",
                    self.upstream_text()?
                );
                fs::write(&script, text).context("cannot write a script")?;
                format!("{} {}", program("python"), quoted(&script))
            }
        })
    }

    fn upstream_text(&self) -> anyhow::Result<&str> {
        self.upstream.to_str().context("the upstream server's path is no text")
    }
}

fn report(upstream: Upstream, measured: &[Measured], options: &Options) -> anyhow::Result<Verdict> {
    let title = match upstream {
        Upstream::Http => "gateway, upstream over HTTP",
        Upstream::Stdio => "gateway, upstream on stdio",
    };
    let mut report = Report::new(title, options, QUESTION.callers, measured);
    let of = |name, value: fn(&Server) -> f64| report.server(name).map_or(f64::NAN, value);
    let (alone, many) = (|server: &Server| server.p50_ms(ALONE), |server: &Server| server.rps(MANY));
    let added = |name| of(name, alone) - of(DIRECT, alone);
    let same_wire = if upstream == Upstream::Http { OURS } else { OURS_ON_STDIO };
    let mut targets = vec![
        Target::new("added p50, 1 caller, ms", added(same_wire), 0.15),
        Target::at_least("requests a second × naive gateway, 64 callers", of(OURS, many) / of(NAIVE, many), 0.85),
    ];
    if upstream == Upstream::Stdio {
        targets.extend([
            Target::at_least("added p50 of mcpo × ours", added(MCPO) / added(OURS), 8.0),
            Target::at_least("added p50 of mcp-proxy × ours", added(MCP_PROXY) / added(OURS), 8.0),
            Target::at_least("added p50 of fastmcp's proxy × ours", added(FASTMCP) / added(OURS), 8.0),
        ]);
    }
    report.targets = targets;
    if !options.json {
        talk::say(format_args!("\n{title}\n"));
    }
    report.print(options)?;
    Ok(report.verdict())
}
