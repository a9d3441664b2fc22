//! The one path that every call takes, whoever makes it and whatever it calls:
//! look up, authorise, limit, validate, approve, run, validate again, record, answer.

mod run;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use countersign_contract::{
    AnyTool, Approval, CallContext, Caller, Capability, Client, Code, Contract, Digest, Failure, InputRequired, Output,
    Progress, Rejection, Reply, RequestId, ToolError, to_json, visible,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::approvals::{ApprovalRequest, Approvals};
use crate::budget::{Budget, QueryId};
use crate::catalog::Catalog;
use crate::changes::{Change, Changes};
use crate::limits::{Limiter, Wait};
use crate::policy::{Policy, Ruling};
use crate::record::{Origin, Recorder, Recording};

/// No transport and no tool repeats a step of this. Catalog and policy are swapped whole when the configuration
/// changes; a call under way keeps the ones it started with.
#[derive(Debug)]
pub struct Gate {
    catalog: ArcSwap<Catalog>,
    policy: ArcSwap<Policy>,
    limiter: Limiter,
    budget: Budget,
    changes: Changes,
    approvals: Arc<dyn Approvals>,
    recorder: Arc<Recorder>,
}

/// A call as a wire hands it over: the caller is established, nothing else is checked yet.
#[derive(Debug)]
pub struct Call {
    pub tool: String,
    pub arguments: Value,
    pub caller: Arc<Caller>,
    pub wire: Wire,
    pub session: Option<String>,
    pub cancelled: CancellationToken,
    pub progress: Progress,
    pub client: Client,
}

/// How a call reached us; for the records only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    Rest,
    /// MCP over Streamable HTTP.
    Mcp,
    /// MCP over stdin and stdout.
    Stdio,
    Cli,
}

impl Wire {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rest => "rest",
            Self::Mcp => "mcp",
            Self::Stdio => "stdio",
            Self::Cli => "cli",
        }
    }
}

#[derive(Debug)]
pub struct Answer {
    pub request_id: RequestId,
    pub reply: Reply,
}

/// Why a query's call did not reach its tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotCalled {
    /// A query may make one call.
    #[error("query {0} has made its one call")]
    BudgetSpent(QueryId),
    #[error("the tool has another contract than query {0} was planned with")]
    ContractChanged(QueryId),
}

/// Why there is nothing to hand out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoAnswer {
    /// It does not exist, or not for this caller.
    #[error("unknown tool")]
    UnknownTool,
    /// Nobody waits for an answer any more.
    #[error("cancelled")]
    Cancelled,
    /// The client has to answer something first, and then repeat the call.
    #[error("the client has to answer first")]
    InputRequired(Box<InputRequired>),
    #[error("the client did not declare what this needs: {0:?}")]
    MissingCapability(Capability),
}

impl Gate {
    pub fn new(catalog: Catalog, policy: Policy, approvals: Arc<dyn Approvals>, recorder: Recorder) -> Self {
        Self {
            catalog: ArcSwap::from_pointee(catalog),
            policy: ArcSwap::from_pointee(policy),
            limiter: Limiter::default(),
            budget: Budget::default(),
            changes: Changes::default(),
            approvals,
            recorder: Arc::new(recorder),
        }
    }

    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// From the next call on; clients are told.
    pub fn replace_catalog(&self, catalog: Catalog) {
        self.catalog.store(Arc::new(catalog));
        self.changes.announce(Change::Tools);
        self.changes.announce(Change::Resources);
    }

    /// What clients are told about.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// From the next call on.
    pub fn replace_policy(&self, policy: Policy) {
        self.policy.store(Arc::new(policy));
    }

    /// Whether a call of this tool runs without a word to its client.
    pub fn asks_nobody(&self, tool: &str, caller: &Caller) -> bool {
        let catalog = self.catalog.load();
        let asks =
            |tool: &dyn AnyTool| tool.asks_its_client() || self.ruling(tool.contract()).approval != Approval::Never;
        catalog.find(tool, caller).is_some_and(|tool| !asks(&**tool))
    }

