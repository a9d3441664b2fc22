//! Whether what was planned, what was called and what was claimed can be of one question, as far as content was kept.

use countersign_contract::{Digest, Schema};
use serde_json::{Map, Value};

use super::{Called, Claims, Kept, Receipt};
use crate::offers::Described;
use crate::planner::Choice;

/// What was claimed. Only a result is summed up.
pub(super) fn claims(receipt: &Receipt) -> Result<Option<Claims>, String> {
    let Some(summary) = &receipt.summary else { return Ok(None) };
    if receipt.call.as_ref().is_none_or(|call| call.outcome != "ok") {
        return Err("there is a summary, and no call that succeeded".to_owned());
    }
    let claims: Option<Claims> = read(summary, "the summary")?;
    match &claims {
        Some(Claims { shown, dropped, failed: Some(_) }) if !shown.is_empty() || !dropped.is_empty() => {
            Err("the summary failed, and has claims".to_owned())
        }
        Some(_) | None => Ok(claims),
    }
}

/// What was planned.
pub(super) fn plan(receipt: &Receipt) -> Result<Option<Choice>, String> {
    let plan = read(&receipt.plan, "the plan")?;
    let calls = |plan: &Choice| matches!(plan, Choice::Call { .. });
    if receipt.call.is_some() && plan.as_ref().is_some_and(|plan| !calls(plan)) {
        return Err("something was called, and the plan calls nothing".to_owned());
    }
    Ok(plan)
}

/// Whether the call is the one that was planned.
pub(super) fn call(plan: &Choice, call: &Called, described: &Described) -> Result<(), String> {
    let Choice::Call { tool, arguments, .. } = plan else { return Ok(()) };
    if tool != call.tool.as_str() {
        return Err(format!("the plan is to call `{tool}`, and `{}` was called", call.tool));
    }
    let Some(called) = &call.arguments.content else { return Ok(()) };
    let schema = Schema::compile(described.input_schema().clone());
    let schema = schema.map_err(|reason| format!("the contract cannot be read: {reason}"))?;
    let mut planned = Value::Object(trimmed_as(called, arguments.clone()));
    schema.settle(&mut planned);
    if Digest::of_json(&planned) == Digest::of_json(called) {
        Ok(())
    } else {
        Err("the arguments are not those of the plan".to_owned())
    }
}

/// Which texts a contract has trimmed, and which of them are nothing then, its schema does not say.
fn trimmed_as(called: &Value, mut planned: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in &mut planned {
        let (Value::String(text), Some(called)) = (&*value, called.get(name)) else { continue };
        let trimmed = text.trim();
        if called == trimmed || called.is_null() && trimmed.is_empty() {
            *value = called.clone();
        }
    }
    planned
}

/// Kept content has to be what it stands for: nothing could be checked otherwise.
fn read<T: serde::de::DeserializeOwned>(kept: &Kept, what: &str) -> Result<Option<T>, String> {
    match (kept.read(), &kept.content) {
        (None, Some(_)) => Err(format!("{what} cannot be read")),
        (content, _) => Ok(content),
    }
}
