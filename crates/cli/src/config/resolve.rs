//! `ConfigFile` → `Config`: what the schema cannot check. A value that cannot hold is reported and replaced by its
//! default, so that the next one is looked at too; a configuration with any mistake is never handed out.

mod access;
mod servers;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use countersign_contract::{Approval, ToolName};
use countersign_store::Place as Database;
use countersign_tools::WebSettings;

use super::file::{ConfigFile, DEFAULT_APPROVAL};
use super::layers::{Aim, Layers, mistake};
use super::mistakes::{ConfigMistake, Place};
use super::net;
use super::sections::{ContextFile, DEFAULT_RATES, EmbedderFile, EndpointFile, HttpFile, LimitsFile, WebFetchFile};
use super::values::{DurationText, MAX_SIZE};
use super::{Config, Context, Contracts, Embedder, Endpoint, Http, Limits, Log, Receipts, Sources};

/// Looking up a place takes a walk through the file; nobody reads more than this.
const MAX_MISTAKES: usize = 256;

/// What a version that lacks something says: silence would let people believe in a protection that is not there.
const UNAVAILABLE: &str = "is not available in this version";

pub(super) fn resolve(layers: &Layers, base: &Path, mistakes: &mut Vec<ConfigMistake>) -> Config {
    let file = ConfigFile::deserialize_checked(&layers.value).unwrap_or_else(|ours| {
        mistakes.push(ours);
        ConfigFile::default()
    });
    let mut checks = Checks { layers, base, mistakes };
    checks.refuse_unavailable(&file);
    let tokens = checks.tokens(&file.auth.tokens);
    let data_dir = checks.path(&["data_dir"], &file.data_dir);
    let log_file = match &file.log.file {
        Some(path) => checks.path(&["log", "file"], path),
        None => data_dir.join("countersign.log"),
    };
    let http = checks.http(&file.http);
    checks.require_auth(http.listen, &tokens);
    let servers = checks.servers(&file);
    Config {
        root: checks.path(&["root"], &file.root),
        database: checks.database(&file.database, &data_dir),
        data_dir,
        tools: checks.access(&["tools"], &file.tools),
        http,
        tokens,
        memory_dir: checks.path(&["memory", "dir"], &file.memory.dir),
        file_io_root: checks.path(&["file_io", "root"], &file.file_io.root),
        web_fetch: checks.web_fetch(&file.web_fetch),
        audited_packages: checks.packages(&file.system_audit.packages),
        // The environment's to say.
        search_path: Vec::new(),
        context: checks.context(file.context),
        llm: file.llm.map(|endpoint| checks.endpoint(&["llm", "url"], endpoint)),
        receipts: Receipts {
            keep: checks.positive(&["receipts", "keep"], &file.receipts.keep),
            content: file.receipts.content,
        },
        limits: checks.limits(&file.limits),
        approval: checks.approval(&file.approval),
        log: Log { file: log_file, level: file.log.level },
        audit: file.audit,
        contracts: Contracts {
            level: file.contracts.level,
            overlays: checks.path(&["contracts", "overlays"], &file.contracts.overlays),
            lockfile: checks.path(&["contracts", "lockfile"], &file.contracts.lockfile),
        },
        servers,
        sources: sources(layers),
    }
}

/// For what only a mistake in this program can cause.
pub(super) fn our_mistake(cause: &dyn Display) -> ConfigMistake {
    let message = format!("the configuration cannot be checked, which is our mistake: {cause}");
    mistake::<&str>(Place::Nowhere {}, &[], message)
}

fn sources(layers: &Layers) -> Sources {
    let mut sources = Sources::default();
    for place in layers.laid_over() {
        match place {
            Place::Variable { variable } => sources.variables.push(variable.clone()),
            Place::Flag { flag } => sources.flags.push(flag),
            Place::File { .. } | Place::Nowhere {} => {}
        }
    }
    sources
}

