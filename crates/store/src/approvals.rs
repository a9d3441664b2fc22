//! Held calls as the rest of the program sees them: the trait of the contract over the store's one writer.

use std::sync::Arc;

use countersign_contract::{
    ApprovalId, BoxFuture, CallToApprove, Decider, Decision, HeldCall, HeldCalls, HeldCallsUnavailable, NotDecided,
    Standing,
};

use crate::db::{Done, Reader, Undo, WriterHandle, approvals};

/// Held calls of every process of one project. Others on the same database keep theirs to themselves: whoever may decide
/// there may not decide here.
#[derive(Debug, Clone)]
pub struct StoredCalls {
    pub(crate) scope: Arc<str>,
    pub(crate) reader: Arc<Reader>,
    pub(crate) writer: WriterHandle,
    /// Whether decisions go into the audit chain.
    pub(crate) audited: bool,
}

impl HeldCalls for StoredCalls {
    fn claim(&self, call: CallToApprove) -> BoxFuture<'_, Result<Standing, HeldCallsUnavailable>> {
        Box::pin(async move {
            let claimed = self.writer.commit(Undo::BySavepoint, move |connection| {
                Box::pin(async move {
                    let (standing, found) = approvals::claim(connection, &call).await?;
                    Ok(found.done(standing))
                })
            });
            claimed.await.map_err(|error| unavailable(&error))
        })
    }

    fn give_back(&self, id: ApprovalId) -> BoxFuture<'_, Result<(), HeldCallsUnavailable>> {
        Box::pin(async move {
            let given_back = self.writer.commit(Undo::ByItself, move |connection| {
                Box::pin(async move { Ok(approvals::give_back(connection, id).await?.done(())) })
            });
            given_back.await.map_err(|error| unavailable(&error))
        })
    }

    fn decide(&self, id: ApprovalId, decision: Decision, by: Decider) -> BoxFuture<'_, Result<HeldCall, NotDecided>> {
        let (scope, audited) = (Arc::clone(&self.scope), self.audited);
        Box::pin(async move {
            let decided = self.writer.commit(Undo::ByItself, move |connection| {
                Box::pin(async move {
                    let decided = approvals::decide(connection, &scope, id, decision, &by).await?;
                    Ok(match decided {
                        Ok((held, entry)) => Done::changed(Ok(held), audited.then_some(entry)),
                        Err(reason) => Done::looked(Err(reason)),
                    })
                })
            });
            decided.await.map_err(|error| unavailable(&error))?
        })
    }

    fn waiting(&self) -> BoxFuture<'_, Result<Vec<HeldCall>, HeldCallsUnavailable>> {
        Box::pin(async { self.reader.waiting(&self.scope).await.map_err(|error| unavailable(&error)) })
    }

    fn get(&self, id: ApprovalId) -> BoxFuture<'_, Result<Option<HeldCall>, HeldCallsUnavailable>> {
        Box::pin(async move { self.reader.held_call(&self.scope, id).await.map_err(|error| unavailable(&error)) })
    }
}

fn unavailable(error: &(dyn std::error::Error + 'static)) -> HeldCallsUnavailable {
    tracing::error!(error, "the records of approvals cannot be read or written");
    HeldCallsUnavailable
}

#[cfg(test)]
mod tests;
