//! A question's way: plan, at most one call through the gate, an answer, a summary that the answer carries, a receipt.

mod keeping;
mod summing;
mod supplying;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use countersign_contract::{Caller, Client, Digest, Progress};
use countersign_host::{Answer, Call, Catalog, Gate, NoAnswer, NotCalled, QueryId, Ruling, Wire};
use countersign_index::{EmbedError, Embedder as _, Kept, Local};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use self::keeping::Unanswered;
use crate::answer::{Answered, Called as CalledTool, Outcome, Refusal};
use crate::model::{Choosable, Model, ModelError, TOOLS_MAX};
use crate::offers::Material;
use crate::planner::{Choice, Plan, Planner};
use crate::receipt::{Keeping, PlannedBy, ReceiptBook};

/// A longer question is a document, and no tool is found by one.
const QUERY_CHARACTERS_MAX: usize = 4000;

/// Planners are kept for so many sets of tools: callers mostly share one.
const PLANNERS_MAX: usize = 4;

#[derive(Debug)]
pub struct Ask {
    means: Means,
    /// By the digest of what each chooses from; the newest last.
    planners: Mutex<VecDeque<(Digest, Arc<Planner>)>>,
}

#[derive(Debug)]
pub struct Means {
    pub gate: Arc<Gate>,
    /// What plans and judges claims: thresholds were measured with this one.
    pub local: Local,
    /// The same for texts that come again: what tools say of themselves.
    pub known: Kept,
    /// Plans and writes summaries instead of the embedded ones.
    pub model: Option<Model>,
    pub receipts: Arc<dyn ReceiptBook>,
    pub keeping: Keeping,
}

#[derive(Debug, Clone)]
pub struct Question {
    pub query: String,
    pub summary: bool,
    pub caller: Arc<Caller>,
    pub wire: Wire,
}

/// A question with its plan. Nothing has run.
#[derive(Debug)]
pub struct Planned {
    pub id: QueryId,
    pub plan: Plan,
    /// Part of the plan's arguments: what the question does not say.
    supplied: Map<String, Value>,
    question: Question,
    at: Timestamp,
    planner: PlannedBy,
    material: Arc<Material>,
    catalog: Arc<Catalog>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("The question is empty")]
    Empty,
    #[error("The question has more than {QUERY_CHARACTERS_MAX} characters")]
    TooLong,
    #[error(transparent)]
    Embedding(#[from] EmbedError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("Nobody waits for the answer")]
    Cancelled,
}

impl Ask {
    pub fn new(means: Means) -> Self {
        Self { means, planners: Mutex::default() }
    }

    pub async fn plan(&self, mut question: Question) -> Result<Planned, AskError> {
        question.query = question.query.trim().to_owned();
        if question.query.is_empty() {
            return Err(AskError::Empty);
        }
        if question.query.chars().count() > QUERY_CHARACTERS_MAX {
            return Err(AskError::TooLong);
        }
        let (id, at) = (self.means.gate.open_query(), Timestamp::now());
        let catalog = self.means.gate.catalog();
        let material = Arc::new(Material::of(&catalog, &question.caller));
        let planner = self.planner(&material).await?;
        let mut plan = planner.plan(&question.query, at.to_zoned(TimeZone::UTC).date()).await?;
        let planned_by = match &self.means.model {
            None => PlannedBy::Embedded { vectors: self.means.local.model().to_owned() },
            Some(model) => {
                let nearest = planner.nearest(&question.query, TOOLS_MAX).await?;
                let tools = choosable(&material, &catalog, &question.caller, &nearest);
                plan.choice = model.plan(&question.query, &tools).await?;
                PlannedBy::Model { name: model.name().to_owned() }
            }
        };
        Ok(Planned { id, plan, supplied: Map::new(), question, at, planner: planned_by, material, catalog })
    }