impl ConfigFile {
    /// The value fits the schema, and the schema comes from these types: a failure is ours. Its text is withheld,
    /// because serde repeats values.
    fn deserialize_checked(value: &serde_json::Value) -> Result<Self, ConfigMistake> {
        serde_json::from_value(value.clone()).map_err(|_| our_mistake(&"schema and types differ"))
    }
}

struct Checks<'a> {
    layers: &'a Layers,
    base: &'a Path,
    mistakes: &'a mut Vec<ConfigMistake>,
}

impl Checks<'_> {
    fn report<S: AsRef<str>>(&mut self, steps: &[S], aim: Aim, message: impl Into<String>) {
        if self.mistakes.len() < MAX_MISTAKES {
            let place = self.layers.place(steps, aim);
            self.mistakes.push(mistake(place, steps, message.into()));
        }
    }

    fn refuse_unavailable(&mut self, file: &ConfigFile) {
        if file.auth.oauth.is_some() {
            self.report(&["auth", "oauth"], Aim::Key, format!("{UNAVAILABLE}; use `auth.tokens`"));
        }
    }

    fn database(&mut self, database: &str, data_dir: &Path) -> Database {
        if database == "sqlite" {
            return Database::from(data_dir);
        }
        if let Ok(server) = database.parse() {
            return Database::Server(server);
        }
        let message = "is not the address of a PostgreSQL database; write `postgres://user:password@host:port/name`";
        self.report(&["database"], Aim::Value, message);
        Database::from(data_dir)
    }

    fn path(&mut self, steps: &[&str], path: &Path) -> PathBuf {
        if path.as_os_str().is_empty() {
            self.report(steps, Aim::Value, "must not be empty");
        } else if path.starts_with("~") {
            self.report(steps, Aim::Value, "`~` is not expanded in a configuration; write `${HOME}/…`");
        }
        // Only `.` goes; `..` stays, because it means something else behind a link.
        self.base.join(path).components().collect()
    }

    fn http(&mut self, http: &HttpFile) -> Http {
        let listen = net::address(&http.listen).unwrap_or_else(|message| {
            self.report(&["http", "listen"], Aim::Value, message);
            SocketAddr::from((Ipv4Addr::LOCALHOST, 8000))
        });
        let max_body = http.max_body.bytes().filter(|bytes| (1..=MAX_SIZE).contains(bytes)).unwrap_or_else(|| {
            self.report(&["http", "max_body"], Aim::Value, "must be more than 0 bytes and at most 1GiB");
            MAX_SIZE
        });
        Http {
            listen,
            allowed_origins: self.each(&["http", "allowed_origins"], &http.allowed_origins, net::origin),
            allowed_hosts: self.each(&["http", "allowed_hosts"], &http.allowed_hosts, net::host),
            max_connections: http.max_connections,
            max_body,
            grace: self.duration(&["http", "grace"], &http.grace),
        }
    }

    fn web_fetch(&mut self, web_fetch: &WebFetchFile) -> WebSettings {
        let resolver = web_fetch.resolver.as_deref().map(net::address);
        if let Some(Err(_)) = resolver {
            let message = "must be the address and port of a name server, such as `9.9.9.9:53`";
            self.report(&["web_fetch", "resolver"], Aim::Value, message);
        }
        let private = ["web_fetch", "allow_private_hosts"];
        WebSettings {
            allowed_domains: self.each(&["web_fetch", "allowed_domains"], &web_fetch.allowed_domains, net::domain),
            allow_private_hosts: self.each(&private, &web_fetch.allow_private_hosts, net::domain),
            resolver: resolver.and_then(Result::ok),
            timeout: self.positive(&["web_fetch", "timeout"], &web_fetch.timeout),
            max_redirects: web_fetch.max_redirects,
        }
    }

    fn packages(&mut self, packages: &[String]) -> Vec<String> {
        self.each(&["system_audit", "packages"], packages, |name| {
            let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
            let ends = name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && name.ends_with(|c: char| c.is_ascii_alphanumeric());
            let right = ends && name.bytes().all(inner);
            if right { Ok(name.to_owned()) } else { Err("must be the name of a Python package, such as `fastapi`") }
        })
    }

    fn context(&mut self, context: ContextFile) -> Context {
        let embedder = match context.embedder {
            EmbedderFile::Word(_) => Embedder::Embedded,
            EmbedderFile::Endpoint(endpoint) => {
                Embedder::Endpoint(self.endpoint(&["context", "embedder", "url"], endpoint))
            }
        };
        Context { embedder, exclude: context.exclude }
    }

    fn endpoint(&mut self, steps: &[&str], endpoint: EndpointFile) -> Endpoint {
        let EndpointFile { url, model, api_key } = endpoint;
        if let Err(message) = net::endpoint(&url) {
            self.report(steps, Aim::Value, message);
        }
        Endpoint { url, model, api_key }
    }

    /// What is written is laid over the defaults: naming one tool must not lift the limits of the others.
    fn limits(&mut self, limits: &LimitsFile) -> Limits {
        let mut rates: BTreeMap<&str, u32> = BTreeMap::from(DEFAULT_RATES);
        rates.extend(limits.rate_per_minute.iter().map(|(tool, rate)| (tool.as_str(), rate.0)));
        let rate_per_minute = rates.into_iter().filter_map(|(tool, rate)| {
            Some((self.tool_name(&["limits", "rate_per_minute", tool], Aim::Key, tool)?, rate))
        });
        let rate_per_minute = rate_per_minute.collect();
        let mut default_timeout = Duration::from_secs(30);
        let mut timeout = BTreeMap::new();
        for (tool, text) in &limits.timeout {
            let steps = ["limits", "timeout", tool];
            let duration = self.positive(&steps, text);
            if tool == "default" {
                default_timeout = duration;
            } else if let Some(tool) = self.tool_name(&steps, Aim::Key, tool) {
                timeout.insert(tool, duration);
            }
        }
        Limits { rate_per_minute, default_timeout, timeout }
    }

    fn approval(&mut self, written: &BTreeMap<String, Approval>) -> BTreeMap<ToolName, Approval> {
        let mut approval: BTreeMap<&str, Approval> = BTreeMap::from(DEFAULT_APPROVAL);
        approval.extend(written.iter().map(|(tool, approval)| (tool.as_str(), *approval)));
        let entries = approval.into_iter().filter_map(|(tool, approval)| {
            let steps = ["approval", tool];
            if tool == "write_memory_entry" && approval == Approval::Never {
                self.report(&steps, Aim::Value, "a memory entry always needs a person: `client` or `out_of_band`");
            }
            Some((self.tool_name(&steps, Aim::Key, tool)?, approval))
        });
        entries.collect()
    }

    /// Every item of a list in its normal form; those that have none are reported.
    fn each<T>(&mut self, list: &[&str], items: &[String], normalise: fn(&str) -> Result<T, &'static str>) -> Vec<T> {
        let mut normal = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match normalise(item) {
                Ok(item) => normal.push(item),
                Err(message) => self.report(&item_steps(list, index), Aim::Value, message),
            }
        }
        normal
    }

    fn duration(&mut self, steps: &[&str], text: &DurationText) -> Duration {
        text.duration().unwrap_or_else(|| {
            self.report(steps, Aim::Value, "is too long for a duration");
            Duration::ZERO
        })
    }

    fn positive(&mut self, steps: &[&str], text: &DurationText) -> Duration {
        let duration = self.duration(steps, text);
        if text.duration() == Some(Duration::ZERO) {
            self.report(steps, Aim::Value, "must be more than zero");
        }
        duration
    }
}

/// A list's steps and one item's number.
fn item_steps(list: &[&str], index: usize) -> Vec<String> {
    list.iter().map(|step| (*step).to_owned()).chain([index.to_string()]).collect()
}
