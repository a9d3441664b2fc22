//! Tools as clients see them: made once per catalog, because a list is asked for often and its schemas are large.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use countersign_contract::{Caller, Contract, Effect};
use countersign_host::Catalog;
use rmcp::model::{Icon, JsonObject, MetaObject, Tool, ToolAnnotations};
use serde::Deserialize as _;
use serde_json::Value;

/// Marks an argument that the head of a request repeats.
const HEADER_KEYWORD: &str = "x-mcp-header";

pub(super) struct Listed {
    catalog: Arc<Catalog>,
    tools: HashMap<String, Tool>,
    /// Those with arguments that have to be repeated in the request's head.
    with_headers: HashSet<String>,
}

impl Listed {
    pub(super) fn of(catalog: Arc<Catalog>) -> Self {
        let tools = catalog.all().map(|contract| (contract.name.to_string(), tool(contract))).collect();
        let with_headers = catalog.all().filter(|contract| mentions(contract.input.raw(), HEADER_KEYWORD));
        let with_headers = with_headers.map(|contract| contract.name.to_string()).collect();
        Self { catalog, tools, with_headers }
    }

    pub(super) fn is_of(&self, catalog: &Arc<Catalog>) -> bool {
        Arc::ptr_eq(&self.catalog, catalog)
    }

    /// In the catalog's order, which does not change.
    pub(super) fn visible_to(&self, caller: &Caller) -> Vec<Tool> {
        let names = self.catalog.contracts(caller).map(|contract| contract.name.as_str());
        names.filter_map(|name| self.tools.get(name).cloned()).collect()
    }

    pub(super) fn wants_headers(&self, name: &str) -> bool {
        self.with_headers.contains(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }
}

fn tool(contract: &Contract) -> Tool {
    let name = contract.name.to_string();
    let mut tool = Tool::new(name, contract.description.clone(), object(contract.input.raw().clone()))
        .with_title(contract.title.clone())
        .with_annotations(annotations(contract));
    if let Some(origin) = &contract.from_server {
        let icons = origin.icons.iter().filter_map(|icon| Icon::deserialize(icon).ok()).collect::<Vec<_>>();
        tool.icons = (!icons.is_empty()).then_some(icons);
        tool.meta = (!origin.meta.is_empty()).then(|| MetaObject(origin.meta.clone()));
    }
    if contract.is_structured() { tool.with_raw_output_schema(object(contract.output_schema())) } else { tool }
}

/// A contract's schemas are objects at the root.
fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(schema) => Arc::new(schema),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Arc::default(),
    }
}

fn mentions(schema: &Value, keyword: &str) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, value)| key == keyword || mentions(value, keyword)),
        Value::Array(items) => items.iter().any(|item| mentions(item, keyword)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn annotations(contract: &Contract) -> ToolAnnotations {
    if let Some(origin) = &contract.from_server {
        // Hints of another shape than the protocol's are none.
        let own = origin.annotations.clone().and_then(|hints| serde_json::from_value(hints).ok());
        return own.unwrap_or_default();
    }
    let hints = ToolAnnotations::with_title(contract.title.clone()).open_world(contract.effect == Effect::ReadsNetwork);
    match contract.effect {
        Effect::ReadsLocal | Effect::ReadsNetwork => hints.read_only(true),
        Effect::Writes => hints.read_only(false).destructive(false),
        Effect::Destroys => hints.read_only(false).destructive(true),
    }
}
