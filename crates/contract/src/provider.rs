//! What a server offers beside tools: resources to read and prompts to use.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{BoxFuture, CallContext, Caller, Code, Content, Contract, Rejection, ResourceContents, ToolError};

/// Behind the wires as tools are behind the gate. What is not offered does not exist: its methods are unknown.
pub trait Provider: Send + Sync {
    fn offers(&self) -> Offers;

    fn resources(&self, _caller: &Caller) -> Vec<Resource> {
        Vec::new()
    }

    fn templates(&self, _caller: &Caller) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// `NOT_FOUND` where there is no such resource for this caller.
    fn read<'a>(
        &'a self,
        _ctx: &'a CallContext,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        Box::pin(async move { Err(Rejection::new(Code::NotFound, format!("Resource not found: {uri}")).into()) })
    }

    fn prompts(&self, _caller: &Caller) -> Vec<Prompt> {
        Vec::new()
    }

    /// `NOT_FOUND` where there is no such prompt for this caller.
    fn prompt<'a>(
        &'a self,
        _ctx: &'a CallContext,
        name: &'a str,
        _arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<PromptText, ToolError>> {
        Box::pin(async move { Err(Rejection::new(Code::NotFound, format!("Unknown prompt: {name}")).into()) })
    }

    /// Values that an argument could have, given how it begins.
    fn complete<'a>(
        &'a self,
        _caller: &'a Caller,
        _subject: &'a Subject,
        _argument: &'a str,
        _begun: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async { Vec::new() })
    }

    /// Someone wants to be told when this resource changes, for as long as what it is given here is kept. Refused where it
    /// could not be read, either.
    fn watch<'a>(&'a self, _caller: &'a Caller, uri: &'a str) -> BoxFuture<'a, Result<Watching, ToolError>> {
        Box::pin(async move { Err(Rejection::new(Code::NotFound, format!("Resource not found: {uri}")).into()) })
    }

    /// What to hold it to when this is had, where it comes from somebody else: it is then called like a tool with this
    /// contract. What is our own needs none.
    fn terms(&self, _caller: &Caller, _wanted: Wanted<'_>) -> Option<Arc<Contract>> {
        None
    }
}

/// What someone wants to have, by the name that it has here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'a> {
    Resource(&'a str),
    Prompt(&'a str),
}

/// Kept by whoever wants to be told of something; when it is dropped, that is over.
#[derive(Debug, Default)]
pub struct Watching {
    _until_dropped: Option<Box<dyn Any + Send + Sync>>,
}

impl Watching {
    /// Over when this is dropped.
    pub fn new(until_dropped: impl Any + Send + Sync) -> Self {
        Self { _until_dropped: Some(Box::new(until_dropped)) }
    }
}

/// Which kinds of things there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own")]
pub struct Offers {
    pub resources: bool,
    /// Whether a client may ask to be told when a resource changes.
    pub resource_updates: bool,
    pub prompts: bool,
    pub completions: bool,
    /// Whether tools tell the client what they do ([`crate::Client::tell`]).
    pub messages: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    pub uri: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
    /// What an upstream says beside that.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// RFC 6570.
    pub uri_template: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptArgument {
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default)]
    pub required: bool,
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A prompt, filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    pub description: String,
    pub messages: Vec<PromptMessage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptMessage {
    pub role: Role,
    pub content: Content,
}

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
}

impl PromptMessage {
    pub fn user(content: Content) -> Self {
        Self { role: Role::User, content }
    }
}

/// What a completion is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Prompt(String),
    Template(String),
}

/// A server with tools and nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct NothingElse;

impl Provider for NothingElse {
    fn offers(&self) -> Offers {
        Offers::default()
    }
}

/// Several, as one. What two of them have under the same name is the first one's.
pub struct Together(pub Vec<Arc<dyn Provider>>);

impl fmt::Debug for Together {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Together({})", self.0.len())
    }
}

impl Together {
    fn all<T>(&self, list: impl Fn(&dyn Provider) -> Vec<T>) -> Vec<T> {
        self.0.iter().flat_map(|provider| list(&**provider)).collect()
    }
}

impl Provider for Together {
    fn offers(&self) -> Offers {
        let either = |one: Offers, other: Offers| Offers {
            resources: one.resources || other.resources,
            resource_updates: one.resource_updates || other.resource_updates,
            prompts: one.prompts || other.prompts,
            completions: one.completions || other.completions,
            messages: one.messages || other.messages,
        };
        self.0.iter().map(|provider| provider.offers()).fold(Offers::default(), either)
    }

    fn resources(&self, caller: &Caller) -> Vec<Resource> {
        self.all(|provider| provider.resources(caller))
    }

    fn templates(&self, caller: &Caller) -> Vec<ResourceTemplate> {
        self.all(|provider| provider.templates(caller))
    }

    fn read<'a>(
        &'a self,
        ctx: &'a CallContext,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        Box::pin(async move {
            let mut answer = NothingElse.read(ctx, uri).await;
            for provider in &self.0 {
                if !is_not_found(&answer) {
                    break;
                }
                answer = provider.read(ctx, uri).await;
            }
            answer
        })
    }

    fn prompts(&self, caller: &Caller) -> Vec<Prompt> {
        self.all(|provider| provider.prompts(caller))
    }

    fn prompt<'a>(
        &'a self,
        ctx: &'a CallContext,
        name: &'a str,
        arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<PromptText, ToolError>> {
        Box::pin(async move {
            let mut answer = NothingElse.prompt(ctx, name, Map::new()).await;
            for provider in &self.0 {
                if !is_not_found(&answer) {
                    break;
                }
                answer = provider.prompt(ctx, name, arguments.clone()).await;
            }
            answer
        })
    }

    fn complete<'a>(
        &'a self,
        caller: &'a Caller,
        subject: &'a Subject,
        argument: &'a str,
        begun: &'a str,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            let mut values = Vec::new();
            for provider in &self.0 {
                values.extend(provider.complete(caller, subject, argument, begun).await);
            }
            values
        })
    }

    fn watch<'a>(&'a self, caller: &'a Caller, uri: &'a str) -> BoxFuture<'a, Result<Watching, ToolError>> {
        Box::pin(async move {
            let mut answer = NothingElse.watch(caller, uri).await;
            for provider in &self.0 {
                if !is_not_found(&answer) {
                    break;
                }
                answer = provider.watch(caller, uri).await;
            }
            answer
        })
    }

    fn terms(&self, caller: &Caller, wanted: Wanted<'_>) -> Option<Arc<Contract>> {
        self.0.iter().find_map(|provider| provider.terms(caller, wanted))
    }
}

fn is_not_found<T>(answer: &Result<T, ToolError>) -> bool {
    matches!(answer, Err(ToolError::Rejected(Rejection { code: Code::NotFound, .. })))
}
