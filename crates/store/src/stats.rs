//! What each tool has done, counted from the audit records as they are read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use countersign_contract::Code;
use hdrhistogram::Histogram;
use jiff::Timestamp;
use serde::Deserialize;

/// Percentiles are within one per cent and stop at an hour, so a tool takes 13 kB however often it was called.
const SIGNIFICANT_DIGITS: u8 = 2;
const LONGEST_US: u64 = 60 * 60 * 1_000_000;

/// One tool's calls that came to an end, over all processes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolStats {
    pub tool: String,
    pub calls: u64,
    pub answered: u64,
    /// The caller went away before the end.
    pub abandoned: u64,
    pub failed: BTreeMap<Code, u64>,
    /// Calls that took longer than the maximum that was asked about.
    pub slow: u64,
    pub duration_us: Durations,
}

/// What to count: calls since a time, and for tools with a maximum time how many were over it.
#[derive(Debug, Clone, Default)]
pub struct StatsQuery {
    pub since: Option<Timestamp>,
    pub max_times: BTreeMap<String, Duration>,
}

/// Zero where no call was timed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Durations {
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}

impl ToolStats {
    pub fn rate_limited(&self) -> u64 {
        self.failed.get(&Code::RateLimited).copied().unwrap_or_default()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Tally {
    query: StatsQuery,
    tools: BTreeMap<String, Counted>,
    unreadable: u64,
}

#[derive(Debug, Default)]
struct Counted {
    stats: ToolStats,
    /// Made with the first duration.
    durations: Option<Histogram<u32>>,
}

/// What counts of a record; one that is not about a call's end has `Other`.
#[derive(Deserialize)]
struct CallEnd<'a> {
    event: Event,
    at: Timestamp,
    #[serde(borrow, default)]
    tool: Cow<'a, str>,
    #[serde(default)]
    code: Option<Code>,
    #[serde(default)]
    duration_us: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Answered,
    Failed,
    Abandoned,
    #[serde(other)]
    Other,
}

impl Tally {
    pub(crate) fn new(query: StatsQuery) -> Self {
        Self { query, ..Self::default() }
    }

    pub(crate) fn record(&mut self, body: &[u8]) {
        let Ok(end) = serde_json::from_slice::<CallEnd<'_>>(body) else {
            self.unreadable += 1;
            return;
        };
        if matches!(end.event, Event::Other) || self.query.since.is_some_and(|since| end.at < since) {
            return;
        }
        if !self.tools.contains_key(end.tool.as_ref()) {
            self.tools.insert(end.tool.clone().into_owned(), Counted::default());
        }
        if let Some(counted) = self.tools.get_mut(end.tool.as_ref()) {
            counted.add(&end, self.query.max_times.get(end.tool.as_ref()).copied());
        }
    }

    /// In the order of names.
    pub(crate) fn finish(self) -> Vec<ToolStats> {
        if self.unreadable > 0 {
            tracing::warn!(records = self.unreadable, "audit records that cannot be read are not in the statistics");
        }
        self.tools.into_iter().map(|(tool, counted)| counted.finish(tool)).collect()
    }
}

impl Counted {
    fn add(&mut self, end: &CallEnd<'_>, max_time: Option<Duration>) {
        self.stats.calls += 1;
        match end.event {
            Event::Answered => self.stats.answered += 1,
            Event::Abandoned => self.stats.abandoned += 1,
            Event::Failed => *self.stats.failed.entry(end.code.unwrap_or(Code::InternalError)).or_default() += 1,
            Event::Other => {}
        }
        if let Some(duration) = end.duration_us {
            self.stats.slow += u64::from(max_time.is_some_and(|limit| Duration::from_micros(duration) > limit));
            self.stats.duration_us.max = self.stats.duration_us.max.max(duration);
            if self.durations.is_none() {
                self.durations = Histogram::new_with_max(LONGEST_US, SIGNIFICANT_DIGITS).ok();
            }
            if let Some(histogram) = &mut self.durations {
                histogram.saturating_record(duration);
            }
        }
    }

    fn finish(self, tool: String) -> ToolStats {
        let max = self.stats.duration_us.max;
        // A bucket's upper end may lie above everything in it.
        let at = |quantile| self.durations.as_ref().map_or(0, |found| found.value_at_quantile(quantile).min(max));
        let duration_us = Durations { p50: at(0.50), p95: at(0.95), p99: at(0.99), max };
        ToolStats { tool, duration_us, ..self.stats }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use countersign_contract::{AuditEntry, AuditEvent, Code};

    use super::{Durations, StatsQuery, Tally, ToolStats};
    use crate::record::tests::{answered, text};
    use crate::record::{Draft, Gap};

    #[test]
    fn ends_of_calls_are_counted_by_tool() {
        let mut tally = Tally::new(StatsQuery {
            since: Some("2026-01-01T00:00:00Z".parse().unwrap()),
            max_times: BTreeMap::from([("read_file".to_owned(), Duration::from_micros(990))]),
        });
        for duration in 1..=1000 {
            add(&mut tally, &AuditEntry { duration_us: Some(duration), ..answered() });
        }
        let failed = |code| AuditEntry { event: AuditEvent::Failed, code: Some(code), duration_us: None, ..answered() };
        add(&mut tally, &failed(Code::RateLimited));
        add(&mut tally, &failed(Code::RateLimited));
        add(&mut tally, &failed(Code::Timeout));
        add(&mut tally, &AuditEntry { event: AuditEvent::Intent, ..answered() });
        add(&mut tally, &AuditEntry { at: "2025-12-31T23:59:59Z".parse().unwrap(), ..answered() });
        let other = "add_task".parse().unwrap();
        add(&mut tally, &AuditEntry { event: AuditEvent::Abandoned, tool: other, duration_us: None, ..answered() });
        tally.record(text(&Draft::of_gap(Gap { at: answered().at, lost: 9 }).unwrap(), 1).as_bytes());
        tally.record(b"not a record");

        let add_task = ToolStats { tool: "add_task".to_owned(), calls: 1, abandoned: 1, ..ToolStats::default() };
        let read_file = ToolStats {
            tool: "read_file".to_owned(),
            calls: 1003,
            answered: 1000,
            abandoned: 0,
            failed: BTreeMap::from([(Code::RateLimited, 2), (Code::Timeout, 1)]),
            slow: 10,
            duration_us: Durations { p50: 501, p95: 951, p99: 991, max: 1000 },
        };
        assert_eq!(read_file.rate_limited(), 2);
        assert_eq!(tally.finish(), [add_task, read_file]);
    }

    fn add(tally: &mut Tally, entry: &AuditEntry) {
        tally.record(text(&Draft::of_entry(entry).unwrap(), 1).as_bytes());
    }
}
