//! The configuration: what was written in the file, the environment and the flags ([`file`], read once, here) becomes
//! what holds ([`Config`]). All mistakes come back together, each with its place; nothing is ignored silently.

mod check;
mod environment;
mod file;
mod layers;
mod locate;
mod mistakes;
mod net;
mod pointer;
mod reload;
mod resolve;
mod sections;
mod shape;
mod show;
mod typing;
mod values;
mod variables;
mod yaml;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_contract::{Access, Approval, Schema, ToolName};
use countersign_store::Place;
use countersign_tools::WebSettings;
use countersign_upstream::ServerSpec;

pub(crate) use self::environment::Environment;
pub(crate) use self::file::config_schema;
pub(crate) use self::locate::NAMES as CONFIG_NAMES;
pub(crate) use self::mistakes::ConfigMistakes;
pub(crate) use self::reload::changed_keys;
pub(crate) use self::sections::{Level, LogLevel, ReceiptContent, Switch};
pub(crate) use self::values::Secret;

use self::layers::Layers;
use self::shape::Shape;

/// Tools that the defaults speak of, whether or not they are selected.
pub(crate) const DEFAULT_NAMES: [&str; 4] = ["context_search", "grep_codebase", "read_file", "write_memory_entry"];

const HINT: &str =
    "`countersign config schema` prints every key with its meaning; `countersign config check` tries again";

/// What the command line sets; it wins over file and environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    /// `--config`: the file to read.
    pub(crate) config: Option<PathBuf>,
    /// `--listen`: `http.listen`.
    pub(crate) listen: Option<String>,
    /// `--log-level`: `log.level`.
    pub(crate) log_level: Option<String>,
}

/// What holds. Every path is joined to the folder of the file (without one, the current folder).
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) root: PathBuf,
    pub(crate) data_dir: PathBuf,
    /// In `data_dir`, or on a server.
    pub(crate) database: Place,
    /// Names are well-formed; whether such tools exist is for the catalog to say.
    pub(crate) tools: Access,
    pub(crate) http: Http,
    /// Bearer tokens; empty means that callers are not told apart, which only loopback addresses allow.
    pub(crate) tokens: Vec<Token>,
    pub(crate) memory_dir: PathBuf,
    pub(crate) file_io_root: PathBuf,
    pub(crate) web_fetch: WebSettings,
    /// Python packages that `adam-sys-audit` reports.
    pub(crate) audited_packages: Vec<String>,
    /// Where it looks for programs: the folders of `PATH`, and then the usual ones.
    pub(crate) search_path: Vec<PathBuf>,
    pub(crate) context: Context,
    /// What plans and writes summaries, where it is not the embedded ones.
    pub(crate) llm: Option<Endpoint>,
    pub(crate) receipts: Receipts,
    pub(crate) limits: Limits,
    pub(crate) approval: BTreeMap<ToolName, Approval>,
    pub(crate) log: Log,
    pub(crate) audit: Switch,
    pub(crate) contracts: Contracts,
    /// Upstream servers, in the order of their names.
    pub(crate) servers: Vec<ServerSpec>,
    pub(crate) sources: Sources,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Http {
    pub(crate) listen: SocketAddr,
    /// Lower case, without a default port: as browsers send them.
    pub(crate) allowed_origins: Vec<String>,
    /// Lower case.
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) max_connections: u32,
    pub(crate) max_body: u64,
    pub(crate) grace: Duration,
}

/// A caller and the digest of the token it shows; the token itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) name: String,
    /// SHA-256 of the token's bytes.
    pub(crate) hash: [u8; 32],
    pub(crate) tools: Access,
    /// Whether this caller may decide approvals.
    pub(crate) approver: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) embedder: Embedder,
    pub(crate) exclude: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Embedder {
    Embedded,
    Endpoint(Endpoint),
}

/// An OpenAI-compatible service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) model: String,
    pub(crate) api_key: Option<Secret>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Receipts {
    pub(crate) keep: Duration,
    pub(crate) content: ReceiptContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limits {
    /// For one caller; 0 is no limit, whatever the tool's contract says.
    pub(crate) rate_per_minute: BTreeMap<ToolName, u32>,
    pub(crate) default_timeout: Duration,
    pub(crate) timeout: BTreeMap<ToolName, Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) file: PathBuf,
    pub(crate) level: LogLevel,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Contracts {
    pub(crate) level: Level,
    pub(crate) overlays: PathBuf,
    pub(crate) lockfile: PathBuf,
}

/// Where the configuration came from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sources {
    pub(crate) file: Option<PathBuf>,
    /// The environment variables that set something.
    pub(crate) variables: Vec<String>,
    /// The flags that set something.
    pub(crate) flags: Vec<&'static str>,
}

impl Config {
    /// Reads the file (flag, variable, or `countersign.yaml` or `adam.yaml` in `cwd`), then lays the environment and the
    /// flags over it.
    pub(crate) fn load(overrides: &Overrides, environment: &Environment, cwd: &Path) -> Result<Self, ConfigMistakes> {
        let found = locate::locate(overrides, environment, cwd)?;
        let mut mistakes = Vec::new();
        let raw = config_schema();
        let text = found.as_ref().map(|found| (found.shown.clone(), found.text.as_str()));
        let mut layers = Layers::read(text, environment, overrides, Shape::of(&raw), &mut mistakes);
        match Schema::compile(raw) {
            Ok(schema) => check::check(&schema, &mut layers, &mut mistakes),
            Err(rejected) => mistakes.push(resolve::our_mistake(&rejected)),
        }
        let file = found.map(|found| found.path);
        let base = file.as_deref().and_then(Path::parent).unwrap_or(cwd);
        let config = resolve::resolve(&layers, base, &mut mistakes);
        match (config, ConfigMistakes::of(mistakes, HINT)) {
            (_, Some(mistakes)) => Err(mistakes),
            (config, None) => {
                let search_path = environment.search_path();
                Ok(Self { sources: Sources { file, ..config.sources }, search_path, ..config })
            }
        }
    }
}

#[cfg(test)]
mod tests;
