//! `hello`: greets by name; the tool to try a connection with.

use countersign_contract::{CallContext, Effect, Example, Terms, Tool, ToolError};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(super) struct Hello;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Name to greet
    #[serde(default = "world")]
    name: String,
}

fn world() -> String {
    "World".to_owned()
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    /// Greeting message
    message: String,
    /// Server timestamp
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
}

impl Tool for Hello {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "hello";
    const TITLE: &'static str = "Hello";
    const DESCRIPTION: &'static str = "Test tool for verifying MCP connectivity.";
    const EFFECT: Effect = Effect::ReadsLocal;

    fn terms() -> Terms {
        Terms {
            constraints: vec!["No side effects", "Always succeeds"],
            examples: vec![
                Example {
                    title: "Greet someone",
                    input: json!({"name": "Learner"}),
                    output: json!({"message": "Hello, Learner!", "timestamp": "2026-01-15T10:30:00Z"}),
                    varies: vec!["/timestamp"],
                    ..Example::default()
                },
                Example {
                    title: "Greet the world",
                    input: json!({}),
                    output: json!({"message": "Hello, World!", "timestamp": "2026-01-15T10:30:00Z"}),
                    varies: vec!["/timestamp"],
                    ..Example::default()
                },
            ],
            ..Terms::default()
        }
    }

    async fn call(&self, _ctx: &CallContext, input: Input) -> Result<Output, ToolError> {
        let now = Timestamp::from_second(Timestamp::now().as_second()).map_err(ToolError::internal)?;
        Ok(Output { message: format!("Hello, {}!", input.name), timestamp: now.to_string() })
    }
}
