//! What is kept of a call: a line in the call log, figures in the metrics, a link in the audit chain. A call that is
//! dropped half-way leaves all three as well.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use countersign_contract::{
    ApprovalId, AuditEntry, AuditEvent, AuditLog, AuditUnavailable, CallContext, Code, Contract, Digest, Durability,
    RequestId,
};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::gate::Wire;
use crate::metrics::Metrics;
use crate::redact::redact;

/// From this size on, a digest takes so long that it is made in a thread of its own.
const LONG_RESULT: usize = 128 * 1024;

/// Takes one record per call; it must not wait.
pub trait CallLog: Send + Sync {
    fn write(&self, record: &CallRecord<'_>);
}

/// One line of the call log. Field names are public: people search for them.
#[derive(Debug, Serialize)]
pub struct CallRecord<'a> {
    pub timestamp: Timestamp,
    pub level: &'static str,
    pub event: &'static str,
    pub request_id: RequestId,
    pub tool: &'a str,
    pub caller: &'a str,
    pub wire: Wire,
    pub session: Option<&'a str>,
    pub parameters: &'a RawValue,
    pub success: bool,
    /// `ok`, `asked`, `abandoned`, or the error code.
    pub outcome: &'a str,
    pub duration_ms: f64,
    pub result_size: usize,
}

/// Where records go. Log and audit are absent when the operator switched them off.
pub struct Recorder {
    pub metrics: Arc<Metrics>,
    pub call_log: Option<Arc<dyn CallLog>>,
    pub audit: Option<Arc<dyn AuditLog>>,
    /// Records of abandoned calls are finished here, so that shutdown can wait for them.
    pub tasks: TaskTracker,
}

impl Recorder {
    pub(crate) fn begin<'a>(
        self: &'a Arc<Self>,
        ctx: &'a CallContext,
        contract: &'a Contract,
        origin: Origin<'a>,
        arguments: &Value,
    ) -> Recording<'a> {
        self.metrics.started();
        Recording {
            recorder: self,
            ctx,
            contract,
            origin,
            parameters: self.call_log.as_ref().and_then(|_| redact(arguments)),
            arguments: self.audit.as_ref().map(|_| Digest::of_json(arguments)),
            approval: OnceLock::new(),
            started: Instant::now(),
            ended: false,
        }
    }
}

/// From where a call came, as far as records go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) wire: Wire,
    pub(crate) session: Option<&'a str>,
}

/// A call under way. Dropping it unfinished is an end, too: the caller went away.
pub(crate) struct Recording<'a> {
    recorder: &'a Arc<Recorder>,
    ctx: &'a CallContext,
    contract: &'a Contract,
    origin: Origin<'a>,
    parameters: Option<Box<RawValue>>,
    arguments: Option<Digest>,
    /// What allowed it, where a person had to.
    approval: OnceLock<ApprovalId>,
    started: Instant,
    ended: bool,
}

#[derive(Debug, Clone, Copy)]
enum End<'a> {
    /// With the result as it is handed out, where its digest goes into the record at once.
    Answered(Option<&'a str>),
    Failed(Code),
    Asked,
    Abandoned,
}

