//! Which tools there are. What is not in here does not exist, on any wire.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use countersign_contract::{AnyTool, Caller, Contract, ToolName};

/// Tools by name, in a fixed order. Never changed in place: a new catalog replaces the old one.
#[derive(Default)]
pub struct Catalog {
    tools: Vec<Arc<dyn AnyTool>>,
    by_name: HashMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two tools are called `{0}`")]
pub struct DuplicateTool(ToolName);

impl Catalog {
    pub fn new(tools: Vec<Arc<dyn AnyTool>>) -> Result<Self, DuplicateTool> {
        let mut by_name = HashMap::with_capacity(tools.len());
        for (index, tool) in tools.iter().enumerate() {
            let name = &tool.contract().name;
            if by_name.insert(name.as_str().to_owned(), index).is_some() {
                return Err(DuplicateTool(name.clone()));
            }
        }
        Ok(Self { tools, by_name })
    }

    /// A tool this caller may know of. Forbidden and absent are the same.
    pub fn find(&self, name: &str, caller: &Caller) -> Option<&Arc<dyn AnyTool>> {
        let tool = &self.tools[*self.by_name.get(name)?];
        caller.access.allows(&tool.contract().name).then_some(tool)
    }

    /// Every contract, whoever may know of it.
    pub fn all(&self) -> impl Iterator<Item = &Contract> {
        self.tools.iter().map(|tool| &**tool.contract())
    }

    /// The contracts this caller may know of.
    pub fn contracts<'a>(&'a self, caller: &'a Caller) -> impl Iterator<Item = &'a Contract> {
        self.all().filter(|contract| caller.access.allows(&contract.name))
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.tools.iter().map(|tool| &tool.contract().name)).finish()
    }
}
