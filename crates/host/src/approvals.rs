//! The place in the path where a person may have to agree: by the client's own prompt where that counts, or elsewhere.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_contract::{
    Answers, AnyTool, Approval, ApprovalId, BoxFuture, CallContext, CallToApprove, Capability, Code, Decider, Decision,
    Digest, HeldCall, HeldCalls, HeldCallsUnavailable, NotDecided, Question, Questions, Rejection, Standing, ToolError,
    visible,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// What cannot be shown cannot be agreed to: more than this nobody reads, wherever it is shown.
const MAX_PREVIEW_BYTES: usize = 64 * 1024;

/// And more than this not in a prompt; the command line shows it all.
const MAX_PROMPT_BYTES: usize = 32 * 1024;

/// When to come back for whoever has too many calls waiting.
const TRY_AGAIN: Duration = Duration::from_mins(1);

/// Decides about calls whose policy asks for a person.
pub trait Approvals: Send + Sync + fmt::Debug {
    /// Ready with `Ok` only when a person agreed to exactly this call, and then once. Answers where that is on record.
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Result<Option<ApprovalId>, ToolError>>;

    /// The tool has a question of its own, and the call comes again: what a person agreed to is not done yet.
    fn give_back(&self, _id: ApprovalId) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[derive(Clone, Copy)]
pub struct ApprovalRequest<'a> {
    pub ctx: &'a CallContext,
    pub tool: &'a dyn AnyTool,
    /// What the tool would get: normalised, completed and valid.
    pub arguments: &'a Value,
    /// `Client` or `OutOfBand`.
    pub policy: Approval,
}

/// Nobody is there to ask, so nothing that needs approval runs.
#[derive(Debug, Clone, Copy)]
pub struct NoApprover;

impl Approvals for NoApprover {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Result<Option<ApprovalId>, ToolError>> {
        let error = format!("`{}` needs a person's approval, and nobody can be asked", request.tool.contract().name);
        Box::pin(std::future::ready(Err(Rejection::new(Code::ApprovalRequired, error).into())))
    }
}

/// Asks people, and holds the call until one has decided.
#[derive(Debug)]
pub struct People {
    held: Arc<dyn HeldCalls>,
    signpost: Signpost,
    /// Calls about which a client is being asked right now. One question each is enough.
    asking: Mutex<HashSet<ApprovalId>>,
}

/// Where a person decides who was not asked by the client.
#[derive(Debug, Clone)]
pub struct Signpost {
    /// The project that calls are about.
    pub scope: Arc<str>,
    /// What stands behind `countersign approvals approve <id>`, for the same installation to be found.
    pub options: String,
    /// Where this installation is served, without a slash at the end.
    pub url: String,
}

impl People {
    pub fn new(held: Arc<dyn HeldCalls>, signpost: Signpost) -> Self {
        Self { held, signpost, asking: Mutex::default() }
    }

    async fn agree(&self, request: ApprovalRequest<'_>) -> Result<ApprovalId, ToolError> {
        let ApprovalRequest { ctx, tool, arguments, policy } = request;
        let contract = tool.contract();
        let call = CallToApprove {
            caller: Arc::clone(&ctx.caller.name),
            tool: contract.name.clone(),
            scope: Arc::clone(&self.signpost.scope),
            arguments: Digest::of_json(arguments),
            contract: contract.digest,
            request_id: ctx.request_id,
            preview: tool.preview_json(arguments)?,
        };
        if call.preview.len() > MAX_PREVIEW_BYTES {
            let error = "The arguments are too large for a person to look at, so the call cannot be approved";
            return Err(Rejection::new(Code::TooLarge, error).into());
        }
        if let Some(held) = self.declined(ctx, policy).await? {
            return Err(denied(&held).into());
        }
        let held = match self.held.claim(call.clone()).await.map_err(unavailable)? {
            Standing::Approved(id) => return Ok(id),
            Standing::Denied(held) => return Err(denied(&held).into()),
            Standing::TooMany => return Err(too_many().into()),
            Standing::Waiting(held) => held,
        };
        let may_ask = policy == Approval::Client && call.preview.len() <= MAX_PROMPT_BYTES;
        if may_ask && ctx.client.declares(Capability::Elicitation) {
            return self.ask(ctx, call, &held).await;
        }
        Err(self.required(&held).into())
    }

    /// The call that a client declines by this repetition of it. Looked at first: it may have been approved elsewhere since,
    /// and a no is a no. The state is sealed for this very call, so the id in it is that of its question.
    async fn declined(&self, ctx: &CallContext, policy: Approval) -> Result<Option<HeldCall>, ToolError> {
        let kept = ctx.client.state().filter(|_| policy == Approval::Client && ctx.client.repeats());
        let Some(id) = kept.and_then(|state| state.get("approval")?.as_str()?.parse::<ApprovalId>().ok()) else {
            return Ok(None);
        };
        let name = id.to_string();
        let question = Question::Form { message: String::new(), schema: json!({"type": "object"}) };
        // Nothing is asked: there is an answer with the call, or there is none.
        let said = ctx.client.ask(Questions::from([(name.clone(), question)]), None).await;
        if said.ok().and_then(|answers| decision(&answers, &name)) != Some(Decision::Deny) {
            return Ok(None);
        }
        match self.held.decide(id, Decision::Deny, Decider::Client).await {
            Ok(held) => Ok(Some(held)),
            // Denied, used or gone already: what holds for the call is on record.
            Err(NotDecided::NotPending(_) | NotDecided::Unknown) => Ok(None),
            Err(NotDecided::Unavailable(_) | NotDecided::OwnCall) => Err(unavailable(HeldCallsUnavailable)),
        }
    }

