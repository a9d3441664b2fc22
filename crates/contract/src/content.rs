//! What an answer shows beside its structured value: blocks in the shape that MCP gives them.

use serde::{Deserialize, Serialize};

/// One block for a model or a person. Binary data is base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Content {
    Text {
        text: String,
    },
    Image {
        data: String,
        mime_type: String,
    },
    Audio {
        data: String,
        mime_type: String,
    },
    Resource {
        resource: ResourceContents,
    },
    /// One of an upstream's, as it came.
    #[serde(untagged)]
    Other(serde_json::Map<String, serde_json::Value>),
}

/// What a resource holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceContents {
    pub uri: String,
    pub mime_type: String,
    #[serde(flatten)]
    pub body: ResourceBody,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceBody {
    Text(String),
    /// Base64.
    Blob(String),
}

impl Content {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

impl ResourceContents {
    pub fn text(uri: impl Into<String>, mime_type: &str, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime_type: mime_type.to_owned(), body: ResourceBody::Text(text.into()) }
    }
}
