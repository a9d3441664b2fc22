//! `countersign receipts`: list, show, verify and replay what is left of questions and calls.

mod beside;

use std::path::Path;

use anyhow::Context as _;
use countersign_ask::{AskReceipt, CallReceipt, Here, Offered, ReceiptFile, Step};
use countersign_contract::{RequestId, ToolName};
use countersign_index::Local;
use countersign_store::Store;
use countersign_transports::ExitCode;
use serde_json::json;

use self::beside::Beside;
use crate::args::{Common, ReceiptsCommand};
use crate::config::Config;
use crate::failure::{CommandError, CommandResult};
use crate::output::{self, Format};
use crate::wiring::{self, Kept};

/// Who wants more has an id.
const LISTED: i64 = 50;

pub(super) fn run(common: &Common, command: Option<ReceiptsCommand>) -> CommandResult {
    wiring::runtime()?.block_on(async {
        match command {
            None | Some(ReceiptsCommand::List) => list(common).await,
            Some(ReceiptsCommand::Show { id }) => show(common, &id).await,
            Some(ReceiptsCommand::Verify { file }) => verify(common, &file).await,
            Some(ReceiptsCommand::Replay { file }) => replay(common, &file).await,
        }
    })
}

async fn list(common: &Common) -> CommandResult {
    let config = wiring::load(common, None)?;
    let store = Store::open_existing(&config.database).await.map_err(wiring::store_error)?;
    let newest = store.receipts(config.receipts.keep).newest(LISTED).await;
    store.close().await.map_err(wiring::store_error)?;
    let newest = newest.map_err(wiring::store_error)?;
    if wiring::format(common) == Format::Json {
        let receipts: Vec<_> = newest.iter().map(|(id, at)| json!({"id": id, "at": at})).collect();
        return Ok(output::print_json(Format::Json, &json!({"receipts": receipts}))?);
    }
    let rows = newest.into_iter().map(|(id, at)| vec![id, at.to_string()]);
    Ok(output::print(&output::table(&["ID", "AT"], rows))?)
}

/// The file that can be handed on: of a question by its id, of any call by its request's id.
async fn show(common: &Common, id: &str) -> CommandResult {
    let config = wiring::load(common, None)?;
    let store = Store::open_existing(&config.database).await.map_err(wiring::store_error)?;
    let found = find(&store, &config, id).await;
    store.close().await.map_err(wiring::store_error)?;
    Ok(output::print(&found?.to_text())?)
}

async fn find(store: &Store, config: &Config, id: &str) -> Result<ReceiptFile, CommandError> {
    let kept = store.receipts(config.receipts.keep).find(id).await.map_err(wiring::store_error)?;
    if let Some(kept) = kept {
        let receipt = AskReceipt::from_page(&kept.body, &kept.material).context("the receipt is damaged")?;
        return Ok(ReceiptFile::Ask(Box::new(receipt)));
    }
    let unknown = || {
        CommandError::message(ExitCode::ToolError, format!("there is no receipt `{id}`"))
            .hint("`countersign receipts` lists those of questions; a call's has its request id")
    };
    let request: RequestId = id.parse().map_err(|_| unknown())?;
    let records = beside::records(store, request).await.map_err(wiring::store_error)?;
    if records.is_empty() { Err(unknown()) } else { Ok(ReceiptFile::Call(CallReceipt::new(records))) }
}

/// `-` is standard input.
fn read(file: &Path) -> Result<Vec<u8>, CommandError> {
    let read = if file == Path::new("-") {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut text).map(|_| text)
    } else {
        std::fs::read(file)
    };
    Ok(read.with_context(|| format!("cannot read `{}`", file.display()))?)
}

fn open(file: &Path) -> Result<ReceiptFile, CommandError> {
    ReceiptFile::verify(&read(file)?).map_err(|flaw| {
        let error = CommandError::message(ExitCode::Contract, format!("`{}` does not hold: {flaw}", file.display()));
        error.hint("a receipt is the exact output of `countersign receipts show ID`")
    })
}

async fn verify(common: &Common, file: &Path) -> CommandResult {
    let receipt = open(file)?;
    let config = wiring::load(common, None)?;
    let beside = beside::beside(&config, &receipt).await?;
    if wiring::format(common) == Format::Json {
        output::print_json(Format::Json, &json!({"verified": true, "audit": beside.word()}))?;
    } else {
        let what = match &receipt {
            ReceiptFile::Ask(ask) => format!("question {} of {}", ask.receipt.id, ask.receipt.at),
            ReceiptFile::Call(call) => match call.records.first() {
                Some(record) => format!("call {} of {}", record.entry.request_id, record.entry.at),
                None => "call".to_owned(),
            },
        };
        output::print(&format!("verified: {what}; audit log: {}\n", beside.text()))?;
    }
    match beside {
        Beside::Unreadable(error) => Err(wiring::store_error(error)),
        Beside::Agrees { .. } | Beside::Begun | Beside::Kept | Beside::Elsewhere => Ok(()),
    }
}

async fn replay(common: &Common, file: &Path) -> CommandResult {
    let receipt = open(file)?;
    let config = wiring::load(common, None)?;
    let own = wiring::catalog(&config, Kept::nowhere())?;
    let policy = wiring::policy(&config);
    let caller = wiring::owner();
    let offered = |tool: &ToolName| match own.find(tool.as_str(), &caller) {
        Some(found) => Offered::Yes(found.contract().digest),
        None if config.servers.iter().any(|server| server.may_have(tool.as_str())) => Offered::Unknown,
        None => Offered::No,
    };
    let here = Here { local: Local::on_all_cores(), policy: &policy, offered: &offered };
    let steps = receipt.replay(&here).await.context("the embedded model does not run")?;
    if wiring::format(common) == Format::Json {
        let changed = steps.iter().filter(|step| step.changed()).count();
        output::print_json(Format::Json, &json!({"steps": steps, "changed": changed}))?;
    } else {
        output::print(&output::table(&["=", "CHECK", "RECORDED", "NOW"], steps.iter().map(row)))?;
    }
    match steps.iter().filter(|step| step.changed()).count() {
        0 => Ok(()),
        1 => Err(CommandError::message(ExitCode::Contract, "one verdict would be another today")),
        more => Err(CommandError::message(ExitCode::Contract, format!("{more} verdicts would be others today"))),
    }
}

fn row(step: &Step) -> Vec<String> {
    let mark = if step.changed() { "≠" } else { "=" };
    let now = match (&step.now, step.note) {
        (Some(now), _) => now.clone(),
        (None, note) => format!("not repeated: {}", note.unwrap_or_default()),
    };
    let mark = if step.now.is_none() { " " } else { mark };
    vec![mark.to_owned(), step.check.clone(), step.recorded.clone(), now]
}
