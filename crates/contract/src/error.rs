//! Why a call failed, for two audiences: the caller, who can do something about it, and the log.

use std::error::Error;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::{Capability, Code, ErrorField, InputRequired, Mistake};

/// What a tool or the gate answers instead of a result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// For the caller: it names what was wrong with the request or its circumstances.
    #[error("{0}")]
    Rejected(Rejection),
    /// For the log, with its chain of causes; the caller gets "Internal error" and a request id.
    #[error("internal error")]
    Internal(#[source] Box<dyn Error + Send + Sync>),
    #[error("timed out after {0:?}")]
    TimedOut(Duration),
    /// The client has to answer something first, and then repeat the call.
    #[error("the client has to answer first")]
    InputRequired(Box<InputRequired>),
    /// The call needs something that the client did not declare.
    #[error("the client lacks a capability: {0:?}")]
    MissingCapability(Capability),
    /// The caller went away or took the call back: nobody waits for an answer.
    #[error("cancelled")]
    Cancelled,
}

/// A refusal or failure in words that are meant for the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejection {
    pub code: Code,
    pub error: String,
    pub details: Option<Value>,
    /// Beyond `details`: only fields that the contract declares.
    pub fields: Map<String, Value>,
    /// When it makes sense to try again.
    pub retry_after: Option<Duration>,
    pub storage: Storage,
}

/// Whether there is room on the disk: the one thing about an `IO_ERROR` that a wire tells apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Storage {
    #[default]
    Available,
    Full,
}

impl ToolError {
    pub fn code(&self) -> Code {
        match self {
            Self::Rejected(rejection) => rejection.code,
            Self::TimedOut(_) => Code::Timeout,
            Self::InputRequired(_) | Self::MissingCapability(_) => Code::Unavailable,
            Self::Internal(_) | Self::Cancelled => Code::InternalError,
        }
    }

    pub fn internal(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Internal(cause.into())
    }
}

impl From<Rejection> for ToolError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl Rejection {
    pub fn new(code: Code, error: impl Into<String>) -> Self {
        Self {
            code,
            error: error.into(),
            details: None,
            fields: Map::new(),
            retry_after: None,
            storage: Storage::Available,
        }
    }

    /// No space is left; nothing was changed.
    pub fn no_space(error: impl Into<String>) -> Self {
        Self { storage: Storage::Full, ..Self::new(Code::IoError, error) }
    }

    /// Bad arguments: every mistake at once, so that one correction is enough.
    pub fn invalid(sentence: impl Into<String>, mistakes: &[Mistake]) -> Self {
        Self::new(Code::ValidationError, sentence).with_details(json!(mistakes))
    }

    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    #[must_use]
    pub fn with_field(mut self, field: ErrorField, value: impl Into<Value>) -> Self {
        self.fields.insert(field.as_str().to_owned(), value.into());
        self
    }

    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.code, self.error)
    }
}
