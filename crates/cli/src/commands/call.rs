//! `countersign call TOOL`: one call through the gate, in this process.

use std::io::Read as _;
use std::time::Duration;

use anyhow::Context as _;
use countersign_contract::{Client, Contract, Progress, Reply, parse_json};
use countersign_host::{Call, NoAnswer, Wire};
use countersign_transports::{ExitCode, exit_code};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::args::{CallArguments, Common};
use crate::failure::{CommandError, CommandResult};
use crate::logging::Stderr;
use crate::output;
use crate::signals::StopSignals;
use crate::wiring::{self, Kept};

/// A server that has to be fetched first takes its time.
pub(super) const UPSTREAMS_PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(common: &Common, call: &CallArguments) -> CommandResult {
    let reply = call_once(common, &call.tool, |contract| arguments(call, contract))?;
    output::print_json(wiring::format(common), &reply.structured)?;
    outcome(&reply)
}

/// A failure of the tool is a failure of the command.
pub(super) fn outcome(reply: &Reply) -> CommandResult {
    match &reply.failure {
        None => Ok(()),
        Some(failure) => {
            let error = reply.structured["error"].as_str().unwrap_or_default();
            Err(CommandError::message(exit_code(failure.code), format!("{error} ({})", failure.code)))
        }
    }
}

/// Starts a host, makes the call and ends the host.
pub(super) fn call_once(
    common: &Common,
    tool: &str,
    arguments: impl FnOnce(&Contract) -> Result<Value, CommandError>,
) -> Result<Reply, CommandError> {
    let mut config = wiring::load(common, None)?;
    let own = wiring::catalog(&config, Kept::nowhere())?;
    let caller = wiring::owner();
    let is_own = own.find(tool, &caller).is_some();
    // Nobody is waited for in vain.
    config.servers.retain(|server| !is_own && server.may_have(tool));
    if !is_own && config.servers.is_empty() {
        return Err(wiring::unknown_tool(tool, &own));
    }
    wiring::runtime()?.block_on(async {
        let mut stop = StopSignals::listen().context("cannot listen for signals")?;
        let host = wiring::Host::start(&config, Stderr::Warnings, None).await?;
        host.await_upstreams(UPSTREAMS_PATIENCE).await;
        let catalog = host.gate.catalog();
        let arguments = match catalog.find(tool, &caller) {
            Some(tool) => arguments(tool.contract()),
            None => Err(host.upstreams.absent(tool, &config)),
        };
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(error) => {
                host.stop().await;
                return Err(error);
            }
        };
        let request = Call {
            tool: tool.to_owned(),
            arguments,
            caller,
            wire: Wire::Cli,
            session: None,
            // Dropping the call is enough to cancel it.
            cancelled: CancellationToken::new(),
            progress: Progress::default(),
            client: Client::default(),
        };
        let answer = tokio::select! {
            answer = host.gate.call(request) => answer,
            _ = stop.next() => Err(NoAnswer::Cancelled),
        };
        host.stop().await;
        match answer {
            Ok(answer) => Ok(answer.reply),
            Err(NoAnswer::UnknownTool) => Err(wiring::unknown_tool(tool, &catalog)),
            // Nobody is asked on this wire.
            Err(reason @ (NoAnswer::InputRequired(_) | NoAnswer::MissingCapability(_))) => {
                Err(CommandError::new(ExitCode::ToolError, reason))
            }
            Err(NoAnswer::Cancelled) => Err(CommandError::message(ExitCode::Interrupted, "interrupted")),
        }
    })
}

fn arguments(call: &CallArguments, contract: &Contract) -> Result<Value, CommandError> {
    let text = match call.args.as_deref() {
        None => return Ok(Value::Object(pairs(&call.pairs, contract)?)),
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read the arguments from standard input")?;
            text
        }
        Some(text) => text.to_owned(),
    };
    parse_json(text.as_bytes()).map_err(|error| {
        CommandError::message(ExitCode::Usage, format!("the arguments are not valid JSON: {error}"))
            .hint("quote the whole object for your shell: --args '{\"name\": \"Ann\"}'")
    })
}

fn pairs(pairs: &[String], contract: &Contract) -> Result<Map<String, Value>, CommandError> {
    let mut arguments = Map::new();
    for pair in pairs {
        let Some((name, text)) = pair.split_once('=') else {
            let message = format!("`{pair}` is not KEY=VALUE");
            return Err(CommandError::message(ExitCode::Usage, message).hint("write name=Ann, or use --args with JSON"));
        };
        if arguments.insert(name.to_owned(), typed(name, text, contract)).is_some() {
            return Err(CommandError::message(ExitCode::Usage, format!("`{name}` is given twice")));
        }
    }
    Ok(arguments)
}

/// Text where the schema takes text, otherwise JSON where it reads as such; the gate has the last word.
pub(super) fn typed(name: &str, text: &str, contract: &Contract) -> Value {
    let declared = &contract.input.raw()["properties"][name]["type"];
    let takes_text = declared == "string" || declared.as_array().is_some_and(|kinds| kinds.contains(&"string".into()));
    if takes_text {
        return Value::from(text);
    }
    parse_json(text.as_bytes()).unwrap_or_else(|_| Value::from(text))
}