    async fn planner(&self, material: &Material) -> Result<Arc<Planner>, EmbedError> {
        let digest = material.digest();
        let kept = || self.planners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, planner)) = kept().iter().find(|(known, _)| *known == digest) {
            return Ok(Arc::clone(planner));
        }
        let Means { known, local, .. } = &self.means;
        let planner = Arc::new(Planner::with_known(material.offers(), known, Arc::new(local.clone())).await?);
        let mut planners = kept();
        planners.push_back((digest, Arc::clone(&planner)));
        if planners.len() > PLANNERS_MAX {
            planners.pop_front();
        }
        Ok(planner)
    }

    /// The one call, where the plan has one, and what comes of it.
    pub async fn answer(&self, planned: Planned) -> Result<Answered, AskError> {
        let outcome = match planned.plan.choice.clone() {
            Choice::Call { tool, arguments, .. } => self.call(&planned, &tool, arguments).await?,
            Choice::Missing { tool, parameters, why, .. } => {
                Outcome::Refused(Refusal { why, missing: parameters, tool: Some(tool) })
            }
            Choice::Nothing { why } => Outcome::Refused(Refusal { why, missing: Vec::new(), tool: None }),
        };
        let unanswered = Unanswered::new(self, &planned, &outcome);
        let (summary, claims) = self.summarise(&planned, &outcome).await.unzip();
        let kept = unanswered.keep(claims).await;
        let outcome = outcome.summed_up(summary);
        let Planned { id, plan, question, planner, .. } = planned;
        Ok(Answered { id, query: question.query, planner, plan, outcome, receipt: kept })
    }

    async fn call(&self, planned: &Planned, tool: &str, arguments: Map<String, Value>) -> Result<Outcome, AskError> {
        let refused = |why: &str| {
            Ok(Outcome::Refused(Refusal { why: why.to_owned(), missing: Vec::new(), tool: Some(tool.to_owned()) }))
        };
        let Some(found) = planned.catalog.find(tool, &planned.question.caller) else {
            return refused("The planner chose a tool that it was not offered.");
        };
        let contract = found.contract();
        let mut settled = Value::Object(arguments.clone());
        contract.normalise(&mut settled);
        let ruling = self.means.gate.ruling(contract);
        let call = Call {
            tool: tool.to_owned(),
            arguments: Value::Object(arguments),
            caller: Arc::clone(&planned.question.caller),
            wire: planned.question.wire,
            session: None,
            // Dropping the question drops the call.
            cancelled: CancellationToken::new(),
            progress: Progress::default(),
            client: Client::default(),
        };
        let Answer { request_id, reply } = match self.means.gate.call_for(planned.id, contract.digest, call).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(NoAnswer::Cancelled)) => return Err(AskError::Cancelled),
            Ok(Err(NoAnswer::UnknownTool)) => return refused("The tool went away before it could be called."),
            Ok(Err(NoAnswer::InputRequired(_) | NoAnswer::MissingCapability(_))) => {
                return refused("The tool's server asks its client something, and nobody here can answer that.");
            }
            Err(NotCalled::ContractChanged(_)) => {
                return refused(&format!(
                    "The contract of `{tool}` was changed after the plan was made, so nothing was called; ask again."
                ));
            }
            Err(NotCalled::BudgetSpent(_)) => return refused("The time for this question's one call is over."),
        };
        let called = CalledTool {
            request_id,
            tool: contract.name.clone(),
            contract: contract.digest,
            promised: Ruling::promised(contract),
            ruling,
            arguments: settled,
            reply,
        };
        Ok(Outcome::Called { called: Box::new(called), summary: None })
    }
}

/// What a model gets to see: the nearest of the caller's tools.
fn choosable<'a>(
    material: &'a Material,
    catalog: &'a Catalog,
    caller: &Caller,
    nearest: &[String],
) -> Vec<Choosable<'a>> {
    let tools = nearest.iter().filter_map(|name| Some((material.find(name)?, catalog.find(name, caller)?)));
    tools.map(|(described, tool)| Choosable { described, contract: tool.contract() }).collect()
}
