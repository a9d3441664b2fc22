//! Resources and prompts of somebody else. To the gate, having one is the call of a tool, so that whatever holds for a
//! call holds here as well: limits, time, cancellation, approval, records.

use std::sync::Arc;

use countersign_contract::{AnyTool, BoxFuture, CallContext, Contract, Output, Provider, ToolError, Wanted};
use serde_json::{Map, Value, json};

use crate::gate::{Answer, Call, Gate, NoAnswer};

struct Lent<'a> {
    contract: Arc<Contract>,
    provider: &'a dyn Provider,
    wanted: Wanted<'a>,
    arguments: Map<String, Value>,
}

impl Gate {
    /// Has what is wanted under these terms ([`Provider::terms`]). The call's arguments are those of the prompt; its tool is
    /// what the terms say.
    ///
    /// What comes is in the form of MCP: `{contents}` of a resource, `{description, messages}` of a prompt.
    pub async fn lend(
        &self,
        provider: &dyn Provider,
        terms: Arc<Contract>,
        wanted: Wanted<'_>,
        mut call: Call,
    ) -> Result<Answer, NoAnswer> {
        let own = std::mem::take(&mut call.arguments);
        call.arguments = match wanted {
            Wanted::Resource(uri) => json!({"uri": uri}),
            Wanted::Prompt(name) => json!({"name": name, "arguments": own}),
        };
        let arguments = if let Value::Object(own) = own { own } else { Map::new() };
        self.call_of(&Lent { contract: terms, provider, wanted, arguments }, call).await
    }
}

impl AnyTool for Lent<'_> {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call_json<'a>(&'a self, ctx: &'a CallContext, _arguments: Value) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let structured = match self.wanted {
                Wanted::Resource(uri) => json!({"contents": self.provider.read(ctx, uri).await?}),
                Wanted::Prompt(name) => {
                    let text = self.provider.prompt(ctx, name, self.arguments.clone()).await?;
                    json!({"description": text.description, "messages": text.messages})
                }
            };
            Ok(Output { structured, content: None })
        })
    }

    fn parse(&self, _result: &Value) -> Result<(), serde_json::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::time::Duration;

    use countersign_contract::{
        Access, Approval, BoxFuture, CallContext, Caller, Client, Code, Contract, Effect, Offers, Progress, Provider,
        Rejection, ResourceContents, Schema, ToolError, UpstreamTerms, Wanted,
    };
    use serde_json::{Map, Value, json};
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use crate::{Call, Catalog, Gate, Metrics, NoAnswer, NoApprover, Policy, Recorder, Wire};

    /// Does with a resource what its name says.
    struct Shelf;

    impl Provider for Shelf {
        fn offers(&self) -> Offers {
            Offers::default()
        }

        fn read<'a>(
            &'a self,
            _ctx: &'a CallContext,
            uri: &'a str,
        ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
            Box::pin(async move {
                match uri {
                    "a:missing" => Err(Rejection::new(Code::NotFound, "No such resource").into()),
                    "a:never" => std::future::pending().await,
                    "a:panic" => panic!("as asked"),
                    _ => Ok(vec![ResourceContents::text(uri, "text/plain", "hello")]),
                }
            })
        }
    }

    fn terms() -> Arc<Contract> {
        let object = |properties: Value| Schema::compile(json!({"type": "object", "properties": properties})).unwrap();
        let terms = UpstreamTerms {
            name: "shelf__resources.read".parse().unwrap(),
            title: "Read".to_owned(),
            description: "Reads.".to_owned(),
            effect: Effect::ReadsNetwork,
            approval: Approval::Never,
            timeout: Some(Duration::from_secs(5)),
            input: object(json!({"uri": {"type": "string"}})),
            arguments: BTreeSet::from(["uri".to_owned()]),
            output: Some(object(json!({"contents": {"type": "array"}}))),
            annotations: None,
            icons: Vec::new(),
            meta: Map::new(),
        };
        Arc::new(Contract::upstream(terms).unwrap())
    }

    fn gate() -> Gate {
        let policy =
            Policy { rate_per_minute: [("shelf__resources.read".parse().unwrap(), 5)].into(), ..Policy::default() };
        let metrics = Arc::new(Metrics::new());
        let recorder = Recorder { metrics, call_log: None, audit: None, tasks: TaskTracker::new() };
        Gate::new(Catalog::default(), policy, Arc::new(NoApprover), recorder)
    }

    async fn read(gate: &Gate, uri: &str, cancelled: CancellationToken) -> Result<Value, NoAnswer> {
        let call = Call {
            tool: String::new(),
            arguments: Value::Null,
            caller: Arc::new(Caller { name: "ann".into(), access: Access::All, approver: false }),
            wire: Wire::Mcp,
            session: None,
            cancelled,
            progress: Progress::default(),
            client: Client::default(),
        };
        let answer = gate.lend(&Shelf, terms(), Wanted::Resource(uri), call).await?;
        Ok(answer.reply.structured)
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_lent_has_the_limits_and_the_records_of_a_call() {
        let gate = gate();
        let contents = json!([{"uri": "a:b", "mimeType": "text/plain", "text": "hello"}]);
        for (uri, expected) in [
            ("a:b", json!({"contents": contents})),
            ("a:missing", json!({"error": "No such resource", "code": "NOT_FOUND"})),
            ("a:never", json!({"error": "`shelf__resources.read` did not finish within 5s", "code": "TIMEOUT"})),
        ] {
            assert_eq!(read(&gate, uri, CancellationToken::new()).await.unwrap(), expected, "{uri}");
        }
        assert_eq!(read(&gate, "a:panic", CancellationToken::new()).await.unwrap()["code"], "INTERNAL_ERROR");
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        assert_eq!(read(&gate, "a:never", cancelled).await, Err(NoAnswer::Cancelled));
        assert_eq!(read(&gate, "a:b", CancellationToken::new()).await.unwrap()["code"], "RATE_LIMITED");
        let figures = gate.recorder().metrics.figures().remove(0);
        assert_eq!((figures.tool.as_str(), figures.calls, figures.ok), ("shelf__resources.read", 6, 1));
        assert_eq!((figures.failures["TIMEOUT"], figures.failures["abandoned"], figures.rate_limited), (1, 1, 1));
    }
}
