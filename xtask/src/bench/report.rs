//! What a measurement says: medians for each server and level, and whether each target was met.

use serde::Serialize;

use super::load::Sample;
use super::{Measured, Options};
use crate::{Verdict, talk};

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) bench: &'static str,
    rounds: u32,
    seconds: u32,
    servers: Vec<Server>,
    pub(super) targets: Vec<Target>,
}

/// Medians over all rounds.
#[derive(Debug, Serialize)]
pub(super) struct Server {
    name: &'static str,
    pub(super) start_ms: f64,
    pub(super) idle_mb: f64,
    levels: Vec<Level>,
}

#[derive(Debug, Serialize)]
struct Level {
    callers: u32,
    cpu_us: f64,
    /// CPU per call divided by that of the first server at the same level.
    cpu_ratio: f64,
    rps: f64,
    /// Requests a second divided by those of the first server at the same level.
    rps_ratio: f64,
    p50_ms: f64,
    p99_ms: f64,
}

/// A limit that holds or not.
#[derive(Debug, Serialize)]
pub(super) struct Target {
    what: &'static str,
    measured: f64,
    limit: f64,
    met: bool,
}

impl Report {
    /// The first server is the floor the others are compared with.
    pub(super) fn new(bench: &'static str, options: &Options, callers: &[u32], measured: &[Measured]) -> Self {
        let floor = measured.first().map_or(&[][..], |measured| &measured.samples);
        let servers = measured.iter().map(|measured| Server::new(measured, callers, floor)).collect();
        Self { bench, rounds: options.rounds, seconds: options.seconds, servers, targets: Vec::new() }
    }

    pub(super) fn server(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.name == name)
    }

    pub(super) fn verdict(&self) -> Verdict {
        Target::verdict(&self.targets)
    }

    pub(super) fn print(&self, options: &Options) -> anyhow::Result<()> {
        if options.json {
            talk::say(serde_json::to_string(self)?);
            return Ok(());
        }
        talk::say("server                callers    CPU µs   × floor     req/s   × floor    p50 ms    p99 ms");
        for server in &self.servers {
            for level in &server.levels {
                let Level { callers, cpu_us, cpu_ratio, rps, rps_ratio, p50_ms, p99_ms } = level;
                talk::say(format_args!(
                    "{:<22}{callers:>7}{cpu_us:>10.1}{cpu_ratio:>10.2}{rps:>10.0}{rps_ratio:>10.2}{p50_ms:>10.3}{p99_ms:>10.3}",
                    server.name
                ));
            }
        }
        talk::say("\nserver               start ms   idle MB");
        for Server { name, start_ms, idle_mb, levels: _ } in &self.servers {
            talk::say(format_args!("{name:<22}{start_ms:>7.1}{idle_mb:>10.1}"));
        }
        Target::print(&self.targets);
        Ok(())
    }
}

impl Server {
    fn new(measured: &Measured, callers: &[u32], floor: &[Sample]) -> Self {
        let levels = callers.iter().map(|&callers| Level::new(callers, &measured.samples, floor)).collect();
        Self {
            name: measured.name,
            start_ms: median(measured.samples.iter().map(Sample::start_ms)),
            idle_mb: median(measured.samples.iter().map(|sample| sample.rss_idle_mb)),
            levels,
        }
    }

    /// The ratio at the level where it is worst: a target holds at every level or not at all.
    pub(super) fn worst_cpu_ratio(&self) -> f64 {
        worst(self.levels.iter().map(|level| level.cpu_ratio), f64::max)
    }

    pub(super) fn worst_rps_ratio(&self) -> f64 {
        worst(self.levels.iter().map(|level| level.rps_ratio), f64::min)
    }

    pub(super) fn rps_ratio(&self, callers: u32) -> f64 {
        self.level(callers).map_or(f64::NAN, |level| level.rps_ratio)
    }

    pub(super) fn rps(&self, callers: u32) -> f64 {
        self.level(callers).map_or(f64::NAN, |level| level.rps)
    }

    pub(super) fn p50_ms(&self, callers: u32) -> f64 {
        self.level(callers).map_or(f64::NAN, |level| level.p50_ms)
    }

    fn level(&self, callers: u32) -> Option<&Level> {
        self.levels.iter().find(|level| level.callers == callers)
    }
}

