//! A receipt beside what this installation has of it: the audit log, and for a question also the receipt that is kept.
//!
//! What is not there says nothing. What cannot be read is never taken for what is not there.

use countersign_ask::{AskReceipt, AuditRecord, CallReceipt, Called, ReceiptFile};
use countersign_contract::{AuditEntry, AuditEvent, RequestId};
use countersign_store::{RecordBody, Store, StoreError};
use countersign_transports::ExitCode;

use crate::config::Config;
use crate::failure::CommandError;

/// Nothing here contradicts the receipt.
#[derive(Debug)]
pub(super) enum Beside {
    /// The log has the call, and where it is known here, the receipt is kept as it is.
    Agrees {
        kept: bool,
    },
    /// The log has the call's beginning only: its end is written a moment later, or a crash came before.
    Begun,
    /// The log has no call of it.
    Kept,
    Elsewhere,
    Unreadable(StoreError),
}

impl Beside {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Agrees { .. } => "agrees",
            Self::Begun => "begun",
            Self::Kept => "kept",
            Self::Elsewhere => "elsewhere",
            Self::Unreadable(_) => "unreadable",
        }
    }

    pub(super) fn text(&self) -> &'static str {
        match self {
            Self::Agrees { kept: false } => "the call is recorded here with the same digests",
            Self::Agrees { kept: true } => {
                "the call is recorded here with the same digests, and the receipt is kept as it is"
            }
            Self::Begun => "the call is recorded here with the same digests, but not its end",
            Self::Kept => "no call is recorded here, and the receipt is kept as it is",
            Self::Elsewhere => "nothing of it is recorded here",
            Self::Unreadable(_) => "it cannot be read",
        }
    }
}

/// What the log says of a call.
enum Logged {
    Nothing,
    Begun,
    Whole,
}

/// An error is a contradiction.
pub(super) async fn beside(config: &Config, receipt: &ReceiptFile) -> Result<Beside, CommandError> {
    let store = match Store::open_existing(&config.database).await {
        Ok(store) => store,
        Err(StoreError::NotThere { .. }) => return Ok(Beside::Elsewhere),
        Err(error) => return Ok(Beside::Unreadable(error)),
    };
    let compared = match receipt {
        ReceiptFile::Ask(ask) => question(&store, config, ask).await,
        ReceiptFile::Call(call) => recorded(&store, call).await,
    };
    let closed = store.close().await;
    match (compared, closed) {
        (Ok(compared), Ok(())) => compared,
        (Err(error), _) | (_, Err(error)) => Ok(Beside::Unreadable(error)),
    }
}

/// All records of a call, oldest first.
pub(super) async fn records(store: &Store, request: RequestId) -> Result<Vec<AuditRecord>, StoreError> {
    let records = store.show(request).await?.into_iter().filter_map(|record| match record.body {
        RecordBody::Entry(entry) => {
            let hash = record.hash.to_string();
            Some(AuditRecord { chain: record.chain, seq: record.seq, hash, entry })
        }
        RecordBody::Gap(_) => None,
    });
    Ok(records.collect())
}

async fn question(
    store: &Store,
    config: &Config,
    ask: &AskReceipt,
) -> Result<Result<Beside, CommandError>, StoreError> {
    let page = ask.to_page();
    let id = page.id.to_string();
    let kept = store.receipts(config.receipts.keep).find(&id).await?;
    if kept.as_ref().is_some_and(|kept| kept.body != page.receipt || kept.material != page.material) {
        let message = "this installation keeps another receipt of this question";
        let hint = format!("`countersign receipts show {id}` prints it");
        return Ok(Err(CommandError::message(ExitCode::Contract, message).hint(hint)));
    }
    let logged = match &ask.receipt.call {
        None => Some(Logged::Nothing),
        Some(call) => logged(&records(store, call.request_id).await?, ask, call),
    };
    Ok(match (logged, ask.receipt.call.as_ref()) {
        (Some(Logged::Whole), _) => Ok(Beside::Agrees { kept: kept.is_some() }),
        (Some(Logged::Begun), _) => Ok(Beside::Begun),
        (Some(Logged::Nothing), _) => Ok(if kept.is_some() { Beside::Kept } else { Beside::Elsewhere }),
        (None, call) => Err(contradicted(call.map(|call| call.request_id))),
    })
}

/// Absent where the log says something else.
fn logged(records: &[AuditRecord], ask: &AskReceipt, call: &Called) -> Option<Logged> {
    let entries = || records.iter().map(|record| &record.entry);
    if !entries().all(|entry| agrees(entry, ask, call)) {
        return None;
    }
    let is_end = |entry: &AuditEntry| matches!(entry.event, AuditEvent::Answered | AuditEvent::Failed);
    Some(if entries().any(is_end) {
        Logged::Whole
    } else if records.is_empty() {
        Logged::Nothing
    } else {
        Logged::Begun
    })
}

fn agrees(entry: &AuditEntry, ask: &AskReceipt, call: &Called) -> bool {
    let receipt = &ask.receipt;
    let same_call =
        entry.tool == call.tool && entry.contract == call.contract && entry.arguments == call.arguments.digest;
    let same_caller = *entry.caller == *receipt.caller && entry.wire == receipt.wire;
    let ended = |outcome: &str| call.outcome == outcome;
    same_call
        && match entry.event {
            AuditEvent::Intent => same_caller && entry.code.is_none() && entry.result.is_none(),
            AuditEvent::Answered => {
                same_caller && ended("ok") && entry.code.is_none() && entry.result == Some(call.result.digest)
            }
            AuditEvent::Failed => {
                same_caller && entry.code.is_some_and(|code| ended(code.as_str())) && entry.result.is_none()
            }
            // Neither is answered, so no receipt tells of such a call.
            AuditEvent::Asked | AuditEvent::Abandoned => false,
            // Whoever decided about the call is named there.
            AuditEvent::Approved | AuditEvent::Denied => entry.code.is_none() && entry.result.is_none(),
        }
}

/// Such a receipt is nothing but what the log has, so it has all of that and nothing else.
async fn recorded(store: &Store, call: &CallReceipt) -> Result<Result<Beside, CommandError>, StoreError> {
    let Some(request) = call.records.first().map(|record| record.entry.request_id) else {
        return Ok(Ok(Beside::Elsewhere));
    };
    let records = records(store, request).await?;
    if records.is_empty() {
        return Ok(Ok(Beside::Elsewhere));
    }
    if records == call.records {
        return Ok(Ok(Beside::Agrees { kept: false }));
    }
    if records.starts_with(&call.records) {
        let message = "the audit log of this installation has more about this call than the receipt";
        let hint = format!("`countersign receipts show {request}` makes one of all that is recorded by now");
        return Ok(Err(CommandError::message(ExitCode::Contract, message).hint(hint)));
    }
    Ok(Err(contradicted(Some(request))))
}

fn contradicted(request: Option<RequestId>) -> CommandError {
    let message = "the audit log of this installation says something else about this call";
    let error = CommandError::message(ExitCode::Contract, message);
    match request {
        Some(request) => error.hint(format!("`countersign audit show {request}` prints what it says")),
        None => error,
    }
}