    /// What holds for calls of this tool.
    pub fn ruling(&self, contract: &Contract) -> Ruling {
        self.policy.load().ruling(&contract.name, Ruling::promised(contract))
    }

    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// A query that may make one call.
    pub fn open_query(&self) -> QueryId {
        self.budget.open()
    }

    /// The one call of a query. Whatever becomes of it, there is no second one.
    ///
    /// Whoever chose it did so by the contract with this digest, as a person approves a call: under another one it is
    /// another call, and does not run.
    pub async fn call_for(
        &self,
        query: QueryId,
        planned: Digest,
        call: Call,
    ) -> Result<Result<Answer, NoAnswer>, NotCalled> {
        if !self.budget.spend(query) {
            return Err(NotCalled::BudgetSpent(query));
        }
        match self.find(&call) {
            Ok(tool) if tool.contract().digest != planned => Err(NotCalled::ContractChanged(query)),
            Ok(tool) => Ok(self.call_of(&*tool, call).await),
            Err(unknown) => Ok(Err(unknown)),
        }
    }

    pub async fn call(&self, call: Call) -> Result<Answer, NoAnswer> {
        let tool = self.find(&call)?;
        self.call_of(&*tool, call).await
    }

    fn find(&self, call: &Call) -> Result<Arc<dyn AnyTool>, NoAnswer> {
        self.catalog.load().find(&call.tool, &call.caller).cloned().ok_or_else(|| {
            self.recorder.metrics.unknown();
            NoAnswer::UnknownTool
        })
    }

    /// The tool is looked up once: what was found is what runs.
    pub(crate) async fn call_of(&self, tool: &dyn AnyTool, call: Call) -> Result<Answer, NoAnswer> {
        let contract = tool.contract();
        let ruling = self.ruling(contract);
        let deadline = ruling.timeout().unwrap_or(Duration::MAX);
        let ctx = CallContext::new(call.caller, deadline, call.cancelled, call.progress, call.client);
        let origin = Origin { wire: call.wire, session: call.session.as_deref() };
        // First of all, so that records, approvals and the tool all speak of the same arguments.
        let mut arguments = call.arguments;
        contract.normalise(&mut arguments);
        let recording = self.recorder.begin(&ctx, contract, origin, &arguments);
        let outcome = self.pass(tool, ruling, &ctx, arguments, &recording).await;
        let reply = close(contract, &ctx, outcome, recording).await?;
        Ok(Answer { request_id: ctx.request_id, reply })
    }

    /// Everything between the lookup and the record.
    async fn pass(
        &self,
        tool: &dyn AnyTool,
        ruling: Ruling,
        ctx: &CallContext,
        arguments: Value,
        recording: &Recording<'_>,
    ) -> Result<Output, ToolError> {
        let contract = tool.contract();
        self.limit(contract, ruling, ctx)?;
        contract.check_arguments(&arguments)?;
        let mut approved = None;
        if ruling.approval != Approval::Never {
            let request = ApprovalRequest { ctx, tool, arguments: &arguments, policy: ruling.approval };
            approved = self.approvals.decide(request).await?;
            recording.approved(approved);
        }
        if tool.commits_with_audit() {
            recording.intent().into_iter().for_each(|intent| ctx.set_intent(intent));
        } else if contract.effect.changes_something() && recording.intend().await.is_err() {
            let error = "The audit log cannot be written, so nothing was changed";
            return Err(Rejection::new(Code::Unavailable, error).into());
        }
        let output = run::run(tool, ctx, arguments).await;
        if let (Err(ToolError::InputRequired(_)), Some(id)) = (&output, approved) {
            self.approvals.give_back(id).await;
        }
        let output = output?;
        let mistakes = contract.result_mistakes(&output.structured);
        if mistakes.is_empty() {
            return Ok(output);
        }
        // Of someone else's tool the person may see what it was; nobody else does.
        let untrusted = contract.from_server.as_ref().map(|_| shortened(&output.structured));
        tracing::error!(
            request_id = %ctx.request_id, tool = %contract.name, ?mistakes, untrusted, "result breaks its contract"
        );
        let shown = contract.mistakes_for_the_caller(&mistakes);
        let details = json!({"violation_id": ctx.request_id, "mistakes": shown});
        let error = "The tool's result breaks its contract and is withheld";
        Err(Rejection::new(Code::ContractViolation, error).with_details(details).into())
    }

