//! The clients as data: which file each reads, in which form, and how it is told a token.
//!
//! All of it follows what the clients document; nothing here is tried out on the machine.

use crate::args::Client;

/// The variable that holds a client's token. Countersign itself never reads it.
pub(super) const TOKEN_VARIABLE: &str = "COUNTERSIGN_TOKEN";

#[derive(Debug)]
pub(super) struct Profile {
    /// What people call it.
    pub(super) title: &'static str,
    pub(super) file: PerSystem,
    /// Another file that would do, as a phrase; empty where there is none.
    pub(super) or_file: &'static str,
    pub(super) shape: Shape,
    pub(super) http: Http,
    pub(super) adding: Adding,
}

#[derive(Debug)]
pub(super) struct PerSystem {
    pub(super) macos: &'static str,
    pub(super) linux: &'static str,
    pub(super) windows: &'static str,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// `{key: {name: {command, args, env} or {url, headers}}}`
    Json { key: &'static str, kind: Kind },
    /// `[mcp_servers.name]`
    CodexToml,
    /// `extensions: {name: …}`
    GooseYaml,
}

/// Whether an entry says `type: stdio` or `type: http`, or leaves that to its other keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Named,
    Inferred,
}

#[derive(Debug)]
pub(super) enum Http {
    /// The file cannot name a URL; what to do instead.
    Refused {
        instead: &'static str,
    },
    Accepted {
        bearer: Bearer,
    },
}

/// How a client comes by the token that it sends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bearer {
    /// It fills a variable into this header value.
    Filled(&'static str),
    /// It asks the user once and keeps the answer.
    Prompted,
    /// It is told the variable's name.
    Named,
    /// It knows no placeholders: the token itself has to be typed into the file.
    Typed,
}

/// The client's own command that does the same.
#[derive(Debug, Clone, Copy)]
pub(super) enum Adding {
    /// `claude mcp add-json`. Not `claude mcp add`: its `--env` and `--header` swallow whatever follows them.
    ClaudeAddJson,
    CodeAddMcp,
    CodexMcpAdd,
    ByHand,
}

impl Client {
    pub(super) fn profile(self) -> &'static Profile {
        match self {
            Self::ClaudeDesktop => &CLAUDE_DESKTOP,
            Self::ClaudeCode => &CLAUDE_CODE,
            Self::Cursor => &CURSOR,
            Self::VsCode => &VS_CODE,
            Self::Codex => &CODEX,
            Self::Goose => &GOOSE,
            Self::Zed => &ZED,
            Self::Windsurf => &WINDSURF,
        }
    }
}

const CLAUDE_DESKTOP: Profile = Profile {
    title: "Claude Desktop",
    file: PerSystem {
        macos: "~/Library/Application Support/Claude/claude_desktop_config.json",
        linux: "~/.config/Claude/claude_desktop_config.json",
        windows: r"%APPDATA%\Claude\claude_desktop_config.json",
    },
    or_file: "",
    shape: Shape::Json { key: "mcpServers", kind: Kind::Inferred },
    http: Http::Refused {
        instead: "leave out `--http` and `--url`: Claude Desktop then starts `countersign mcp` itself; a server with a \
                  public https address can be added in its Settings, under Connectors",
    },
    adding: Adding::ByHand,
};

const CLAUDE_CODE: Profile = Profile {
    title: "Claude Code",
    file: same(".mcp.json"),
    or_file: "in the project's folder, or for all projects from `~/.claude.json`",
    shape: Shape::Json { key: "mcpServers", kind: Kind::Named },
    http: Http::Accepted { bearer: Bearer::Filled("Bearer ${COUNTERSIGN_TOKEN}") },
    adding: Adding::ClaudeAddJson,
};

const CURSOR: Profile = Profile {
    title: "Cursor",
    file: at_home("~/.cursor/mcp.json", r"%USERPROFILE%\.cursor\mcp.json"),
    or_file: "or for one project from `.cursor/mcp.json`",
    shape: Shape::Json { key: "mcpServers", kind: Kind::Inferred },
    http: Http::Accepted { bearer: Bearer::Filled("Bearer ${env:COUNTERSIGN_TOKEN}") },
    adding: Adding::ByHand,
};

const VS_CODE: Profile = Profile {
    title: "VS Code",
    file: PerSystem {
        macos: "~/Library/Application Support/Code/User/mcp.json",
        linux: "~/.config/Code/User/mcp.json",
        windows: r"%APPDATA%\Code\User\mcp.json",
    },
    or_file: "or for one workspace from `.vscode/mcp.json`",
    shape: Shape::Json { key: "servers", kind: Kind::Named },
    http: Http::Accepted { bearer: Bearer::Prompted },
    adding: Adding::CodeAddMcp,
};

const CODEX: Profile = Profile {
    title: "Codex",
    file: at_home("~/.codex/config.toml", r"%USERPROFILE%\.codex\config.toml"),
    or_file: "or for one trusted project from `.codex/config.toml`",
    shape: Shape::CodexToml,
    http: Http::Accepted { bearer: Bearer::Named },
    adding: Adding::CodexMcpAdd,
};

const GOOSE: Profile = Profile {
    title: "goose",
    file: at_home("~/.config/goose/config.yaml", r"%APPDATA%\Block\goose\config\config.yaml"),
    or_file: "",
    shape: Shape::GooseYaml,
    http: Http::Accepted { bearer: Bearer::Filled("Bearer ${COUNTERSIGN_TOKEN}") },
    adding: Adding::ByHand,
};

const ZED: Profile = Profile {
    title: "Zed",
    file: at_home("~/.config/zed/settings.json", r"%APPDATA%\Zed\settings.json"),
    or_file: "or for one project from `.zed/settings.json`",
    shape: Shape::Json { key: "context_servers", kind: Kind::Inferred },
    http: Http::Accepted { bearer: Bearer::Typed },
    adding: Adding::ByHand,
};

/// `url`, which both the old and the new name's documentation know; `serverUrl` is only in the old one's.
const WINDSURF: Profile = Profile {
    title: "Devin Desktop, formerly Windsurf,",
    file: at_home("~/.config/devin/mcp_config.json", r"%APPDATA%\devin\mcp_config.json"),
    or_file: "or, where it is still called Windsurf, from `~/.codeium/windsurf/mcp_config.json`",
    shape: Shape::Json { key: "mcpServers", kind: Kind::Inferred },
    http: Http::Accepted { bearer: Bearer::Filled("Bearer ${env:COUNTERSIGN_TOKEN}") },
    adding: Adding::ByHand,
};

const fn same(file: &'static str) -> PerSystem {
    PerSystem { macos: file, linux: file, windows: file }
}

const fn at_home(unix: &'static str, windows: &'static str) -> PerSystem {
    PerSystem { macos: unix, linux: unix, windows }
}

impl PerSystem {
    /// `system` as `std::env::consts::OS` names it.
    pub(super) fn on(&self, system: &str) -> &'static str {
        match system {
            "macos" => self.macos,
            "windows" => self.windows,
            _ => self.linux,
        }
    }
}

impl Shape {
    pub(super) fn format(&self) -> &'static str {
        match self {
            Self::Json { .. } => "json",
            Self::CodexToml => "toml",
            Self::GooseYaml => "yaml",
        }
    }
}
