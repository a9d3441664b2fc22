//! `countersign stats`: figures per tool from the audit log, so of every process on the data folder, past ones included.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_contract::AnyTool;
use countersign_store::{StatsQuery, Store, ToolStats};
use countersign_transports::ExitCode;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::args::Common;
use crate::failure::{CommandError, CommandResult};
use crate::output::{self, Format};
use crate::wiring;

pub(super) fn run(common: &Common, since: Option<&str>) -> CommandResult {
    let config = wiring::load(common, None)?;
    let since = since.map(starting).transpose()?;
    let stats = wiring::runtime()?.block_on(async {
        let store = Store::open_existing(&config.database).await?;
        let max_times = max_times(wiring::own_tools(&config, wiring::Kept::nowhere()).unwrap_or_default());
        let stats = store.stats(StatsQuery { since, max_times }).await;
        store.close().await?;
        stats
    });
    let stats = stats.map_err(wiring::store_error)?;
    if wiring::format(common) == Format::Json {
        let tools: Vec<_> = stats.iter().map(as_json).collect();
        return Ok(output::print_json(Format::Json, &json!({"tools": tools}))?);
    }
    let header =
        ["TOOL", "CALLS", "OK", "FAILED", "RATE-LIMITED", "SLOW", "P50 ms", "P95 ms", "P99 ms", "MAX ms", "ERRORS"];
    Ok(output::print(&output::table(&header, stats.iter().map(as_row)))?)
}

/// A root that cannot be opened has no tools, and is no reason to say nothing of the past.
fn max_times(tools: Vec<Arc<dyn AnyTool>>) -> BTreeMap<String, Duration> {
    let of = |tool: Arc<dyn AnyTool>| {
        let contract = tool.contract();
        contract.terms.limits.max_time.map(|limit| (contract.name.to_string(), limit))
    };
    tools.into_iter().filter_map(of).collect()
}

fn starting(text: &str) -> Result<Timestamp, CommandError> {
    let wrong =
        || CommandError::message(ExitCode::Usage, format!("`{text}` is not a duration")).hint("write 30m, 12h or 7d");
    let back = humantime::parse_duration(text).map_err(|_| wrong())?;
    Timestamp::now().checked_sub(back).map_err(|_| wrong())
}

fn as_row(stats: &ToolStats) -> Vec<String> {
    let failed: u64 = stats.failed.values().sum();
    let errors: Vec<_> = stats.failed.iter().map(|(code, count)| format!("{code}={count}")).collect();
    let times = [stats.duration_us.p50, stats.duration_us.p95, stats.duration_us.p99, stats.duration_us.max];
    let mut row = vec![stats.tool.clone(), stats.calls.to_string(), stats.answered.to_string(), failed.to_string()];
    row.extend([stats.rate_limited(), stats.slow].map(|count| count.to_string()));
    row.extend(times.map(|microseconds| format!("{:.3}", milliseconds(microseconds))));
    row.push(errors.join(" "));
    row
}

fn as_json(stats: &ToolStats) -> Value {
    json!({
        "tool": stats.tool,
        "calls": stats.calls,
        "ok": stats.answered,
        "abandoned": stats.abandoned,
        "failures": stats.failed,
        "rate_limited": stats.rate_limited(),
        "slow": stats.slow,
        "p50_ms": milliseconds(stats.duration_us.p50),
        "p95_ms": milliseconds(stats.duration_us.p95),
        "p99_ms": milliseconds(stats.duration_us.p99),
        "max_ms": milliseconds(stats.duration_us.max),
    })
}

fn milliseconds(microseconds: u64) -> f64 {
    Duration::from_micros(microseconds).as_secs_f64() * 1000.0
}
