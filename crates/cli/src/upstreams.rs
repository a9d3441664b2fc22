//! Upstream servers and our own tools in one catalog, which follows the servers as they come, change and go.

mod absent;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use countersign_contract::{AnyTool, Provider};
use countersign_host::{Catalog, Change, Gate, ServerFigures};
use countersign_upstream::{Condition, Era, Event, Fleet, Judged, Level as Strictness, Reason, ServerReport, Verdict};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use crate::config::{Config, Level};
use crate::failure::CommandError;
use crate::wiring;

/// When the tools of all servers are known, whoever hears of the rest later waits so long for it. MCP's older era says once,
/// at the beginning, what there is; a list that never comes should not keep a call waiting.
const REST_PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Upstreams {
    own: OwnTools,
    fleet: Arc<Fleet>,
    /// Somebody hears of what changes.
    followed: AtomicBool,
}

/// Our own, without their insides in a log.
struct OwnTools(Vec<Arc<dyn AnyTool>>);

impl Upstreams {
    pub(crate) fn start(config: &Config, own: Vec<Arc<dyn AnyTool>>) -> Self {
        let level = strictness(config.contracts.level);
        if level != Strictness::Strict && !config.servers.is_empty() {
            tracing::warn!(?level, "upstream tools are not held to the full contract");
        }
        let fleet = Arc::new(Fleet::start(config.servers.clone(), level));
        Self { own: OwnTools(own), fleet, followed: AtomicBool::new(false) }
    }

    /// Ours first; of two that have the same name, the first.
    pub(crate) fn catalog(&self) -> Catalog {
        let mut names = HashSet::new();
        let mut tools = self.own.0.clone();
        tools.extend(self.fleet.tools());
        tools.retain(|tool| {
            let name = &tool.contract().name;
            let first = names.insert(name.clone());
            if !first {
                tracing::warn!(tool = %name, "two tools have this name; the second is left out");
            }
            first
        });
        Catalog::new(tools).unwrap_or_default()
    }

    /// Keeps the gate's catalog right, and tells its clients. Never ends by itself.
    pub(crate) async fn follow(&self, gate: &Gate) {
        let mut events = self.fleet.events();
        self.followed.store(true, Ordering::Relaxed);
        // A server that was ready before anybody listened is announced by nothing else.
        let (now, before) = (self.catalog(), gate.catalog());
        if now.all().map(|contract| contract.digest).ne(before.all().map(|contract| contract.digest)) {
            gate.replace_catalog(now);
        }
        self.show_figures(gate);
        loop {
            match events.recv().await {
                Ok(Event::Condition) => self.show_figures(gate),
                Ok(Event::Tools) => {
                    gate.replace_catalog(self.catalog());
                    self.show_figures(gate);
                }
                Ok(Event::Prompts) => gate.changes().announce(Change::Prompts),
                Ok(Event::Resources) => gate.changes().announce(Change::Resources),
                Ok(Event::Resource(uri)) => gate.changes().announce(Change::Resource(uri)),
                Err(RecvError::Lagged(_)) => {
                    // Whatever waits was before what is looked at now.
                    events = events.resubscribe();
                    self.announce_all(gate);
                }
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Nobody knows what changed.
    fn announce_all(&self, gate: &Gate) {
        // Tools and resources are announced with it.
        gate.replace_catalog(self.catalog());
        gate.changes().announce(Change::Prompts);
        for uri in self.fleet.watched() {
            gate.changes().announce(Change::Resource(uri));
        }
        self.show_figures(gate);
    }

    fn show_figures(&self, gate: &Gate) {
        gate.recorder().metrics.set_servers(&self.figures());
    }

    /// Their resources and prompts.
    pub(crate) fn provider(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.fleet) as _
    }

    pub(crate) fn replace(&self, config: &Config) {
        self.fleet.replace(config.servers.clone());
    }

    /// Until each server was tried once, or so long. Who does not follow them looks once, and waits for all that they have.
    pub(crate) async fn settle(&self, within: Duration) {
        let begun = Instant::now();
        self.fleet.settle_tools(within).await;
        let left = within.saturating_sub(begun.elapsed());
        let followed = self.followed.load(Ordering::Relaxed);
        self.fleet.settle(if followed { left.min(REST_PATIENCE) } else { left }).await;
    }

    pub(crate) async fn close(&self) {
        self.fleet.close().await;
    }

    fn figures(&self) -> Vec<ServerFigures> {
        let admitted = |judged: &&Judged| matches!(judged.verdict, Verdict::Admitted { .. });
        let figures = |report: ServerReport| ServerFigures {
            server: report.name.to_string(),
            up: report.condition == Condition::Ready,
            restarts: report.restarts,
            tools: report.judged.iter().filter(admitted).count(),
        };
        self.fleet.reports().into_iter().map(figures).collect()
    }

    /// For `GET /v1/servers`.
    pub(crate) fn report(&self) -> Value {
        let servers: Vec<_> = self.fleet.reports().iter().map(server).collect();
        json!({"servers": servers})
    }

    pub(crate) fn reports(&self) -> Vec<ServerReport> {
        self.fleet.reports()
    }

    /// Why there is no tool of this name: a server is the reason, or nobody has one.
    pub(crate) fn absent(&self, name: &str, config: &Config) -> CommandError {
        let of_server = absent::absent(name, &config.servers, &self.reports());
        of_server.unwrap_or_else(|| wiring::unknown_tool(name, &self.catalog()))
    }
}

pub(crate) fn strictness(level: Level) -> Strictness {
    match level {
        Level::Strict => Strictness::Strict,
        Level::Standard => Strictness::Standard,
        Level::Observe => Strictness::Observe,
    }
}

pub(crate) fn server(report: &ServerReport) -> Value {
    let greeting = u64::try_from(report.greeting.as_millis()).unwrap_or(u64::MAX);
    json!({
        "name": report.name.as_str(),
        "state": state(report.condition),
        "era": report.era.map(|era| match era {
            Era::Modern => "modern",
            Era::Legacy => "legacy",
        }),
        "server": report.server_info,
        "error": report.error,
        "restarts": report.restarts,
        "connected_in_ms": greeting,
        "tools": report.judged.iter().map(tool).collect::<Vec<_>>(),
    })
}

pub(crate) fn state(condition: Condition) -> &'static str {
    match condition {
        Condition::Connecting => "connecting",
        Condition::Ready => "ready",
        Condition::Waiting => "waiting",
        Condition::Down => "down",
    }
}

fn reasons(tool: &str, reasons: &[Reason]) -> Value {
    let reason = |reason: &Reason| json!({"kind": reason.kind().to_string(), "reason": reason.to_string(), "remedy": reason.remedy(tool)});
    reasons.iter().map(reason).collect()
}

fn tool(judged: &Judged) -> Value {
    match &judged.verdict {
        Verdict::Admitted { contract, noted } => json!({
            "tool": judged.name, "verdict": "admitted", "name": contract.name, "effect": contract.effect,
            "approval": contract.terms.approval, "noted": reasons(&judged.name, noted),
        }),
        Verdict::Refused(refused) => {
            json!({"tool": judged.name, "verdict": "refused", "reasons": reasons(&judged.name, refused)})
        }
        Verdict::LeftOut => json!({"tool": judged.name, "verdict": "left_out"}),
    }
}

impl std::fmt::Debug for OwnTools {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|tool| &tool.contract().name)).finish()
    }
}

#[cfg(test)]
mod tests;
