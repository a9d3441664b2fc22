//! `countersign serve`: HTTP until somebody asks to stop.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use anyhow::Context as _;
use countersign_transports::{BindError, ExitCode, Guard, Guarded, HttpLimits, HttpServer, Service, Unfinished};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::args::Common;
use crate::config::Config;
use crate::failure::CommandError;
use crate::logging::Stderr;
use crate::output::{self, Format};
use crate::reload::Reloader;
use crate::signals::{ReloadSignal, Stop, StopSignals};
use crate::wiring;

/// Descriptors that are not connections: database, log, runtime, handles on what is ours, and some to spare.
const RESERVED_DESCRIPTORS: u64 = 52;

pub(super) fn run(common: &Common, listen: Option<String>) -> Result<ExitCode, CommandError> {
    let config = wiring::load(common, listen.clone())?;
    wiring::runtime()?.block_on(serve(common, listen, config)).map(|stop| match stop {
        Stop::Terminated => ExitCode::Ok,
        Stop::Interrupted => ExitCode::Interrupted,
    })
}

async fn serve(common: &Common, listen: Option<String>, config: Config) -> Result<Stop, CommandError> {
    let format = wiring::format(common);
    let max_connections = connections_that_fit(config.http.max_connections);
    let limits = HttpLimits { max_connections, grace: config.http.grace };
    // Before the data folder is touched: the likeliest mistake is a second server on the same port.
    let server = HttpServer::bind(config.http.listen, limits).await.map_err(|error| bind_error(&error))?;
    let address = server.address().context("cannot tell the address")?;
    let host = wiring::Host::start(&config, Stderr::Diagnostics, Some(address)).await?;
    let guard = Guard::new(address, &config.http.allowed_hosts, &config.http.allowed_origins);
    let readiness = Arc::new(wiring::StoreReadiness(Arc::clone(&host.store)));
    let max_body = usize::try_from(config.http.max_body).unwrap_or(usize::MAX);
    let service = Service::new(host.mcp(), wiring::auth(&config), guard, readiness, max_body);
    let upstreams = Arc::clone(&host.upstreams);
    let service = service
        .with_ask(Arc::clone(&host.ask))
        .with_approvals(Arc::clone(&host.held_calls))
        .with_servers(move || upstreams.report());
    let service = Arc::new(service);
    let app = Guarded::new(Arc::clone(&service));
    let mut stop_signals = StopSignals::listen().context("cannot listen for signals")?;
    let signal = ReloadSignal::listen().context("cannot listen for signals")?;
    let common = Common { config: config.sources.file.clone(), ..common.clone() };
    let upstreams = Arc::clone(&host.upstreams);
    let (gate, web) = (Arc::clone(&host.gate), Arc::clone(&host.web));
    let reloader = Reloader { common, listen, gate, service, upstreams, web, signal };
    let following = reloader.follow(config.clone());
    announce(format, &config, address, &host)?;
    let (stopping, hurrying) = (CancellationToken::new(), CancellationToken::new());
    let mut served = pin!(server.run(app, stopping.clone().cancelled_owned(), hurrying.clone().cancelled_owned()));
    let stop = tokio::select! {
        stop = stop_signals.next() => stop,
        // Neither ends before it is asked to.
        _ = &mut served => Stop::Terminated,
        () = following => Stop::Terminated,
    };
    tracing::info!(grace = ?config.http.grace, "stopping; a second signal ends what is under way");
    stopping.cancel();
    let Unfinished(unfinished) = tokio::select! {
        unfinished = &mut served => unfinished,
        _ = stop_signals.next() => {
            hurrying.cancel();
            served.await
        }
    };
    if unfinished > 0 {
        tracing::warn!(unfinished, "these connections were cut off at the end of the grace period");
    }
    host.stop().await;
    Ok(stop)
}

fn announce(format: Format, config: &Config, address: SocketAddr, host: &wiring::Host) -> anyhow::Result<()> {
    let tools = host.gate.catalog().contracts(&wiring::owner()).count();
    let version = env!("CARGO_PKG_VERSION");
    let file = config.sources.file.as_ref().map(|file| file.display().to_string());
    let places = [("MCP", "mcp"), ("REST", "v1/tools"), ("OpenAPI", "openapi.json"), ("Metrics", "metrics")]
        .map(|(name, path)| (name, format!("http://{address}/{path}")));
    if format == Format::Json {
        let mut object = json!({"version": version, "config": file, "tools": tools});
        for (name, url) in places {
            object[name.to_lowercase()] = url.into();
        }
        return output::print_json(Format::Json, &object);
    }
    let source = file.map_or_else(|| "embedded defaults".to_owned(), |file| format!("configuration {file}"));
    let tools = if tools == 1 { "1 tool".to_owned() } else { format!("{tools} tools") };
    output::say(&format!("countersign {version}: {tools}, {source}\n"));
    output::print(&places.map(|(name, url)| format!("{name:<9} {url}\n")).concat())
}

/// As many as are configured, within what the system gives us.
fn connections_that_fit(configured: u32) -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            limit = raised;
        }
    }
    let descriptors = limit.current.unwrap_or(u64::MAX);
    let fit = descriptors.saturating_sub(RESERVED_DESCRIPTORS).max(4).min(u64::from(configured));
    if fit < u64::from(configured) {
        tracing::warn!(configured, fit, "fewer connections than configured: the limit on open files is too low");
    }
    usize::try_from(fit).unwrap_or(usize::MAX)
}

fn bind_error(error: &BindError) -> CommandError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "only these three have a remedy of their own")]
    let hint = match error.source.kind() {
        ErrorKind::AddrInUse => "another program listens there: stop it, or choose a port with --listen 127.0.0.1:0",
        ErrorKind::PermissionDenied => "ports below 1024 need privileges: choose a higher one",
        ErrorKind::AddrNotAvailable => "this machine does not have that address: choose one of its own, or 127.0.0.1",
        _ => "choose another address with --listen",
    };
    let message = anyhow::Error::msg(error.source.to_string()).context(error.to_string());
    CommandError::new(ExitCode::Usage, message).hint(hint)
}
