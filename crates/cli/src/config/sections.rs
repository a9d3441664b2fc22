//! The sections of a configuration file, as they are written. The doc comments are the reference that users read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use countersign_contract::Approval;
use countersign_tools::WebSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::values::{DurationText, EMBEDDED_PATTERN, PerMinute, Secret, SizeText, ToolsText};

/// Calls a minute for one caller, from the document of the context tools; other tools have no limit.
pub(super) const DEFAULT_RATES: [(&str, u32); 3] = [("context_search", 30), ("grep_codebase", 60), ("read_file", 100)];

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HttpFile {
    /// Address and port. Any address but a loopback one needs `auth.tokens`. Port 0 picks a free one.
    pub(super) listen: String,
    /// Web origins (`https://example.com`) whose pages may call, beside our own.
    pub(super) allowed_origins: Vec<String>,
    /// Names under which clients may address this server, beside the loopback names.
    pub(super) allowed_hosts: Vec<String>,
    /// Connections that may be open at a time.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(super) max_connections: u32,
    /// The largest request body, in bytes or as `4MiB`.
    pub(super) max_body: SizeText,
    /// How long calls in flight may go on after a shutdown was asked for.
    pub(super) grace: DurationText,
}

impl Default for HttpFile {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8000".to_owned(),
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            max_connections: 1024,
            // 5 MB of text, even where a client writes all that is not ASCII as `\uXXXX`; as much as a line over stdio.
            max_body: SizeText::Bytes(16 * 1024 * 1024),
            grace: seconds(10),
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct AuthFile {
    /// Bearer tokens, one per caller.
    pub(super) tokens: Vec<TokenFile>,
    /// An OAuth issuer whose access tokens are accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OauthFile")]
    pub(super) oauth: Option<OauthFile>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenFile {
    /// The caller's name in limits, log and audit.
    pub(super) name: String,
    /// The token itself; better `${VARIABLE}` than the text.
    pub(super) token: Secret,
    /// The tools that exist for this caller: `all`, or a list of their names.
    #[serde(default)]
    pub(super) tools: ToolsText,
    /// Whether this caller may decide approvals.
    #[serde(default)]
    pub(super) approver: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OauthFile {
    /// The issuer's URL.
    pub(super) issuer: String,
    /// What a token's audience must be.
    pub(super) audience: String,
    /// Where the issuer's keys are.
    pub(super) jwks_url: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MemoryFile {
    /// The folder of the memory files.
    pub(super) dir: PathBuf,
}

impl Default for MemoryFile {
    fn default() -> Self {
        Self { dir: PathBuf::from(".claude/memory") }
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FileIoFile {
    /// The only folder that `file-io` reads and writes; made by the first write. Best one of its own.
    pub(super) root: PathBuf,
}

impl Default for FileIoFile {
    fn default() -> Self {
        Self { root: PathBuf::from("data") }
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WebFetchFile {
    /// Hosts that may be fetched, `*.example.com` for all below one; empty allows every public host.
    pub(super) allowed_domains: Vec<String>,
    /// Hosts that may be fetched although their address is private.
    pub(super) allow_private_hosts: Vec<String>,
    /// Address and port of the name server to ask, instead of the system's.
    pub(super) resolver: Option<String>,
    /// How long one fetch may take, redirects included.
    pub(super) timeout: DurationText,
    /// How many redirects are followed.
    #[schemars(range(min = 0, max = 20))]
    pub(super) max_redirects: u32,
}

impl Default for WebFetchFile {
    fn default() -> Self {
        let WebSettings { timeout, max_redirects, .. } = WebSettings::default();
        Self {
            allowed_domains: Vec::new(),
            allow_private_hosts: Vec::new(),
            resolver: None,
            timeout: timeout.into(),
            max_redirects,
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SystemAuditFile {
    /// Python packages to report beside what is found anyway.
    #[schemars(length(max = 256))]
    pub(super) packages: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ContextFile {
    /// What turns text into vectors: `embedded`, or an OpenAI-compatible endpoint.
    pub(super) embedder: EmbedderFile,
    /// Globs of files that are not indexed.
    pub(super) exclude: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum EmbedderFile {
    /// The pattern leaves only `embedded`.
    Word(String),
    Endpoint(EndpointFile),
}

impl Default for EmbedderFile {
    fn default() -> Self {
        Self::Word("embedded".to_owned())
    }
}

impl JsonSchema for EmbedderFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Embedder".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = EndpointFile::json_schema(generator);
        schema.insert("type".to_owned(), json!(["string", "object"]));
        schema.insert("pattern".to_owned(), json!(EMBEDDED_PATTERN));
        schema
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EndpointFile {
    /// Base URL of the endpoint.
    pub(super) url: String,
    /// The model's name there.
    pub(super) model: String,
    /// Sent as a bearer token; better `${VARIABLE}` than the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Secret")]
    pub(super) api_key: Option<Secret>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReceiptsFile {
    /// How long a question's receipt is kept; a newer one takes the older ones away.
    pub(super) keep: DurationText,
    /// Whether receipts hold what was asked and answered (`full`), or only its digests.
    pub(super) content: ReceiptContent,
}

impl Default for ReceiptsFile {
    fn default() -> Self {
        Self { keep: std::time::Duration::from_hours(30 * 24).into(), content: ReceiptContent::Full }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReceiptContent {
    Full,
    Digests,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LimitsFile {
    /// Calls a minute for one caller, by tool; 0 is no limit. Tools that are not named keep their default.
    pub(super) rate_per_minute: BTreeMap<String, PerMinute>,
    /// How long a call may take: `default`, and by tool.
    pub(super) timeout: BTreeMap<String, DurationText>,
}

impl Default for LimitsFile {
    fn default() -> Self {
        Self {
            rate_per_minute: DEFAULT_RATES.map(|(tool, rate)| (tool.to_owned(), PerMinute(rate))).into(),
            timeout: BTreeMap::from([("default".to_owned(), seconds(30))]),
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LogFile {
    /// Where the log is written; by default `countersign.log` in `data_dir`.
    pub(super) file: Option<PathBuf>,
    /// How much is logged.
    pub(super) level: LogLevel,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ServerFile {
    /// The program to start, for a server on stdin and stdout.
    pub(super) command: Option<String>,
    /// Its arguments.
    pub(super) args: Vec<String>,
    /// Its environment, beside `HOME`, `LANG`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `TMPDIR` and `USER`; nothing else of
    /// ours is passed on.
    pub(super) env: BTreeMap<String, Secret>,
    /// The server's URL, for a server over HTTP.
    pub(super) url: Option<String>,
    /// Headers of every request.
    pub(super) headers: BTreeMap<String, Secret>,
    /// Which of its tools are taken, and under which names.
    pub(super) tools: ServerToolsFile,
    /// Who must agree before one of its tools runs.
    #[schemars(with = "Approval")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) approval: Option<Approval>,
    /// What the program may do on this machine, enforced by Landlock; without it, what the user may do who runs
    /// Countersign.
    #[schemars(with = "SandboxFile")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sandbox: Option<SandboxFile>,
    /// How long a call may take.
    #[schemars(with = "DurationText")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timeout: Option<DurationText>,
    /// What its tools' names start with, instead of the server's name; `none` for nothing.
    pub(super) prefix: Option<String>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SandboxFile {
    /// Files and folders that it may read, beside what programs need to start (`/usr`, `/etc` and the like).
    pub(super) read: Vec<PathBuf>,
    /// Files and folders that it may read and change.
    pub(super) write: Vec<PathBuf>,
    /// Whether it may use TCP.
    pub(super) network: bool,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ServerToolsFile {
    /// Where given, all others are left out.
    #[schemars(with = "Vec<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allow: Option<Vec<String>>,
    /// Tools that are left out.
    pub(super) deny: Vec<String>,
    /// Tools that get another name: `{old: new}`.
    pub(super) rename: BTreeMap<String, String>,
    /// Reasons against a tool that you have looked at and that do not count: `{tool: [instructions]}`.
    pub(super) waive: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ContractsFile {
    /// What becomes of an upstream tool that breaks a rule: `strict` refuses it, `standard` lets formal flaws pass,
    /// `observe` only reports.
    pub(super) level: Level,
    /// The folder of the overlays: `<server>/<tool>.json`.
    pub(super) overlays: PathBuf,
    /// The file with the digests of what was accepted.
    pub(super) lockfile: PathBuf,
}

impl Default for ContractsFile {
    fn default() -> Self {
        Self {
            level: Level::Strict,
            overlays: PathBuf::from("contracts/overlays"),
            lockfile: PathBuf::from("countersign.lock"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Strict,
    Standard,
    Observe,
}

fn seconds(seconds: u64) -> DurationText {
    std::time::Duration::from_secs(seconds).into()
}
