//! Our connector as the official conformance suite sees a client: connects to the server at the URL it is given, lists
//! what there is, and calls every tool that is admitted. Asked something, it agrees, with the defaults that the question
//! proposes.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use countersign_contract::{
    Access, Answers, AnyTool, BoxFuture, CallContext, Caller, Capability, Client, ClientSide, Progress, Question,
    Questions, Severity, ToolError,
};
use countersign_upstream::{Fleet, Level, Reach, ServerSpec};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(url) = std::env::args().next_back() else { return ExitCode::FAILURE };
    let Ok(name) = "suite".parse() else { return ExitCode::FAILURE };
    let fleet = Fleet::start(vec![ServerSpec::new(name, Reach::Http { url, headers: [].into() })], Level::Observe);
    fleet.settle(PATIENCE).await;
    let tools = fleet.tools();
    let calls: Vec<Value> = match context() {
        Some(calls) => calls,
        None => tools.iter().map(|tool| json!({"name": own_name(&**tool), "arguments": arguments(&**tool)})).collect(),
    };
    for call in calls {
        let wanted = tools.iter().find(|tool| call["name"] == own_name(&***tool));
        let Some(tool) = wanted else { continue };
        // The suite looks at what it is asked, not at what becomes of it.
        drop(tool.call_json(&context_of_a_call(), call["arguments"].clone()).await);
    }
    fleet.close().await;
    ExitCode::SUCCESS
}

/// What the suite wants to have called, where it says so.
fn context() -> Option<Vec<Value>> {
    let context = std::env::var_os("MCP_CONFORMANCE_CONTEXT")?.into_string().ok()?;
    let context: Value = serde_json::from_str(&context).ok()?;
    Some(context.get("toolCalls")?.as_array()?.clone())
}

fn own_name(tool: &dyn AnyTool) -> &str {
    tool.contract().name.as_str().strip_prefix("suite__").unwrap_or_default()
}

/// Something for each argument that is required.
fn arguments(tool: &dyn AnyTool) -> Value {
    let schema = tool.contract().input.raw();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    required.map(|name| (name.to_owned(), value(&schema["properties"][name]))).collect::<Map<_, _>>().into()
}

fn value(schema: &Value) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some(_) | None => json!("text"),
    }
}

fn context_of_a_call() -> CallContext {
    let caller = Caller { name: "suite".into(), access: Access::All, approver: false };
    let client = Client::new(Arc::new(Agreeable));
    CallContext::new(Arc::new(caller), PATIENCE, CancellationToken::new(), Progress::default(), client)
}

struct Agreeable;

impl ClientSide for Agreeable {
    fn declares(&self, _capability: Capability) -> bool {
        true
    }

    fn state(&self) -> Option<&Value> {
        None
    }

    fn repeats(&self) -> bool {
        false
    }

    fn ask(&self, questions: Questions, _state: Option<Value>) -> BoxFuture<'_, Result<Answers, ToolError>> {
        Box::pin(async move { Ok(questions.into_iter().map(|(name, question)| (name, agree(&question))).collect()) })
    }

    fn wants(&self) -> Option<Severity> {
        None
    }

    fn tell(&self, _severity: Severity, _message: Value) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

fn agree(question: &Question) -> Value {
    let Question::PassedOn { needs, request } = question else { return Value::Null };
    match needs {
        Capability::Elicitation => {
            let properties = request.pointer("/params/requestedSchema/properties").and_then(Value::as_object);
            let content: Map<_, _> =
                properties.into_iter().flatten().map(|(name, schema)| (name.clone(), value(schema))).collect();
            json!({"action": "accept", "content": content})
        }
        Capability::Sampling => {
            json!({"role": "assistant", "content": {"type": "text", "text": "text"}, "model": "none"})
        }
        Capability::Roots => json!({"roots": []}),
    }
}
