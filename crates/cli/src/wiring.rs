//! Where the crates meet: configuration in, a running host out.

mod asking;
mod context;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use countersign_ask::Ask;
use countersign_contract::{Access, AnyTool, BoxFuture, Caller, HeldCalls, Together, ToolName, closest};
use countersign_host::{Catalog, ContractDocuments, Gate, Metrics, People, Policy, Recorder, Signpost};
use countersign_index::Service;
use countersign_repo::{AppendOnly, Places, Root, Sandbox};
use countersign_store::{Accesses, ContextRows, Store, StoreError, Tasks, create_data_folder};
use countersign_tools::{Materials, SystemAudit, Web};
use countersign_transports::{Auth, ExitCode, Mcp, Readiness, SealKey, Token, TokenHash};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::args::Common;
use crate::config::{CONFIG_NAMES, Config, DEFAULT_NAMES, Endpoint, Environment, Overrides, Switch};
use crate::failure::CommandError;
use crate::logging::{self, LogFile, LogFileError, Stderr};
use crate::output::Format;
use crate::upstreams::Upstreams;

pub(crate) use self::asking::try_model;
pub(crate) use self::context::{IndexPlace, try_embedder};

/// Validators recurse with schema and value; both are bounded, and the bounds fit into this several times.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// `SIGXFSZ` has this number on Linux and macOS.
const FILE_SIZE_EXCEEDED: i32 = 25;

/// The configuration that holds for this command.
pub(crate) fn load(common: &Common, listen: Option<String>) -> Result<Config, CommandError> {
    let folder = std::env::current_dir().context("cannot tell the current folder")?;
    let overrides = Overrides { config: common.config.clone(), listen, log_level: common.log_level.clone() };
    Config::load(&overrides, &Environment::of_process(), &folder).map_err(|mistakes| {
        let count = mistakes.count();
        let found = if count == 1 { "a mistake".to_owned() } else { format!("{count} mistakes") };
        CommandError::message(ExitCode::Usage, format!("{found} in the configuration\n{mistakes}"))
            .hint(mistakes.hint())
            .details(json!(mistakes))
    })
}

pub(crate) fn format(common: &Common) -> Format {
    if common.json { Format::Json } else { Format::Text }
}

/// Whoever runs a command is the user who owns the data folder, and may use every tool.
pub(crate) fn owner() -> Arc<Caller> {
    Arc::new(Caller { name: "local".into(), access: Access::All, approver: false })
}

/// What tools keep in the database.
#[derive(Debug)]
pub(crate) struct Kept {
    tasks: Tasks,
    accesses: Accesses,
    context: ContextRows,
}

impl Kept {
    /// For contracts: those can be had without a database.
    pub(crate) fn nowhere() -> Self {
        Self { tasks: Tasks::nowhere(), accesses: Accesses::nowhere(), context: ContextRows::nowhere() }
    }

    fn in_store(store: &Store, config: &Config) -> Self {
        let (accesses, context) = (store.accesses(scope(config)), store.context(scope(config)));
        Self { tasks: store.tasks(), accesses, context }
    }
}

/// Our own tools that are selected.
pub(crate) fn catalog(config: &Config, kept: Kept) -> Result<Catalog, CommandError> {
    Ok(Catalog::new(own_tools(config, kept)?).context("two built-in tools have the same name")?)
}

/// A name that no tool has is a mistake in the configuration.
pub(crate) fn own_tools(config: &Config, kept: Kept) -> Result<Vec<Arc<dyn AnyTool>>, CommandError> {
    selected_tools(config, &materials(config, kept)?)
}

fn selected_tools(config: &Config, materials: &Materials) -> Result<Vec<Arc<dyn AnyTool>>, CommandError> {
    let mut tools = countersign_tools::all(materials).context("a built-in contract is broken")?;
    if let Access::Only(selected) = &config.tools {
        let known: BTreeSet<_> = tools.iter().map(|tool| tool.contract().name.clone()).collect();
        let unknown: Vec<_> = selected.difference(&known).map(|name| format!("`{name}`")).collect();
        if !unknown.is_empty() {
            let known: Vec<_> = known.iter().map(ToString::to_string).collect();
            let message = format!("`tools` names what does not exist: {}", unknown.join(", "));
            let hint = format!("the tools are: {}", known.join(", "));
            return Err(CommandError::message(ExitCode::Usage, message).hint(hint));
        }
        tools.retain(|tool| selected.contains(&tool.contract().name));
    }
    Ok(tools)
}