    fn limit(&self, contract: &Contract, ruling: Ruling, ctx: &CallContext) -> Result<(), Rejection> {
        let Some(per_minute) = ruling.rate_per_minute else { return Ok(()) };
        self.limiter.admit(&ctx.caller.name, &contract.name, per_minute).map_err(|Wait(wait)| {
            let seconds = wait.as_millis().div_ceil(1000);
            Rejection::new(Code::RateLimited, format!("Rate limit exceeded for {}", contract.name))
                .with_details(
                    json!({"limit_per_minute": per_minute, "retry_after_seconds": u64::try_from(seconds).ok()}),
                )
                .with_retry_after(wait)
        })
    }
}

/// Records how the call ended and lays the answer out as the contract publishes it.
async fn close(
    contract: &Contract,
    ctx: &CallContext,
    outcome: Result<Output, ToolError>,
    recording: Recording<'_>,
) -> Result<Reply, NoAnswer> {
    let rejection = match outcome {
        Ok(Output { structured, content }) => {
            let text = Arc::new(to_json(&structured));
            recording.answered(&text).await;
            return Ok(Reply { structured, text, failure: None, content, promised: contract.is_structured() });
        }
        // Dropping the recording notes that the call was abandoned.
        Err(ToolError::Cancelled) => return Err(NoAnswer::Cancelled),
        Err(ToolError::InputRequired(required)) => {
            recording.asked().await;
            return Err(NoAnswer::InputRequired(required));
        }
        Err(ToolError::MissingCapability(capability)) => {
            recording.failed(Code::Unavailable, 0).await;
            return Err(NoAnswer::MissingCapability(capability));
        }
        Err(error) => for_the_caller(contract, ctx, error),
    };
    let mut failure = Failure { code: rejection.code, retry_after: rejection.retry_after, storage: rejection.storage };
    let mut structured = contract.error_value(&rejection);
    if !contract.error.is_valid(&structured) {
        tracing::error!(request_id = %ctx.request_id, tool = %contract.name, "error breaks its contract");
        failure.code = Code::InternalError;
        structured = contract.error_value(&internal_error(ctx));
    }
    let text = Arc::new(to_json(&structured));
    recording.failed(failure.code, text.len()).await;
    // An upstream's schema knows nothing of our failures.
    let promised = contract.from_server.is_none();
    Ok(Reply { structured, text, failure: Some(failure), content: None, promised })
}

/// Two audiences: what the caller can act on goes out, what we broke goes to the log under the request's id.
fn for_the_caller(contract: &Contract, ctx: &CallContext, error: ToolError) -> Rejection {
    match error {
        ToolError::Rejected(rejection) => rejection,
        ToolError::TimedOut(deadline) => {
            let error = format!("`{}` did not finish within {deadline:?}", contract.name);
            Rejection::new(Code::Timeout, error)
        }
        ToolError::Internal(cause) => {
            let chain = ErrorChain(&*cause).to_string();
            tracing::error!(request_id = %ctx.request_id, tool = %contract.name, error = chain, "tool failed");
            internal_error(ctx)
        }
        // The gate itself deals with these.
        ToolError::Cancelled | ToolError::InputRequired(_) | ToolError::MissingCapability(_) => internal_error(ctx),
    }
}

/// The beginning of a value, with nothing in it that does not show.
fn shortened(value: &Value) -> String {
    const CHARACTERS_MAX: usize = 4000;
    visible(&value.to_string()).chars().take(CHARACTERS_MAX).collect()
}

fn internal_error(ctx: &CallContext) -> Rejection {
    Rejection::new(Code::InternalError, "Internal error").with_details(json!({"request_id": ctx.request_id}))
}

/// An error with everything that led to it, on one line.
struct ErrorChain<'a>(&'a (dyn std::error::Error + 'static));

impl std::fmt::Display for ErrorChain<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(formatter, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
