//! What an answer is summed up to.

use serde_json::Value;

use super::{Ask, Planned};
use crate::answer::Outcome;
use crate::grounding::Grounding;
use crate::model::Model;
use crate::receipt::{Claims, Dropped};
use crate::summary::{Author, Summary};

impl Ask {
    /// Failures are not summed up: what broke its contract is nobody's material.
    ///
    /// The call has run, so nothing that goes wrong here is an error: there are no bullets then, and the reason.
    pub(super) async fn summarise(&self, planned: &Planned, outcome: &Outcome) -> Option<(Summary, Claims)> {
        let Outcome::Called { called, .. } = outcome else { return None };
        if !planned.question.summary || called.reply.is_error() {
            return None;
        }
        let (query, result) = (&planned.question.query, &called.reply.structured);
        let (summary, dropped) = match &self.means.model {
            None => (Summary::extract(query, result), Vec::new()),
            Some(model) => self.written(model, query, result).await,
        };
        let claims = Claims { shown: summary.bullets.clone(), dropped, failed: summary.failed.clone() };
        Some((summary, claims))
    }

    async fn written(&self, model: &Model, query: &str, result: &Value) -> (Summary, Vec<Dropped>) {
        let (mut shown, mut dropped) = (Vec::new(), Vec::new());
        let failed = match model.bullets(query, result).await {
            Ok(bullets) => {
                let grounding = Grounding::new(self.means.local.clone());
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
                None
            }
            Err(error) => {
                tracing::warn!(%error, "a result was not summed up");
                Some(error.to_string())
            }
        };
        (Summary { author: Author::Model, bullets: shown, dropped: dropped.len(), failed }, dropped)
    }
}
