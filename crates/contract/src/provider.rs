//! What a server offers beside tools: resources to read and prompts to use.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{BoxFuture, CallContext, Caller, Code, Content, Rejection, ResourceContents, ToolError};

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
    fn complete(&self, _caller: &Caller, _subject: &Subject, _argument: &str, _begun: &str) -> Vec<String> {
        Vec::new()
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    pub uri: String,
    pub name: String,
    pub title: String,
    pub description: String,
    pub mime_type: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// RFC 6570.
    pub uri_template: String,
    pub name: String,
    pub description: String,
    pub mime_type: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    pub name: String,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptArgument {
    pub name: String,
    pub description: String,
    pub required: bool,
}

/// A prompt, filled in: what the user is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    pub description: String,
    pub messages: Vec<Content>,
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
