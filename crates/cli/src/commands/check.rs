//! `countersign check`: every tool of a server against the rules, and for each refusal the one thing that would lift it.

use std::time::Duration;

use countersign_contract::visible;
use countersign_transports::ExitCode;
use countersign_upstream::{Condition, Fleet, Judged, Reach, ServerReport, ServerSpec, Verdict};
use serde_json::json;

use crate::args::{CheckArguments, Common};
use crate::config::Config;
use crate::failure::{CommandError, CommandResult};
use crate::output::{self, Format};
use crate::{upstreams, wiring};

/// A server that has to be fetched first takes its time.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) fn run(common: &Common, arguments: &CheckArguments) -> CommandResult {
    let config = wiring::load(common, None)?;
    let specs = specs(&config, arguments)?;
    let level = upstreams::strictness(config.contracts.level);
    let reports = wiring::runtime()?.block_on(async {
        let fleet = Fleet::start(specs, level);
        fleet.settle(PATIENCE).await;
        let reports = fleet.reports();
        fleet.close().await;
        reports
    });
    match (wiring::format(common), arguments.markdown) {
        (Format::Json, _) => {
            let servers: Vec<_> = reports.iter().map(upstreams::server).collect();
            output::print_json(Format::Json, &json!({"servers": servers}))?;
        }
        (Format::Text, true) => output::print(&markdown(&reports))?,
        (Format::Text, false) => output::print(&table(&reports))?,
    }
    verdict(&reports)
}

/// Those that are named, or all; or one that is not configured at all.
fn specs(config: &Config, arguments: &CheckArguments) -> Result<Vec<ServerSpec>, CommandError> {
    let usage = |message: String| CommandError::message(ExitCode::Usage, message);
    let folder = std::env::current_dir().map_err(anyhow::Error::new)?;
    let reach = match (&arguments.command, &arguments.url) {
        (Some(command), _) => {
            let mut words = shlex::split(command).unwrap_or_default().into_iter();
            let Some(command) = words.next() else {
                return Err(usage("--command has nothing to start".to_owned()));
            };
            Some(Reach::Program { command, args: words.collect(), env: [].into(), folder, sandbox: None })
        }
        (None, Some(url)) => Some(Reach::Http { url: url.clone(), headers: [].into() }),
        (None, None) => None,
    };
    if let Some(reach) = reach {
        let name = "server".parse().map_err(anyhow::Error::new)?;
        return Ok(vec![ServerSpec::new(name, reach)]);
    }
    if config.servers.is_empty() {
        return Err(usage("no server is configured".to_owned())
            .hint("name one under `servers`, or try --command 'npx -y some-server', or --url http://…/mcp"));
    }
    if arguments.servers.is_empty() {
        return Ok(config.servers.clone());
    }
    let find = |name: &String| {
        let found = config.servers.iter().find(|spec| spec.name.as_str() == name).cloned();
        found.ok_or_else(|| {
            let known: Vec<_> = config.servers.iter().map(|spec| spec.name.to_string()).collect();
            usage(format!("there is no server `{name}`")).hint(format!("the servers are: {}", known.join(", ")))
        })
    };
    arguments.servers.iter().map(find).collect()
}

fn table(reports: &[ServerReport]) -> String {
    let mut rows = Vec::new();
    for report in reports {
        if report.condition != Condition::Ready {
            let error = report.error.as_deref().map_or_else(|| "no answer yet".to_owned(), one_line);
            rows.push(vec![report.name.to_string(), "-".to_owned(), "unreachable".to_owned(), error]);
        } else if let Some(error) = &report.error {
            rows.push(vec![report.name.to_string(), "-".to_owned(), "incomplete".to_owned(), one_line(error)]);
        }
        for judged in &report.judged {
            let (verdict, why) = words(judged);
            rows.push(vec![
                report.name.to_string(),
                one_line(&judged.name),
                verdict.to_owned(),
                why.iter().map(|why| one_line(why)).collect::<Vec<_>>().join("\n"),
            ]);
        }
    }
    output::table(&["SERVER", "TOOL", "VERDICT", "WHY"], rows)
}

/// What a server says cannot forge a line of ours.
fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

fn words(judged: &Judged) -> (&'static str, Vec<String>) {
    match &judged.verdict {
        Verdict::Admitted { noted, .. } => {
            ("admitted", noted.iter().map(|reason| format!("noted: {reason}")).collect())
        }
        Verdict::Refused(reasons) => {
            ("refused", reasons.iter().map(|reason| format!("{reason} → {}", reason.remedy(&judged.name))).collect())
        }
        Verdict::LeftOut => ("left out", Vec::new()),
    }
}

fn markdown(reports: &[ServerReport]) -> String {
    let mut page = String::from("# Contract report\n");
    for report in reports {
        page.push_str(&format!("\n## {}\n\n", report.name));
        if report.condition != Condition::Ready {
            page.push_str(&format!("Unreachable: {}\n", escaped(report.error.as_deref().unwrap_or("no answer yet"))));
            continue;
        }
        if let Some(error) = &report.error {
            page.push_str(&format!("Incomplete: {}\n\n", escaped(error)));
        }
        page.push_str("| tool | verdict | why |\n|---|---|---|\n");
        for judged in &report.judged {
            let (verdict, why) = words(judged);
            page.push_str(&format!("| `{}` | {verdict} | {} |\n", in_code(&judged.name), escaped(&why.join("; "))));
        }
    }
    page
}

/// As Markdown that looks like this text and is nothing else: no table, link or picture of the server's making.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in one_line(text).chars() {
        if matches!(character, '\\' | '|' | '<' | '[' | ']' | '*' | '_' | '`' | '!' | '&') {
            shown.push('\\');
        }
        shown.push(character);
    }
    shown
}

/// The same between backticks in a table, where only a stroke can be escaped.
fn in_code(text: &str) -> String {
    one_line(text).replace('`', "'").replace('|', "\\|")
}

fn verdict(reports: &[ServerReport]) -> CommandResult {
    let unreachable = reports.iter().filter(|report| report.condition != Condition::Ready).count();
    if unreachable > 0 {
        let message = format!("{unreachable} of {} servers cannot be reached", reports.len());
        return Err(CommandError::message(ExitCode::Unreachable, message).hint("the table says why"));
    }
    let judged = || reports.iter().flat_map(|report| &report.judged);
    let refused = judged().filter(|judged| matches!(judged.verdict, Verdict::Refused(_))).count();
    if refused > 0 {
        let message = format!("{refused} of {} tools are refused", judged().count());
        return Err(CommandError::message(ExitCode::Contract, message).hint("each line says what would lift it"));
    }
    Ok(())
}
