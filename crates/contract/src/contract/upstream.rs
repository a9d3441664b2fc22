//! Contracts of other people's tools: what their server published, as far as it was admitted.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Approval, Contract, Limits, Terms, error_schema};
use crate::{Digest, Effect, Mistake, Schema, SchemaRejected, ToolName, closest};

/// What an upstream tool's contract is made of.
#[derive(Debug)]
pub struct UpstreamTerms {
    pub name: ToolName,
    pub title: String,
    pub description: String,
    pub effect: Effect,
    pub approval: Approval,
    pub timeout: Option<Duration>,
    pub input: Schema,
    /// The arguments that the input schema names.
    pub arguments: BTreeSet<String>,
    /// Without one, what it gives is text.
    pub output: Option<Schema>,
    pub annotations: Option<Value>,
    /// Beside its contract: pictures for people,
    pub icons: Vec<Value>,
    /// and what is for programs.
    pub meta: Map<String, Value>,
}

/// What sets a contract that came from a server apart from one of ours.
#[derive(Debug)]
pub struct FromServer {
    arguments: BTreeSet<String>,
    /// Whether its results have a structure that was promised.
    pub structured: bool,
    pub annotations: Option<Value>,
    pub icons: Vec<Value>,
    pub meta: Map<String, Value>,
}

impl Contract {
    pub fn upstream(terms: UpstreamTerms) -> Result<Self, SchemaRejected> {
        let UpstreamTerms { name, title, description, effect, approval, timeout, input, .. } = terms;
        let limits = Limits { timeout, ..Limits::default() };
        let structured = terms.output.is_some();
        let success = match terms.output {
            Some(output) => output,
            None => Schema::compile(text_only())?,
        };
        let own = Terms { limits, approval, ..Terms::default() };
        let UpstreamTerms { arguments, annotations, icons, meta, .. } = terms;
        let origin = FromServer { arguments, structured, annotations, icons, meta };
        let mut contract = Self {
            name,
            title,
            description,
            effect,
            input,
            success,
            error: Schema::compile(error_schema(&own))?,
            terms: own,
            digest: Digest::of_bytes(b""),
            from_server: Some(Box::new(origin)),
        };
        contract.digest = Digest::of_json(&contract.definition());
        Ok(contract)
    }
}

impl FromServer {
    /// Arguments that nobody declared, even where the schema would let them pass.
    pub(super) fn undeclared(&self, arguments: &Value) -> Vec<Mistake> {
        let names = arguments.as_object().into_iter().flat_map(Map::keys);
        let unknown = names.filter(|name| !self.arguments.contains(*name));
        unknown
            .map(|name| Mistake::unknown("", name, closest(name, self.arguments.iter().map(String::as_str))))
            .collect()
    }
}

/// What the result of a tool looks like that promises nothing about it.
fn text_only() -> Value {
    json!({
        "type": "object",
        "properties": {"content": {"type": "array", "items": {"type": "object"}}},
        "required": ["content"],
        "additionalProperties": false,
    })
}
