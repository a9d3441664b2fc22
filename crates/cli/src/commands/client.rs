//! `countersign client config CLIENT`: what a client's configuration needs, and where it goes. Data goes to stdout, so
//! that it can be redirected; the rest is said on stderr. Nothing is written, and no token is ever printed.

mod profiles;
mod snippet;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum as _;
use countersign_transports::ExitCode;
use serde_json::json;

use crate::args::{Client, ClientConfigArguments, Common};
use crate::config::Config;
use crate::failure::{CommandError, CommandResult};
use crate::output::{self, Format};
use crate::wiring;

use self::profiles::{Bearer, Http, TOKEN_VARIABLE};
use self::snippet::{Auth, Server};

pub(super) fn config(common: &Common, arguments: &ClientConfigArguments) -> CommandResult {
    let config = wiring::load(common, None)?;
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let advice = advise(arguments, &config, &program, std::env::consts::OS)?;
    match wiring::format(common) {
        Format::Json => output::print_json(Format::Json, &advice.json())?,
        Format::Text => {
            output::print(&advice.snippet)?;
            output::say(&advice.talk());
        }
    }
    Ok(())
}

/// Everything there is to say to one client's user.
#[derive(Debug)]
struct Advice {
    client: Client,
    file: &'static str,
    snippet: String,
    /// The client's own command that does the same.
    command: Option<String>,
    /// What the user has to see to.
    notes: Vec<String>,
}

/// `system` as `std::env::consts::OS` names it.
fn advise(
    arguments: &ClientConfigArguments,
    config: &Config,
    program: &Path,
    system: &str,
) -> Result<Advice, CommandError> {
    let client = arguments.client;
    let profile = client.profile();
    let server = match (&arguments.url, arguments.http) {
        (None, false) => started(config, program)?,
        (url, _) => running(config, url.as_deref())?,
    };
    if let (Server::Running { .. }, Http::Refused { instead }) = (&server, &profile.http) {
        let message = format!("{} does not connect to servers by URL from its file", profile.title);
        return Err(CommandError::message(ExitCode::Usage, message).hint(*instead));
    }
    Ok(Advice {
        client,
        file: profile.file.on(system),
        snippet: snippet::snippet(profile, &server)?,
        command: snippet::command(profile, &server)?,
        notes: notes(client, config, &server),
    })
}

fn started(config: &Config, program: &Path) -> Result<Server, CommandError> {
    let mut args = vec!["mcp".to_owned()];
    let mut env = BTreeMap::new();
    match &config.sources.file {
        Some(file) => args.extend(["--config".to_owned(), text(file)?]),
        // Clients start servers in folders of their own, Claude Desktop even in `/`. A configuration file is the anchor
        // of all relative paths; without one, each path has to be pinned to where it is now.
        None => {
            for (variable, path) in paths(config) {
                env.insert(variable, text(path)?);
            }
        }
    }
    Ok(Server::Started { command: text(program)?, args, env })
}

/// Every key that is a path, under its variable. (`log.file` follows `data_dir`.)
fn paths(config: &Config) -> [(&'static str, &Path); 6] {
    [
        ("COUNTERSIGN_ROOT", &config.root),
        ("COUNTERSIGN_DATA_DIR", &config.data_dir),
        ("COUNTERSIGN_MEMORY__DIR", &config.memory_dir),
        ("COUNTERSIGN_FILE_IO__ROOT", &config.file_io_root),
        ("COUNTERSIGN_CONTRACTS__OVERLAYS", &config.contracts.overlays),
        ("COUNTERSIGN_CONTRACTS__LOCKFILE", &config.contracts.lockfile),
    ]
}

/// A path for another program: absolute, and without `.` in it. `..` stays, because links may make it matter.
fn text(path: &Path) -> Result<String, CommandError> {
    let path = std::path::absolute(path).context("cannot tell the current folder")?;
    path.into_os_string().into_string().map_err(|path| {
        let message =
            format!("`{}` is not UTF-8, and so cannot stand in a client's file", PathBuf::from(path).display());
        CommandError::message(ExitCode::Usage, message).hint("rename it, or reach it by a link with another name")
    })
}

fn running(config: &Config, url: Option<&str>) -> Result<Server, CommandError> {
    let (url, reach) = match url {
        Some(url) => (url.to_owned(), reach(url)?),
        None => (configured_url(config.http.listen)?, Reach::ThisMachine),
    };
    // For others, `serve` insists on tokens, even if this configuration is not the one it runs on.
    let auth = if config.tokens.is_empty() && reach == Reach::ThisMachine { Auth::Open } else { Auth::Bearer };
    Ok(Server::Running { url, auth })
}

fn configured_url(listen: SocketAddr) -> Result<String, CommandError> {
    if listen.port() == 0 {
        let message = "`http.listen` has port 0, so every `countersign serve` gets another one";
        return Err(CommandError::message(ExitCode::Usage, message)
            .hint("set a port, or name the address that `serve` printed: `--url http://127.0.0.1:PORT/mcp`"));
    }
    // "All addresses" is not one that a client can connect to.
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    Ok(format!("http://{}/mcp", SocketAddr::new(ip, listen.port())))
}

/// Who can connect to a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    ThisMachine,
    Others,
}