impl Level {
    fn new(callers: u32, samples: &[Sample], floor: &[Sample]) -> Self {
        let of = |samples: &[Sample], value: fn(&Sample) -> f64| {
            median(samples.iter().filter(|sample| sample.callers == callers).map(value))
        };
        let cpu_us = of(samples, Sample::cpu_us);
        Self {
            callers,
            cpu_us,
            cpu_ratio: cpu_us / of(floor, Sample::cpu_us),
            rps: of(samples, |sample| sample.rps),
            rps_ratio: of(samples, |sample| sample.rps) / of(floor, |sample| sample.rps),
            p50_ms: of(samples, |sample| sample.p50_ms),
            p99_ms: of(samples, |sample| sample.p99_ms),
        }
    }
}

impl Target {
    /// At least `limit`.
    pub(super) fn at_least(what: &'static str, measured: f64, limit: f64) -> Self {
        Self { what, measured, limit, met: measured >= limit }
    }

    /// At most `limit`. What could not be measured (not a number) is not met.
    pub(super) fn new(what: &'static str, measured: f64, limit: f64) -> Self {
        Self { what, measured, limit, met: measured <= limit }
    }

    pub(super) fn is_met(&self) -> bool {
        self.met
    }

    pub(super) fn verdict(targets: &[Self]) -> Verdict {
        if targets.iter().all(Self::is_met) { Verdict::Good } else { Verdict::Bad }
    }

    pub(super) fn print(targets: &[Self]) {
        talk::say("\ntarget                                        measured     limit");
        for Self { what, measured, limit, met } in targets {
            let word = if *met { "met" } else { "MISSED" };
            talk::say(format_args!("{what:<44}{measured:>10.2}{limit:>10.2}  {word}"));
        }
    }
}

/// Not a number where one of them is none, which `max` and `min` would pass over.
pub(super) fn worst(ratios: impl Iterator<Item = f64>, of_two: fn(f64, f64) -> f64) -> f64 {
    ratios
        .reduce(|one, other| if one.is_nan() || other.is_nan() { f64::NAN } else { of_two(one, other) })
        .unwrap_or(f64::NAN)
}

/// Not a number where there are no values.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let middle = |at: usize| sorted.get(at).copied().unwrap_or(f64::NAN);
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(middle(half.wrapping_sub(1)), middle(half))
    } else {
        middle(half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_median_is_in_the_middle() {
        for (values, expected) in [(vec![3.0, 1.0, 2.0], 2.0), (vec![4.0, 1.0], 2.5), (vec![7.0], 7.0)] {
            assert!((median(values.clone().into_iter()) - expected).abs() < 1e-9, "{values:?}");
        }
        assert!(median(std::iter::empty()).is_nan());
    }

    #[test]
    fn the_worst_level_counts() {
        let floor = Measured { name: "floor", samples: vec![sample(1, 0.02), sample(64, 0.01)] };
        let ours = Measured { name: "ours", samples: vec![sample(1, 0.022), sample(64, 0.015)] };
        let options = Options { json: false, rounds: 1, seconds: 2, loader: None };
        let report = Report::new("x", &options, &[1, 64], &[floor, ours]);
        let worst = |name| report.server(name).map_or(f64::NAN, Server::worst_cpu_ratio);
        assert!((worst("floor") - 1.0).abs() < 1e-9);
        assert!((worst("ours") - 1.5).abs() < 1e-9);
        assert!(worst("nobody").is_nan());
    }

    #[test]
    fn a_level_without_a_measurement_is_no_good_level() {
        for (ratios, highest, lowest) in [(vec![1.0, 3.0, 2.0], 3.0, 1.0), (vec![1.0, f64::NAN], f64::NAN, f64::NAN)] {
            let of = |of_two| worst(ratios.iter().copied(), of_two);
            assert_eq!(of(f64::max).to_bits(), f64::to_bits(highest), "{ratios:?}");
            assert_eq!(of(f64::min).to_bits(), f64::to_bits(lowest), "{ratios:?}");
        }
        assert!(worst(std::iter::empty(), f64::max).is_nan());
    }

    #[test]
    fn one_missed_target_is_enough() {
        for (measured, verdict) in [(1.3, Verdict::Good), (1.31, Verdict::Bad), (f64::NAN, Verdict::Bad)] {
            let targets = vec![Target::new("x", measured, 1.3)];
            let report = Report { bench: "x", rounds: 1, seconds: 2, servers: Vec::new(), targets };
            assert_eq!(report.verdict(), verdict, "{measured}");
        }
    }

    fn sample(callers: u32, cpu_s: f64) -> Sample {
        serde_json::from_value(json!({
            "concurrency": callers, "ok": 1000, "errors": 0, "error_kinds": {}, "rps": 1.0, "p50_ms": 1.0, "p99_ms": 1.0,
            "bytes_per_answer": 1.0, "startup_init_ms": 1.0, "rss_idle_mb": 1.0, "server_cpu_s": cpu_s,
        }))
        .unwrap()
    }
}
