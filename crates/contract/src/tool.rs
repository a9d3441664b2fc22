//! A tool: typed inside, JSON outside.

use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallContext, Contract, Effect, InvalidContract, Output, Rejection, Terms, ToolError};

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One of our own tools. The types are the contract: schemas, documents and checks are derived from them.
pub trait Tool: Send + Sync + 'static {
    type Input: DeserializeOwned + JsonSchema + Send;
    type Output: Serialize + DeserializeOwned + JsonSchema + Send;

    const NAME: &'static str;
    /// A short name for people.
    const TITLE: &'static str;
    /// What a model reads to decide whether this is the tool it wants.
    const DESCRIPTION: &'static str;
    const EFFECT: Effect;
    /// Whether what it changes and the record that it does so are one commit, of [`CallContext::intent`]; otherwise the gate
    /// puts that on record before.
    const COMMITS_WITH_AUDIT: bool = false;

    /// What the types cannot say: constraints in words, examples, limits, how errors read.
    fn terms() -> Terms {
        Terms::default()
    }

    /// What a person is asked to agree to: everything that would be done, in words. What would be refused when it runs is
    /// refused here, so that nobody is asked in vain. `None` shows the arguments.
    fn preview(&self, _input: &Self::Input) -> Result<Option<String>, Rejection> {
        Ok(None)
    }

    /// The output as JSON. A tool whose outputs are long moves their parts here, so that nothing is copied.
    fn to_value(output: Self::Output) -> Result<Value, serde_json::Error> {
        serde_json::to_value(output)
    }

    /// Runs with arguments that already satisfy the input schema, defaults filled in. It can be dropped at any `.await`.
    fn call(
        &self,
        ctx: &CallContext,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// Any tool as the host sees it: ours behind their types, upstream ones behind a connection.
pub trait AnyTool: Send + Sync {
    fn contract(&self) -> &Arc<Contract>;

    fn call_json<'a>(&'a self, ctx: &'a CallContext, arguments: Value) -> BoxFuture<'a, Result<Output, ToolError>>;

    /// See [`Tool::COMMITS_WITH_AUDIT`].
    fn commits_with_audit(&self) -> bool {
        false
    }

    /// Whether it may have questions to its client while it runs.
    fn asks_its_client(&self) -> bool {
        true
    }

    /// What a person is asked to agree to, before the tool runs with these arguments.
    fn preview_json(&self, arguments: &Value) -> Result<String, ToolError> {
        serde_json::to_string_pretty(arguments).map_err(ToolError::internal)
    }

    /// Whether a successful result can be read back into the tool's own output type.
    fn parse(&self, result: &Value) -> Result<(), serde_json::Error>;
}

/// Wraps a typed tool for the host; its contract is built and checked here, once.
pub fn typed<T: Tool>(tool: T) -> Result<Arc<dyn AnyTool>, InvalidContract> {
    Ok(Arc::new(Typed { tool, contract: Arc::new(Contract::of::<T>()?) }))
}

struct Typed<T> {
    tool: T,
    contract: Arc<Contract>,
}

impl<T: Tool> AnyTool for Typed<T> {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call_json<'a>(&'a self, ctx: &'a CallContext, arguments: Value) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            // The schema was derived from this type, so this fails only where the two disagree: our mistake.
            let input = serde_json::from_value(arguments).map_err(ToolError::internal)?;
            let output = self.tool.call(ctx, input).await?;
            let structured = T::to_value(output).map_err(ToolError::internal)?;
            Ok(Output { structured, content: None })
        })
    }

    fn commits_with_audit(&self) -> bool {
        T::COMMITS_WITH_AUDIT
    }

    /// Ours have none.
    fn asks_its_client(&self) -> bool {
        false
    }

    fn preview_json(&self, arguments: &Value) -> Result<String, ToolError> {
        let input = T::Input::deserialize(arguments).map_err(ToolError::internal)?;
        match self.tool.preview(&input)? {
            Some(preview) => Ok(preview),
            None => serde_json::to_string_pretty(arguments).map_err(ToolError::internal),
        }
    }

    fn parse(&self, result: &Value) -> Result<(), serde_json::Error> {
        T::Output::deserialize(result).map(drop)
    }
}
