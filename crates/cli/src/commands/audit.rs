//! `countersign audit`: verify the chain, show a request, export everything.

use std::io::Write as _;

use countersign_contract::RequestId;
use countersign_store::{Extent, Finding, FindingKind, RecordBody, Store, StoreError, Verdict};
use countersign_transports::ExitCode;
use serde_json::{Value, json};

use crate::args::{AuditCommand, Common};
use crate::failure::{CommandError, CommandResult};
use crate::output::{self, Format};
use crate::wiring;

pub(super) fn run(common: &Common, command: Option<AuditCommand>) -> CommandResult {
    let config = wiring::load(common, None)?;
    wiring::runtime()?.block_on(async {
        let store = Store::open_existing(&config.database).await.map_err(wiring::store_error)?;
        let done = match command {
            None | Some(AuditCommand::Verify) => verify(&store, wiring::format(common)).await,
            Some(AuditCommand::Show { request_id }) => show(&store, wiring::format(common), &request_id).await,
            Some(AuditCommand::Export) => export(&store).await,
        };
        store.close().await.map_err(wiring::store_error)?;
        done
    })
}

async fn verify(store: &Store, format: Format) -> CommandResult {
    let (extent, findings, unlisted) = match store.verify().await.map_err(wiring::store_error)? {
        Verdict::Verified(extent) => (extent, Vec::new(), 0),
        Verdict::Broken { extent, findings, unlisted } => (extent, findings, unlisted),
    };
    if format == Format::Json {
        output::print_json(Format::Json, &as_json(&extent, &findings, unlisted))?;
    } else if findings.is_empty() {
        let lost = if extent.lost > 0 { format!(", {} lost and noted as gaps", extent.lost) } else { String::new() };
        output::print(&format!("verified: {} records in {} chains{lost}\n", extent.records, extent.chains))?;
    } else {
        output::print(&findings.iter().map(|finding| format!("{}\n", describe(finding))).collect::<String>())?;
    }
    if findings.is_empty() {
        return Ok(());
    }
    let count = findings.len() as u64 + unlisted;
    Err(CommandError::message(
        ExitCode::Contract,
        format!("the audit log was tampered with or damaged: {count} findings"),
    )
    .hint("keep the database as it is for whoever looks into this"))
}

fn as_json(extent: &Extent, findings: &[Finding], unlisted: u64) -> Value {
    let findings = findings.iter().map(|finding| {
        json!({"kind": word(finding.kind), "chain": finding.chain, "seq": finding.seq, "count": finding.count})
    });
    let findings: Vec<_> = findings.collect();
    json!({
        "verified": findings.is_empty(),
        "chains": extent.chains,
        "records": extent.records,
        "lost": extent.lost,
        "findings": findings,
        "unlisted": unlisted,
    })
}

fn describe(finding: &Finding) -> String {
    let place = match finding.seq {
        Some(seq) if finding.count > 1 => {
            format!("chain {}, records {seq} to {}", finding.chain, seq + finding.count - 1)
        }
        Some(seq) => format!("chain {}, record {seq}", finding.chain),
        None => format!("chain {}", finding.chain),
    };
    format!("{place}: {}", word(finding.kind).replace('_', " "))
}

fn word(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Changed => "changed",
        FindingKind::Missing => "missing",
        FindingKind::OutOfOrder => "out_of_order",
        FindingKind::HeadMismatch => "head_mismatch",
        FindingKind::BrokenLink => "broken_link",
        FindingKind::RemovedChain => "removed_chain",
        FindingKind::Unreadable => "unreadable",
    }
}

async fn show(store: &Store, format: Format, request_id: &str) -> CommandResult {
    let id: RequestId = request_id.parse().map_err(|_| {
        CommandError::message(ExitCode::Usage, format!("`{request_id}` is not a request id"))
            .hint("it is in the `X-Request-Id` header, the call log and the export")
    })?;
    let records = store.show(id).await.map_err(wiring::store_error)?;
    if records.is_empty() {
        let message = format!("nothing is recorded of request {id}");
        return Err(CommandError::message(ExitCode::ToolError, message)
            .hint("reads are recorded a moment after they were answered; try again"));
    }
    let records: Vec<_> = records
        .iter()
        .map(|record| {
            let body = match &record.body {
                RecordBody::Entry(entry) => json!(entry),
                RecordBody::Gap(gap) => json!(gap),
            };
            json!({"chain": record.chain, "seq": record.seq, "hash": record.hash.to_string(), "record": body})
        })
        .collect();
    Ok(output::print_json(format, &json!({"records": records}))?)
}

async fn export(store: &Store) -> CommandResult {
    let mut stdout = std::io::BufWriter::new(std::io::stdout());
    let written = store.export(|record| {
        write!(stdout, "{{\"chain\":{},\"seq\":{},\"hash\":\"", record.chain, record.seq)?;
        record.hash.iter().try_for_each(|byte| write!(stdout, "{byte:02x}"))?;
        stdout.write_all(b"\",\"record\":")?;
        stdout.write_all(record.body)?;
        stdout.write_all(b"}\n")
    });
    let written = written.await;
    match written.and_then(|()| stdout.flush().map_err(StoreError::Export)) {
        Err(StoreError::Export(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(wiring::store_error),
    }
}
