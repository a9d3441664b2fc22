//! The suite's tools. They have no structured results of their own, so their contracts promise an empty object, and
//! what the suite looks at is the content beside it.

use std::sync::Arc;
use std::time::Duration;

use countersign_contract::{
    Answers, AnyTool, BoxFuture, CallContext, Capability, Code, Content, Contract, Digest, Effect, InvalidContract,
    Output, ProgressUpdate, Question, Questions, Rejection, ResourceContents, Schema, Severity, Tool, ToolError,
};
use countersign_host::Change;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::CHANGES;
use crate::offers::{IMAGE, form};

/// Silence.
const AUDIO: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

const NO_ARGUMENTS: fn() -> Value = || json!({"type": "object", "properties": {}});

type Shown = Result<Vec<Content>, ToolError>;

type Run = fn(&CallContext, Value) -> BoxFuture<'_, Shown>;

struct Fixture {
    contract: Arc<Contract>,
    run: Run,
}

/// What all fixtures have in common.
struct Template;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Tool for Template {
    type Input = Nothing;
    type Output = Nothing;

    const NAME: &'static str = "template";
    const TITLE: &'static str = "Fixture";
    const DESCRIPTION: &'static str = "A fixture of the conformance suite";
    const EFFECT: Effect = Effect::ReadsLocal;

    async fn call(&self, _ctx: &CallContext, _input: Nothing) -> Result<Nothing, ToolError> {
        Ok(Nothing {})
    }
}

impl AnyTool for Fixture {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call_json<'a>(&'a self, ctx: &'a CallContext, arguments: Value) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let content = (self.run)(ctx, arguments).await?;
            Ok(Output { structured: json!({}), content: Some(content) })
        })
    }

    fn parse(&self, result: &Value) -> Result<(), serde_json::Error> {
        Nothing::deserialize(result).map(drop)
    }
}

