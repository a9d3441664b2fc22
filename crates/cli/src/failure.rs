//! How a command fails: the kind alone decides the exit code; causes and a hint are for the person.

use countersign_transports::ExitCode;
use serde_json::{Value, json};

/// What every command returns.
pub(crate) type CommandResult = Result<(), CommandError>;

#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) exit: ExitCode,
    error: anyhow::Error,
    hint: Option<String>,
    /// What a program may want to know beyond the message.
    details: Option<Value>,
}

impl CommandError {
    pub(crate) fn new(exit: ExitCode, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into(), hint: None, details: None }
    }

    pub(crate) fn message(exit: ExitCode, message: impl Into<String>) -> Self {
        Self::new(exit, anyhow::Error::msg(message.into()))
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The failure and its causes. Some repeat theirs within their own text; then once is enough.
    fn chain(&self) -> Vec<String> {
        let mut chain: Vec<String> = Vec::new();
        for cause in self.error.chain().map(ToString::to_string) {
            if !chain.last().is_some_and(|last| last.ends_with(&cause)) {
                chain.push(cause);
            }
        }
        chain
    }

    /// For a terminal: the failure, its causes, what to do.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("error: {}\n", self.error);
        for cause in &self.chain()[1..] {
            text.push_str(&format!("  caused by: {cause}\n"));
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("hint: {hint}\n"));
        }
        text
    }

    /// For a table: everything on one line.
    pub(crate) fn line(&self) -> String {
        let hint = self.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{}{hint}", self.chain().join(": ")).replace('\n', " ")
    }

    /// For a program: the same on one line.
    pub(crate) fn json(&self) -> String {
        let causes = &self.chain()[1..];
        let mut line = json!({"error": self.error.to_string(), "exit": self.exit as u8});
        if !causes.is_empty() {
            line["causes"] = json!(causes);
        }
        for (key, value) in [("hint", self.hint.clone().map(Value::from)), ("details", self.details.clone())] {
            if let Some(value) = value {
                line[key] = value;
            }
        }
        line.to_string()
    }
}

/// Anything unforeseen is our own trouble with the machine: reported as a usage or configuration problem.
impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        Self::new(ExitCode::Usage, error)
    }
}
