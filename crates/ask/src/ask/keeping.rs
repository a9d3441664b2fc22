//! What is put on record about a question. A call that ran leaves its receipt, whatever becomes of the answer.

use std::sync::Arc;

use countersign_contract::BoxFuture;
use serde_json::json;
use tokio::runtime::Handle;

use super::{Ask, Planned};
use crate::answer::Outcome;
use crate::receipt::{AskReceipt, Called, Claims, FORMAT, Kept, KeptText, Receipt};

/// A question whose call is over and whose answer is not there yet. Whoever asked may go away meanwhile; dropping this
/// keeps the receipt all the same.
pub(super) struct Unanswered<'a> {
    ask: &'a Ask,
    planned: &'a Planned,
    outcome: &'a Outcome,
    kept: bool,
}

impl<'a> Unanswered<'a> {
    pub(super) fn new(ask: &'a Ask, planned: &'a Planned, outcome: &'a Outcome) -> Self {
        Self { ask, planned, outcome, kept: false }
    }

    /// Whether that worked. Begun is done: nobody has to wait for it.
    pub(super) async fn keep(mut self, claims: Option<Claims>) -> bool {
        self.kept = true;
        let keeping = self.ask.keeping(&self.ask.receipt(self.planned, self.outcome, claims));
        self.ask.means.gate.recorder().tasks.spawn(keeping).await.unwrap_or_default()
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let failed = Some("whoever asked did not wait for it".to_owned());
        let claims = Claims { shown: Vec::new(), dropped: Vec::new(), failed };
        let keeping = self.ask.keeping(&self.ask.receipt(self.planned, self.outcome, Some(claims)));
        // Outside a runtime there is nobody left to write it.
        if let Ok(runtime) = Handle::try_current() {
            self.ask.means.gate.recorder().tasks.spawn_on(keeping, &runtime);
        }
    }
}

impl Ask {
    fn keeping(&self, receipt: &AskReceipt) -> BoxFuture<'static, bool> {
        let (book, page) = (Arc::clone(&self.means.receipts), receipt.to_page());
        Box::pin(async move { book.keep(page).await.is_ok() })
    }

    fn receipt(&self, planned: &Planned, outcome: &Outcome, claims: Option<Claims>) -> AskReceipt {
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
