//! What the suite found out: one `checks.json` for each scenario, counted the way the suite's own tier score counts.
//!
//! Its exit code is kinder than that: it takes a scenario that checked nothing for a success.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

/// The checks of each scenario.
pub(super) type Results = BTreeMap<String, Vec<Check>>;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Check {
    id: String,
    description: String,
    status: Status,
    error_message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Status {
    Success,
    Failure,
    Warning,
    Info,
    Skipped,
}

/// What a scenario came to: passed, unless something was wrong.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Judgement {
    pub(super) wrong: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Every result below a folder that the suite wrote into.
pub(super) fn read(folder: &Path) -> anyhow::Result<Results> {
    let mut results = Results::new();
    for entry in fs::read_dir(folder).context("cannot list the results")? {
        let entry = entry.context("cannot list the results")?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // A scenario that broke leaves its folder empty.
        let Ok(text) = fs::read_to_string(entry.path().join("checks.json")) else { continue };
        let scenario = scenario_of(&name).with_context(|| format!("`{name}` is not a folder of the suite"))?;
        let checks =
            serde_json::from_str(&text).with_context(|| format!("cannot understand the checks of `{name}`"))?;
        results.insert(scenario.to_owned(), checks);
    }
    Ok(results)
}

/// `excused` are checks that cannot succeed here. One that does is wrong too: the excuse has to go.
pub(super) fn judge(checks: Option<&[Check]>, excused: &[&str]) -> Judgement {
    let Some(checks) = checks else {
        return Judgement { wrong: vec!["no result".to_owned()], ..Judgement::default() };
    };
    let mut judgement = Judgement::default();
    for check in checks {
        if excused.contains(&check.id.as_str()) {
            continue;
        }
        match check.status {
            Status::Failure => judgement.wrong.push(check.message()),
            Status::Warning => judgement.warnings.push(check.message()),
            Status::Success | Status::Info | Status::Skipped => {}
        }
    }
    if !checks.iter().any(|check| check.status == Status::Success) {
        judgement.wrong.push("no check succeeded".to_owned());
    }
    for id in excused {
        let complains = |check: &Check| matches!(check.status, Status::Failure | Status::Warning);
        if !checks.iter().any(|check| check.id == *id && complains(check)) {
            judgement.wrong.push(format!("{id}: excused, but there is no complaint"));
        }
    }
    judgement
}

impl Check {
    fn message(&self) -> String {
        format!("{}: {}", self.id, self.error_message.as_deref().unwrap_or(&self.description))
    }
}

/// `ping` for `server-ping-2026-11-15T07-16-19-999Z`; of a client, without the first word.
fn scenario_of(folder: &str) -> Option<&str> {
    const TIME: &str = "-2026-11-15T07-16-19-999Z";
    let rest = folder.strip_prefix("server-").unwrap_or(folder);
    let (scenario, time) = rest.split_at_checked(rest.len().checked_sub(TIME.len())?)?;
    let same = |(found, pattern): (u8, u8)| found == pattern || found.is_ascii_digit() && pattern.is_ascii_digit();
    (!scenario.is_empty() && time.bytes().zip(TIME.bytes()).all(same)).then_some(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suites_folders_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join("checks.json"), text).unwrap();
        };
        write(
            "server-ping-2026-11-15T07-16-19-999Z",
            r#"[{"id": "ping", "name": "Ping", "description": "Server responds", "status": "FAILURE",
                 "timestamp": "2026-11-15T07:16:19.999Z", "errorMessage": "Failed: no answer", "specReferences": [], "details": {}}]"#,
        );
        fs::create_dir(folder.path().join("server-broken-2026-11-15T07-16-19-999Z")).unwrap();
        let results = read(folder.path()).unwrap();
        assert_eq!(results.keys().collect::<Vec<_>>(), ["ping"]);
        let judgement = judge(results.get("ping").map(Vec::as_slice), &[]);
        assert_eq!(judgement.wrong, ["ping: Failed: no answer", "no check succeeded"]);
        assert_eq!(judge(results.get("broken").map(Vec::as_slice), &[]).wrong, ["no result"]);

        write("server-odd-2026-11-15T07-16-20-000Z", r#"[{"id": "x", "description": "", "status": "GREEN"}]"#);
        assert!(read(folder.path()).is_err());
    }

    #[test]
    fn a_scenario_passes_when_something_succeeded_and_nothing_failed() {
        use Status::{Failure, Info, Skipped, Success, Warning};
        let (a, b) = (["a"].as_slice(), ["a", "b"].as_slice());
        for (checks, excused, wrong) in [
            (vec![("a", Success), ("b", Skipped), ("c", Info)], [].as_slice(), vec![]),
            (vec![("a", Success), ("b", Warning)], &[], vec![]),
            (vec![("a", Success), ("b", Failure)], &[], vec!["b: it works"]),
            (vec![("a", Warning)], &[], vec!["no check succeeded"]),
            (vec![], &[], vec!["no check succeeded"]),
            (vec![("a", Failure), ("b", Success)], a, vec![]),
            (vec![("a", Failure), ("a", Success)], a, vec![]),
            (vec![("a", Warning), ("b", Success)], a, vec![]),
            (vec![("a", Skipped), ("b", Success)], a, vec!["a: excused, but there is no complaint"]),
            (vec![("a", Success)], a, vec!["a: excused, but there is no complaint"]),
            (vec![("a", Failure), ("c", Success)], b, vec!["b: excused, but there is no complaint"]),
            (vec![("a", Failure)], a, vec!["no check succeeded"]),
        ] {
            let checks: Vec<Check> = checks.into_iter().map(|(id, status)| check(id, status)).collect();
            assert_eq!(judge(Some(&checks), excused).wrong, wrong, "{checks:?} without {excused:?}");
        }
        let warning = [check("a", Warning)];
        assert_eq!(judge(Some(&warning), &[]).warnings, ["a: it works"]);
        assert!(judge(Some(&warning), a).warnings.is_empty());
    }

    #[test]
    fn a_folder_says_which_scenario_it_is_for() {
        for (folder, scenario) in [
            ("server-server-stateless-2026-11-15T07-16-19-999Z", Some("server-stateless")),
            ("server-json-schema-2020-12-2026-01-02T03-04-05-006Z", Some("json-schema-2020-12")),
            ("server--2026-11-15T07-16-19-999Z", None),
            ("ping-2026-11-15T07-16-19-999Z", Some("ping")),
            ("server-ping", None),
            ("server-ping-2026-11-15T07:16:19.999Z", None),
        ] {
            assert_eq!(scenario_of(folder), scenario, "{folder}");
        }
    }

    fn check(id: &str, status: Status) -> Check {
        Check { id: id.to_owned(), description: "it works".to_owned(), status, error_message: None }
    }
}
