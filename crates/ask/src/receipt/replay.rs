//! What would be decided today: every verdict of a receipt beside the one that the same material gets here and now.

use std::fmt;
use std::sync::Arc;

use countersign_contract::{Approval, Digest, Schema, ToolName};
use countersign_host::{Policy, Ruling};
use countersign_index::{EmbedError, Local};
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Map, Value};

use super::file::canonical;
use super::{AskReceipt, CallReceipt, Called, Claims, Kept, PlannedBy, ReceiptFile};
use crate::grounding::{Bullet, Grounding};
use crate::planner::{Choice, Planner};

/// What decides here.
pub struct Here<'a> {
    pub local: Local,
    pub policy: &'a Policy,
    /// The contract of a tool that is offered here; where only a server could tell, `Unknown`.
    pub offered: &'a (dyn Fn(&ToolName) -> Offered + Sync),
}

impl fmt::Debug for Here<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Here").field("policy", &self.policy).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    No,
    Unknown,
    Yes(Digest),
}

/// One verdict, then and now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    pub check: String,
    pub recorded: String,
    /// Absent where it cannot be repeated; `note` says why.
    pub now: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl Step {
    fn new(check: impl Into<String>, recorded: impl Into<String>, now: impl Into<String>) -> Self {
        Self { check: check.into(), recorded: recorded.into(), now: Some(now.into()), note: None }
    }

    fn unrepeatable(check: impl Into<String>, recorded: impl Into<String>, note: &'static str) -> Self {
        Self { check: check.into(), recorded: recorded.into(), now: None, note: Some(note) }
    }

    pub fn changed(&self) -> bool {
        self.now.as_ref().is_some_and(|now| *now != self.recorded)
    }
}

const NO_CONTENT: &str = "only its digest was kept";

impl ReceiptFile {
    pub async fn replay(&self, here: &Here<'_>) -> Result<Vec<Step>, EmbedError> {
        match self {
            Self::Call(call) => Ok(replay_call(call, here)),
            Self::Ask(ask) => ask.replay(here).await,
        }
    }
}

fn replay_call(call: &CallReceipt, here: &Here<'_>) -> Vec<Step> {
    call.tool().into_iter().flat_map(|(tool, contract)| offered(tool, contract, here)).collect()
}

impl AskReceipt {
    async fn replay(&self, here: &Here<'_>) -> Result<Vec<Step>, EmbedError> {
        let mut steps = vec![self.plan(here).await?];
        if let Some(call) = &self.receipt.call {
            steps.push(self.checked("arguments", "inputSchema", call.arguments.content.as_ref()));
            steps.extend(offered(&call.tool, call.contract, here));
            steps.extend(rulings(call, here.policy));
            let result = call.result.read();
            if call.outcome == "ok" {
                steps.push(self.checked("result", "outputSchema", result.as_ref()));
            }
            steps.extend(self.claims(result.as_ref(), here).await);
        }
        Ok(steps)
    }

    async fn plan(&self, here: &Here<'_>) -> Result<Step, EmbedError> {
        let Some(recorded) = self.receipt.plan.read::<Choice>().map(|choice| described(&choice)) else {
            return Ok(Step::unrepeatable("plan", self.receipt.plan.digest.to_string(), NO_CONTENT));
        };
        if let PlannedBy::Model { .. } = self.receipt.planner {
            return Ok(Step::unrepeatable("plan", recorded, "a language model made it"));
        }
        let Some(Value::String(query)) = &self.receipt.query.content else {
            return Ok(Step::unrepeatable("plan", recorded, NO_CONTENT));
        };
        let planner = Planner::new(self.material.offers(), Arc::new(here.local.clone())).await?;
        let today = self.receipt.at.to_zoned(TimeZone::UTC).date();
        let plan = planner.plan(query, today).await?;
        let supplied = self.receipt.supplied.as_ref().and_then(Kept::read::<Map<String, Value>>).unwrap_or_default();
        Ok(Step::new("plan", recorded, described(&plan.choice.supplied(&supplied))))
    }