/// A tool's name, its input schema and what it does.
type Row = (&'static str, Value, Run);

pub(crate) fn all() -> Result<Vec<Arc<dyn AnyTool>>, Box<dyn std::error::Error>> {
    let rows = [showing(), telling(), asking(), asking_in_rounds()].concat();
    let tool = |(name, input, run): Row| {
        let contract = Arc::new(contract(name, input)?);
        Ok(Arc::new(Fixture { contract, run }) as Arc<dyn AnyTool>)
    };
    rows.into_iter().map(tool).collect()
}

/// Each kind of content, and an error.
fn showing() -> Vec<Row> {
    vec![
        ("test_simple_text", NO_ARGUMENTS(), |_, _| said("This is a simple text response for testing.")),
        ("test_image_content", NO_ARGUMENTS(), |_, _| shown(vec![image()])),
        ("test_audio_content", NO_ARGUMENTS(), |_, _| {
            shown(vec![Content::Audio { data: AUDIO.to_owned(), mime_type: "audio/wav".to_owned() }])
        }),
        ("test_embedded_resource", NO_ARGUMENTS(), |_, _| {
            shown(vec![resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")])
        }),
        ("test_multiple_content_types", NO_ARGUMENTS(), |_, _| {
            let data = r#"{"test":"data","value":123}"#;
            let resource = resource("test://mixed-content-resource", "application/json", data);
            shown(vec![Content::text("Multiple content types test:"), image(), resource])
        }),
        ("test_error_handling", NO_ARGUMENTS(), |_, _| {
            let error = "This tool intentionally returns an error for testing";
            Box::pin(async move { Err(Rejection::new(Code::Unavailable, error).into()) })
        }),
    ]
}

/// Messages, progress, changes, and what clients must keep of a schema.
fn telling() -> Vec<Row> {
    vec![
        ("test_tool_with_logging", NO_ARGUMENTS(), |ctx, _| Box::pin(with_messages(ctx))),
        ("test_logging_tool", NO_ARGUMENTS(), |ctx, _| Box::pin(with_messages(ctx))),
        ("test_tool_with_progress", NO_ARGUMENTS(), |ctx, _| Box::pin(with_progress(ctx))),
        ("test_custom_header", text_argument("value", Some("Value")), |_, arguments| said(&text(&arguments, "value"))),
        ("json_schema_2020_12_tool", json_schema_2020_12(), |_, _| said("Accepted")),
        ("test_reconnection", NO_ARGUMENTS(), |_, _| said("Reconnection test completed")),
        ("test_trigger_tool_change", NO_ARGUMENTS(), |_, _| announced(Change::Tools)),
        ("test_trigger_prompt_change", NO_ARGUMENTS(), |_, _| announced(Change::Prompts)),
        ("test_missing_capability", NO_ARGUMENTS(), |ctx, _| {
            Box::pin(async {
                if ctx.client.declares(Capability::Sampling) {
                    return Ok(vec![Content::text("The capability is declared")]);
                }
                Err(ToolError::MissingCapability(Capability::Sampling))
            })
        }),
    ]
}

/// Questions that are answered at once.
fn asking() -> Vec<Row> {
    vec![
        ("test_sampling", text_argument("prompt", None), |ctx, arguments| {
            let prompt = text(&arguments, "prompt");
            Box::pin(async move {
                let answers = ctx.client.ask(completion("answer", &prompt), None).await?;
                Ok(vec![Content::text(format!("LLM response: {}", answers["answer"]["content"]))])
            })
        }),
        ("test_elicitation", text_argument("message", None), |ctx, arguments| {
            let message = text(&arguments, "message");
            let schema = json!({
                "type": "object",
                "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"},
                },
                "required": ["username", "email"],
            });
            Box::pin(elicited(ctx, message, schema))
        }),
        ("test_elicitation_sep1034_defaults", NO_ARGUMENTS(), |ctx, _| {
            Box::pin(elicited(ctx, "All of these have defaults".to_owned(), with_defaults()))
        }),
        ("test_elicitation_sep1330_enums", NO_ARGUMENTS(), |ctx, _| {
            Box::pin(elicited(ctx, "Choose".to_owned(), with_choices()))
        }),
        ("test_streaming_elicitation", NO_ARGUMENTS(), |ctx, _| {
            asked(ctx, || form("streaming_elicitation", "A value?", "value"), None)
        }),
    ]
}

/// Questions that are answered by calling again.
fn asking_in_rounds() -> Vec<Row> {
    vec![
        ("test_input_required_result_elicitation", NO_ARGUMENTS(), |ctx, _| {
            asked(ctx, || form("user_name", "What is your name?", "name"), None)
        }),
        ("test_input_required_result_sampling", NO_ARGUMENTS(), |ctx, _| {
            asked(ctx, || completion("capital_question", "What is the capital of France?"), None)
        }),
        ("test_input_required_result_list_roots", NO_ARGUMENTS(), |ctx, _| asked(ctx, roots, None)),
        ("test_input_required_result_request_state", NO_ARGUMENTS(), |ctx, _| {
            asked(ctx, || form("confirm", "Please confirm", "ok"), Some(json!("confirm")))
        }),
        ("test_input_required_result_tampered_state", NO_ARGUMENTS(), |ctx, _| {
            asked(ctx, || form("confirm", "Please confirm", "ok"), Some(json!("confirm")))
        }),
        ("test_input_required_result_multiple_inputs", NO_ARGUMENTS(), |ctx, _| {
            asked(ctx, everything, Some(json!("gather")))
        }),
        ("test_input_required_result_multi_round", NO_ARGUMENTS(), |ctx, _| Box::pin(in_rounds(ctx))),
        ("test_input_required_result_capabilities", NO_ARGUMENTS(), |ctx, _| Box::pin(as_declared(ctx))),
    ]
}

/// One text, which is required and may have to be repeated in the request's head.
fn text_argument(name: &str, header: Option<&str>) -> Value {
    let mut property = json!({"type": "string"});
    if let Some(header) = header {
        property["x-mcp-header"] = json!(header);
    }
    json!({"type": "object", "properties": {name: property}, "required": [name]})
}

fn contract(name: &str, input: Value) -> Result<Contract, Box<dyn std::error::Error>> {
    let template = Contract::of::<Template>().map_err(|error: InvalidContract| error.to_string())?;
    let input = Schema::compile(input).map_err(|error| error.to_string())?;
    let mut contract = Contract { name: name.parse()?, title: name.to_owned(), input, ..template };
    contract.digest = Digest::of_json(&contract.definition());
    Ok(contract)
}

fn said(text: &str) -> BoxFuture<'static, Shown> {
    shown(vec![Content::text(text)])
}

fn shown(content: Vec<Content>) -> BoxFuture<'static, Shown> {
    Box::pin(async { Ok(content) })
}

