//! `ConfigFile`: what a configuration file may say, key by key. The doc comments are the reference that users read, and
//! the JSON Schema derived from these types is what a file is checked against. Nothing here decides what holds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use countersign_contract::{Approval, derive_schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::sections::{
    AuthFile, ContextFile, ContractsFile, EndpointFile, FileIoFile, HttpFile, LimitsFile, LogFile, MemoryFile,
    ReceiptsFile, ServerFile, Switch, SystemAuditFile, WebFetchFile,
};
use super::values::{DATABASE_PATTERN, ToolsText};

/// Tools that need a person by default; the file can ask for more.
pub(super) const DEFAULT_APPROVAL: [(&str, Approval); 1] = [("write_memory_entry", Approval::Client)];

/// The whole file. Every key is optional; a relative path is relative to the folder of the file.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ConfigFile {
    /// The repository that the file, grep and context tools see.
    pub(super) root: PathBuf,
    /// Where the database, the index and the lock state are kept.
    pub(super) data_dir: PathBuf,
    /// `sqlite` (in `data_dir`), or the URL of a PostgreSQL database: `postgres://user:pass@host/db`.
    #[schemars(regex(pattern = DATABASE_PATTERN))]
    pub(super) database: String,
    /// The tools that are offered: `all`, or a list of their names.
    pub(super) tools: ToolsText,
    /// The HTTP server.
    pub(super) http: HttpFile,
    /// Who may call over HTTP.
    pub(super) auth: AuthFile,
    /// The memory files of `write_memory_entry`.
    pub(super) memory: MemoryFile,
    /// The tool `file-io`.
    pub(super) file_io: FileIoFile,
    /// The tool `web-fetch`.
    pub(super) web_fetch: WebFetchFile,
    /// The tool `adam-sys-audit`.
    pub(super) system_audit: SystemAuditFile,
    /// The context index.
    pub(super) context: ContextFile,
    /// How often and how long a tool may run.
    pub(super) limits: LimitsFile,
    /// Who must agree before a tool runs, by tool: `never`, `client` (a person; the client's own prompt counts) or
    /// `out_of_band` (a person, outside the client). Tools that are not named keep their default.
    pub(super) approval: BTreeMap<String, Approval>,
    /// The log file.
    pub(super) log: LogFile,
    /// The audit log. `off` is for benchmarks and throw-away runs: calls then leave no record.
    pub(super) audit: Switch,
    /// Upstream MCP servers, by name.
    pub(super) servers: BTreeMap<String, ServerFile>,
    /// Another spelling of `servers`, as in the files of other clients.
    #[serde(rename = "mcpServers", skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) mcp_servers: BTreeMap<String, ServerFile>,
    /// How strictly upstream tools are held to their contracts.
    pub(super) contracts: ContractsFile,
    /// A language model for planning and summaries; without it the embedded ones do the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EndpointFile")]
    pub(super) llm: Option<EndpointFile>,
    /// What is kept of questions.
    pub(super) receipts: ReceiptsFile,
}

impl Default for ConfigFile {
    fn default() -> Self {
        Self {
            root: PathBuf::from("."),
            data_dir: PathBuf::from(".countersign"),
            database: "sqlite".to_owned(),
            tools: ToolsText::default(),
            http: HttpFile::default(),
            auth: AuthFile::default(),
            memory: MemoryFile::default(),
            file_io: FileIoFile::default(),
            web_fetch: WebFetchFile::default(),
            system_audit: SystemAuditFile::default(),
            context: ContextFile::default(),
            limits: LimitsFile::default(),
            approval: DEFAULT_APPROVAL.map(|(tool, approval)| (tool.to_owned(), approval)).into(),
            log: LogFile::default(),
            audit: Switch::On,
            servers: BTreeMap::new(),
            mcp_servers: BTreeMap::new(),
            contracts: ContractsFile::default(),
            llm: None,
            receipts: ReceiptsFile::default(),
        }
    }
}

/// The JSON Schema (2020-12) of the configuration file: for editors, and what every file is checked against.
pub(crate) fn config_schema() -> Value {
    let mut schema = Map::from_iter([
        ("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema")),
        ("title".to_owned(), json!("Countersign configuration")),
        (
            "description".to_owned(),
            json!("Every key is optional. A relative path is relative to the folder of the file."),
        ),
    ]);
    if let Value::Object(derived) = derive_schema::<ConfigFile>() {
        schema.extend(derived);
    }
    Value::Object(schema)
}
