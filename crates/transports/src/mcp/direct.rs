//! The usual request: a tool call of the modern era that is answered in one piece. It needs no session, no task of its
//! own and no stream, so it goes to the gate at once; the SDK's way costs twice as much.
//!
//! Only what is beyond doubt comes here. Anything else, mistakes included, takes the SDK's way.

use std::sync::Arc;

use countersign_contract::{
    Answers, BoxFuture, Caller, Capability, Client, ClientSide, Content, InputRequired, Progress, Questions, Reply,
    Severity, ToolError,
};
use countersign_host::{Call, NoAnswer, Wire};
use http::header::ACCEPT;
use http::{HeaderMap, StatusCode};
use rmcp::model::{CallToolRequestMethod, ConstString as _, ErrorCode, ErrorData, ProtocolVersion};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::asking::{Binding, given};
use super::listed::Listed;
use super::message::Request;
use super::{Shared, translate};
use crate::response::{Response, json_response};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// All that may stand in `_meta` here: a token for progress, say, asks for a stream.
const PLAIN_META: [&str; 3] = [VERSION, CLIENT, CAPABILITIES];

/// A call whose head and body agree.
pub(super) struct Usual {
    id: Value,
    tool: String,
    arguments: Map<String, Value>,
    capabilities: Map<String, Value>,
    responses: Map<String, Value>,
    state: Option<String>,
}

impl Usual {
    /// Gives the request back where anything about it is unusual.
    pub(super) fn of(headers: &HeaderMap, request: &mut Request, listed: &Listed) -> Option<Self> {
        let one = |name: &str| {
            let mut values = headers.get_all(name).iter();
            values.next().filter(|_| values.next().is_none())
        };
        let is = |name: &str, expected: &str| one(name).is_some_and(|value| value.as_bytes() == expected.as_bytes());
        let params = request.params.as_object()?;
        let meta = params.get("_meta")?.as_object()?;
        let tool = params.get("name")?.as_str()?;
        let version = ProtocolVersion::V_2026_07_28.as_str();
        let usual = request.method == CallToolRequestMethod::VALUE
            && is("mcp-protocol-version", version)
            && is("mcp-method", CallToolRequestMethod::VALUE)
            && is("mcp-name", tool)
            && takes_json(headers)
            && meta.keys().all(|key| PLAIN_META.contains(&key.as_str()))
            && meta.get(VERSION)? == version
            && is_client(meta.get(CLIENT)?)
            && meta.get(CAPABILITIES)?.is_object()
            && params.get("arguments").is_none_or(Value::is_object)
            && params.get("inputResponses").is_none_or(Value::is_object)
            && params.get("requestState").is_none_or(Value::is_string)
            && !listed.wants_headers(tool)
            && headers.keys().all(|name| !name.as_str().starts_with("mcp-param-"));
        if !usual {
            return None;
        }
        let Value::Object(mut params) = request.params.take() else { return None };
        let object = |from: &mut Map<String, Value>, name: &str| match from.remove(name) {
            Some(Value::Object(members)) => members,
            _ => Map::new(),
        };
        let mut meta = object(&mut params, "_meta");
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        Some(Self {
            id: request.id.take(),
            tool: text(params.remove("name"))?,
            arguments: object(&mut params, "arguments"),
            capabilities: object(&mut meta, CAPABILITIES),
            responses: object(&mut params, "inputResponses"),
            state: text(params.remove("requestState")),
        })
    }
}

impl Shared {
    pub(super) async fn call_directly(&self, usual: Usual, caller: Arc<Caller>) -> Response {
        let id = usual.id.to_string();
        match self.answer_directly(usual, caller).await {
            Ok(result) => json_response(
                StatusCode::OK,
                ["{\"jsonrpc\":\"2.0\",\"id\":", &id, ",\"result\":", &result, "}"].concat(),
            ),
            Err(error) => {
                let status = match error.code {
                    ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => StatusCode::BAD_REQUEST,
                    _ => StatusCode::OK,
                };
                let error = json!(error).to_string();
                json_response(status, ["{\"jsonrpc\":\"2.0\",\"id\":", &id, ",\"error\":", &error, "}"].concat())
            }
        }
    }

    async fn answer_directly(&self, usual: Usual, caller: Arc<Caller>) -> Result<String, ErrorData> {
        let Usual { tool, arguments, capabilities, responses, state, .. } = usual;
        let arguments = Value::Object(arguments);
        let binding = |arguments: &Value| Binding::new(&caller.name, CallToolRequestMethod::VALUE, &tool, arguments);
        let state = self.seals.open(state.as_deref(), || binding(&arguments))?;
        // A client that can be asked nothing is asked nothing: no need to remember what it asked with.
        let asked_with = (!capabilities.is_empty()).then(|| binding(&arguments));
        let call = Call {
            tool: tool.clone(),
            arguments,
            caller: Arc::clone(&caller),
            wire: Wire::Mcp,
            session: None,
            // A request that is dropped drops this whole future, and the tool with it.
            cancelled: CancellationToken::new(),
            progress: Progress::default(),
            client: Client::new(Arc::new(Repeating { capabilities, responses, state })),
        };
        match (self.gate.call(call).await, asked_with) {
            (Ok(answer), _) => Ok(result(&answer.reply)),
            (Err(NoAnswer::InputRequired(required)), Some(binding)) => {
                Ok(json!(self.seals.input_required(&required, &binding)?).to_string())
            }
            (Err(reason), _) => Err(translate::no_answer(&reason, &tool)),
        }
    }
}

/// A client that answers by calling again.
struct Repeating {
    capabilities: Map<String, Value>,
    responses: Map<String, Value>,
    state: Option<Value>,
}

impl ClientSide for Repeating {
    fn declares(&self, capability: Capability) -> bool {
        let declared = self.capabilities.get(translate::capability_name(capability));
        // One that says no more of its prompts than that it has some has forms.
        let forms = |kinds: &Value| kinds.get("form").is_some() || kinds.get("url").is_none();
        declared.is_some_and(|kinds| kinds.is_object() && (capability != Capability::Elicitation || forms(kinds)))
    }

    fn state(&self) -> Option<&Value> {
        self.state.as_ref()
    }

    fn repeats(&self) -> bool {
        true
    }

    fn ask(&self, questions: Questions, state: Option<Value>) -> BoxFuture<'_, Result<Answers, ToolError>> {
        let answers = given(&questions, |name| self.responses.get(name));
        Box::pin(async move {
            answers.ok_or_else(|| ToolError::InputRequired(Box::new(InputRequired { questions, state })))
        })
    }

    /// It did not ask to be told.
    fn tell(&self, _severity: Severity, _message: Value) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// Both must be accepted, says the protocol; whoever accepts anything does.
fn takes_json(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).is_none_or(|accept| {
        accept.contains("*/*") || (accept.contains("application/json") && accept.contains("text/event-stream"))
    })
}

fn is_client(client: &Value) -> bool {
    client["name"].is_string() && client["version"].is_string()
}

/// As the SDK would write it.
fn result(reply: &Reply) -> String {
    let twin = || vec![Content::text(reply.text.clone())];
    let content = json!(reply.content.clone().unwrap_or_else(twin)).to_string();
    let is_error = if reply.is_error() { "true" } else { "false" };
    let head = "{\"resultType\":\"complete\",\"content\":";
    [head, &content, ",\"structuredContent\":", &reply.text, ",\"isError\":", is_error, "}"].concat()
}