fn announced(change: Change) -> BoxFuture<'static, Shown> {
    if let Some(changes) = CHANGES.get() {
        changes.announce(change);
    }
    said("The change was announced")
}

fn image() -> Content {
    Content::Image { data: IMAGE.to_owned(), mime_type: "image/png".to_owned() }
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Content {
    Content::Resource { resource: ResourceContents::text(uri, mime_type, text) }
}

fn text(arguments: &Value, name: &str) -> String {
    arguments[name].as_str().unwrap_or_default().to_owned()
}

async fn with_messages(ctx: &CallContext) -> Shown {
    for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        ctx.client.tell(Severity::Info, json!(message)).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(vec![Content::text("Logging completed")])
}

async fn with_progress(ctx: &CallContext) -> Shown {
    for done in [0.0, 50.0, 100.0] {
        ctx.progress.report(ProgressUpdate { done, total: Some(100.0), message: Some(format!("{done} of 100")) });
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(vec![Content::text("Progress completed")])
}

/// Asks at once and says what came back.
async fn elicited(ctx: &CallContext, message: String, schema: Value) -> Shown {
    let questions = Questions::from([("form".to_owned(), Question::Form { message, schema })]);
    let answers = ctx.client.ask(questions, None).await?;
    let (action, content) = (&answers["form"]["action"], &answers["form"]["content"]);
    let action = action.as_str().unwrap_or_default();
    Ok(vec![Content::text(format!("Elicitation completed: action={action}, content={content}"))])
}

fn asked(ctx: &CallContext, questions: fn() -> Questions, state: Option<Value>) -> BoxFuture<'_, Shown> {
    Box::pin(async move {
        let answers = ctx.client.ask(questions(), state).await?;
        Ok(vec![Content::text(summary(&answers))])
    })
}

fn summary(answers: &Answers) -> String {
    let name = answers.get("user_name").and_then(|answer| answer.pointer("/content/name")).and_then(Value::as_str);
    match name {
        Some(name) => format!("Hello, {name}!"),
        None => format!("Answers received (state-ok): {}", json!(answers)),
    }
}

/// Two rounds, the second of which depends on what was kept from the first.
async fn in_rounds(ctx: &CallContext) -> Shown {
    let (questions, next) = match ctx.client.state().and_then(Value::as_u64) {
        None => (form("step1", "Step 1: what is your name?", "name"), 1),
        Some(1) => (form("step2", "Step 2: what is your favourite colour?", "color"), 2),
        Some(_) => return Ok(vec![Content::text("All rounds completed")]),
    };
    // The answers to a round come with the state that it left; the questions of the next are new.
    ctx.client.ask(questions, Some(json!(next))).await.map(|_| vec![Content::text("All rounds completed")])
}

/// Asks only what the client said it can be asked.
async fn as_declared(ctx: &CallContext) -> Shown {
    let mut questions = everything();
    questions.retain(|_, question| ctx.client.declares(question.needs()));
    if questions.is_empty() {
        return Ok(vec![Content::text("The client can be asked nothing")]);
    }
    let answers = ctx.client.ask(questions, None).await?;
    Ok(vec![Content::text(summary(&answers))])
}

fn completion(name: &str, prompt: &str) -> Questions {
    Questions::from([(name.to_owned(), Question::Completion { prompt: prompt.to_owned(), max_tokens: 100 })])
}

fn roots() -> Questions {
    Questions::from([("client_roots".to_owned(), Question::Roots)])
}

fn everything() -> Questions {
    let mut questions = form("user_name", "What is your name?", "name");
    questions.extend(completion("greeting", "Generate a greeting"));
    questions.extend(roots());
    questions
}

fn with_defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string",
                "description": "User status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "description": "Verification status", "default": true},
        },
        "required": [],
    })
}

fn with_choices() -> Value {
    let titled = |word: &str| {
        json!([
            {"const": "value1", "title": format!("First {word}")},
            {"const": "value2", "title": format!("Second {word}")},
            {"const": "value3", "title": format!("Third {word}")},
        ])
    };
    let plain = json!(["option1", "option2", "option3"]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
        },
        "required": [],
    })
}

/// Every keyword that a client must keep.
fn json_schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "address",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
        "if": {"required": ["address"]},
        "then": {"properties": {"address": {"required": ["street"]}}},
        "else": {"required": ["name"]},
        "additionalProperties": false,
    })
}