fn reach(url: &str) -> Result<Reach, CommandError> {
    let refuse = |message: &str| {
        CommandError::message(ExitCode::Usage, format!("--url {message}"))
            .hint("write it as `http://127.0.0.1:8000/mcp` or `https://tools.example.com/mcp`")
    };
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let rest = rest.ok_or_else(|| refuse("must begin with `http://` or `https://`"))?;
    if url.contains(|character: char| character.is_whitespace() || character.is_control()) {
        return Err(refuse("must not contain spaces"));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // It would end up in a file and on the screen.
    if authority.contains('@') {
        return Err(refuse("must not contain a name or password"));
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    match host {
        None | Some("") => Err(refuse("lacks a host")),
        Some(host) if host.eq_ignore_ascii_case("localhost") => Ok(Reach::ThisMachine),
        Some(host) if host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()) => Ok(Reach::ThisMachine),
        Some(_) => Ok(Reach::Others),
    }
}

fn notes(client: Client, config: &Config, server: &Server) -> Vec<String> {
    let profile = client.profile();
    let mut notes = Vec::new();
    match snippet::bearer(profile, server) {
        None => {}
        Some(Bearer::Filled(_) | Bearer::Named) => {
            notes.push(format!("set `{TOKEN_VARIABLE}` to one of the server's tokens where the client is started"));
        }
        Some(Bearer::Prompted) => {
            notes.push("it asks for one of the server's tokens when it first connects".to_owned());
        }
        Some(Bearer::Typed) => {
            notes.push(
                "put one of the server's tokens in the place of `<token>`; this client fills in no variables"
                    .to_owned(),
            );
        }
    }
    if let Server::Started { env, .. } = server {
        if !env.is_empty() {
            notes.push(
                "the variables pin all paths to this folder, because clients start servers elsewhere; with a \
                 `countersign.yaml` here, even an empty one, `--config` takes their place"
                    .to_owned(),
            );
        }
        // They may hold secrets, so they are named, not copied.
        let lost = config.sources.variables.iter().filter(|variable| !env.contains_key(variable.as_str()));
        let lost: Vec<_> = lost.map(|variable| format!("`{variable}`")).collect();
        if !lost.is_empty() {
            notes.push(format!("the client's environment needs these settings of yours, too: {}", lost.join(", ")));
        }
    }
    notes
}

impl Advice {
    fn talk(&self) -> String {
        let profile = self.client.profile();
        let or_file = if profile.or_file.is_empty() { String::new() } else { format!(" {}", profile.or_file) };
        let mut text =
            format!("{} reads this from `{}`{or_file}; keep what else is there.\n", profile.title, self.file);
        if let Some(command) = &self.command {
            text.push_str(&format!("This command does the same: {command}\n"));
        }
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let name = self.client.to_possible_value().map(|value| value.get_name().to_owned());
        let mut object = json!({
            "client": name,
            "file": self.file,
            "format": self.client.profile().shape.format(),
            "snippet": self.snippet,
            "notes": self.notes,
        });
        if let Some(command) = &self.command {
            object["command"] = json!(command);
        }
        object
    }
}

#[cfg(test)]
mod tests;