/// What tools work on; our own files are nobody's material.
fn materials(config: &Config, kept: Kept) -> Result<Materials, CommandError> {
    let ours = ours(config);
    let root = Root::open(&config.root, &ours).map_err(|error| {
        let message = format!("cannot open the repository `{}`: {error}", config.root.display());
        CommandError::message(ExitCode::Usage, message).hint("set `root` to a folder that you can read")
    })?;
    let memory = AppendOnly::new(&config.root, &config.memory_dir, &config.data_dir);
    let sandbox = Arc::new(Sandbox::new(places(config), &root));
    let system_audit = system_audit(config);
    let web = Arc::new(Web::new(config.web_fetch.clone()));
    let Kept { tasks, accesses, context } = kept;
    let (root, memory) = (Arc::new(root), Arc::new(memory));
    let index = context::index(config, &root, &ours, context, accesses.clone())?;
    Ok(Materials { root, memory, tasks, accesses, sandbox, system_audit, web, index })
}

/// What no tool reads or writes.
fn ours(config: &Config) -> Vec<PathBuf> {
    let mut ours = vec![config.data_dir.clone(), config.log.file.clone()];
    ours.extend(config.sources.file.clone());
    ours
}

/// Where `file-io` works. What decides about tools, and memory, which takes a person's approval, is not its to change.
fn places(config: &Config) -> Places {
    let mut guarded =
        vec![config.memory_dir.clone(), config.contracts.lockfile.clone(), config.contracts.overlays.clone()];
    // Another configuration beside ours, or where there is none, would hold from the next start on.
    let beside = config.sources.file.as_deref().and_then(Path::parent).map(Path::to_owned);
    let folders = beside.into_iter().chain(std::env::current_dir());
    guarded.extend(folders.flat_map(|folder| CONFIG_NAMES.map(|name| folder.join(name))));
    Places { root: config.file_io_root.clone(), guarded, notes: config.data_dir.join("writing") }
}

/// No program is run from where `file-io` writes.
fn system_audit(config: &Config) -> SystemAudit {
    let real = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let writable = real(&config.file_io_root);
    let search_path = config.search_path.iter().filter(|folder| !real(folder).starts_with(&writable)).cloned();
    SystemAudit { packages: config.audited_packages.clone(), search_path: search_path.collect() }
}

/// Temporary files of processes that were killed; the living ones keep theirs.
fn clear_leftovers(config: &Config) {
    match places(config).clear_leftovers() {
        Ok(0) => {}
        Ok(files) => tracing::info!(files, "removed what a killed process had not finished writing"),
        Err(error) => tracing::warn!(%error, "cannot look for what killed processes left"),
    }
}

pub(crate) fn unknown_tool(name: &str, catalog: &Catalog) -> CommandError {
    let caller = owner();
    let error = CommandError::message(ExitCode::Usage, format!("there is no tool `{name}`"));
    match closest(name, catalog.contracts(&caller).map(|contract| contract.name.as_str())) {
        Some(close) => error.hint(format!("did you mean `{close}`?")),
        None => error.hint("`countersign tools` lists them"),
    }
}

/// Names in the configuration that no tool has: of upstream tools to come, or slips of the hand.
pub(crate) fn unknown_names(config: &Config, catalog: &Catalog) -> Vec<String> {
    let caller = owner();
    let known: Vec<_> = catalog.contracts(&caller).map(|contract| contract.name.as_str()).collect();
    let listed = config.tokens.iter().filter_map(|token| match &token.tools {
        Access::All => None,
        Access::Only(tools) => Some(tools),
    });
    let named = [
        ("limits.rate_per_minute", config.limits.rate_per_minute.keys().collect::<Vec<_>>()),
        ("limits.timeout", config.limits.timeout.keys().collect()),
        ("approval", config.approval.keys().collect()),
        ("auth.tokens", listed.flatten().collect()),
    ];
    let mut unknown = Vec::new();
    for (key, names) in named {
        for name in names.into_iter().map(ToolName::as_str) {
            let upstream = config.servers.iter().any(|server| server.may_have(name));
            if !upstream && !known.contains(&name) && !DEFAULT_NAMES.contains(&name) {
                let meant = closest(name, known.iter().copied()).map(|close| format!("; did you mean `{close}`?"));
                unknown.push(format!("`{key}` names `{name}`, which is not a tool here{}", meant.unwrap_or_default()));
            }
        }
    }
    unknown
}

