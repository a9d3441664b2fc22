//! Which required scenarios the product itself can be asked, found by reading the suite.
//!
//! All others call a tool, prompt or resource by a name that only a fixture has (`test_simple_text`,
//! `test://watched-resource`, …) or need prompts, completions or protocol logging, which the product does not offer.

use super::Revision;
use super::Revision::{Legacy, Modern};

#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    revisions: &'static [Revision],
    /// Checks within it that ask for what only a fixture has.
    pub(super) excused: &'static [&'static str],
}

const SCENARIOS: [Scenario; 10] = [
    Scenario { name: "server-initialize", revisions: &[Legacy], excused: &[] },
    Scenario {
        name: "server-stateless",
        revisions: &[Modern],
        excused: &[
            // They call `test_missing_capability`,
            "sep-2575-server-rejects-undeclared-capability",
            "sep-2575-missing-capability-http-400",
            // `test_streaming_elicitation`
            "sep-2575-http-server-no-independent-requests-on-stream",
            // `test_logging_tool`
            "sep-2575-server-no-log-without-loglevel",
            // and `test_trigger_tool_change`.
            "sep-2575-server-sends-tools-list-changed-on-subscription",
        ],
    },
    Scenario { name: "ping", revisions: &[Legacy], excused: &[] },
    Scenario { name: "tools-list", revisions: &[Modern, Legacy], excused: &[] },
    Scenario { name: "server-sse-multiple-streams", revisions: &[Modern, Legacy], excused: &[] },
    Scenario { name: "resources-list", revisions: &[Modern, Legacy], excused: &[] },
    Scenario { name: "sep-2164-resource-not-found", revisions: &[Modern], excused: &[] },
    Scenario { name: "dns-rebinding-protection", revisions: &[Modern, Legacy], excused: &[] },
    // It lists prompts, among other things.
    Scenario { name: "caching", revisions: &[Modern], excused: &["sep-2549-prompts-list-caching-hints"] },
    // It lists prompts too, but is content with an error.
    Scenario { name: "input-required-result-unsupported-methods", revisions: &[Modern], excused: &[] },
];

pub(super) fn scenarios(revision: Revision) -> impl Iterator<Item = &'static Scenario> {
    SCENARIOS.iter().filter(move |scenario| scenario.revisions.contains(&revision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_revision_has_its_scenarios_once() {
        for (revision, count) in [(Modern, 8), (Legacy, 6)] {
            let names: std::collections::BTreeSet<_> = scenarios(revision).map(|scenario| scenario.name).collect();
            assert_eq!((names.len(), scenarios(revision).count()), (count, count), "{revision:?}");
        }
    }
}
