//! The contract: everything a tool promises, in one value that the host enforces and documents are generated from.

mod upstream;

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use self::upstream::{FromServer, UpstreamTerms};
use crate::schema::derive_tool_schema;
use crate::{Code, Digest, Effect, InvalidToolName, Mistake, Rejection, Schema, SchemaRejected, Tool, ToolName};

/// Clients drop tools whose input schema has one of these at its root.
const ROOT_COMBINATORS: [&str; 4] = ["oneOf", "anyOf", "allOf", "not"];

/// A tool's promise, compiled: what goes in and what comes out is checked against exactly what is published.
#[derive(Debug)]
pub struct Contract {
    pub name: ToolName,
    pub title: String,
    pub description: String,
    pub effect: Effect,
    pub input: Schema,
    /// The success branch of the output schema.
    pub success: Schema,
    /// The error branch; no value satisfies both.
    pub error: Schema,
    pub terms: Terms,
    pub digest: Digest,
    /// Absent for our own.
    pub from_server: Option<Box<FromServer>>,
}

/// What the types cannot say. Every field has a harmless default.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Limitations and safety rules in words, for people and models.
    pub constraints: Vec<&'static str>,
    pub examples: Vec<Example>,
    pub limits: Limits,
    pub approval: Approval,
    pub error_form: ErrorForm,
    /// Keys that the error branch may carry beside `error`, `code` and `details`.
    pub error_fields: Vec<ErrorField>,
    /// A document's own words for a certain mistake in the arguments.
    pub sentences: Vec<Sentence>,
    /// What happens to raw arguments before they are validated, by argument.
    pub normalise: Vec<(&'static str, Normalisation)>,
}

/// A call and its answer, executed by a test.
#[derive(Debug, Clone, Default)]
pub struct Example {
    pub title: &'static str,
    pub input: Value,
    pub output: Value,
    /// JSON Pointers into `output` whose values differ from run to run.
    pub varies: Vec<&'static str>,
    /// Files of the repository that it presupposes, with their contents.
    pub files: Vec<(&'static str, &'static str)>,
    /// Pages of the web that it presupposes, by URL.
    pub pages: Vec<(&'static str, &'static str)>,
    /// Calls that must have been made before, on a fresh installation.
    pub calls: Vec<(&'static str, Value)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Calls a minute for one caller, unless the configuration says otherwise.
    pub rate_per_minute: Option<u32>,
    /// A call that takes longer is warned about and counted.
    pub max_time: Option<Duration>,
    /// A call that takes longer is ended, unless the configuration says otherwise.
    pub timeout: Option<Duration>,
}

/// Who has to agree before a call runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Nobody.
    #[default]
    Never,
    /// A person, and the client's own prompt counts.
    Client,
    /// A person, and only outside the client: dashboard or command line.
    OutOfBand,
}

/// How a failure is laid out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ErrorForm {
    /// `{error, code, details?, …}`
    #[default]
    Plain,
    /// `{success: false, error, code, details?}`, where `details` is always an object.
    Envelope,
}

/// Keys that documents show beside `error` and `code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorField {
    Path,
    Pattern,
    Fallback,
    Suggestion,
    Action,
    Message,
    Tool,
}

