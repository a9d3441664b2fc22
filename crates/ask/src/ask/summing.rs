//! What an answer is summed up to, and what is put on record about it.

use serde_json::json;

use super::{Ask, AskError, Planned};
use crate::answer::Outcome;
use crate::grounding::Grounding;
use crate::receipt::{AskReceipt, Called, Claims, Dropped, FORMAT, Kept, KeptText, Receipt};
use crate::summary::{Author, Summary};

impl Ask {
    /// Failures are not summed up: what broke its contract is nobody's material.
    pub(super) async fn summarise(
        &self,
        planned: &Planned,
        outcome: Outcome,
    ) -> Result<(Outcome, Option<Claims>), AskError> {
        let Outcome::Called { called, .. } = outcome else { return Ok((outcome, None)) };
        if !planned.question.summary || called.reply.is_error() {
            return Ok((Outcome::Called { called, summary: None }, None));
        }
        let (query, result) = (&planned.question.query, &called.reply.structured);
        let (summary, dropped) = match &self.means.model {
            None => (Summary::extract(query, result), Vec::new()),
            Some(model) => {
                let bullets = model.bullets(query, result).await?.unwrap_or_default();
                let grounding = Grounding::new(self.means.local.clone());
                let (mut shown, mut dropped) = (Vec::new(), Vec::new());
                for bullet in bullets {
                    match grounding.check(result, &bullet).await {
                        Ok(grounded) => shown.push(grounded),
                        Err(flaw) => dropped.push(Dropped {
                            claim: bullet.claim,
                            evidence: bullet.evidence,
                            why: flaw.to_string(),
                        }),
                    }
                }
                (Summary { author: Author::Model, bullets: shown, dropped: dropped.len() }, dropped)
            }
        };
        let claims = Claims { shown: summary.bullets.clone(), dropped };
        Ok((Outcome::Called { called, summary: Some(summary) }, Some(claims)))
    }

    pub(super) fn receipt(&self, planned: &Planned, outcome: &Outcome, claims: Option<Claims>) -> AskReceipt {
        let keeping = self.means.keeping;
        let call = match outcome {
            Outcome::Refused(_) => None,
            Outcome::Called { called, .. } => Some(Called {
                request_id: called.request_id,
                tool: called.tool.clone(),
                contract: called.contract,
                promised: called.promised,
                ruling: called.ruling,
                arguments: Kept::value(&called.arguments, keeping),
                outcome: called.reply.failure.map_or("ok", |failure| failure.code.as_str()).to_owned(),
                result: KeptText::new(&called.reply.text, keeping),
            }),
        };
        let receipt = Receipt {
            format: FORMAT,
            id: planned.id,
            at: planned.at,
            caller: planned.question.caller.name.to_string(),
            wire: planned.question.wire.as_str().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            query: Kept::value(&json!(planned.question.query), keeping),
            planner: planned.planner.clone(),
            material: planned.material.digest(),
            plan: Kept::value(&json!(planned.plan.choice), keeping),
            supplied: (!planned.supplied.is_empty()).then(|| Kept::value(&json!(planned.supplied), keeping)),
            call,
            summary: claims.map(|claims| Kept::value(&json!(claims), keeping)),
        };
        AskReceipt { receipt, material: (*planned.material).clone() }
    }
}
