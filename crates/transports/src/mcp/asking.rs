//! The client behind an MCP request: asked at once in the legacy era; in the modern one the call ends with the
//! questions, and comes again with the answers.

use std::fmt;
use std::time::Duration;

use countersign_contract::{
    Answers, BoxFuture, Capability, ClientSide, Code, Digest, InputRequired, Question, Questions, Rejection, Severity,
    ToolError,
};
use rmcp::RoleServer;
use rmcp::model::{
    ErrorData, InputRequest, InputRequests, InputRequiredResult, InputResponses, ProtocolVersion, RequestStateCodec,
    SealOptions, ServerRequest,
};
use rmcp::service::RequestContext;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::translate;

/// A person may take a while: as long as a call waits for approval.
const STATE_LIFETIME: Duration = Duration::from_hours(1);

/// Keeps what a client carries for us from being changed, or used for anything but the call it belongs to.
pub(super) struct Seals(RequestStateCodec);

/// What seals are made with. All processes that serve the same clients share it.
#[derive(Clone)]
pub struct SealKey([u8; 32]);

/// What a state is good for: this caller, this method, this name, these arguments.
pub(super) struct Binding(Vec<u8>);

/// One request's other side.
pub(super) struct PeerSide {
    pub(super) context: RequestContext<RoleServer>,
    /// From which severity on the client wants to be told, if at all.
    pub(super) level: Option<Severity>,
    pub(super) responses: InputResponses,
    pub(super) state: Option<Value>,
    /// Nobody waits for a person when the server stops.
    pub(super) stopping: CancellationToken,
    /// Nobody is told anything any more.
    pub(super) muted: CancellationToken,
}

impl Seals {
    /// Whoever has the key can go on with a call that began elsewhere.
    pub(super) fn new(key: &SealKey) -> Self {
        #[expect(clippy::expect_used, reason = "the key has the length that is asked for")]
        Self(RequestStateCodec::try_new(key.0.to_vec()).expect("32 bytes"))
    }
}

impl SealKey {
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// For a single process.
    pub fn generate() -> Self {
        let [first, second] = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes);
        let mut key = [0; 32];
        key[..16].copy_from_slice(&first);
        key[16..].copy_from_slice(&second);
        Self(key)
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

impl Binding {
    pub(super) fn new(caller: &str, method: &str, name: &str, arguments: &Value) -> Self {
        // Arguments last and as a digest: what stands before cannot be read as another caller or name.
        let digest = Digest::of_json(arguments);
        Self(format!("{}\n{caller}\n{method}\n{}\n{name}\n{digest}", caller.len(), name.len()).into_bytes())
    }
}

impl Seals {
    /// What a client gave back, if it gave anything. The binding is made only then: it takes a digest.
    pub(super) fn open(
        &self,
        sealed: Option<&str>,
        binding: impl FnOnce() -> Binding,
    ) -> Result<Option<Value>, ErrorData> {
        let Some(sealed) = sealed else { return Ok(None) };
        let opened = self.0.open_json_with(sealed, &binding().0);
        opened.map(Some).map_err(|_| ErrorData::invalid_params("requestState is not valid for this call", None))
    }

    pub(super) fn input_required(
        &self,
        required: &InputRequired,
        binding: &Binding,
    ) -> Result<InputRequiredResult, ErrorData> {
        let mut requests = InputRequests::new();
        for (name, question) in &required.questions {
            requests.insert(name.clone(), translate::input_request(question)?);
        }
        let options = SealOptions::new().associated_data(&binding.0).ttl(STATE_LIFETIME);
        let seal = |state| self.0.seal_json_with(state, &options);
        let state = required.state.as_ref().map(seal).transpose();
        let state = state.map_err(|_| ErrorData::internal_error("Internal error", None))?;
        Ok(InputRequiredResult::new(Some(requests), state))
    }
}

impl PeerSide {
    fn is_modern(&self) -> bool {
        self.context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
    }

    async fn ask_now(&self, question: &Question) -> Result<Value, ToolError> {
        let request =
            match translate::input_request(question).map_err(|error| ToolError::internal(error.to_string()))? {
                InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
                InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
                InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
                _ => return Err(ToolError::internal("a question of an unknown kind")),
            };
        let answer = tokio::select! {
            answer = self.context.peer.send_request(request) => answer,
            () = self.stopping.cancelled() => return Err(Rejection::new(Code::Unavailable, "The server stops").into()),
        };
        let answer =
            answer.map_err(|error| Rejection::new(Code::Unavailable, format!("The client did not answer: {error}")))?;
        serde_json::to_value(answer).map_err(ToolError::internal)
    }
}

impl ClientSide for PeerSide {
    fn declares(&self, capability: Capability) -> bool {
        self.context.client_capabilities().is_some_and(|declared| match capability {
            // One that says nothing more has forms: there was nothing else once.
            Capability::Elicitation => {
                declared.elicitation.as_ref().is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
            }
            Capability::Sampling => declared.sampling.is_some(),
            Capability::Roots => declared.roots.is_some(),
        })
    }

    fn state(&self) -> Option<&Value> {
        self.state.as_ref()
    }

    fn repeats(&self) -> bool {
        self.is_modern()
    }

    fn ask(&self, questions: Questions, state: Option<Value>) -> BoxFuture<'_, Result<Answers, ToolError>> {
        Box::pin(async move {
            let mut answers = Answers::new();
            if self.is_modern() {
                let answers = given(&questions, |name| self.responses.get(name));
                return answers.ok_or_else(|| ToolError::InputRequired(Box::new(InputRequired { questions, state })));
            }
            for (name, question) in questions {
                let answer = self.ask_now(&question).await?;
                answers.insert(name, answer);
            }
            Ok(answers)
        })
    }

    fn wants(&self) -> Option<Severity> {
        self.level
    }

    fn tell(&self, severity: Severity, message: Value) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if self.level.is_some_and(|wanted| severity >= wanted) {
                tokio::select! {
                    () = notify(&self.context, severity, message) => {}
                    () = self.muted.cancelled() => {}
                }
            }
        })
    }
}

/// What came with the call, if it answers everything. What is not an object is no answer.
pub(super) fn given<'a>(questions: &Questions, response: impl Fn(&str) -> Option<&'a Value>) -> Option<Answers> {
    let answer = |name: &String| Some((name.clone(), response(name).filter(|answer| answer.is_object())?.clone()));
    questions.keys().map(answer).collect()
}

#[expect(deprecated, reason = "clients of the older revisions still listen to it")]
async fn notify(context: &RequestContext<RoleServer>, severity: Severity, data: Value) {
    let level = match severity {
        Severity::Debug => rmcp::model::LoggingLevel::Debug,
        Severity::Info => rmcp::model::LoggingLevel::Info,
        Severity::Warning => rmcp::model::LoggingLevel::Warning,
        Severity::Error => rmcp::model::LoggingLevel::Error,
    };
    let message = rmcp::model::LoggingMessageNotificationParam::new(level, data).with_logger("countersign");
    // The client is gone: the call ends in a moment.
    let _ = context.peer.notify_logging_message(message).await;
}
