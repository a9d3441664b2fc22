//! Regular expressions of ours, compiled when they are first used.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::{Captures, Regex};

pub(super) struct Pattern {
    source: &'static str,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    pub(super) const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// All matches; each search goes on behind the last one's given group, so that what only had to follow may be part
    /// of the next.
    pub(super) fn captures_up_to<'t>(&self, text: &'t str, group: usize) -> Vec<Captures<'t>> {
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(captures) = self.captures_at(text, at) {
            let end = captures.get(group).map_or(at, |group| group.end());
            found.push(captures);
            if end <= at {
                break;
            }
            at = end;
        }
        found
    }
}

impl Deref for Pattern {
    type Target = Regex;

    #[expect(clippy::expect_used, reason = "the source is a constant, and the tests of the planner use each of them")]
    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(self.source).expect("a valid pattern"))
    }
}
