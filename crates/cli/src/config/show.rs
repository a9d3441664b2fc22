//! The configuration that holds, written the way a file is written, with `***` for every secret.

use std::collections::BTreeMap;

use countersign_contract::Access;
use countersign_store::Place;
use countersign_tools::{HostPattern, WebSettings};
use countersign_upstream::{Prefix, Reach, Sandbox, ServerSpec};
use serde_json::Value;

use super::file::ConfigFile;
use super::sections::{
    AuthFile, ContextFile, ContractsFile, EmbedderFile, EndpointFile, FileIoFile, HttpFile, LimitsFile, LogFile,
    MemoryFile, ReceiptsFile, SandboxFile, ServerFile, ServerToolsFile, SystemAuditFile, TokenFile, WebFetchFile,
};
use super::values::{PerMinute, Secret, SizeText, ToolsText};
use super::{Config, Context, Embedder, Endpoint, Http, Limits, Token};

impl Config {
    pub(crate) fn show(&self) -> Value {
        serde_json::to_value(self.written()).unwrap_or_default()
    }

    pub(crate) fn show_yaml(&self) -> String {
        // JSON is YAML too, if a text should ever be one that the writer refuses.
        serde_saphyr::to_string(&self.written()).unwrap_or_else(|_| self.show().to_string())
    }

    /// The file that would say all this.
    fn written(&self) -> ConfigFile {
        ConfigFile {
            root: self.root.clone(),
            data_dir: self.data_dir.clone(),
            database: database(&self.database),
            tools: tools(&self.tools),
            http: http(&self.http),
            auth: AuthFile { tokens: self.tokens.iter().map(token).collect(), oauth: None },
            memory: MemoryFile { dir: self.memory_dir.clone() },
            file_io: FileIoFile { root: self.file_io_root.clone() },
            web_fetch: web_fetch(&self.web_fetch),
            system_audit: SystemAuditFile { packages: self.audited_packages.clone() },
            context: context(&self.context),
            limits: limits(&self.limits),
            approval: self.approval.iter().map(|(tool, approval)| (tool.to_string(), *approval)).collect(),
            log: LogFile { file: Some(self.log.file.clone()), level: self.log.level },
            audit: self.audit,
            contracts: ContractsFile {
                level: self.contracts.level,
                overlays: self.contracts.overlays.clone(),
                lockfile: self.contracts.lockfile.clone(),
            },
            servers: self.servers.iter().map(|spec| (spec.name.to_string(), server(spec))).collect(),
            llm: self.llm.as_ref().map(endpoint),
            receipts: ReceiptsFile { keep: self.receipts.keep.into(), content: self.receipts.content },
            // What this version does not have was refused on the way in.
            ..ConfigFile::default()
        }
    }
}

fn server(spec: &ServerSpec) -> ServerFile {
    let hidden = |names: &BTreeMap<String, String>| names.keys().map(|name| (name.clone(), Secret::hidden())).collect();
    let mut file = ServerFile {
        tools: ServerToolsFile {
            allow: spec.tools.allow.as_ref().map(|names| names.iter().cloned().collect()),
            deny: spec.tools.deny.iter().cloned().collect(),
            rename: spec.tools.rename.clone(),
            waive: spec
                .tools
                .waive
                .iter()
                .map(|(tool, kinds)| (tool.clone(), kinds.iter().cloned().collect()))
                .collect(),
        },
        approval: spec.approval,
        timeout: spec.timeout.map(Into::into),
        prefix: Some(match &spec.prefix {
            Prefix::Name(name) => name.to_string(),
            Prefix::None => "none".to_owned(),
        }),
        ..ServerFile::default()
    };
    match &spec.reach {
        Reach::Program { command, args, env, sandbox, folder: _ } => {
            (file.command, file.args, file.env) = (Some(command.clone()), args.clone(), hidden(env));
            file.sandbox = sandbox.as_ref().map(|Sandbox { read, write, network }| SandboxFile {
                read: read.clone(),
                write: write.clone(),
                network: *network,
            });
        }
        Reach::Http { url, headers } => (file.url, file.headers) = (Some(url.clone()), hidden(headers)),
    }
    file
}

fn database(place: &Place) -> String {
    match place {
        Place::Folder(_) => "sqlite".to_owned(),
        Place::Server(server) => server.url_without_password(),
    }
}

fn tools(access: &Access) -> ToolsText {
    match access {
        Access::All => ToolsText::default(),
        Access::Only(names) => ToolsText::Names(names.iter().map(ToString::to_string).collect()),
    }
}

fn http(http: &Http) -> HttpFile {
    HttpFile {
        listen: http.listen.to_string(),
        allowed_origins: http.allowed_origins.clone(),
        allowed_hosts: http.allowed_hosts.clone(),
        max_connections: http.max_connections,
        max_body: SizeText::Bytes(http.max_body),
        grace: http.grace.into(),
    }
}

fn token(token: &Token) -> TokenFile {
    TokenFile {
        name: token.name.clone(),
        token: Secret::hidden(),
        tools: tools(&token.tools),
        approver: token.approver,
    }
}

fn web_fetch(web_fetch: &WebSettings) -> WebFetchFile {
    let written = |hosts: &[HostPattern]| hosts.iter().map(ToString::to_string).collect();
    WebFetchFile {
        allowed_domains: written(&web_fetch.allowed_domains),
        allow_private_hosts: written(&web_fetch.allow_private_hosts),
        resolver: web_fetch.resolver.map(|address| address.to_string()),
        timeout: web_fetch.timeout.into(),
        max_redirects: web_fetch.max_redirects,
    }
}

fn context(context: &Context) -> ContextFile {
    let embedder = match &context.embedder {
        Embedder::Embedded => EmbedderFile::default(),
        Embedder::Endpoint(written) => EmbedderFile::Endpoint(endpoint(written)),
    };
    ContextFile { embedder, exclude: context.exclude.clone() }
}

fn endpoint(endpoint: &Endpoint) -> EndpointFile {
    let Endpoint { url, model, api_key } = endpoint.clone();
    EndpointFile { url, model, api_key }
}

fn limits(limits: &Limits) -> LimitsFile {
    let rates = limits.rate_per_minute.iter().map(|(tool, rate)| (tool.to_string(), PerMinute(*rate)));
    let timeouts = limits.timeout.iter().map(|(tool, timeout)| (tool.to_string(), (*timeout).into()));
    LimitsFile {
        rate_per_minute: rates.collect(),
        timeout: timeouts.chain([("default".to_owned(), limits.default_timeout.into())]).collect(),
    }
}
