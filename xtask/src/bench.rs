//! `cargo xtask bench`: servers measured in turns in one run, so that a busy machine is busy for all of them.
//!
//! What is compared is the ratio of medians over the rounds; CPU per call is preferred to calls a second.

mod context;
mod fetch;
mod files;
mod gateway;
mod grep;
mod hello;
mod load;
mod mcp;
mod report;
mod session;
mod tasks;
mod tree;

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use self::load::{Loader, Sample};
use crate::workspace::Workspace;
use crate::{Verdict, talk};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Subject {
    /// One small call over REST, against bare axum
    Hello(Options),
    /// The same call over MCP, on stdio and on stateless HTTP, against the bare SDK
    Mcp(Options),
    /// The same call of an upstream server's tool, against calling it directly and through other gateways
    Gateway(Options),
    /// A small and a large file read over MCP on stdio, against the reference filesystem server
    Files(Options),
    /// A page fetched over MCP on stdio, against the reference fetch server
    Fetch(Options),
    /// A search in a tree of 52,000 files over MCP on stdio, against ripgrep
    Grep(Options),
    /// The context index: the model against others that run it, questions to 10,000 and 100,000 chunks, memory
    Context(Options),
    /// Tasks added and listed over REST, against the disk, SQLite alone and a short list
    Tasks(Options),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// How often each server has its turn
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How long each level of each turn is measured; CPU time comes in ticks of 10 ms, so not under 2
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..))]
    seconds: u32,
    /// The load generator's source folder [default: ../shared/bench/mcpload beside the checkout]
    #[arg(long, value_name = "DIR")]
    loader: Option<PathBuf>,
}

pub(crate) fn run(workspace: &Workspace, subject: &Subject) -> anyhow::Result<Verdict> {
    match subject {
        Subject::Hello(options) => hello::run(workspace, options),
        Subject::Mcp(options) => mcp::run(workspace, options),
        Subject::Gateway(options) => gateway::run(workspace, options),
        Subject::Files(options) => files::run(workspace, options),
        Subject::Fetch(options) => fetch::run(workspace, options),
        Subject::Grep(options) => grep::run(workspace, options),
        Subject::Context(options) => context::run(workspace, options),
        Subject::Tasks(options) => tasks::run(workspace, options),
    }
}

/// One server in the comparison.
struct Contender<'a> {
    name: &'static str,
    question: Question<'a>,
    /// Writes what it needs into the scene's folder and gives the command line that serves on the scene's port.
    prepare: Prepare<'a>,
}

type Prepare<'a> = Box<dyn Fn(&Scene<'_>) -> anyhow::Result<String> + 'a>;

/// Where one turn takes place; gone after it, so that each start finds an empty data folder.
struct Scene<'a> {
    folder: &'a Path,
    port: u16,
}

/// What is asked of a server.
#[derive(Clone, Copy)]
struct Question<'a> {
    wire: Wire<'a>,
    callers: &'static [u32],
    /// Requests before each level that do not count.
    warmup: u32,
}

/// How it is asked. `@N@` becomes a number that the answer must repeat.
#[derive(Clone, Copy)]
enum Wire<'a> {
    Rest {
        path: &'static str,
        body: &'a str,
        /// Every answer must contain it, too.
        expected: Option<&'static str>,
    },
    /// A call of the tool `hello`, each request on its own.
    McpOverHttp,
    /// The list of tools, which must contain this name.
    ListOverHttp {
        expected: &'static str,
    },
    /// After the handshake of the older protocol, and in the session that came of it.
    OldMcpOverHttp,
    McpOverStdio,
    /// A call of another tool, after the handshake of the older protocol: not every server knows the newer one.
    ToolOverStdio {
        tool: &'static str,
        arguments: &'a str,
        /// Every answer must contain it, soon: the load generator looks for it byte by byte.
        expected: &'static str,
    },
}

/// All samples of one contender, from all rounds and levels.
struct Measured {
    name: &'static str,
    samples: Vec<Sample>,
}

/// Every contender once in each round.
fn in_turns(loader: &Loader, contenders: &[Contender<'_>], options: &Options) -> anyhow::Result<Vec<Measured>> {
    let mut measured: Vec<Measured> =
        contenders.iter().map(|contender| Measured { name: contender.name, samples: Vec::new() }).collect();
    for round in 1..=options.rounds {
        for (contender, measured) in contenders.iter().zip(&mut measured) {
            talk::note(format_args!("round {round} of {}: {}", options.rounds, contender.name));
            let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
            let scene = Scene { folder: folder.path(), port: free_port()? };
            let command = (contender.prepare)(&scene)?;
            measured.samples.extend(loader.measure(&scene, &command, &contender.question, options.seconds)?);
        }
    }
    Ok(measured)
}

/// Another program could take it before our server does; then the turn fails and says so.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port")?;
    Ok(listener.local_addr().context("no free port")?.port())
}
