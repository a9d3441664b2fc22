//! Running one tool: until it answers, its time is up, nobody waits any more, or it panics.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use countersign_contract::{AnyTool, CallContext, Output, ToolError};
use futures_util::FutureExt as _;
use serde_json::Value;

#[derive(Debug, thiserror::Error)]
#[error("the tool panicked: {0}")]
struct Panicked(String);

pub(super) async fn run(tool: &dyn AnyTool, ctx: &CallContext, arguments: Value) -> Result<Output, ToolError> {
    // A panic ends this call and nothing else. What it left half-done is the tool's own; nothing is shared with it.
    let call = AssertUnwindSafe(async { tool.call_json(ctx, arguments).await }).catch_unwind();
    tokio::select! {
        biased; // A cancelled call must not report success because both were ready.
        () = ctx.cancelled.cancelled() => Err(ToolError::Cancelled),
        result = call => result.unwrap_or_else(|panic| Err(ToolError::internal(Panicked(words(&*panic))))),
        () = tokio::time::sleep(ctx.deadline) => Err(ToolError::TimedOut(ctx.deadline)),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