    /// The person at the client. Whoever decides meanwhile elsewhere decides, too.
    async fn ask(&self, ctx: &CallContext, call: CallToApprove, held: &HeldCall) -> Result<ApprovalId, ToolError> {
        let Some(_one_at_a_time) = Asking::begin(&self.asking, held.id) else {
            return Err(self.required(held).into());
        };
        // The answer repeats the id, and the state seals it: neither is good for another call, or for this one again.
        let (name, state) = (held.id.to_string(), json!({"approval": held.id}));
        let question = Question::Form { message: prompt(held), schema: json!({"type": "object", "properties": {}}) };
        let questions = Questions::from([(name.clone(), question)]);
        let asked = ctx.client.ask(questions, Some(state.clone()));
        let answers = tokio::select! {
            answers = tokio::time::timeout(left(held), asked) => answers,
            () = ctx.cancelled.cancelled() => return Err(ToolError::Cancelled),
        };
        let answers = match answers {
            Ok(Ok(answers)) => answers,
            // It said it could ask, and cannot, or nobody answered: there are other ways.
            Ok(Err(ToolError::Rejected(_) | ToolError::MissingCapability(_))) | Err(_) => {
                return Err(self.required(held).into());
            }
            Ok(Err(error)) => return Err(error),
        };
        if ctx.client.repeats() && ctx.client.state() != Some(&state) {
            let error = "The answer came without the requestState of its question, so it counts for nothing";
            return Err(Rejection::new(Code::ValidationError, error).into());
        }
        let Some(decision) = decision(&answers, &name) else { return Err(self.required(held).into()) };
        match self.held.decide(held.id, decision, Decider::Client).await {
            Ok(_) | Err(NotDecided::NotPending(_) | NotDecided::Unknown) => {}
            Err(NotDecided::Unavailable(_) | NotDecided::OwnCall) => return Err(unavailable(HeldCallsUnavailable)),
        }
        if decision == Decision::Deny {
            // Whatever was decided elsewhere in the meantime: this call is not made.
            return Err(denied(held).into());
        }
        match self.held.claim(call).await.map_err(unavailable)? {
            Standing::Approved(id) => Ok(id),
            Standing::Denied(held) => Err(denied(&held).into()),
            Standing::Waiting(held) => Err(self.required(&held).into()),
            Standing::TooMany => Err(too_many().into()),
        }
    }

    fn required(&self, held: &HeldCall) -> Rejection {
        let command = self.command(held.id);
        let error = format!(
            "`{}` needs a person's approval. Ask the user to run `{command}`, which shows what it is about, then make \
             exactly the same call again",
            held.tool
        );
        Rejection::new(Code::ApprovalRequired, error).with_details(json!({
            "approval_id": held.id,
            "expires_at": held.expires_at,
            "command": command,
            "url": format!("{}/v1/approvals/{}", self.signpost.url, held.id),
        }))
    }

    fn command(&self, id: ApprovalId) -> String {
        format!("countersign approvals approve {id}{}", self.signpost.options)
    }
}

impl Approvals for People {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Result<Option<ApprovalId>, ToolError>> {
        Box::pin(async move { self.agree(request).await.map(Some) })
    }

    fn give_back(&self, id: ApprovalId) -> BoxFuture<'_, ()> {
        // Where that fails, the person is asked once more.
        Box::pin(async move { self.held.give_back(id).await.unwrap_or_default() })
    }
}

/// What the person said. Whoever dismissed the question said nothing.
fn decision(answers: &Answers, name: &str) -> Option<Decision> {
    match answers.get(name)?.get("action")?.as_str()? {
        "accept" => Some(Decision::Approve),
        "decline" => Some(Decision::Deny),
        _ => None,
    }
}

/// The question first, and what it is about in a frame: whatever the text says, it is seen to be the text.
fn prompt(held: &HeldCall) -> String {
    let (caller, tool, preview) = (visible(&held.caller), &held.tool, framed(&held.preview));
    format!("Allow `{caller}` to use {tool} once?\n\n{preview}")
}

/// Every line of a preview with a bar before it, and its size at the end.
pub fn framed(preview: &str) -> String {
    let lines: String = visible(preview).lines().map(|line| format!("│ {line}\n")).collect();
    format!("{lines}({} lines, {} bytes)", preview.lines().count(), preview.len())
}

fn left(held: &HeldCall) -> Duration {
    held.expires_at.duration_since(Timestamp::now()).try_into().unwrap_or_default()
}

fn denied(held: &HeldCall) -> Rejection {
    let error = format!("A person denied this call of `{}`; do not make it again", held.tool);
    Rejection::new(Code::ApprovalDenied, error)
        .with_details(json!({"approval_id": held.id, "expires_at": held.expires_at}))
}

fn too_many() -> Rejection {
    let error = "Too many of your calls wait for a person's approval already; wait until some are decided";
    Rejection::new(Code::RateLimited, error).with_retry_after(TRY_AGAIN)
}

/// Stands for one open question; dropped with it.
struct Asking<'a> {
    all: &'a Mutex<HashSet<ApprovalId>>,
    id: ApprovalId,
}

impl<'a> Asking<'a> {
    fn begin(all: &'a Mutex<HashSet<ApprovalId>>, id: ApprovalId) -> Option<Self> {
        let is_new = all.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        // Made only then: dropping one ends what it stands for.
        is_new.then(|| Self { all, id })
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

fn unavailable(_: HeldCallsUnavailable) -> ToolError {
    let error = "Approvals cannot be recorded, so nothing was done";
    Rejection::new(Code::Unavailable, error).into()
}

impl fmt::Debug for ApprovalRequest<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ApprovalRequest").field("policy", &self.policy).finish_non_exhaustive()
    }
}
