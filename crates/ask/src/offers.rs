//! What a planner may choose from: the contracts that this caller may know of, and nothing else.

use countersign_contract::{Caller, Contract, Digest, Effect, canonical_json};
use countersign_host::Catalog;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::planner::{Example, Offer};

/// What a plan was made from, as a receipt keeps it: whoever has this can plan again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Material {
    pub tools: Vec<Described>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// What the contract's digest is over.
    pub definition: Value,
    /// Whether somebody else's server wrote it.
    pub upstream: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<(Value, Value)>,
}

impl Material {
    pub(crate) fn of(catalog: &Catalog, caller: &Caller) -> Self {
        Self { tools: catalog.contracts(caller).map(Described::of).collect() }
    }

    pub fn digest(&self) -> Digest {
        Digest::of_json(&json!(self))
    }

    pub fn find(&self, tool: &str) -> Option<&Described> {
        self.tools.iter().find(|described| described.name() == tool)
    }

    /// As a receipt has them, so that whoever plans again plans from the same.
    pub(crate) fn offers(&self) -> Vec<Offer> {
        self.tools.iter().map(Described::offer).collect()
    }
}

impl Described {
    fn of(contract: &Contract) -> Self {
        let examples = contract.terms.examples.iter();
        Self {
            definition: contract.definition(),
            upstream: contract.from_server.is_some(),
            examples: examples.map(|example| (example.input.clone(), example.output.clone())).collect(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.definition["name"].as_str().unwrap_or_default()
    }

    pub(crate) fn description(&self) -> &str {
        self.definition["description"].as_str().unwrap_or_default()
    }

    pub(crate) fn input_schema(&self) -> &Value {
        &self.definition["inputSchema"]
    }

    /// A definition that does not say may do anything.
    fn effect(&self) -> Effect {
        Effect::deserialize(&self.definition["effect"]).unwrap_or(Effect::Destroys)
    }

    fn offer(&self) -> Offer {
        let example = |(arguments, output): &(Value, Value)| Example {
            arguments: canonical_value(arguments),
            output: canonical_value(output),
        };
        Offer {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            input_schema: canonical_value(self.input_schema()),
            effect: self.effect(),
            examples: self.examples.iter().map(example).collect(),
        }
    }
}

/// With numbers as canonical JSON has them.
fn canonical_value(value: &Value) -> Value {
    serde_json::from_slice(&canonical_json(value)).unwrap_or_else(|_| value.clone())
}