pub(crate) fn policy(config: &Config) -> Policy {
    let mut timeouts = config.limits.timeout.clone();
    // Its own time limit comes first, unless somebody says otherwise.
    if let Ok(name) = "web-fetch".parse::<ToolName>() {
        timeouts.entry(name).or_insert(config.web_fetch.timeout.saturating_add(Duration::from_secs(1)));
    }
    Policy {
        rate_per_minute: config.limits.rate_per_minute.clone(),
        timeout: config.limits.default_timeout,
        timeouts,
        approval: config.approval.clone(),
    }
}

pub(crate) fn auth(config: &Config) -> Auth {
    let tokens = config.tokens.iter().map(|token| Token {
        hash: TokenHash::from_bytes(token.hash),
        caller: Arc::new(Caller {
            name: token.name.as_str().into(),
            access: token.tools.clone(),
            approver: token.approver,
        }),
    });
    Auth::new(tokens.collect())
}

pub(crate) fn runtime() -> Result<Running, CommandError> {
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.enable_all().thread_stack_size(STACK_BYTES).build().context("cannot start the runtime")?;
    Ok(Running(Some(runtime)))
}

/// A runtime whose end does not wait for threads: one may read a stdin that nobody will answer, or work on for a call that
/// was answered long ago.
pub(crate) struct Running(Option<Runtime>);

impl Running {
    pub(crate) fn block_on<F: Future>(&self, future: F) -> F::Output {
        #[expect(clippy::expect_used, reason = "it is there until it is dropped")]
        self.0.as_ref().expect("a runtime").block_on(future)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Everything that serves calls, whatever wire they come from.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) gate: Arc<Gate>,
    pub(crate) ask: Arc<Ask>,
    pub(crate) store: Arc<Store>,
    pub(crate) held_calls: Arc<dyn HeldCalls>,
    pub(crate) upstreams: Arc<Upstreams>,
    /// What `web-fetch` may fetch.
    pub(crate) web: Arc<Web>,
    /// What follows the upstream servers; ended by `stopping`.
    following: TaskTracker,
    stopping: CancellationToken,
    key: SealKey,
    log: Option<Arc<LogFile>>,
}

impl Host {
    /// `address` is where it is served over HTTP, if it is.
    pub(crate) async fn start(
        config: &Config,
        stderr: Stderr,
        address: Option<SocketAddr>,
    ) -> Result<Self, CommandError> {
        // A limit on the size of files is then a failed write, not the end of the process.
        drop(signal(SignalKind::from_raw(FILE_SIZE_EXCEEDED)).context("cannot listen for signals")?);
        // The data folder first: it sets up its own protection before the log goes into it.
        create_data_folder(&config.data_dir).map_err(store_error)?;
        let store = Arc::new(Store::open(&config.database).await.map_err(store_error)?);
        let materials = materials(config, Kept::in_store(&store, config))?;
        let own = selected_tools(config, &materials)?;
        let log = logging::start(&config.log.file, logging::filter(config.log.level), stderr).map_err(log_error)?;
        clear_leftovers(config);
        let upstreams = Arc::new(Upstreams::start(config, own));
        let catalog = upstreams.catalog();
        for unknown in unknown_names(config, &catalog) {
            tracing::warn!("{unknown}");
        }
        let recorder = Recorder {
            metrics: Arc::new(Metrics::new()),
            call_log: log.clone().map(|log| log as _),
            audit: match config.audit {
                Switch::On => Some(Arc::new(store.audit_log())),
                Switch::Off => None,
            },
            tasks: TaskTracker::new(),
        };
        let held_calls = Arc::new(store.held_calls(scope(config), config.audit == Switch::On));
        let people = People::new(Arc::clone(&held_calls) as _, signpost(config, address));
        let gate = Arc::new(Gate::new(catalog, policy(config), Arc::new(people), recorder));
        let ask = Arc::new(asking::ask(config, &gate, &store)?);
        let key = store.shared_key("request_state").await.map_err(store_error)?;
        let key = SealKey::from_bytes(key.try_into().map_err(|_| anyhow::anyhow!("the shared key is damaged"))?);
        let (following, stopping) = (TaskTracker::new(), CancellationToken::new());
        let (followed, changing) = (Arc::clone(&upstreams), Arc::clone(&gate));
        let stop = stopping.clone();
        following.spawn(async move {
            tokio::select! {
                () = followed.follow(&changing) => {}
                () = stop.cancelled() => {}
            }
        });
        if gate.catalog().find("context_search", &owner()).is_some() {
            following.spawn(Arc::clone(&materials.index).run(stopping.clone()));
        }
        Ok(Self { gate, ask, store, held_calls, upstreams, web: materials.web, following, stopping, key, log })
    }