impl Recording<'_> {
    pub(crate) fn approved(&self, approval: Option<ApprovalId>) {
        if let Some(approval) = approval {
            self.approval.get_or_init(|| approval);
        }
    }

    /// Before something is changed: durable, or the change does not happen.
    pub(crate) async fn intend(&self) -> Result<(), AuditUnavailable> {
        let (Some(audit), Some(intent)) = (&self.recorder.audit, self.intent()) else { return Ok(()) };
        audit.append(intent, Durability::Synced).await
    }

    /// For whoever puts it on record together with the change.
    pub(crate) fn intent(&self) -> Option<AuditEntry> {
        self.arguments.map(|arguments| self.entry(AuditEvent::Intent, arguments))
    }

    pub(crate) async fn answered(mut self, result: &Arc<String>) {
        if result.len() < LONG_RESULT {
            self.end(End::Answered(Some(result)), result.len()).await;
        } else if let Some(entry) = self.note(End::Answered(None), result.len()) {
            self.append_with_digest(entry, Arc::clone(result));
        }
    }

    /// Beside the answer, which need not wait for it.
    fn append_with_digest(&self, entry: AuditEntry, result: Arc<String>) {
        let Some(audit) = self.recorder.audit.clone() else { return };
        self.recorder.tasks.spawn(async move {
            let digest = tokio::task::spawn_blocking(move || Digest::of_bytes(result.as_bytes())).await;
            drop(audit.append(AuditEntry { result: digest.ok(), ..entry }, Durability::Batched).await);
        });
    }

    pub(crate) async fn failed(mut self, code: Code, size: usize) {
        self.end(End::Failed(code), size).await;
    }

    /// The client has to answer first.
    pub(crate) async fn asked(mut self) {
        self.end(End::Asked, 0).await;
    }

    async fn end(&mut self, end: End<'_>, size: usize) {
        let entry = self.note(end, size);
        if let (Some(audit), Some(entry)) = (&self.recorder.audit, entry) {
            // The store reports its own trouble; the work is done, so the answer goes out all the same.
            let _ = audit.append(entry, Durability::Batched).await;
        }
    }

    /// Log and metrics at once; the audit entry is for the caller to append.
    fn note(&mut self, end: End<'_>, size: usize) -> Option<AuditEntry> {
        self.ended = true;
        let took = self.started.elapsed();
        self.recorder.metrics.ended(self.contract, end.code(), end.word(), took);
        self.write_line(end, size, took);
        let (event, code, result) = match end {
            End::Answered(result) => (AuditEvent::Answered, None, result),
            End::Failed(code) => (AuditEvent::Failed, Some(code), None),
            End::Asked => (AuditEvent::Asked, None, None),
            End::Abandoned => (AuditEvent::Abandoned, None, None),
        };
        let arguments = self.arguments?;
        Some(AuditEntry {
            code,
            duration_us: Some(u64::try_from(took.as_micros()).unwrap_or(u64::MAX)),
            result: result.map(|text| Digest::of_bytes(text.as_bytes())),
            ..self.entry(event, arguments)
        })
    }

    fn write_line(&self, end: End<'_>, result_size: usize, took: Duration) {
        let (Some(log), Some(parameters)) = (&self.recorder.call_log, &self.parameters) else { return };
        log.write(&CallRecord {
            timestamp: Timestamp::now(),
            level: "INFO",
            event: "tool_call",
            request_id: self.ctx.request_id,
            tool: self.contract.name.as_str(),
            caller: &self.ctx.caller.name,
            wire: self.origin.wire,
            session: self.origin.session,
            parameters,
            success: matches!(end, End::Answered(_) | End::Asked),
            outcome: end.word(),
            duration_ms: took.as_secs_f64() * 1000.0,
            result_size,
        });
    }

    fn entry(&self, event: AuditEvent, arguments: Digest) -> AuditEntry {
        AuditEntry {
            event,
            at: Timestamp::now(),
            request_id: self.ctx.request_id,
            caller: Arc::clone(&self.ctx.caller.name),
            wire: self.origin.wire.as_str().into(),
            tool: self.contract.name.clone(),
            contract: self.contract.digest,
            arguments,
            code: None,
            duration_us: None,
            result: None,
            approval: self.approval.get().copied(),
        }
    }
}

impl End<'_> {
    fn code(self) -> Option<Code> {
        match self {
            Self::Failed(code) => Some(code),
            Self::Answered(_) | Self::Asked | Self::Abandoned => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Answered(_) => "ok",
            Self::Failed(code) => code.as_str(),
            Self::Asked => "asked",
            Self::Abandoned => "abandoned",
        }
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let entry = self.note(End::Abandoned, 0);
        let (Some(audit), Some(entry)) = (self.recorder.audit.clone(), entry) else { return };
        // Outside a runtime there is nobody left to write it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let append = async move { drop(audit.append(entry, Durability::Batched).await) };
            self.recorder.tasks.spawn_on(append, &runtime);
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Recorder")
            .field("call_log", &self.call_log.is_some())
            .field("audit", &self.audit.is_some())
            .finish_non_exhaustive()
    }
}
