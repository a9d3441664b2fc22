//! `countersign approvals`: what waits for a person, and the decision. Whoever can open the data folder may decide, one
//! project at a time.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::Context as _;
use countersign_contract::{ApprovalId, Decider, Decision, HeldCall, HeldCalls as _, HeldState, NotDecided, visible};
use countersign_host::framed;
use countersign_store::{Store, StoreError, StoredCalls};
use countersign_transports::ExitCode;
use jiff::{SpanRound, Timestamp, Unit};
use serde_json::json;

use crate::args::{ApprovalsCommand, Common};
use crate::config::Switch;
use crate::failure::{CommandError, CommandResult};
use crate::output::{self, Format};
use crate::signals::StopSignals;
use crate::wiring;

/// How often `--watch` looks.
const WATCH_EVERY: Duration = Duration::from_millis(500);

/// How much of a preview a list shows.
const LISTED_CHARACTERS: usize = 60;

pub(super) fn run(common: &Common, command: Option<ApprovalsCommand>, watch: bool) -> CommandResult {
    let config = wiring::load(common, None)?;
    let format = wiring::format(common);
    let command = command.unwrap_or(ApprovalsCommand::List);
    if watch && !matches!(command, ApprovalsCommand::List) {
        let message = "--watch goes with the list only";
        return Err(CommandError::message(ExitCode::Usage, message).hint("try `countersign approvals --watch`"));
    }
    wiring::runtime()?.block_on(async {
        let store = match Store::open_existing(&config.database).await {
            // Where nothing was ever called, nothing waits.
            Err(StoreError::NotThere { .. }) if matches!(command, ApprovalsCommand::List) && !watch => {
                return print_list(format, &[]);
            }
            opened => opened.map_err(wiring::store_error)?,
        };
        let held = store.held_calls(wiring::scope(&config), config.audit == Switch::On);
        let done = match &command {
            ApprovalsCommand::List if watch => watch_list(&held, format).await,
            ApprovalsCommand::List => match held.waiting().await {
                Ok(waiting) => print_list(format, &waiting),
                Err(error) => Err(CommandError::new(ExitCode::ToolError, error)),
            },
            ApprovalsCommand::Show { id } => show(&held, format, id).await,
            ApprovalsCommand::Approve { id } => decide(&held, format, id, Decision::Approve).await,
            ApprovalsCommand::Deny { id } => decide(&held, format, id, Decision::Deny).await,
        };
        store.close().await.map_err(wiring::store_error)?;
        done
    })
}

fn print_list(format: Format, waiting: &[HeldCall]) -> CommandResult {
    if format == Format::Json {
        return Ok(output::print_json(format, &json!({"approvals": waiting}))?);
    }
    if waiting.is_empty() {
        output::say("no call waits for approval\n");
        return Ok(());
    }
    let rows = waiting.iter().map(|call| {
        vec![
            call.id.to_string(),
            call.tool.to_string(),
            visible(&call.caller).into_owned(),
            left(call),
            beginning(call),
        ]
    });
    output::print(&output::table(&["ID", "TOOL", "CALLER", "EXPIRES IN", "WHAT"], rows))?;
    output::say("`countersign approvals show ID` shows all of one; then approve ID or deny ID\n");
    Ok(())
}

/// Until interrupted.
async fn watch_list(held: &StoredCalls, format: Format) -> CommandResult {
    let mut stop = StopSignals::listen().context("cannot listen for signals")?;
    let mut seen = BTreeSet::new();
    loop {
        let waiting = held.waiting().await.map_err(|error| CommandError::new(ExitCode::ToolError, error))?;
        for call in waiting.iter().filter(|call| seen.insert(call.id.to_string())) {
            match format {
                Format::Json => output::print_json(format, &json!(call))?,
                Format::Text => output::print(&format!("{}\n", described(call)))?,
            }
        }
        tokio::select! {
            _ = stop.next() => return Ok(()),
            () = tokio::time::sleep(WATCH_EVERY) => {}
        }
    }
}

