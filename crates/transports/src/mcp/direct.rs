//! The usual request: a tool call that asks for nothing but its answer. It needs no stream and nothing of the SDK, so it
//! goes to the gate at once; the SDK's way costs twice as much, and for a long result several times.
//!
//! Only what is beyond doubt comes here. Anything else, mistakes included, takes the SDK's way.

use std::borrow::Cow;
use std::sync::Arc;

use countersign_contract::{
    Answers, BoxFuture, Caller, Capability, Client, ClientSide, InputRequired, Progress, Questions, Reply, Severity,
    ToolError, in_parts, json_part, push_json_text,
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

/// From this size on, a result is sent from where it lies.
const LONG_RESULT: usize = 64 * 1024;

/// All that may stand in a call of the older era.
const PLAIN_PARAMS: [&str; 2] = ["name", "arguments"];

/// A call whose parts agree.
pub(super) struct Usual {
    id: Value,
    tool: String,
    arguments: Map<String, Value>,
    era: Era,
}

enum Era {
    Modern {
        capabilities: Map<String, Value>,
        responses: Map<String, Value>,
        state: Option<String>,
    },
    /// Its client cannot be asked here.
    Legacy,
}

impl Usual {
    /// Over HTTP, where the head says what the body says. Leaves the request alone where anything about it is unusual.
    pub(super) fn of(headers: &HeaderMap, request: &mut Request, listed: &Listed) -> Option<Self> {
        let one = |name: &str| {
            let mut values = headers.get_all(name).iter();
            values.next().filter(|_| values.next().is_none())
        };
        let is = |name: &str, expected: &str| one(name).is_some_and(|value| value.as_bytes() == expected.as_bytes());
        let tool = request.params.get("name")?.as_str()?;
        let usual = is("mcp-protocol-version", ProtocolVersion::V_2026_07_28.as_str())
            && is("mcp-method", CallToolRequestMethod::VALUE)
            && is("mcp-name", tool)
            && takes_json(headers)
            && !listed.wants_headers(tool)
            && headers.keys().all(|name| !name.as_str().starts_with("mcp-param-"));
        if usual { Self::modern(request) } else { None }
    }

    /// A call that stands alone.
    pub(super) fn modern(request: &mut Request) -> Option<Self> {
        let params = request.params.as_object()?;
        let meta = params.get("_meta")?.as_object()?;
        let version = ProtocolVersion::V_2026_07_28.as_str();
        let usual = request.method == CallToolRequestMethod::VALUE
            && params.get("name")?.is_string()
            && meta.keys().all(|key| PLAIN_META.contains(&key.as_str()))
            && meta.get(VERSION)? == version
            && is_client(meta.get(CLIENT)?)
            // The SDK refuses most other values, and whether it does is its own to say.
            && meta.get(CAPABILITIES)?.as_object()?.values().all(Value::is_object)
            && params.get("arguments").is_none_or(Value::is_object)
            && params.get("inputResponses").is_none_or(Value::is_object)
            && params.get("requestState").is_none_or(Value::is_string);
        if !usual {
            return None;
        }
        let Value::Object(mut params) = request.params.take() else { return None };
        let mut meta = object(&mut params, "_meta");
        let era = Era::Modern {
            capabilities: object(&mut meta, CAPABILITIES),
            responses: object(&mut params, "inputResponses"),
            state: text(&mut params, "requestState"),
        };
        let arguments = object(&mut params, "arguments");
        Some(Self { id: request.id.take(), tool: text(&mut params, "name")?, arguments, era })
    }

    /// A call in a session of the older era.
    pub(super) fn legacy(request: &mut Request) -> Option<Self> {
        let params = request.params.as_object()?;
        let usual = request.method == CallToolRequestMethod::VALUE
            && params.keys().all(|key| PLAIN_PARAMS.contains(&key.as_str()))
            && params.get("name")?.is_string()
            && params.get("arguments").is_none_or(Value::is_object);
        if !usual {
            return None;
        }
        let Value::Object(mut params) = request.params.take() else { return None };
        let arguments = object(&mut params, "arguments");
        Some(Self { id: request.id.take(), tool: text(&mut params, "name")?, arguments, era: Era::Legacy })
    }

    pub(super) fn tool(&self) -> &str {
        &self.tool
    }
}

fn object(from: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match from.remove(name) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

fn text(from: &mut Map<String, Value>, name: &str) -> Option<String> {
    match from.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// A whole message, ready to be sent.
pub(super) struct Direct {
    pub(super) message: Written,
    status: StatusCode,
}

pub(super) enum Written {
    Whole(String),
    Long(LongMessage),
}

impl Written {
    /// What it takes until it is on its way out.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Whole(message) => message.len(),
            Self::Long(message) => message.result.len(),
        }
    }
}

/// A long result has to be sent twice, as it is and as a text. It lies here once; the text is made on the way out.
pub(super) struct LongMessage {
    head: String,
    result: Arc<String>,
    end: &'static str,
}

/// Between the result and its text, and after that.
const BETWEEN: &str = ",\"content\":[{\"type\":\"text\",\"text\":\"";
const AFTER: &str = "\"}]";

/// Small enough to stay in the cache, and for a reader to have one part while the next is made: a pipe belongs to one of
/// the two at a time.
const PART: usize = 64 * 1024;

impl LongMessage {
    /// Hands the message out part by part.
    pub(super) fn parts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        // The first one is short, so that the reader wakes up while the second is on its way.
        let begin = [self.head.as_str()].into_iter().chain(in_parts(&self.result, PART)).chain([BETWEEN]);
        let mut left = self.result.len();
        let text = in_parts(&self.result, PART).map(move |part| {
            let mut text = json_part(part);
            left -= part.len();
            if left == 0 {
                text.push_str(AFTER);
                text.push_str(self.end);
            }
            Cow::Owned(text)
        });
        begin.map(Cow::Borrowed).chain(text)
    }
}