/// The sentence that replaces "Invalid parameters" when this keyword is broken at this place.
#[derive(Debug, Clone, Copy)]
pub struct Sentence {
    pub path: &'static str,
    pub keyword: &'static str,
    pub sentence: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalisation {
    Trim,
    /// Trimmed; what is empty then becomes null.
    TrimToNull,
}

/// Why a contract is not one. For our own tools this is a mistake in the program, found by the first test.
#[derive(Debug, thiserror::Error)]
pub enum InvalidContract {
    #[error(transparent)]
    Name(#[from] InvalidToolName),
    #[error("{part} schema of `{tool}`")]
    Schema {
        tool: &'static str,
        part: &'static str,
        #[source]
        source: SchemaRejected,
    },
    #[error("{part} schema of `{tool}` is not a plain object schema")]
    NotAnObject { tool: &'static str, part: &'static str },
    #[error("success and error of `{0}` cannot be told apart by their required keys")]
    Ambiguous(&'static str),
}

impl Contract {
    pub fn of<T: Tool>() -> Result<Self, InvalidContract> {
        let name = ToolName::from_str(T::NAME)?;
        let terms = T::terms();
        let mut input = derive_tool_schema::<T::Input>();
        if let Value::Object(root) = &mut input {
            root.entry("properties").or_insert_with(|| json!({}));
            root.entry("required").or_insert_with(|| json!([]));
        }
        let success = derive_tool_schema::<T::Output>();
        let error = error_schema(&terms);
        for (part, schema) in [("input", &input), ("output", &success)] {
            if !is_plain_object(schema) {
                return Err(InvalidContract::NotAnObject { tool: T::NAME, part });
            }
        }
        if !disjoint(&success, &terms) {
            return Err(InvalidContract::Ambiguous(T::NAME));
        }
        let compile = |part, schema| {
            Schema::compile(schema).map_err(|source| InvalidContract::Schema { tool: T::NAME, part, source })
        };
        let mut contract = Self {
            name,
            title: T::TITLE.to_owned(),
            description: T::DESCRIPTION.to_owned(),
            effect: T::EFFECT,
            input: compile("input", input)?,
            success: compile("output", success)?,
            error: compile("error", error)?,
            terms,
            digest: Digest::of_bytes(b""),
            from_server: None,
        };
        contract.digest = Digest::of_json(&contract.definition());
        Ok(contract)
    }

    /// Success or error, with an object at the root: clients drop tools whose output schema has another. Of an upstream
    /// tool, what its server published: its references would lead nowhere inside of another schema.
    pub fn output_schema(&self) -> Value {
        if self.from_server.is_some() {
            return self.success.raw().clone();
        }
        json!({"type": "object", "oneOf": [self.success.raw(), self.error.raw()]})
    }

    /// Whether every answer has a structured value that fits [`Self::output_schema`], failures included.
    pub fn is_structured(&self) -> bool {
        self.from_server.as_ref().is_none_or(|origin| origin.structured)
    }

    /// What a caller can see of the tool before calling it: the digest is over exactly this.
    pub fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "effect": self.effect,
            "inputSchema": self.input.raw(),
            "outputSchema": self.output_schema(),
        })
    }

    /// Applies what the contract says about raw arguments, then fills in the declared defaults.
    pub fn normalise(&self, arguments: &mut Value) {
        for (name, rule) in &self.terms.normalise {
            if let Some(Value::String(text)) = arguments.get_mut(name) {
                let trimmed = text.trim();
                match rule {
                    Normalisation::TrimToNull if trimmed.is_empty() => arguments[*name] = Value::Null,
                    Normalisation::Trim | Normalisation::TrimToNull => *text = trimmed.to_owned(),
                }
            }
        }
        self.input.settle(arguments);
    }

    /// Refuses arguments that break the input schema, in the document's own words where it has some.
    pub fn check_arguments(&self, arguments: &Value) -> Result<(), Rejection> {
        let mut mistakes = self.input.mistakes(arguments);
        let further = match &self.from_server {
            Some(origin) => origin.undeclared(arguments),
            // How a server reads a number is up to it.
            None => self.input.inexact(arguments),
        };
        let further = further.into_iter().filter(|new| mistakes.iter().all(|known| known.path != new.path));
        mistakes.extend(further.collect::<Vec<_>>());
        if mistakes.is_empty() {
            return Ok(());
        }
        let said = |sentence: &&Sentence| {
            mistakes.iter().any(|mistake| mistake.path == sentence.path && mistake.keyword == sentence.keyword)
        };
        let sentence = self.terms.sentences.iter().find(said).map_or("Invalid parameters", |found| found.sentence);
        Err(Rejection::invalid(sentence, &mistakes))
    }