async fn show(held: &StoredCalls, format: Format, id: &str) -> CommandResult {
    let call = held.get(parse(id)?).await.map_err(|error| CommandError::new(ExitCode::ToolError, error))?;
    let call = call.ok_or_else(|| unknown(id))?;
    match format {
        Format::Json => output::print_json(format, &json!(call))?,
        Format::Text => output::print(&described(&call))?,
    }
    Ok(())
}

async fn decide(held: &StoredCalls, format: Format, text: &str, decision: Decision) -> CommandResult {
    let id = parse(text)?;
    let call = held.get(id).await.map_err(|error| CommandError::new(ExitCode::ToolError, error))?;
    let call = call.ok_or_else(|| unknown(text))?;
    // Nobody approves unseen: a person at a terminal is shown what it is, and asked.
    if decision == Decision::Approve && call.state == HeldState::Pending && !agrees(&call)? {
        return Err(CommandError::message(ExitCode::NotAuthorised, "not approved; the call still waits"));
    }
    let decided = held.decide(id, decision, Decider::Owner).await.map_err(|reason| match reason {
        NotDecided::Unknown => unknown(text),
        NotDecided::NotPending(state) => {
            let message = format!("nothing to decide: this call is {} already", state.as_str());
            CommandError::message(ExitCode::ToolError, message).hint("the caller has to make the call anew")
        }
        NotDecided::OwnCall | NotDecided::Unavailable(_) => CommandError::new(ExitCode::ToolError, reason),
    })?;
    if format == Format::Json {
        return Ok(output::print_json(format, &json!(decided))?);
    }
    let consequence = match decision {
        Decision::Approve => format!("it can be made once within {}", left(&decided)),
        Decision::Deny => "it will not run".to_owned(),
    };
    let caller = visible(&decided.caller);
    let (state, tool) = (decided.state.as_str(), &decided.tool);
    Ok(output::print(&format!("{state}: `{tool}` of {caller}; {consequence}\n{}\n", framed(&decided.preview)))?)
}

/// Without a terminal nobody can be asked, and the command is the decision.
fn agrees(call: &HeldCall) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(true);
    }
    output::say(&format!("{}\nApprove? [y/N] ", described(call)));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn described(call: &HeldCall) -> String {
    let HeldCall { id, state, tool, caller, scope, preview, requested_at, .. } = call;
    let (caller, scope, preview) = (visible(caller), visible(scope), framed(preview));
    let decided = call.decided_by.as_ref().map(|by| format!("decided by    {}\n", visible(by))).unwrap_or_default();
    format!(
        "id            {id}\nstate         {}\ntool          {tool}\ncaller        {caller}\nproject       {scope}\nasked at      \
         {requested_at:.0}\nexpires in    {}\n{decided}\n{preview}\n",
        state.as_str(),
        left(call),
    )
}

fn left(call: &HeldCall) -> String {
    let left = call.expires_at.duration_since(Timestamp::now());
    let round = SpanRound::new().largest(Unit::Minute).smallest(Unit::Second);
    let span = jiff::Span::try_from(left).and_then(|span| span.round(round));
    span.map(|span| if span.is_positive() { format!("{span:#}") } else { "0s".to_owned() }).unwrap_or_default()
}

fn beginning(call: &HeldCall) -> String {
    let one_line = visible(&call.preview).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut shown: String = one_line.chars().take(LISTED_CHARACTERS).collect();
    if shown.len() < one_line.len() {
        shown.push('…');
    }
    shown
}

fn parse(id: &str) -> Result<ApprovalId, CommandError> {
    id.parse().map_err(|error| {
        CommandError::new(ExitCode::Usage, anyhow::Error::new(error).context(format!("`{}`", visible(id))))
            .hint("`countersign approvals` lists those that wait")
    })
}

fn unknown(id: &str) -> CommandError {
    CommandError::message(ExitCode::ToolError, format!("no call is held under the id {id}"))
        .hint("is this the project of the server that held it, and its database? `--config` chooses the configuration")
}