impl Direct {
    fn new(message: String, status: StatusCode) -> Self {
        Self { message: Written::Whole(message), status }
    }

    fn into_response(self) -> Response {
        let body = match self.message {
            Written::Whole(message) => message,
            Written::Long(message) => message.parts().collect(),
        };
        json_response(self.status, body)
    }
}

impl Shared {
    pub(super) async fn call_directly(&self, usual: Usual, caller: Arc<Caller>) -> Response {
        // A request that is dropped drops this whole future, and the tool with it.
        self.answer_directly(usual, caller, Wire::Mcp, CancellationToken::new()).await.into_response()
    }

    pub(super) async fn answer_directly(
        &self,
        usual: Usual,
        caller: Arc<Caller>,
        wire: Wire,
        cancelled: CancellationToken,
    ) -> Direct {
        let id = usual.id.to_string();
        let modern = matches!(usual.era, Era::Modern { .. });
        match self.result_of(usual, caller, wire, cancelled).await {
            Ok(Outcome::Reply(reply)) => result_message(&id, modern, reply),
            Ok(Outcome::Asks(result)) => {
                let message = ["{\"jsonrpc\":\"2.0\",\"id\":", &id, ",\"result\":", &result, "}"].concat();
                Direct::new(message, StatusCode::OK)
            }
            Err(error) => {
                let status = match error.code {
                    ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => StatusCode::BAD_REQUEST,
                    _ => StatusCode::OK,
                };
                let error = json!(error).to_string();
                let message = ["{\"jsonrpc\":\"2.0\",\"id\":", &id, ",\"error\":", &error, "}"].concat();
                Direct::new(message, status)
            }
        }
    }

    async fn result_of(
        &self,
        usual: Usual,
        caller: Arc<Caller>,
        wire: Wire,
        cancelled: CancellationToken,
    ) -> Result<Outcome, ErrorData> {
        let Usual { tool, arguments, era, .. } = usual;
        let arguments = Value::Object(arguments);
        let binding = |arguments: &Value| Binding::new(&caller.name, CallToolRequestMethod::VALUE, &tool, arguments);
        let mut asked_with = None;
        let client = match era {
            Era::Legacy => Client::default(),
            Era::Modern { capabilities, responses, state } => {
                let state = self.seals.open(state.as_deref(), || binding(&arguments))?;
                // A client that can be asked nothing is asked nothing: no need to remember what it asked with.
                asked_with = (!capabilities.is_empty()).then(|| binding(&arguments));
                Client::new(Arc::new(Repeating { capabilities, responses, state }))
            }
        };
        let call = Call {
            tool: tool.clone(),
            arguments,
            caller: Arc::clone(&caller),
            wire,
            session: None,
            cancelled,
            progress: Progress::default(),
            client,
        };
        match (self.gate.call(call).await, asked_with) {
            (Ok(answer), _) => Ok(Outcome::Reply(answer.reply)),
            (Err(NoAnswer::InputRequired(required)), Some(binding)) => {
                Ok(Outcome::Asks(json!(self.seals.input_required(&required, &binding)?).to_string()))
            }
            (Err(reason), _) => Err(translate::no_answer(&reason, &tool)),
        }
    }
}

enum Outcome {
    Reply(Reply),
    /// The client has to answer first.
    Asks(String),
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
    fn wants(&self) -> Option<Severity> {
        None
    }

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

/// As the SDK would write it, but the result is written once, and not once more for every part that has it.
fn result_message(id: &str, modern: bool, reply: Reply) -> Direct {
    let mut message = String::with_capacity(256);
    message.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
    message.push_str(id);
    message.push_str(if modern { ",\"result\":{\"resultType\":\"complete\"," } else { ",\"result\":{" });
    let end = if reply.is_error() { ",\"isError\":true}}" } else { ",\"isError\":false}}" };
    if reply.promised && reply.content.is_none() && reply.text.len() >= LONG_RESULT {
        message.push_str("\"structuredContent\":");
        let long = LongMessage { head: message, result: reply.text, end };
        return Direct { message: Written::Long(long), status: StatusCode::OK };
    }
    message.reserve(2 * reply.text.len() + reply.text.len() / 16 + 128);
    if let Some(content) = &reply.content {
        message.push_str("\"content\":");
        message.push_str(&json!(content).to_string());
    } else {
        message.push_str("\"content\":[{\"type\":\"text\",\"text\":");
        push_json_text(&mut message, &reply.text);
        message.push_str("}]");
    }
    if reply.promised {
        message.push_str(",\"structuredContent\":");
        message.push_str(&reply.text);
    }
    message.push_str(end);
    Direct::new(message, StatusCode::OK)
}
