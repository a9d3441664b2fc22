//! The contract documents as resources, so that a client can read what holds before it calls: `contract://<tool>`.

use std::sync::Arc;

use countersign_contract::{
    AnyTool, BoxFuture, CallContext, Caller, Code, Offers, Provider, Rejection, Resource, ResourceContents, ToolError,
    Watching, contract_file,
};

use crate::Gate;

const SCHEME: &str = "contract://";
const MIME_TYPE: &str = "application/schema+json";

/// Offers the contracts of the tools that a caller may know of, and of no others.
#[derive(Debug)]
pub struct ContractDocuments(pub Arc<Gate>);

impl Provider for ContractDocuments {
    fn offers(&self) -> Offers {
        Offers { resources: true, ..Offers::default() }
    }

    fn resources(&self, caller: &Caller) -> Vec<Resource> {
        let catalog = self.0.catalog();
        let contracts = catalog.contracts(caller);
        contracts
            .map(|contract| Resource {
                uri: format!("{SCHEME}{}", contract.name),
                name: contract.name.to_string(),
                title: format!("Contract of {}", contract.title),
                description: "Input and output schema, constraints, effect, approval and executed examples".to_owned(),
                mime_type: MIME_TYPE.to_owned(),
                ..Resource::default()
            })
            .collect()
    }

    fn read<'a>(
        &'a self,
        ctx: &'a CallContext,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        Box::pin(async move {
            let tool = self.find(&ctx.caller, uri)?;
            let document = contract_file(tool.contract());
            let text = serde_json::to_string_pretty(&document).map_err(ToolError::internal)?;
            Ok(vec![ResourceContents::text(uri, MIME_TYPE, text)])
        })
    }

    /// They change with the catalog only, of which everybody is told.
    fn watch<'a>(&'a self, caller: &'a Caller, uri: &'a str) -> BoxFuture<'a, Result<Watching, ToolError>> {
        Box::pin(async move {
            self.find(caller, uri)?;
            Ok(Watching::default())
        })
    }
}

impl ContractDocuments {
    fn find(&self, caller: &Caller, uri: &str) -> Result<Arc<dyn AnyTool>, Rejection> {
        let catalog = self.0.catalog();
        let found = uri.strip_prefix(SCHEME).and_then(|name| catalog.find(name, caller));
        found.cloned().ok_or_else(|| Rejection::new(Code::NotFound, format!("Resource not found: {uri}")))
    }
}
