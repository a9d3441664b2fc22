//! A server, written the way a client reads it: as JSON, TOML or YAML, or as the client's own command.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde::Serialize;

use super::profiles::{Adding, Bearer, Http, Kind, Profile, Shape, TOKEN_VARIABLE};

/// The name under which clients know us.
const NAME: &str = "countersign";

/// The name of VS Code's question for the token.
const INPUT: &str = "countersign-token";

/// goose's own default, in seconds; it wants the key to be there.
const GOOSE_TIMEOUT: u32 = 300;

/// What a client is to use.
#[derive(Debug)]
pub(super) enum Server {
    /// A process that the client starts and talks to over stdin and stdout.
    Started { command: String, args: Vec<String>, env: BTreeMap<&'static str, String> },
    /// One that somebody else runs.
    Running { url: String, auth: Auth },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Auth {
    Open,
    Bearer,
}

/// What goes into the client's file.
pub(super) fn snippet(profile: &Profile, server: &Server) -> anyhow::Result<String> {
    let mut text = match profile.shape {
        Shape::Json { key, kind } => {
            let servers = BTreeMap::from([(key, BTreeMap::from([(NAME, Entry::of(profile, kind, server))]))]);
            let file = JsonFile { inputs: inputs(profile, server), servers };
            serde_json::to_string_pretty(&file).context("cannot write the snippet as JSON")?
        }
        Shape::CodexToml => codex(server)?,
        Shape::GooseYaml => {
            let extensions = BTreeMap::from([(NAME, Extension::of(profile, server))]);
            let file = BTreeMap::from([("extensions", extensions)]);
            serde_saphyr::to_string(&file).context("cannot write the snippet as YAML")?
        }
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// The client's own command that does the same, for a POSIX shell.
pub(super) fn command(profile: &Profile, server: &Server) -> anyhow::Result<Option<String>> {
    let words = match profile.adding {
        Adding::ByHand => return Ok(None),
        Adding::ClaudeAddJson => {
            let entry = serde_json::to_string(&Entry::of(profile, Kind::Named, server))?;
            vec!["claude".to_owned(), "mcp".to_owned(), "add-json".to_owned(), NAME.to_owned(), entry]
        }
        Adding::CodeAddMcp => {
            let entry = Entry::of(profile, Kind::Named, server);
            let added = AddedEntry { name: NAME, inputs: inputs(profile, server), entry };
            vec!["code".to_owned(), "--add-mcp".to_owned(), serde_json::to_string(&added)?]
        }
        Adding::CodexMcpAdd => codex_mcp_add(server),
    };
    Ok(Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")))
}

/// A server in one of the JSON files. The order of the fields is the one people write.
#[derive(Serialize)]
struct Entry<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a [String]>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct JsonFile<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<Input>,
    #[serde(flatten)]
    servers: BTreeMap<&'static str, BTreeMap<&'static str, Entry<'a>>>,
}

#[derive(Serialize)]
struct AddedEntry<'a> {
    name: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<Input>,
    #[serde(flatten)]
    entry: Entry<'a>,
}

/// What VS Code asks its user, once.
#[derive(Serialize)]
struct Input {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'static str,
    description: &'static str,
    password: bool,
}

impl<'a> Entry<'a> {
    fn of(profile: &Profile, kind: Kind, server: &'a Server) -> Self {
        let named = |name| (kind == Kind::Named).then_some(name);
        match server {
            Server::Started { command, args, env } => Self {
                kind: named("stdio"),
                command: Some(command),
                args: Some(args),
                env: env.iter().map(|(name, value)| (*name, value.as_str())).collect(),
                url: None,
                headers: BTreeMap::new(),
            },
            Server::Running { url, .. } => Self {
                kind: named("http"),
                command: None,
                args: None,
                env: BTreeMap::new(),
                url: Some(url),
                headers: headers(profile, server),
            },
        }
    }
}

/// How this client comes by its token, if it needs one.
pub(super) fn bearer(profile: &Profile, server: &Server) -> Option<Bearer> {
    match (&profile.http, server) {
        (Http::Accepted { bearer }, Server::Running { auth: Auth::Bearer, .. }) => Some(*bearer),
        (Http::Accepted { .. } | Http::Refused { .. }, Server::Running { .. } | Server::Started { .. }) => None,
    }
}

fn headers(profile: &Profile, server: &Server) -> BTreeMap<&'static str, String> {
    let value = match bearer(profile, server) {
        None | Some(Bearer::Named) => return BTreeMap::new(),
        Some(Bearer::Filled(value)) => value.to_owned(),
        Some(Bearer::Prompted) => format!("Bearer ${{input:{INPUT}}}"),
        Some(Bearer::Typed) => "Bearer <token>".to_owned(),
    };
    BTreeMap::from([("Authorization", value)])
}

fn inputs(profile: &Profile, server: &Server) -> Vec<Input> {
    match bearer(profile, server) {
        Some(Bearer::Prompted) => {
            vec![Input { kind: "promptString", id: INPUT, description: "Token for Countersign", password: true }]
        }
        Some(Bearer::Filled(_) | Bearer::Named | Bearer::Typed) | None => Vec::new(),
    }
}

/// A server in goose's file.
#[derive(Serialize)]
struct Extension<'a> {
    enabled: bool,
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    description: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cmd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a [String]>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    envs: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    /// goose fills only those variables into headers that are named here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    env_keys: Vec<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<&'static str, String>,
    timeout: u32,
}

impl<'a> Extension<'a> {
    fn of(profile: &Profile, server: &'a Server) -> Self {
        let entry = Entry::of(profile, Kind::Inferred, server);
        Self {
            enabled: true,
            kind: match server {
                Server::Started { .. } => "stdio",
                Server::Running { .. } => "streamable_http",
            },
            name: NAME,
            description: "Tools whose contracts are enforced",
            cmd: entry.command,
            args: entry.args,
            envs: entry.env,
            uri: entry.url,
            env_keys: bearer(profile, server).map(|_| TOKEN_VARIABLE).into_iter().collect(),
            headers: entry.headers,
            timeout: GOOSE_TIMEOUT,
        }
    }
}

fn codex(server: &Server) -> anyhow::Result<String> {
    let mut text = format!("[mcp_servers.{NAME}]\n");
    match server {
        Server::Started { command, args, env } => {
            let args = args.iter().map(|arg| toml_string(arg)).collect::<anyhow::Result<Vec<_>>>()?;
            text.push_str(&format!("command = {}\nargs = [{}]\n", toml_string(command)?, args.join(", ")));
            if !env.is_empty() {
                text.push_str(&format!("\n[mcp_servers.{NAME}.env]\n"));
            }
            for (name, value) in env {
                text.push_str(&format!("{name} = {}\n", toml_string(value)?));
            }
        }
        Server::Running { url, auth } => {
            text.push_str(&format!("url = {}\n", toml_string(url)?));
            if *auth == Auth::Bearer {
                text.push_str(&format!("bearer_token_env_var = {}\n", toml_string(TOKEN_VARIABLE)?));
            }
        }
    }
    Ok(text)
}

/// A JSON string is a basic string of TOML, but for DEL, which TOML wants escaped.
fn toml_string(text: &str) -> anyhow::Result<String> {
    Ok(serde_json::to_string(text).context("cannot write the snippet as TOML")?.replace('\u{7f}', "\\u007F"))
}

fn codex_mcp_add(server: &Server) -> Vec<String> {
    let mut words = ["codex", "mcp", "add", NAME].map(str::to_owned).to_vec();
    match server {
        Server::Started { command, args, env } => {
            for (name, value) in env {
                words.extend(["--env".to_owned(), format!("{name}={value}")]);
            }
            words.extend(["--".to_owned(), command.clone()]);
            words.extend_from_slice(args);
        }
        Server::Running { url, auth } => {
            words.extend(["--url".to_owned(), url.clone()]);
            if *auth == Auth::Bearer {
                words.extend(["--bearer-token-env-var".to_owned(), TOKEN_VARIABLE.to_owned()]);
            }
        }
    }
    words
}

/// One word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=,@%+".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_word_stays_one_word_in_a_shell() {
        for (word, expected) in [
            ("/usr/bin/countersign", "/usr/bin/countersign"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("~/x", "'~/x'"),
            ("${TOKEN}", "'${TOKEN}'"),
        ] {
            assert_eq!(quoted(word), expected, "{word}");
        }
    }
}