    /// A failure in the layout that this contract publishes.
    pub fn error_value(&self, rejection: &Rejection) -> Value {
        let mut value = Map::new();
        if self.terms.error_form == ErrorForm::Envelope {
            value.insert("success".to_owned(), Value::Bool(false));
        }
        value.insert("error".to_owned(), rejection.error.clone().into());
        value.insert("code".to_owned(), rejection.code.as_str().into());
        if let Some(details) = &rejection.details {
            let details = match (self.terms.error_form, details) {
                (ErrorForm::Envelope, Value::Array(_)) => json!({"errors": details}),
                (ErrorForm::Envelope, Value::String(_)) => json!({"message": details}),
                (ErrorForm::Plain | ErrorForm::Envelope, _) => details.clone(),
            };
            value.insert("details".to_owned(), details);
        }
        value.extend(rejection.fields.clone());
        Value::Object(value)
    }

    /// What is wrong with a value that is about to be handed out as a success.
    pub fn result_mistakes(&self, result: &Value) -> Vec<Mistake> {
        self.success.mistakes(result)
    }

    /// The same for the caller, who must not see anything of a server's result that was withheld.
    pub fn mistakes_for_the_caller(&self, mistakes: &[Mistake]) -> Vec<Mistake> {
        match self.from_server {
            Some(_) => self.success.retold(mistakes),
            None => mistakes.to_vec(),
        }
    }
}

impl ErrorField {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Pattern => "pattern",
            Self::Fallback => "fallback",
            Self::Suggestion => "suggestion",
            Self::Action => "action",
            Self::Message => "message",
            Self::Tool => "tool",
        }
    }
}

/// The error branch, written once for all tools.
fn error_schema(terms: &Terms) -> Value {
    let details = match terms.error_form {
        ErrorForm::Plain => json!({
            "description": "What exactly was wrong: one entry per mistake in the arguments, otherwise a text or an object",
            "oneOf": [
                {"type": "array", "items": mistake_schema()},
                {"type": "string"},
                {"type": "object"},
            ],
        }),
        ErrorForm::Envelope => json!({
            "description": "What exactly was wrong: `errors` has one entry per mistake in the arguments",
            "type": "object",
            "properties": {"errors": {"type": "array", "items": mistake_schema()}},
        }),
    };
    let mut properties = Map::new();
    let mut required = vec!["error", "code"];
    if terms.error_form == ErrorForm::Envelope {
        properties.insert("success".to_owned(), json!({"type": "boolean", "const": false}));
        required.insert(0, "success");
    }
    properties.insert("error".to_owned(), json!({"type": "string", "description": "What went wrong, for a person"}));
    properties.insert(
        "code".to_owned(),
        json!({"type": "string", "enum": Code::ALL, "description": "What went wrong, for a program"}),
    );
    properties.insert("details".to_owned(), details);
    for field in &terms.error_fields {
        properties.insert(field.as_str().to_owned(), json!({"type": "string"}));
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn mistake_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "JSON Pointer to the argument"},
            "message": {"type": "string"},
        },
        "required": ["path", "message"],
        "additionalProperties": false,
    })
}

fn is_plain_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
        && ROOT_COMBINATORS.iter().all(|combinator| schema.get(combinator).is_none())
}

/// A success must be impossible to mistake for an error: either it may not have the key `error` at all, or both carry
/// `success` with different constants.
fn disjoint(success: &Value, terms: &Terms) -> bool {
    let closed = success.get("additionalProperties") == Some(&Value::Bool(false));
    let without_error = closed && success.pointer("/properties/error").is_none();
    let said_so = success.pointer("/properties/success/const") == Some(&Value::Bool(true))
        && success.get("required").and_then(Value::as_array).is_some_and(|keys| keys.contains(&json!("success")));
    without_error || (terms.error_form == ErrorForm::Envelope && said_so)
}

#[cfg(test)]
mod tests;
