//! What a question comes to, and how it is laid out for whoever asked.

use countersign_contract::{Digest, Reply, RequestId, ToolName};
use countersign_host::{QueryId, Ruling};
use serde_json::{Map, Value, json};

use crate::planner::{Candidate, Choice, Plan};
use crate::receipt::PlannedBy;
use crate::summary::Summary;

#[derive(Debug)]
pub struct Answered {
    pub id: QueryId,
    pub query: String,
    pub planner: PlannedBy,
    pub plan: Plan,
    pub outcome: Outcome,
    /// Whether its receipt was kept.
    pub receipt: bool,
}

#[derive(Debug)]
pub enum Outcome {
    /// Nothing was called.
    Refused(Refusal),
    Called {
        called: Box<Called>,
        /// Where one was asked for and there was something to sum up.
        summary: Option<Summary>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub why: String,
    /// Arguments that the question does not say, of the tool that would fit.
    pub missing: Vec<String>,
    pub tool: Option<String>,
}

/// The one call and what it gave.
#[derive(Debug)]
pub struct Called {
    pub request_id: RequestId,
    pub tool: ToolName,
    pub contract: Digest,
    pub promised: Ruling,
    pub ruling: Ruling,
    /// As they were checked and recorded, with defaults.
    pub arguments: Value,
    pub reply: Reply,
}

impl Outcome {
    pub(crate) fn summed_up(self, summary: Option<Summary>) -> Self {
        match self {
            Self::Refused(refusal) => Self::Refused(refusal),
            Self::Called { called, .. } => Self::Called { called, summary },
        }
    }
}

impl Answered {
    pub fn reply(&self) -> Option<&Reply> {
        match &self.outcome {
            Outcome::Refused(_) => None,
            Outcome::Called { called, .. } => Some(&called.reply),
        }
    }

    /// Tools that come next, nearest first.
    pub fn alternatives(&self) -> impl Iterator<Item = &Candidate> {
        let chosen = match &self.plan.choice {
            Choice::Call { tool, .. } => Some(tool.as_str()),
            Choice::Missing { .. } | Choice::Nothing { .. } => None,
        };
        self.plan.candidates.iter().filter(move |candidate| Some(candidate.tool.as_str()) != chosen)
    }

    pub fn to_json(&self, explain: bool) -> Value {
        let ok = self.reply().is_some_and(|reply| !reply.is_error());
        let mut members = Map::from_iter([
            ("query_id".to_owned(), json!(self.id)),
            ("query".to_owned(), json!(self.query)),
            ("ok".to_owned(), json!(ok)),
            ("plan".to_owned(), self.plan_json(explain)),
        ]);
        let mut put = |key: &str, value: Value| drop(members.insert(key.to_owned(), value));
        match &self.outcome {
            Outcome::Refused(Refusal { why, missing, tool }) => {
                let nearest: Vec<&str> = self.plan.candidates.iter().map(|near| near.tool.as_str()).collect();
                put("refusal", json!({"why": why, "tool": tool, "missing": missing, "nearest": nearest}));
            }
            Outcome::Called { called, summary } => {
                let key = if ok { "result" } else { "failure" };
                put(key, called.reply.structured.clone());
                put("request_id", json!(called.request_id));
                if let Some(summary) = summary {
                    put("summary", json!(summary));
                }
            }
        }
        if self.receipt {
            put("receipt", json!(self.id));
        }
        Value::Object(members)
    }

    fn plan_json(&self, explain: bool) -> Value {
        let planner = match &self.planner {
            PlannedBy::Embedded { .. } => "embedded",
            PlannedBy::Model { .. } => "model",
        };
        let alternatives: Vec<Value> =
            self.alternatives().map(|near| json!({"tool": near.tool, "score": near.score})).collect();
        let mut plan = json!({"planner": planner, "alternatives": alternatives});
        match &self.plan.choice {
            Choice::Call { tool, arguments, why } | Choice::Missing { tool, arguments, why, .. } => {
                plan["tool"] = json!(tool);
                plan["arguments"] = json!(arguments);
                plan["why"] = json!(why);
            }
            Choice::Nothing { why } => plan["why"] = json!(why),
        }
        if explain {
            plan["candidates"] = json!(self.plan.candidates);
        }
        plan
    }
}