    /// Lets upstream servers come, but not for longer than this.
    pub(crate) async fn await_upstreams(&self, within: Duration) {
        self.upstreams.settle(within).await;
        self.gate.replace_catalog(self.upstreams.catalog());
    }

    /// The tools, their contracts as resources, and what upstream servers offer beside tools.
    pub(crate) fn mcp(&self) -> Mcp {
        let contracts = Arc::new(ContractDocuments(Arc::clone(&self.gate)));
        let provider = Arc::new(Together(vec![contracts, self.upstreams.provider()]));
        Mcp::new(Arc::clone(&self.gate), provider, &self.key)
    }

    /// Writes what is waiting; nothing may call any more.
    pub(crate) async fn stop(self) {
        self.stopping.cancel();
        self.following.close();
        self.following.wait().await;
        self.upstreams.close().await;
        let tasks = &self.gate.recorder().tasks;
        tasks.close();
        tasks.wait().await;
        if let Err(error) = self.store.close().await {
            tracing::error!(%error, "audit entries were lost at the end");
        }
        if let Some(log) = self.log {
            log.close();
        }
    }
}

/// How a person finds this installation: with the configuration that it runs on.
fn signpost(config: &Config, address: Option<SocketAddr>) -> Signpost {
    let address = address.unwrap_or(config.http.listen);
    let host = match config.http.allowed_hosts.first() {
        Some(host) if address.ip().is_unspecified() => format!("{host}:{}", address.port()),
        None if address.ip().is_unspecified() => format!("localhost:{}", address.port()),
        _ => address.to_string(),
    };
    let file = config.sources.file.as_ref().map(|file| file.to_string_lossy());
    let quoted = file.map(|file| format!(" --config '{}'", file.replace('\'', r"'\''")));
    Signpost { scope: scope(config), options: quoted.unwrap_or_default(), url: format!("http://{host}") }
}

/// How a configured service is reached.
fn service(endpoint: &Endpoint) -> anyhow::Result<Service> {
    let Endpoint { url, model, api_key } = endpoint;
    let key = api_key.as_ref().map(|key| key.expose().into());
    Ok(Service { url: url.parse()?, model: model.clone(), key })
}

/// The repository, as the database names it.
pub(crate) fn scope(config: &Config) -> Arc<str> {
    let root = config.root.canonicalize().unwrap_or_else(|_| config.root.clone());
    root.to_string_lossy().into()
}

/// Ready as long as the store can be written.
#[derive(Debug)]
pub(crate) struct StoreReadiness(pub(crate) Arc<Store>);

impl Readiness for StoreReadiness {
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { self.0.ping().await.map_err(|error| error.to_string()) })
    }
}

pub(crate) fn store_error(error: StoreError) -> CommandError {
    let (exit, hint) = match &error {
        StoreError::Unreachable { .. } => (
            ExitCode::Unreachable,
            "is the server running there, and are user, password and name of the database in `database` right?",
        ),
        StoreError::Folder { .. } => {
            (ExitCode::Usage, "make the folder writable for you, or set `data_dir` to another one")
        }
        StoreError::NotThere { .. } => {
            (ExitCode::Usage, "nothing was recorded there yet; are `data_dir` and `database` the right ones?")
        }
        StoreError::Locked { .. } => (ExitCode::Usage, "wait for the other process, or end it if it hangs"),
        StoreError::Unsuitable { .. } => (ExitCode::Usage, "set `database` to another one, or to `sqlite`"),
        StoreError::NewerSchema { .. } => {
            (ExitCode::Usage, "run that newer version of Countersign, or set `data_dir` or `database` to another place")
        }
        StoreError::Corrupt { .. } => {
            (ExitCode::Usage, "move the database aside to start anew; `countersign doctor` looks closer")
        }
        StoreError::Open { .. }
        | StoreError::Migrate { .. }
        | StoreError::Read(_)
        | StoreError::Unwritable
        | StoreError::UnreadableRecord { .. }
        | StoreError::Export(_)
        | StoreError::Unflushed { .. } => (ExitCode::Usage, "`countersign doctor` looks closer"),
    };
    CommandError::new(exit, error).hint(hint)
}

pub(crate) fn log_error(error: LogFileError) -> CommandError {
    CommandError::new(ExitCode::Usage, error).hint("set `log.file` to a place you can write, or `log.level: off`")
}
