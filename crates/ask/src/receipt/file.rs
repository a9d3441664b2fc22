//! A receipt as a file that can be handed on: one line of canonical JSON with a digest over all of it. There is one way
//! to write each receipt, so any other byte is found.

use countersign_contract::{Digest, canonical_json, parse_json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{CallReceipt, FORMAT, Kept, Page, Receipt, fit};
use crate::grounding::locate;
use crate::offers::Material;

/// What a file may hold.
#[derive(Debug, Clone, PartialEq)]
pub enum ReceiptFile {
    Ask(Box<AskReceipt>),
    Call(CallReceipt),
}

/// A question's receipt with the contracts that its planner chose from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskReceipt {
    pub receipt: Receipt,
    pub material: Material,
}

/// Why a file is not the receipt that was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptFlaw {
    #[error("it is not a receipt: {0}")]
    Unreadable(String),
    #[error("it was written by a newer version: format {0}")]
    Newer(u64),
    #[error("it was changed: its digest is `{found}`, and its content has `{computed}`")]
    Changed { found: String, computed: Digest },
    #[error("it was changed: a receipt is written in one way only, and this is another")]
    Rewritten,
    #[error("it contradicts itself: {0}")]
    Contradiction(String),
}

impl ReceiptFile {
    /// Reads a file and checks everything that can be checked without anything else.
    pub fn verify(text: &[u8]) -> Result<Self, ReceiptFlaw> {
        let value = unseal(text)?;
        let unreadable = |error: serde_json::Error| ReceiptFlaw::Unreadable(error.to_string());
        let file = if value.get("records").is_some() {
            Self::Call(serde_json::from_value(value).map_err(unreadable)?)
        } else {
            Self::Ask(Box::new(serde_json::from_value(value).map_err(unreadable)?))
        };
        let agrees = match &file {
            Self::Ask(ask) => ask.agrees(),
            Self::Call(call) => call.agrees(),
        };
        agrees.map_err(ReceiptFlaw::Contradiction)?;
        Ok(file)
    }

    /// One line, with its end.
    pub fn to_text(&self) -> String {
        seal(match self {
            Self::Ask(ask) => json!(ask),
            Self::Call(call) => json!(call),
        })
    }
}

impl AskReceipt {
    /// From what a book kept.
    pub fn from_page(receipt: &str, material: &str) -> Result<Self, ReceiptFlaw> {
        let unreadable = |error: serde_json::Error| ReceiptFlaw::Unreadable(error.to_string());
        let receipt = serde_json::from_str(receipt).map_err(unreadable)?;
        let material = serde_json::from_str(material).map_err(unreadable)?;
        Ok(Self { receipt, material })
    }

    /// As a book keeps it.
    pub fn to_page(&self) -> Page {
        Page {
            id: self.receipt.id,
            at: self.receipt.at,
            receipt: canonical(&json!(self.receipt)),
            material_digest: self.receipt.material,
            material: canonical(&json!(self.material)),
        }
    }

    /// Whether its parts fit each other: somebody may have computed the digest anew.
    fn agrees(&self) -> Result<(), String> {
        let Self { receipt, material } = self;
        if material.digest() != receipt.material {
            return Err("the material is not what the plan was made from".to_owned());
        }
        let kept = [
            ("the query", Some(&receipt.query)),
            ("the plan", Some(&receipt.plan)),
            ("what was supplied", receipt.supplied.as_ref()),
            ("the summary", receipt.summary.as_ref()),
        ];
        let call = receipt.call.as_ref();
        let kept = kept.into_iter().chain([("the arguments", call.map(|call| &call.arguments))]);
        for (what, kept) in kept {
            if !kept.is_none_or(Kept::agrees) {
                return Err(format!("{what} is not what its digest says"));
            }
        }
        if !receipt.has_supplied() {
            return Err("what was supplied is not in the plan".to_owned());
        }
        let claims = fit::claims(receipt)?;
        let plan = fit::plan(receipt)?;
        let Some(call) = call else { return Ok(()) };
        let described = material.find(call.tool.as_str()).ok_or("the tool that was called was not offered")?;
        if Digest::of_json(&described.definition) != call.contract {
            return Err("the contract is not what its digest says".to_owned());
        }
        if let Some(plan) = plan {
            fit::call(&plan, call, described)?;
        }
        if !call.result.agrees() {
            return Err("the result is not what its digest says".to_owned());
        }
        if call.result.content.is_none() {
            return Ok(());
        }
        let result = call.result.read().ok_or("the result is not JSON")?;
        for bullet in claims.iter().flat_map(|claims| &claims.shown) {
            if result.pointer(&bullet.pointer).is_none_or(|value| locate(value, &bullet.evidence).is_none()) {
                return Err(format!("the evidence at `{}` is not there", bullet.pointer));
            }
        }
        Ok(())
    }
}

fn seal(mut value: Value) -> String {
    value["digest"] = json!(Digest::of_json(&value));
    line(&value)
}

/// What was sealed, if it is still the same.
fn unseal(text: &[u8]) -> Result<Value, ReceiptFlaw> {
    let mut value = parse_json(text).map_err(|error| ReceiptFlaw::Unreadable(error.to_string()))?;
    let format = value.pointer("/receipt/format").or_else(|| value.get("format")).and_then(Value::as_u64);
    if let Some(newer) = format.filter(|format| *format > u64::from(FORMAT)) {
        return Err(ReceiptFlaw::Newer(newer));
    }
    let rewritten = line(&value).as_bytes() != text;
    let found = value.as_object_mut().and_then(|members| members.remove("digest"));
    let Some(Value::String(found)) = found else {
        return Err(ReceiptFlaw::Unreadable("it has no digest".to_owned()));
    };
    let computed = Digest::of_json(&value);
    if found != computed.to_string() {
        return Err(ReceiptFlaw::Changed { found, computed });
    }
    if rewritten { Err(ReceiptFlaw::Rewritten) } else { Ok(value) }
}

fn line(value: &Value) -> String {
    let mut text = canonical(value);
    text.push('\n');
    text
}

pub(super) fn canonical(value: &Value) -> String {
    String::from_utf8_lossy(&canonical_json(value)).into_owned()
}
