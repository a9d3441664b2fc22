//! `countersign doctor`: tries everything that serving needs, and says what to do about what does not work.

use std::borrow::Cow;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use countersign_contract::visible;
use countersign_store::{Place, Store, Verdict as AuditVerdict, create_data_folder};
use countersign_transports::ExitCode;
use countersign_upstream::{Condition, ServerReport, Verdict};
use serde_json::json;

use crate::args::Common;
use crate::config::{Config, LogLevel};
use crate::failure::{CommandError, CommandResult};
use crate::logging::LogFile;
use crate::output::{self, Format};
use crate::upstreams::Upstreams;
use crate::wiring::{self, Kept};

/// For a server to come; some are fetched first.
const SERVERS_PATIENCE: Duration = Duration::from_mins(1);

/// One thing that was tried.
struct Check {
    name: Cow<'static, str>,
    /// What was found, or what is wrong.
    found: Result<String, String>,
}

pub(super) fn run(common: &Common) -> CommandResult {
    let config = wiring::load(common, None)?;
    let source = config.sources.file.as_ref().map_or("embedded defaults".to_owned(), |file| file.display().to_string());
    let mut checks = vec![
        Check { name: "configuration".into(), found: Ok(source) },
        Check { name: "contracts".into(), found: contracts(&config) },
        Check { name: "root".into(), found: folder(&config.root) },
        Check { name: "address".into(), found: address(&config) },
    ];
    let runtime = wiring::runtime()?;
    checks.extend(runtime.block_on(store(&config)));
    checks.extend(runtime.block_on(services(&config)));
    checks.extend(runtime.block_on(servers(&config)));
    // After the data folder: the log usually goes into it, and must not be what creates it.
    checks.push(Check { name: "log file".into(), found: log_file(&config) });
    report(wiring::format(common), &checks)?;
    let failed = checks.iter().filter(|check| check.found.is_err()).count();
    if failed == 0 {
        return Ok(());
    }
    Err(CommandError::message(ExitCode::Usage, format!("{failed} of {} checks failed", checks.len())))
}

fn report(format: Format, checks: &[Check]) -> anyhow::Result<()> {
    if format == Format::Json {
        let checks = checks.iter().map(|check| {
            let (Ok(found) | Err(found)) = &check.found;
            json!({"check": check.name, "ok": check.found.is_ok(), "found": found})
        });
        return output::print_json(Format::Json, &json!({"checks": checks.collect::<Vec<_>>()}));
    }
    let rows = checks.iter().map(|check| {
        let (state, found) = match &check.found {
            Ok(found) => ("ok", found),
            Err(wrong) => ("FAILED", wrong),
        };
        vec![check.name.to_string(), state.to_owned(), found.clone()]
    });
    output::print(&output::table(&["CHECK", "STATE", "FOUND"], rows))
}

fn contracts(config: &Config) -> Result<String, String> {
    let catalog = wiring::catalog(config, Kept::nowhere()).map_err(|error| error.line())?;
    let unknown = wiring::unknown_names(config, &catalog);
    if !unknown.is_empty() {
        return Err(unknown.join("; "));
    }
    let count = catalog.contracts(&wiring::owner()).count();
    Ok(format!("{count} in force"))
}

fn folder(path: &Path) -> Result<String, String> {
    match std::fs::read_dir(path) {
        Ok(_) => Ok(path.display().to_string()),
        Err(error) => Err(format!("{}: {error}; set `root` to the folder of your project", path.display())),
    }
}

fn log_file(config: &Config) -> Result<String, String> {
    let file = &config.log.file;
    if config.log.level == LogLevel::Off {
        return Ok("switched off".to_owned());
    }
    let log = LogFile::open(file).map_err(|error| wiring::log_error(error).line())?;
    log.close();
    Ok(file.display().to_string())
}

fn address(config: &Config) -> Result<String, String> {
    let address = config.http.listen;
    match TcpListener::bind(address) {
        Ok(_) => Ok(format!("{address} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            Ok(format!("{address} is in use: by a running `countersign serve`, or choose another with --listen"))
        }
        Err(error) => Err(format!("{address}: {error}; set `http.listen` to an address of this machine")),
    }
}

/// Services that are configured; what is embedded needs no trial.
async fn services(config: &Config) -> Vec<Check> {
    let check = |name: &'static str, key: &str, tried: Result<(), String>| {
        let answers = tried.map(|()| "answers".to_owned());
        let found = answers.map_err(|error| format!("{}; is `{key}` right?", visible(&error)));
        Check { name: name.into(), found }
    };
    let embedder = wiring::try_embedder(config).await;
    let model = wiring::try_model(config).await;
    let embedder = embedder.map(|tried| check("embedding service", "context.embedder", tried));
    let model = model.map(|tried| check("language model", "llm", tried));
    embedder.into_iter().chain(model).collect()
}

/// Each is started or connected once.
async fn servers(config: &Config) -> Vec<Check> {
    let upstreams = Upstreams::start(config, Vec::new());
    upstreams.settle(SERVERS_PATIENCE).await;
    let check = |report: ServerReport| {
        let refused = report.judged.iter().filter(|tool| matches!(tool.verdict, Verdict::Refused(_))).count();
        let found = match (report.condition, report.error) {
            (Condition::Ready, None) => {
                let hint = if refused > 0 { "; `countersign check` says why" } else { "" };
                Ok(format!("{} tools, {refused} refused{hint}", report.judged.len()))
            }
            (_, Some(error)) => Err(visible(&error).into_owned()),
            (_, None) => Err(format!("no answer within {} s", SERVERS_PATIENCE.as_secs())),
        };
        Check { name: format!("server {}", report.name).into(), found }
    };
    let checks = upstreams.reports().into_iter().map(check).collect();
    upstreams.close().await;
    checks
}

async fn store(config: &Config) -> Vec<Check> {
    let folder = match create_data_folder(&config.data_dir) {
        Ok(()) => Check { name: "data folder".into(), found: Ok(config.data_dir.display().to_string()) },
        Err(error) => return vec![Check { name: "data folder".into(), found: Err(wiring::store_error(error).line()) }],
    };
    let store = match Store::open(&config.database).await {
        Ok(store) => store,
        Err(error) => {
            return vec![folder, Check { name: "database".into(), found: Err(wiring::store_error(error).line()) }];
        }
    };
    let place = &config.database;
    let writable = store.ping().await.map_err(|error| format!("{place}: {error}"));
    let intact = match store.integrity_check().await {
        Ok(wrong) if wrong.is_empty() => Ok(match place {
            Place::Folder(_) => "SQLite, intact".to_owned(),
            Place::Server(server) => format!("PostgreSQL, {server}"),
        }),
        Ok(wrong) => Err(format!("damaged: {}", wrong.join("; "))),
        Err(error) => Err(error.to_string()),
    };
    let chain = match store.verify().await {
        Ok(AuditVerdict::Verified(extent)) => Ok(format!("{} records verified", extent.records)),
        Ok(AuditVerdict::Broken { .. }) => {
            Err("records were changed; `countersign audit verify` lists them".to_owned())
        }
        Err(error) => Err(error.to_string()),
    };
    let closed = store.close().await.map(|()| "writable".to_owned()).map_err(|error| error.to_string());
    vec![
        folder,
        Check { name: "database".into(), found: writable.and(closed).and(intact) },
        Check { name: "audit log".into(), found: chain },
    ]
}
