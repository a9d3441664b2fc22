//! The client at the other end of a call, as far as a tool may reach it: what it can be asked, and what it can be told.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::{BoxFuture, Rejection, ToolError};

/// Questions to the client, each under a name that its answer repeats.
pub type Questions = BTreeMap<String, Question>;

/// The client's answers, in the shape that MCP gives them. They come from outside: nothing in them is checked yet.
pub type Answers = BTreeMap<String, Value>;

/// Something only the client, or the person at it, can answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// A form for the person.
    Form { message: String, schema: Value },
    /// A prompt for the client's model.
    Completion { prompt: String, max_tokens: u32 },
    /// Which folders the client works in.
    Roots,
    /// One of an upstream's, as it came: a method of MCP and its parameters.
    PassedOn { needs: Capability, request: Value },
}

/// What a client must have declared before it may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    Elicitation,
    Sampling,
    Roots,
}

/// A call that cannot go on before its client has answered. The client repeats the call with the answers, and gives
/// `state` back, which the wire seals in between.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequired {
    pub questions: Questions,
    pub state: Option<Value>,
}

/// How severe a message to the client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Debug,
    Info,
    Warning,
    Error,
}

/// What a wire with a client behind it implements.
pub trait ClientSide: Send + Sync {
    fn declares(&self, capability: Capability) -> bool;

    /// What was kept from the round before, if this call is a repetition.
    fn state(&self) -> Option<&Value>;

    /// Whether it answers by repeating the call, and so has to give the state back.
    fn repeats(&self) -> bool;

    fn ask(&self, questions: Questions, state: Option<Value>) -> BoxFuture<'_, Result<Answers, ToolError>>;

    /// From which severity on it wants to be told.
    fn wants(&self) -> Option<Severity>;

    fn tell(&self, severity: Severity, message: Value) -> BoxFuture<'_, ()>;
}

/// A handle on the client; on wires without one, nobody answers.
#[derive(Clone, Default)]
pub struct Client(Option<Arc<dyn ClientSide>>);

impl Question {
    pub fn needs(&self) -> Capability {
        match self {
            Self::Form { .. } => Capability::Elicitation,
            Self::Completion { .. } => Capability::Sampling,
            Self::Roots => Capability::Roots,
            Self::PassedOn { needs, .. } => *needs,
        }
    }
}

impl Client {
    pub fn new(side: Arc<dyn ClientSide>) -> Self {
        Self(Some(side))
    }

    pub fn declares(&self, capability: Capability) -> bool {
        self.0.as_ref().is_some_and(|side| side.declares(capability))
    }

    pub fn state(&self) -> Option<&Value> {
        self.0.as_ref()?.state()
    }

    pub fn repeats(&self) -> bool {
        self.0.as_ref().is_some_and(|side| side.repeats())
    }

    /// The answers, at once or after a while; or an error to pass on, because the client has to repeat the call first.
    /// A tool that asks must therefore do nothing before that it cannot do twice.
    pub async fn ask(&self, questions: Questions, state: Option<Value>) -> Result<Answers, ToolError> {
        let Some(side) = &self.0 else {
            let error = "This needs an answer from the client, and there is no client here that could be asked";
            return Err(Rejection::new(crate::Code::Unavailable, error).into());
        };
        if let Some(missing) = questions.values().map(Question::needs).find(|capability| !side.declares(*capability)) {
            return Err(ToolError::MissingCapability(missing));
        }
        side.ask(questions, state).await
    }

    pub fn wants(&self) -> Option<Severity> {
        self.0.as_ref()?.wants()
    }

    /// A message for whoever watches the call; lost where nobody does.
    pub async fn tell(&self, severity: Severity, message: Value) {
        if let Some(side) = &self.0 {
            side.tell(severity, message).await;
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Client(connected)" } else { "Client(none)" })
    }
}
