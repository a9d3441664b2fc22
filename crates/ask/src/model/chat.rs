//! One question to the model and its answer, in the protocol's own words.

use countersign_index::Unanswered;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Model;

/// Why the model was of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    #[error("the language model gave an answer that is not one of the protocol")]
    NoMessage,
    #[error("the language model did not come to an end")]
    Endless,
    #[error("the language model wrote no bullets")]
    NoBullets,
}

/// What the model said.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Message {
    pub(super) content: Option<String>,
    pub(super) tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(super) struct ToolCall {
    pub(super) function: Function,
}

/// `arguments` is JSON as text, if the model kept to the protocol.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Function {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Arguments,
}

/// Some services give the object itself.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Arguments {
    Text(String),
    Object(Map<String, Value>),
    Other(Value),
}

impl Default for Arguments {
    fn default() -> Self {
        Self::Object(Map::new())
    }
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    message: Message,
    finish_reason: Option<String>,
}

/// What is asked of the model.
pub(super) struct Question<'a> {
    pub(super) messages: &'a [Value],
    pub(super) tokens_max: u32,
    /// What not every service knows: it is left out where one refuses it.
    pub(super) wishes: Map<String, Value>,
    /// What the question makes no sense without.
    pub(super) needs: Map<String, Value>,
}

impl Model {
    pub(super) async fn ask(&self, question: &Question<'_>) -> Result<Message, ModelError> {
        let mut body = question.needs.clone();
        body.insert("model".to_owned(), self.name().into());
        body.insert("messages".to_owned(), question.messages.into());
        let mut wished = body.clone();
        wished.extend(question.wishes.clone());
        wished.extend([("temperature".to_owned(), json!(0)), ("max_tokens".to_owned(), question.tokens_max.into())]);
        let answer = match self.endpoint.ask(Value::Object(wished).to_string().into_bytes()).await {
            Err(failure) if failure.is_bad_request => {
                // Newer models want this name for the limit, and no temperature.
                body.insert("max_completion_tokens".to_owned(), question.tokens_max.into());
                self.endpoint.ask(Value::Object(body).to_string().into_bytes()).await
            }
            answered => answered,
        };
        let completion: Completion = serde_json::from_slice(&answer?).map_err(|_| ModelError::NoMessage)?;
        let choice = completion.choices.into_iter().next().ok_or(ModelError::NoMessage)?;
        if choice.finish_reason.as_deref() == Some("length") {
            return Err(ModelError::Endless);
        }
        Ok(choice.message)
    }
}
