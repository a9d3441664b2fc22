//! Why a tool that somebody names is not in the catalog, where that is a server's doing: its contract is refused, or the
//! server that may have it is not there.

use countersign_contract::visible;
use countersign_transports::ExitCode;
use countersign_upstream::{Condition, Judged, Reason, ServerReport, ServerSpec, Verdict};
use serde_json::Value;

use crate::failure::CommandError;

/// `None` if no server has to do with it.
pub(super) fn absent(name: &str, servers: &[ServerSpec], reports: &[ServerReport]) -> Option<CommandError> {
    let may_have: Vec<(&ServerSpec, &ServerReport)> = servers
        .iter()
        .filter(|spec| spec.may_have(name))
        .filter_map(|spec| Some((spec, reports.iter().find(|report| report.name == spec.name)?)))
        .collect();
    let refused = may_have.iter().find_map(|(spec, report)| {
        let (own_name, reasons) = report.judged.iter().find_map(|judged| reasons_for(judged, name, spec))?;
        Some(refused(name, report, super::reasons(own_name, reasons), reasons))
    });
    let unreachable = || may_have.iter().find(|(_, report)| report.condition != Condition::Ready);
    refused.or_else(|| unreachable().map(|(_, report)| not_there(name, report)))
}

fn reasons_for<'j>(judged: &'j Judged, name: &str, spec: &ServerSpec) -> Option<(&'j str, &'j [Reason])> {
    match &judged.verdict {
        Verdict::Refused(reasons) => (spec.name_here(&judged.name) == name).then_some((&judged.name, reasons)),
        Verdict::Admitted { .. } | Verdict::LeftOut => None,
    }
}

fn refused(name: &str, report: &ServerReport, details: Value, reasons: &[Reason]) -> CommandError {
    let said: Vec<_> = reasons.iter().map(|reason| one_line(&reason.to_string())).collect();
    let message = format!("`{name}` is refused by its contract: {}", said.join("; "));
    CommandError::message(ExitCode::Contract, message)
        .hint(format!("`countersign check {}` says what would lift it", report.name))
        .details(details)
}

fn not_there(name: &str, report: &ServerReport) -> CommandError {
    let server = &report.name;
    let error = report.error.as_deref().map_or_else(|| "no answer yet".to_owned(), one_line);
    CommandError::message(ExitCode::Unreachable, format!("the server `{server}` is not there: {error}"))
        .hint(format!("`{name}` would be one of its tools; `countersign check {server}` tries it again"))
}

/// What a server says cannot forge a line of ours.
fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}
