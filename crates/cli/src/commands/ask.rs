//! `countersign ask QUESTION`: one question, at most one call, an answer.

use std::fmt::Write as _;
use std::io::{BufRead as _, IsTerminal as _};

use anyhow::Context as _;
use countersign_ask::{Answered, Candidate, Choice, Outcome, Planned, Question, Refusal, Summary};
use countersign_contract::visible;
use countersign_host::Wire;
use countersign_transports::ExitCode;

use super::call::{UPSTREAMS_PATIENCE, typed};
use crate::args::{AskArguments, Common};
use crate::failure::{CommandError, CommandResult};
use crate::logging::Stderr;
use crate::output::{self, Format};
use crate::signals::StopSignals;
use crate::wiring;

pub(super) fn run(common: &Common, arguments: &AskArguments) -> CommandResult {
    let config = wiring::load(common, None)?;
    let answered = wiring::runtime()?.block_on(async {
        let mut stop = StopSignals::listen().context("cannot listen for signals")?;
        let host = wiring::Host::start(&config, Stderr::Warnings, None).await?;
        let answered = tokio::select! {
            answered = ask(common, arguments, &host) => answered,
            _ = stop.next() => Err(CommandError::message(ExitCode::Interrupted, "interrupted")),
        };
        host.stop().await;
        answered
    })?;
    if wiring::format(common) == Format::Json {
        output::print_json(Format::Json, &answered.to_json(arguments.explain))?;
    } else {
        output::say(&planned_text(&answered, arguments.explain));
        output::print(&answer_text(&answered))?;
        if let Some(why) = no_summary(&answered) {
            output::say(&format!("no summary: {why}\n"));
        }
        output::say(&receipt(&answered));
    }
    outcome(&answered)
}

async fn ask(common: &Common, arguments: &AskArguments, host: &wiring::Host) -> Result<Answered, CommandError> {
    host.await_upstreams(UPSTREAMS_PATIENCE).await;
    let question = Question {
        query: arguments.question.join(" "),
        summary: arguments.summary,
        caller: wiring::owner(),
        wire: Wire::Cli,
    };
    let mut planned = host.ask.plan(question).await.map_err(ask_error)?;
    if wiring::format(common) == Format::Text && std::io::stdin().is_terminal() {
        ask_back(&mut planned, host)?;
    }
    host.ask.answer(planned).await.map_err(ask_error)
}

fn ask_error(error: countersign_ask::AskError) -> CommandError {
    let exit = match error {
        countersign_ask::AskError::Empty | countersign_ask::AskError::TooLong => ExitCode::Usage,
        countersign_ask::AskError::Cancelled => ExitCode::Interrupted,
        countersign_ask::AskError::Embedding(_) | countersign_ask::AskError::Model(_) => ExitCode::Unreachable,
    };
    CommandError::new(exit, error)
}

/// Whoever sits at the terminal says what the question did not.
fn ask_back(planned: &mut Planned, host: &wiring::Host) -> CommandResult {
    let Choice::Missing { tool, parameters, .. } = &planned.plan.choice else { return Ok(()) };
    let (catalog, caller) = (host.gate.catalog(), wiring::owner());
    let Some(found) = catalog.find(tool, &caller) else { return Ok(()) };
    output::say(&format!("{tool} needs more than the question says; an empty line gives up.\n"));
    let mut said = Vec::new();
    for parameter in parameters {
        output::say(&format!("{parameter}: "));
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).context("cannot read from the terminal")?;
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        said.push((parameter.clone(), typed(parameter, line, found.contract())));
    }
    planned.supply(said);
    Ok(())
}

/// What was decided and why: talk, not data.
fn planned_text(answered: &Answered, explain: bool) -> String {
    let mut text = match &answered.plan.choice {
        Choice::Call { tool, arguments, why } => {
            format!("{tool} {}\n  {why}\n", serde_json::Value::Object(arguments.clone()))
        }
        // The failure says it.
        Choice::Missing { .. } | Choice::Nothing { .. } => String::new(),
    };
    if explain {
        let rows = answered.plan.candidates.iter().map(candidate_row);
        text.push_str(&output::table(&["TOOL", "SCORE", "WHAT IT IS MADE OF", "MISSING"], rows));
    }
    text
}

fn candidate_row(candidate: &Candidate) -> Vec<String> {
    let parts = serde_json::to_value(candidate.parts).unwrap_or_default();
    let parts: Vec<String> = parts
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some(format!("{name} {:+.3}", value.as_f64().filter(|value| *value != 0.0)?)))
        .collect();
    let missing = candidate.missing.join(", ");
    vec![candidate.tool.clone(), format!("{:.3}", candidate.score), parts.join("  "), missing]
}

fn answer_text(answered: &Answered) -> String {
    match &answered.outcome {
        Outcome::Refused(Refusal { .. }) => String::new(),
        Outcome::Called { summary: Some(summary), .. } if !summary.bullets.is_empty() => summary_text(summary),
        Outcome::Called { called, .. } => format!("{:#}\n", called.reply.structured),
    }
}

fn summary_text(summary: &Summary) -> String {
    let mut text = String::new();
    for bullet in &summary.bullets {
        let _ = writeln!(text, "- {}", visible(&bullet.claim));
        if bullet.claim != bullet.evidence {
            let _ = writeln!(text, "    “{}” ({})", visible(&bullet.evidence), bullet.pointer);
        }
    }
    if summary.dropped > 0 {
        let _ = writeln!(text, "({} more were not carried by the result and are left out)", summary.dropped);
    }
    text
}

/// Why the result itself is shown where bullets were asked for.
fn no_summary(answered: &Answered) -> Option<String> {
    match &answered.outcome {
        Outcome::Called { summary: Some(Summary { bullets, dropped, failed, .. }), .. } if bullets.is_empty() => {
            let dropped = || (*dropped > 0).then(|| "none of the bullets was carried by the result".to_owned());
            failed.as_deref().map(|why| visible(why).into_owned()).or_else(dropped)
        }
        Outcome::Called { .. } | Outcome::Refused(_) => None,
    }
}

fn receipt(answered: &Answered) -> String {
    if answered.receipt { format!("receipt {}\n", answered.id) } else { "the receipt could not be kept\n".to_owned() }
}

fn outcome(answered: &Answered) -> CommandResult {
    match &answered.outcome {
        Outcome::Called { called, .. } => super::call::outcome(&called.reply),
        Outcome::Refused(refusal) => {
            let nearest: Vec<&str> = answered.plan.candidates.iter().map(|near| near.tool.as_str()).collect();
            let error = CommandError::message(ExitCode::ToolError, format!("nothing was called: {}", refusal.why));
            Err(if !refusal.missing.is_empty() {
                error.hint(format!("say {} in the question", refusal.missing.join(" and ")))
            } else if nearest.is_empty() {
                error
            } else {
                error.hint(format!("the nearest tools are {}", nearest.join(", ")))
            })
        }
    }
}