    /// Against the contract that was in force then.
    fn checked(&self, check: &str, part: &str, content: Option<&Value>) -> Step {
        let recorded = "valid";
        let Some(content) = content else { return Step::unrepeatable(check, recorded, NO_CONTENT) };
        let tool = self.receipt.call.as_ref().and_then(|call| self.material.find(call.tool.as_str()));
        let schema = tool.and_then(|tool| Schema::compile(tool.definition[part].clone()).ok());
        let now = match schema.map(|schema| schema.mistakes(content)) {
            None => "the contract cannot be read".to_owned(),
            Some(mistakes) if mistakes.is_empty() => "valid".to_owned(),
            Some(mistakes) => format!("invalid at `{}`", mistakes[0].path),
        };
        Step::new(check, recorded, now)
    }

    async fn claims(&self, result: Option<&Value>, here: &Here<'_>) -> Vec<Step> {
        let Some(kept) = &self.receipt.summary else { return Vec::new() };
        let Some(summary) = kept.read::<Claims>() else {
            return vec![Step::unrepeatable("summary", kept.digest.to_string(), NO_CONTENT)];
        };
        if let Some(why) = &summary.failed {
            return vec![Step::unrepeatable("summary", format!("failed: {why}"), "a language model was to write it")];
        }
        let shown = summary.shown.iter().map(|bullet| (&bullet.claim, &bullet.evidence, "shown".to_owned()));
        let dropped = summary.dropped.iter();
        let dropped = dropped.map(|bullet| (&bullet.claim, &bullet.evidence, format!("dropped: {}", bullet.why)));
        let grounding = Grounding::new(here.local.clone());
        let mut steps = Vec::new();
        for (claim, evidence, recorded) in shown.chain(dropped) {
            let check = format!("claim “{claim}”");
            let Some(result) = result else {
                steps.push(Step::unrepeatable(check, recorded, NO_CONTENT));
                continue;
            };
            let bullet = Bullet { claim: claim.clone(), evidence: evidence.clone() };
            let now = match grounding.check(result, &bullet).await {
                Ok(_) => "shown".to_owned(),
                Err(flaw) => format!("dropped: {flaw}"),
            };
            steps.push(Step::new(check, recorded, now));
        }
        steps
    }
}

/// What a plan comes to, without its reasons.
fn described(choice: &Choice) -> String {
    // As a file has them: what was planned as `20.0` stands there as `20`.
    let arguments = |arguments: &Map<String, Value>| canonical(&Value::Object(arguments.clone()));
    match choice {
        Choice::Call { tool, arguments: given, .. } => format!("{tool} {}", arguments(given)),
        Choice::Missing { tool, parameters, .. } => format!("{tool} needs {}", parameters.join(", ")),
        Choice::Nothing { .. } => "nothing fits".to_owned(),
    }
}

fn offered(tool: &ToolName, contract: Digest, here: &Here<'_>) -> Vec<Step> {
    match (here.offered)(tool) {
        Offered::No => vec![Step::new("tool", "offered", "not offered")],
        Offered::Unknown => {
            let note = "its server is not asked";
            vec![Step::unrepeatable("contract", contract.to_string(), note)]
        }
        Offered::Yes(now) => {
            vec![Step::new("tool", "offered", "offered"), Step::new("contract", contract.to_string(), now.to_string())]
        }
    }
}

fn rulings(call: &Called, policy: &Policy) -> [Step; 3] {
    let (then, now) = (call.ruling, policy.ruling(&call.tool, call.promised));
    let approval = |ruling: Ruling| match ruling.approval {
        Approval::Never => "nobody asked",
        Approval::Client => "a person asked, in the client or outside",
        Approval::OutOfBand => "a person asked, outside the client",
    };
    let rate = |ruling: Ruling| match ruling.rate_per_minute {
        Some(rate) => format!("{rate} calls a minute"),
        None => "no limit".to_owned(),
    };
    let time = |ruling: Ruling| match ruling.timeout_ms {
        Some(milliseconds) => format!("{milliseconds} ms"),
        None => "no limit".to_owned(),
    };
    [
        Step::new("approval", approval(then), approval(now)),
        Step::new("rate limit", rate(then), rate(now)),
        Step::new("time limit", time(then), time(now)),
    ]
}
