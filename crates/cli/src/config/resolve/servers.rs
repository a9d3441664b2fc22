//! Upstream servers: each under a name of its own, and reached in exactly one way.

use std::collections::BTreeMap;
use std::path::PathBuf;

use countersign_contract::ToolName;
use countersign_upstream::{Prefix, Reach, Sandbox, ServerName, ServerSpec, ToolRules};

use super::Checks;
use crate::config::file::ConfigFile;
use crate::config::layers::Aim;
use crate::config::sections::{SandboxFile, ServerFile, ServerToolsFile};
use crate::config::values::{DurationText, Secret};

/// What a person can look at and find harmless.
const WAIVABLE: [&str; 4] = ["hidden_characters", "instructions", "long_text", "look_alike"];

impl Checks<'_> {
    pub(super) fn servers(&mut self, file: &ConfigFile) -> Vec<ServerSpec> {
        let mut servers = Vec::new();
        for (key, written) in [("servers", &file.servers), ("mcpServers", &file.mcp_servers)] {
            for (name, server) in written {
                if key == "mcpServers" && file.servers.contains_key(name) {
                    self.report(&[key, name], Aim::Key, "is under `servers`, too; each server is named once");
                }
                servers.extend(self.server(key, name, server));
            }
        }
        servers
    }

    fn server(&mut self, key: &str, name: &str, server: &ServerFile) -> Option<ServerSpec> {
        let parsed = name.parse::<ServerName>().map_err(|error| self.report(&[key, name], Aim::Key, error.to_string()));
        let reach = self.reach(key, name, server);
        if server.sandbox.is_some() && server.url.is_some() {
            self.report(&[key, name, "sandbox"], Aim::Key, "is for a program that is started here");
        }
        let prefix = match (server.prefix.as_deref(), &parsed) {
            (Some("none"), _) => Some(Prefix::None),
            (Some(prefix), _) => match prefix.parse() {
                Ok(prefix) => Some(Prefix::Name(prefix)),
                Err(error) => {
                    self.report(&[key, name, "prefix"], Aim::Value, format!("{error}; or it is `none`"));
                    None
                }
            },
            (None, Ok(name)) => Some(Prefix::Name(name.clone())),
            (None, Err(())) => None,
        };
        let timeout = server.timeout.as_ref().and_then(|text| self.server_timeout(&[key, name, "timeout"], text));
        let tools = self.tool_rules(key, name, &server.tools);
        Some(ServerSpec {
            name: parsed.ok()?,
            reach: reach?,
            tools,
            approval: server.approval,
            timeout,
            prefix: prefix?,
        })
    }

    fn server_timeout(&mut self, steps: &[&str], text: &DurationText) -> Option<std::time::Duration> {
        let duration = text.duration().filter(|duration| !duration.is_zero());
        if duration.is_none() {
            self.report(steps, Aim::Value, "must be more than nothing, and less than for ever");
        }
        duration
    }

    fn reach(&mut self, key: &str, name: &str, server: &ServerFile) -> Option<Reach> {
        let exposed = |values: &BTreeMap<String, Secret>| {
            values.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect()
        };
        match (&server.command, &server.url) {
            (Some(command), None) => Some(Reach::Program {
                command: command.clone(),
                args: server.args.clone(),
                env: exposed(&server.env),
                folder: self.base.to_owned(),
                sandbox: server.sandbox.as_ref().map(|sandbox| self.sandbox(sandbox)),
            }),
            (None, Some(url)) => {
                if !(url.starts_with("http://") || url.starts_with("https://")) {
                    self.report(&[key, name, "url"], Aim::Value, "must begin with `http://` or `https://`");
                    return None;
                }
                Some(Reach::Http { url: url.clone(), headers: exposed(&server.headers) })
            }
            (Some(_), Some(_)) => {
                self.report(&[key, name], Aim::Key, "has a `command` and a `url`; a server is reached in one way");
                None
            }
            (None, None) => {
                self.report(&[key, name], Aim::Key, "needs a `command` to start, or a `url` to connect to");
                None
            }
        }
    }

    fn sandbox(&self, sandbox: &SandboxFile) -> Sandbox {
        let here = |paths: &[PathBuf]| paths.iter().map(|path| self.base.join(path)).collect();
        Sandbox { read: here(&sandbox.read), write: here(&sandbox.write), network: sandbox.network }
    }

    fn tool_rules(&mut self, key: &str, name: &str, tools: &ServerToolsFile) -> ToolRules {
        for (old, new) in &tools.rename {
            if let Err(error) = new.parse::<ToolName>() {
                self.report(&[key, name, "tools", "rename", old], Aim::Value, error.to_string());
            }
        }
        for (tool, reasons) in &tools.waive {
            if reasons.iter().any(|reason| !WAIVABLE.contains(&reason.as_str())) {
                let message = format!("can name {}", WAIVABLE.map(|reason| format!("`{reason}`")).join(", "));
                self.report(&[key, name, "tools", "waive", tool], Aim::Value, message);
            }
        }
        ToolRules {
            allow: tools.allow.as_ref().map(|allowed| allowed.iter().cloned().collect()),
            deny: tools.deny.iter().cloned().collect(),
            rename: tools.rename.clone(),
            waive: tools
                .waive
                .iter()
                .map(|(tool, reasons)| (tool.clone(), reasons.iter().cloned().collect()))
                .collect(),
        }
    }
}
