//! Figures of this process: Prometheus text for scrapers, quantiles per tool for people.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use countersign_contract::{Code, Contract, ToolName};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use serde::Serialize;

/// Seconds; from a warm built-in tool to the default time-out.
const BUCKETS: [f64; 14] = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// Quantiles are exact to one per cent, which keeps a tool's histogram at a few kilobytes.
const SIGNIFICANT_DIGITS: u8 = 2;

/// An hour; whatever takes longer is counted as that.
const LONGEST_MICROSECONDS: u64 = 3_600_000_000;

#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    calls: Family<OutcomeLabels, Counter>,
    durations: Family<ToolLabels, Histogram, fn() -> Histogram>,
    slow: Family<ToolLabels, Counter>,
    rate_limited: Family<ToolLabels, Counter>,
    unknown: Counter,
    in_flight: Gauge,
    servers_up: Family<ServerLabels, Gauge>,
    server_restarts: Family<ServerLabels, Gauge>,
    server_tools: Family<ServerLabels, Gauge>,
    /// Grows by one entry when a tool is called for the first time.
    tools: RwLock<BTreeMap<ToolName, Arc<ToolSeries>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    tool: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ToolLabels {
    tool: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServerLabels {
    server: String,
}

/// How an upstream server does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFigures {
    pub server: String,
    pub up: bool,
    pub restarts: u32,
    /// Those that are admitted.
    pub tools: usize,
}

/// One tool's figures, looked up once per call.
#[derive(Debug)]
struct ToolSeries {
    ok: Counter,
    duration: Histogram,
    figures: Mutex<Tally>,
}

#[derive(Debug)]
struct Tally {
    microseconds: hdrhistogram::Histogram<u64>,
    outcomes: BTreeMap<&'static str, u64>,
    slow: u64,
}

/// What `GET /v1/stats` says of one tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolFigures {
    pub tool: ToolName,
    pub calls: u64,
    pub ok: u64,
    /// Calls that their clients have to repeat with answers.
    pub asked: u64,
    /// By error code, and `abandoned`.
    pub failures: BTreeMap<&'static str, u64>,
    pub rate_limited: u64,
    /// Calls that took longer than the contract's maximum.
    pub slow: u64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

impl Metrics {
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("countersign"),
            calls: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            slow: Family::default(),
            rate_limited: Family::default(),
            unknown: Counter::default(),
            in_flight: Gauge::default(),
            servers_up: Family::default(),
            server_restarts: Family::default(),
            server_tools: Family::default(),
            tools: RwLock::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("tool_calls", "Calls by tool and outcome", metrics.calls.clone());
        registry.register("tool_call_duration_seconds", "How long calls took", metrics.durations.clone());
        registry.register("slow_tool_calls", "Calls over their contract's maximum time", metrics.slow.clone());
        registry.register("rate_limited_calls", "Calls refused by a rate limit", metrics.rate_limited.clone());
        registry.register("unknown_tool_calls", "Calls of tools that do not exist", metrics.unknown.clone());
        registry.register("calls_in_flight", "Calls under way", metrics.in_flight.clone());
        registry.register("upstream_up", "Whether an upstream server is connected", metrics.servers_up.clone());
        registry.register(
            "upstream_restarts",
            "How often it had to be connected again",
            metrics.server_restarts.clone(),
        );
        registry.register("upstream_tools", "Its tools that are admitted", metrics.server_tools.clone());
        metrics
    }

    /// All upstream servers there are.
    pub fn set_servers(&self, servers: &[ServerFigures]) {
        for family in [&self.servers_up, &self.server_restarts, &self.server_tools] {
            family.clear();
        }
        for ServerFigures { server, up, restarts, tools } in servers {
            let labels = ServerLabels { server: server.clone() };
            self.servers_up.get_or_create(&labels).set(i64::from(*up));
            self.server_restarts.get_or_create(&labels).set(i64::from(*restarts));
            self.server_tools.get_or_create(&labels).set(i64::try_from(*tools).unwrap_or(i64::MAX));
        }
    }

    /// The Prometheus text exposition (`OpenMetrics` 1.0).
    pub fn exposition(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }

    pub fn figures(&self) -> Vec<ToolFigures> {
        let tools = self.tools.read().unwrap_or_else(PoisonError::into_inner);
        tools.iter().map(|(tool, series)| series.figures(tool)).collect()
    }

    /// Calls under way.
    pub fn in_flight(&self) -> i64 {
        self.in_flight.get()
    }

    pub(crate) fn started(&self) {
        self.in_flight.inc();
    }

    pub(crate) fn unknown(&self) {
        self.unknown.inc();
    }

    pub(crate) fn ended(&self, contract: &Contract, code: Option<Code>, outcome: &'static str, took: Duration) {
        self.in_flight.dec();
        let series = self.series(&contract.name);
        if outcome == "ok" {
            series.ok.inc();
        } else {
            self.calls.get_or_create(&OutcomeLabels { tool: contract.name.to_string(), outcome }).inc();
        }
        if code == Some(Code::RateLimited) {
            self.rate_limited.get_or_create(&ToolLabels { tool: contract.name.to_string() }).inc();
        }
        let slow = contract.terms.limits.max_time.is_some_and(|limit| took > limit);
        if slow {
            self.slow.get_or_create(&ToolLabels { tool: contract.name.to_string() }).inc();
            tracing::warn!(tool = %contract.name, ?took, "call took longer than its contract's maximum");
        }
        series.duration.observe(took.as_secs_f64());
        series.tally(outcome, slow, took);
    }

    fn series(&self, tool: &ToolName) -> Arc<ToolSeries> {
        if let Some(series) = self.tools.read().unwrap_or_else(PoisonError::into_inner).get(tool) {
            return Arc::clone(series);
        }
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let series = tools.entry(tool.clone()).or_insert_with(|| {
            let name = tool.to_string();
            Arc::new(ToolSeries {
                ok: self.calls.get_or_create(&OutcomeLabels { tool: name.clone(), outcome: "ok" }).clone(),
                duration: self.durations.get_or_create(&ToolLabels { tool: name }).clone(),
                figures: Mutex::new(Tally::new()),
            })
        });
        Arc::clone(series)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolSeries {
    fn tally(&self, outcome: &'static str, slow: bool, took: Duration) {
        let mut tally = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        tally.microseconds.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        *tally.outcomes.entry(outcome).or_default() += 1;
        tally.slow += u64::from(slow);
    }

    fn figures(&self, tool: &ToolName) -> ToolFigures {
        let tally = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |quantile| milliseconds(tally.microseconds.value_at_quantile(quantile));
        let mut failures = tally.outcomes.clone();
        let ok = failures.remove("ok").unwrap_or_default();
        let asked = failures.remove("asked").unwrap_or_default();
        ToolFigures {
            tool: tool.clone(),
            calls: tally.microseconds.len(),
            ok,
            asked,
            rate_limited: failures.get(Code::RateLimited.as_str()).copied().unwrap_or_default(),
            failures,
            slow: tally.slow,
            p50_ms: at(0.50),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            max_ms: milliseconds(tally.microseconds.max()),
        }
    }
}

impl Tally {
    fn new() -> Self {
        #[expect(clippy::expect_used, reason = "the bounds are constants")]
        let microseconds = hdrhistogram::Histogram::new_with_bounds(1, LONGEST_MICROSECONDS, SIGNIFICANT_DIGITS)
            .expect("valid bounds");
        Self { microseconds, outcomes: BTreeMap::new(), slow: 0 }
    }
}

fn milliseconds(microseconds: u64) -> f64 {
    Duration::from_micros(microseconds).as_secs_f64() * 1000.0
}
