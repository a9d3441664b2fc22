//! The command line: what can be said, and how it is explained.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// A contract-enforcing host for AI tools: nothing runs unless its contract holds.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, arg_required_else_help = true, propagate_version = true)]
#[command(after_help = "Exit codes: 0 ok, 1 usage or configuration, 3 not authorised, 4 unreachable, 5 tool error, \
    6 contract refused or violated, 130 interrupted.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Configuration file [default: countersign.yaml, then adam.yaml, in this folder]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How much to log: off, error, warn, info, debug or trace [default: info]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// Print data as JSON, and every failure as one JSON line on stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve tools over HTTP until interrupted
    Serve {
        /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:8000]
        #[arg(long, value_name = "ADDRESS")]
        listen: Option<String>,
    },
    /// Serve tools over MCP on stdin and stdout: what an AI assistant starts
    Mcp,
    /// List the tools: name, source, effect and the state of their contracts
    Tools,
    /// Call one tool and print its structured result
    Call(CallArguments),
    /// Build or refresh the context index, with progress
    Index {
        /// Stay, and follow changes of the repository until interrupted
        #[arg(long)]
        watch: bool,
    },
    /// Search what the project knows, by meaning
    Search(SearchArguments),
    /// Ask in words: at most one tool is called, and its answer shown
    Ask(AskArguments),
    /// Show, export or check tool contracts
    #[command(subcommand)]
    Contracts(ContractsCommand),
    /// Judge every tool of upstream servers against the rules for contracts
    Check(CheckArguments),
    /// Figures per tool, of all processes on this data folder
    Stats {
        /// Only what happened in this time, such as 1h or 7d
        #[arg(long, value_name = "DURATION")]
        since: Option<String>,
    },
    /// See and decide calls that wait for a person [default: list]
    Approvals {
        #[command(subcommand)]
        command: Option<ApprovalsCommand>,
        /// With the list: stay, and print calls as they come to wait
        #[arg(long, global = true)]
        watch: bool,
    },
    /// Verify or read the audit log [default: verify]
    Audit {
        #[command(subcommand)]
        command: Option<AuditCommand>,
    },
    /// Show, verify or replay what is left of questions and calls [default: list]
    Receipts {
        #[command(subcommand)]
        command: Option<ReceiptsCommand>,
    },
    /// Introduce Countersign to AI clients
    #[command(subcommand)]
    Client(ClientCommand),
    /// Check or show the configuration [default: show]
    Config {
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },
    /// Look for whatever could keep Countersign from working here
    Doctor,
    /// Runs an upstream program so that nothing of it is left behind
    #[command(hide = true, disable_help_flag = true)]
    Supervise {
        sandbox: String,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        program: Vec<std::ffi::OsString>,
    },
    /// Becomes an upstream program, confined as it says
    #[command(hide = true, disable_help_flag = true)]
    Enter {
        sandbox: String,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        program: Vec<std::ffi::OsString>,
    },
    /// Print a completion script for a shell
    Completions { shell: Shell },
    /// Print the manual page, or that of one command
    Man {
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// The tool's name, as `countersign tools` lists it
    pub(crate) tool: String,
    /// Arguments as KEY=VALUE; the tool's schema decides whether a value is text, a number or JSON
    #[arg(value_name = "KEY=VALUE", conflicts_with = "args")]
    pub(crate) pairs: Vec<String>,
    /// All arguments as one JSON object; - reads it from stdin
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// What to find, in words
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Only discoveries of this type: pattern, rule, decision or issue [default: all]
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Only what belongs to this module
    #[arg(long)]
    pub(crate) module: Option<String>,
    /// At most this many [default: 5]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct AskArguments {
    /// The question, in words
    #[arg(value_name = "QUESTION", required = true)]
    pub(crate) question: Vec<String>,
    /// Sum the answer up in bullets that quote it
    #[arg(long)]
    pub(crate) summary: bool,
    /// Show how near every tool is, and why
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Servers from the configuration [default: all]
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// A server that is not configured: what starts it, as one text
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["servers", "url"])]
    pub(crate) command: Option<String>,
    /// A server that is not configured: its URL
    #[arg(long, value_name = "URL", conflicts_with = "servers")]
    pub(crate) url: Option<String>,
    /// Print a report in Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContractsCommand {
    /// Print one tool's contract, a built-in one's or a server's
    Show { tool: String },
    /// Write the contracts of the built-in tools and the OpenAPI document into a folder
    Export { folder: PathBuf },
    /// Compare the contracts in a folder with those of the built-in tools
    Check { folder: PathBuf },
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait
    List,
    /// Print all that one call would do
    Show {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Let one call be made, once
    Approve {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Refuse one call
    Deny {
        #[arg(value_name = "ID")]
        id: String,
    },
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check that no record was changed, removed or moved
    Verify,
    /// Print what is recorded of one request
    Show {
        #[arg(value_name = "ID")]
        request_id: String,
    },
    /// Print all records as JSON lines
    Export,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ReceiptsCommand {
    /// List the newest receipts of questions
    List,
    /// Print a receipt, to be kept or handed on: a question's by its id, a call's by its request id
    Show {
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Check that a receipt is what was written; needs nothing but the file
    Verify {
        /// The file; - is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Decide again from what the receipt holds, and show what would be decided otherwise here and now
    Replay {
        /// The file; - is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Report every mistake in the configuration
    Check,
    /// Print the configuration in effect, without secrets
    Show,
    /// Print the JSON Schema of the configuration
    Schema,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClientCommand {
    /// Print what a client needs in its configuration to use Countersign, and say where that goes
    Config(ClientConfigArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ClientConfigArguments {
    /// The client that is to use Countersign
    pub(crate) client: Client,
    /// Connect to a running `countersign serve` instead of starting `countersign mcp`
    #[arg(long)]
    pub(crate) http: bool,
    /// The server's full URL, with its path; implies --http [default: /mcp at the configured address]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    #[value(name = "vscode")]
    VsCode,
    Codex,
    Goose,
    Zed,
    // Since 2026 the editor is called Devin Desktop.
    #[value(alias = "devin")]
    Windsurf,
}
