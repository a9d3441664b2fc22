//! The place in the path where a person may have to agree.

use std::fmt;

use countersign_contract::{Approval, BoxFuture, CallContext, Code, Contract, Rejection};
use serde_json::Value;

/// Decides about calls whose policy asks for a person.
pub trait Approvals: Send + Sync + fmt::Debug {
    /// Ready with `Ok` only when a person agreed to exactly this call.
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Result<(), Rejection>>;
}

#[derive(Debug, Clone, Copy)]
pub struct ApprovalRequest<'a> {
    pub ctx: &'a CallContext,
    pub contract: &'a Contract,
    /// What the tool would get: normalised, completed and valid.
    pub arguments: &'a Value,
    /// `Client` or `OutOfBand`.
    pub policy: Approval,
}

/// Nobody is there to ask, so nothing that needs approval runs.
#[derive(Debug, Clone, Copy)]
pub struct NoApprover;

impl Approvals for NoApprover {
    fn decide<'a>(&'a self, request: ApprovalRequest<'a>) -> BoxFuture<'a, Result<(), Rejection>> {
        let error = format!("`{}` needs a person's approval, and nobody can be asked", request.contract.name);
        Box::pin(std::future::ready(Err(Rejection::new(Code::ApprovalRequired, error))))
    }
}
