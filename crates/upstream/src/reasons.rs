//! Why a tool is not taken as it is, for whoever could change that.

use std::fmt;

use countersign_contract::{SchemaRejected, ToolName, visible};

use crate::texts;

/// Of what a server says in a reason: reasons are kept, logged and shown.
const NAME_MAX: usize = 128;
const NAMES_MAX: usize = 8;

/// Something about a tool that breaks a rule, and the one thing that would lift it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("its name is not one that clients take: {0}")]
    Name(String),
    #[error("it has no name")]
    NoName,
    #[error("another tool of this server is offered under the same name")]
    DuplicateName,
    #[error("its name looks like that of `{0}`")]
    LookAlike(String),
    #[error("it has no description")]
    NoDescription,
    #[error("its input schema is missing or does not describe an object")]
    NoInputSchema,
    #[error("its input schema is not taken: {0}")]
    InputSchema(SchemaRejected),
    #[error("required arguments are not declared: {}", .0.join(", "))]
    Undeclared(Vec<String>),
    #[error("an argument's `x-mcp-header` cannot be sent: {0}")]
    HeaderArgument(String),
    #[error("it has no output schema")]
    NoOutputSchema,
    #[error("its output schema does not describe an object")]
    OutputNotObject,
    #[error("its output schema is not taken: {0}")]
    OutputSchema(SchemaRejected),
    #[error("its output schema accepts any object, and so says nothing")]
    OutputSaysNothing,
    #[error("{place} has characters that do not show: {characters}")]
    HiddenCharacters { place: String, characters: String },
    #[error("{place} has characters that do not show: {characters}")]
    HiddenInName { place: String, characters: String },
    #[error("{place} speaks to the model instead of describing the tool: \"{phrase}\"")]
    Instructions { place: String, phrase: String },
    #[error("{place} is longer than {limit} characters")]
    LongText { place: String, limit: usize },
}

/// Short words for programs, and for waivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasonKind {
    Name,
    Description,
    InputSchema,
    OutputSchema,
    HiddenCharacters,
    Instructions,
    LookAlike,
    LongText,
}

impl Reason {
    pub(crate) fn undeclared(names: &[&str]) -> Self {
        let mut shown: Vec<String> =
            names.iter().take(NAMES_MAX).map(|name| texts::cleaned(&shortened(name))).collect();
        if names.len() > NAMES_MAX {
            shown.push(format!("and {} more", names.len() - NAMES_MAX));
        }
        Self::Undeclared(shown)
    }

    pub fn kind(&self) -> ReasonKind {
        match self {
            Self::Name(_) | Self::NoName | Self::DuplicateName => ReasonKind::Name,
            Self::LookAlike(_) => ReasonKind::LookAlike,
            Self::NoDescription => ReasonKind::Description,
            Self::NoInputSchema | Self::InputSchema(_) | Self::Undeclared(_) | Self::HeaderArgument(_) => {
                ReasonKind::InputSchema
            }
            Self::NoOutputSchema | Self::OutputNotObject | Self::OutputSchema(_) | Self::OutputSaysNothing => {
                ReasonKind::OutputSchema
            }
            Self::HiddenCharacters { .. } | Self::HiddenInName { .. } => ReasonKind::HiddenCharacters,
            Self::Instructions { .. } => ReasonKind::Instructions,
            Self::LongText { .. } => ReasonKind::LongText,
        }
    }

    /// What would lift it for this tool, by the server's own name for it.
    pub fn remedy(&self, tool: &str) -> String {
        let key = key(tool);
        match self {
            Self::Name(_) => format!("give it another name: `tools: {{rename: {{{key}: NEW_NAME}}}}`"),
            Self::NoName => "the server has to name it".to_owned(),
            Self::DuplicateName => {
                "each tool needs a name of its own, from the server or by `tools: {rename: …}`".to_owned()
            }
            Self::NoDescription => "the server has to describe it".to_owned(),
            Self::NoInputSchema => "the server has to declare `inputSchema` with `type: object`".to_owned(),
            Self::InputSchema(_) | Self::HeaderArgument(_) => "the server has to correct `inputSchema`".to_owned(),
            Self::Undeclared(_) => "the server has to declare them under `properties`".to_owned(),
            Self::NoOutputSchema | Self::OutputSaysNothing => {
                "the server has to declare what it gives in `outputSchema`; or `contracts: {level: standard}` takes its \
                 results as text"
                    .to_owned()
            }
            Self::OutputNotObject => "the server has to declare `outputSchema` with `type: object`".to_owned(),
            Self::OutputSchema(_) => "the server has to correct `outputSchema`".to_owned(),
            Self::HiddenInName { .. } => "the server has to give it a name without them".to_owned(),
            Self::HiddenCharacters { .. } | Self::Instructions { .. } | Self::LongText { .. } | Self::LookAlike(_) => {
                format!("if you have read it and it is harmless: `tools: {{waive: {{{key}: [{}]}}}}`", self.kind())
            }
        }
    }

    /// Whether it is about how a text reads, which a person can judge.
    pub fn can_be_waived(&self) -> bool {
        match self {
            Self::HiddenCharacters { .. } | Self::Instructions { .. } | Self::LongText { .. } | Self::LookAlike(_) => {
                true
            }
            // A name goes out as it is; from a text the characters are removed.
            Self::HiddenInName { .. }
            | Self::Name(_)
            | Self::NoName
            | Self::DuplicateName
            | Self::NoDescription
            | Self::NoInputSchema
            | Self::InputSchema(_)
            | Self::Undeclared(_)
            | Self::HeaderArgument(_)
            | Self::NoOutputSchema
            | Self::OutputNotObject
            | Self::OutputSchema(_)
            | Self::OutputSaysNothing => false,
        }
    }
}

/// As a key in a configuration.
fn key(tool: &str) -> String {
    match tool.parse::<ToolName>() {
        Ok(name) => name.to_string(),
        Err(_) => serde_json::Value::from(&*visible(tool)).to_string(),
    }
}

/// A name of the server's, as much of it as anybody reads.
pub(crate) fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

impl fmt::Display for ReasonKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Name => "name",
            Self::Description => "description",
            Self::InputSchema => "input_schema",
            Self::OutputSchema => "output_schema",
            Self::HiddenCharacters => "hidden_characters",
            Self::Instructions => "instructions",
            Self::LookAlike => "look_alike",
            Self::LongText => "long_text",
        })
    }
}
