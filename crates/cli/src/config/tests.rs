use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use countersign_contract::{Access, Approval, Schema, ToolName};
use countersign_transports::TokenHash;
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::reload::{ChangedKeys, changed_keys};
use super::{
    Config, ConfigMistakes, Embedder, Endpoint, Environment, Level, LogLevel, Overrides, Switch, config_schema,
};

const FOURTEEN_TOOLS: [&str; 14] = [
    "hello",
    "read_repo_file",
    "write_memory_entry",
    "context_search",
    "read_file",
    "grep_codebase",
    "add_task",
    "list_tasks",
    "update_task",
    "complete_task",
    "delete_task",
    "web-fetch",
    "file-io",
    "adam-sys-audit",
];

const TEN_MISTAKES: &str = "\
root: [src]
tools: none
htp:
  listen: 127.0.0.1:8000
http:
  listen: 127.0.0.1
  alowed_origins: []
  max_connections: 0
auth:
  tokens:
    - {name: ci, token: ${CI_TOKEN}}
    - {name: laptop}
limits:
  timeout: {default: 30}
approval:
  write_memory_entry: never
  read_file: sometimes
log:
  level: loud
  level: info
";

const MANY_TOKENS: &str = "\
auth:
  tokens:
    - {name: '', token: a}
    - {name: b, token: ''}
    - {name: c, token: same}
    - {name: c, token: same}
    - {name: d, token: 'two words'}
    - {name: e, token: x, tools: [no such tool]}
";

const UNAVAILABLE: &str = "\
auth: {oauth: {issuer: a, audience: b, jwks_url: c}}
";

const UNSET: &str =
    "root: ${NOWHERE}\nauth: {tokens: [{name: ci, token: ${CI_TOKEN}}]}\ndata_dir: a${\nmemory: {dir: '${1}'}\n";

const VALUES: &str = "\
http:
  listen: example.com:80
  allowed_origins: ['*', 'https://a/path']
  allowed_hosts: ['https://a']
  max_body: 0B
  grace: 99999999999999999999s
web_fetch: {allowed_domains: ['https://a'], resolver: dns, timeout: 0s, max_redirects: 99}
limits: {rate_per_minute: {hello: -1, 'bad name': 5}, timeout: {hello: 0ms}}
root: ~/code
context: {embedder: {url: 'https://me:hunter2@a/v1', model: m}}
";

#[test]
fn defaults_are_those_of_the_interface() {
    let config = load("").unwrap();
    let folder = config.sources.file.clone().unwrap().parent().unwrap().to_owned();
    assert_eq!(config.root, folder);
    assert_eq!(config.data_dir, folder.join(".countersign"));
    assert_eq!(config.tools, Access::All);
    assert_eq!(config.http.listen.to_string(), "127.0.0.1:8000");
    assert_eq!((config.http.max_connections, config.http.max_body), (1024, 16_777_216));
    assert_eq!(config.http.grace, Duration::from_secs(10));
    assert!(config.http.allowed_origins.is_empty() && config.http.allowed_hosts.is_empty());
    assert!(config.tokens.is_empty());
    assert_eq!(config.memory_dir, folder.join(".claude/memory"));
    assert_eq!(config.file_io_root, folder.join("data"));
    assert_eq!((config.web_fetch.timeout, config.web_fetch.max_redirects), (Duration::from_secs(20), 5));
    assert!(config.web_fetch.allowed_domains.is_empty() && config.web_fetch.allow_private_hosts.is_empty());
    assert_eq!(config.web_fetch.resolver, None);
    assert!(config.audited_packages.is_empty() && config.context.exclude.is_empty());
    assert_eq!(config.context.embedder, Embedder::Embedded);
    let rates: Vec<_> = config.limits.rate_per_minute.iter().map(|(tool, rate)| (tool.as_str(), *rate)).collect();
    assert_eq!(rates, [("context_search", 30), ("grep_codebase", 60), ("read_file", 100)]);
    assert_eq!(config.limits.default_timeout, Duration::from_secs(30));
    let approval: Vec<_> = config.approval.iter().map(|(tool, approval)| (tool.as_str(), *approval)).collect();
    assert_eq!(approval, [("write_memory_entry", Approval::Client)]);
    assert_eq!(config.log.file, folder.join(".countersign/countersign.log"));
    assert_eq!((config.log.level, config.audit), (LogLevel::Info, Switch::On));
    assert_eq!(config.contracts.level, Level::Strict);
    assert_eq!(config.contracts.overlays, folder.join("contracts/overlays"));
    assert_eq!(config.contracts.lockfile, folder.join("countersign.lock"));
}

#[test]
fn a_file_without_keys_is_the_defaults() {
    let expected = shown(&load("root: .").unwrap());
    for text in
        ["", "\n\n", "# nothing yet\n", "---\n", "--- ~\n", "{}", "\u{FEFF}root: .", "http:\nauth:\nlimits: ~\n"]
    {
        assert_eq!(shown(&load(text).unwrap()), expected, "{text:?}");
    }
}

#[test]
fn the_profiles_of_the_corpus_load() {
    let rates: String = FOURTEEN_TOOLS.map(|tool| format!("    {tool}: 0\n")).concat();
    let common = format!(
        "http: {{listen: '127.0.0.1:0'}}\ndata_dir: state\nlog: {{file: state/adam.log}}\nfile_io: {{root: data}}\n\
         limits:\n  rate_per_minute:\n{rates}"
    );
    for profile in [
        "root: repo\nmemory: {dir: memory}\n",
        "root: project\nmemory: {dir: project-memory}\n",
        "web_fetch: {allowed_domains: [127.0.0.1, allowed.test], allow_private_hosts: [127.0.0.1]}\n",
        "web_fetch: {allowed_domains: [], allow_private_hosts: []}\n",
        "web_fetch: {allowed_domains: [example.com, nx.allowed.test]}\n",
        "web_fetch:\n  resolver: 127.0.0.1:5353\n  allowed_domains: [allowed.test, \"*.wild.test\"]\n  \
         allow_private_hosts: [allowed.test, sub.wild.test, a.b.wild.test]\n",
    ] {
        let config = load(&format!("{common}{profile}")).unwrap();
        let folder = config.sources.file.clone().unwrap().parent().unwrap().to_owned();
        assert_eq!(config.log.file, folder.join("state/adam.log"));
        assert_eq!(config.limits.rate_per_minute.len(), FOURTEEN_TOOLS.len());
        assert!(config.limits.rate_per_minute.values().all(|rate| *rate == 0));
    }
}

#[test]
fn the_example_of_the_interface_is_read_as_written() {
    // Braces in flow mappings are not YAML, but they are what people write.
    let text = "\
auth:
  tokens: [{name: ci, token: ${CI_TOKEN}, tools: [list_tasks], approver: false}]
context: {embedder: {url: 'https://models.test/v1', model: small, api_key: ${KEY:-none}}}
limits: {timeout: {default: 30s, web-fetch: 1m 30s}, rate_per_minute: {hello: 5, read_file: 0}}
approval: {add_task: out_of_band}
http: {max_body: 1MiB, allowed_origins: ['https://Example.com:443'], allowed_hosts: [Box.local]}
log: {level: off}
audit: off
";
    let config = load_with(text, &[("CI_TOKEN", "123456")]).unwrap();
    let only = |names: &[&str]| Access::Only(names.iter().map(|name| tool(name)).collect::<BTreeSet<_>>());
    let token = &config.tokens[0];
    assert_eq!((token.name.as_str(), &token.tools, token.approver), ("ci", &only(&["list_tasks"]), false));
    assert_eq!(token.hash, TokenHash::of("123456").to_bytes());
    let Embedder::Endpoint(Endpoint { url, model, api_key }) = &config.context.embedder else {
        panic!("not an endpoint")
    };
    let api_key = api_key.as_ref().unwrap().expose();
    assert_eq!((url.as_str(), model.as_str(), api_key), ("https://models.test/v1", "small", "none"));
    assert_eq!(config.limits.timeout[&tool("web-fetch")], Duration::from_secs(90));
    assert_eq!(config.limits.rate_per_minute[&tool("read_file")], 0);
    assert_eq!(config.limits.rate_per_minute[&tool("grep_codebase")], 60, "naming one tool leaves the others alone");
    assert_eq!(config.approval[&tool("add_task")], Approval::OutOfBand);
    assert_eq!(config.approval[&tool("write_memory_entry")], Approval::Client);
    assert_eq!(config.http.max_body, 1 << 20);
    assert_eq!(config.http.allowed_origins, ["https://example.com"]);
    assert_eq!(config.http.allowed_hosts, ["box.local"]);
    assert_eq!((config.log.level, config.audit), (LogLevel::Off, Switch::Off));
}

#[test]
fn scalars_are_typed_after_their_variables_were_replaced() {
    let text = "http: {max_connections: ${MAX}, listen: '127.0.0.1:${PORT:-9000}'}\nroot: ${EMPTY:-}\n";
    let config = load_with(text, &[("MAX", "7"), ("EMPTY", "")]).unwrap();
    assert_eq!((config.http.max_connections, config.http.listen.port()), (7, 9000));
    // What a variable holds is never YAML.
    let hostile = load_with("root: ${EVIL}\n", &[("EVIL", "x\nauth: {tokens: []}")]).unwrap();
    assert!(hostile.root.ends_with("x\nauth: {tokens: []}"));
    assert!(load("http: {max_connections: \"7\"}").is_err(), "a quoted number is a text");
}

#[test]
fn later_layers_win() {
    let folder = folder("http: {listen: '127.0.0.1:1', max_connections: 5}\nlog: {level: warn}\n");
    let environment = Environment::from_pairs([
        ("COUNTERSIGN_HTTP__LISTEN", "127.0.0.1:2"),
        ("COUNTERSIGN_LOG__LEVEL", "debug"),
        ("COUNTERSIGN_WEB_FETCH__ALLOWED_DOMAINS", "[example.com, '*.wild.test']"),
        ("COUNTERSIGN_LIMITS__RATE_PER_MINUTE__HELLO", "7"),
        ("COUNTERSIGN_AUTH__TOKENS", "[{name: ci, token: 12}]"),
        ("COUNTERSIGN_CONTEXT__EMBEDDER", "{url: 'http://a', model: 1}"),
        ("COUNTERSIGN_ROOT", ""),
        ("COUNTERSIGN_LONG", "1"),
        ("COUNTERSIGN_CONFIG", ""),
        ("PATH", "/bin"),
    ]);
    let overrides = Overrides { listen: Some("127.0.0.1:3".to_owned()), ..Overrides::default() };
    let config = Config::load(&overrides, &environment, folder.path()).unwrap();
    assert_eq!((config.http.listen.port(), config.http.max_connections), (3, 5));
    assert_eq!(config.log.level, LogLevel::Debug);
    let domains: Vec<_> = config.web_fetch.allowed_domains.iter().map(ToString::to_string).collect();
    assert_eq!(domains, ["example.com", "*.wild.test"]);
    assert_eq!(config.limits.rate_per_minute[&tool("hello")], 7);
    assert_eq!(config.tokens[0].name, "ci");
    assert_eq!(config.root, folder.path());
    assert_eq!(config.sources.flags, ["--listen"]);
    assert_eq!(config.sources.variables.len(), 6);
}

#[test]
fn the_file_is_found_in_order() {
    let folder = TempDir::new().unwrap();
    let port = |config: Option<&str>, variable: &str| {
        let overrides = Overrides { config: config.map(Into::into), ..Overrides::default() };
        let environment = Environment::from_pairs([("COUNTERSIGN_CONFIG", variable)]);
        Config::load(&overrides, &environment, folder.path()).map(|config| config.http.listen.port())
    };
    let write = |name: &str, port: u16| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("http: {{listen: '127.0.0.1:{port}'}}\n")).unwrap();
    };
    assert_eq!(port(None, "").unwrap(), 8000);
    write("adam.yaml", 1);
    assert_eq!(port(None, "").unwrap(), 1);
    write("countersign.yaml", 2);
    assert_eq!(port(None, "").unwrap(), 2);
    write("etc/other.yaml", 3);
    assert_eq!(port(None, "etc/other.yaml").unwrap(), 3);
    write("flag.yaml", 4);
    assert_eq!(port(Some("flag.yaml"), "etc/other.yaml").unwrap(), 4);
    insta::assert_snapshot!("missing_file", port(Some("nowhere.yaml"), "").unwrap_err());

    let overrides = Overrides { config: Some("etc/other.yaml".into()), ..Overrides::default() };
    let config = Config::load(&overrides, &Environment::from_pairs::<&str, &str>([]), folder.path()).unwrap();
    assert_eq!(config.data_dir, folder.path().join("etc/.countersign"), "paths are relative to the file's folder");
}

#[test]
fn all_mistakes_come_back_together() {
    snapshot("ten_mistakes", TEN_MISTAKES, &[]);
    let mistakes = load(TEN_MISTAKES).unwrap_err();
    insta::assert_json_snapshot!("ten_mistakes_json", mistakes);
}

#[test]
fn messages() {
    for (name, text) in [
        (
            "unknown_keys",
            "htpp: {}\nlimits:\n  rate_per_minut: {}\nauth:\n  tokens:\n    - name: a\n      token: b\n      tols: all\nxyz: 1\n",
        ),
        (
            "wrong_types",
            "http: yes\nauth: {tokens: {}}\nfile_io: [a]\nlog: {level: [info]}\nhttp2: ~\nlimits: {rate_per_minute: {hello: \"5\"}}\ncontext: {embedder: fast}\nhttp.listen: 1\n",
        ),
        ("not_a_map", "just a text\n"),
        ("a_list", "- root: .\n"),
        ("unset_variables", UNSET),
        ("tokens", MANY_TOKENS),
        ("values", VALUES),
        ("open_to_the_network", "http:\n  listen: 0.0.0.0:8000\n"),
        ("unavailable", UNAVAILABLE),
        ("bad_tokens_are_not_no_tokens", "http: {listen: '0.0.0.0:1'}\nauth: {tokens: [{name: a}]}\n"),
        ("duplicates", "root: a\nhttp: {grace: 1s, grace: 2s}\nroot: b\nhttp: {}\n"),
        ("second_document", "root: a\n---\nroot: b\n"),
        (
            "anchors",
            "root: &a x\ndata_dir: *a\nweb_fetch: {allowed_domains: [*.example.com]}\nmemory: {dir: !secret x}\n",
        ),
        ("tabs", "http:\n\tlisten: 127.0.0.1:8000\n"),
        ("colon", "root: a: b\n"),
        ("indentation", "http:\n  listen: 127.0.0.1:8000\n grace: 1s\n"),
        ("unclosed_quote", "root: \"abc\ndata_dir: x\n"),
        ("unclosed_bracket", "tools: [a, b\nroot: x\n"),
        ("no_key", "http\nroot: x\n"),
        ("percent", "root: %x\n"),
        ("deep", &"[".repeat(1000)),
    ] {
        snapshot(name, text, &[]);
    }
}

#[test]
fn mistakes_in_the_environment_and_flags_are_named_by_them() {
    let pairs = [
        ("COUNTERSIGN_HTP__LISTEN", "127.0.0.1:1"),
        ("COUNTERSIGN_HTTP__LISEN", "127.0.0.1:1"),
        ("COUNTERSIGN_QQ", "1"),
        ("COUNTERSIGN_HTTP__LISTEN__PORT", "1"),
        ("COUNTERSIGN_HTTP__MAX_CONNECTIONS", "many"),
        ("COUNTERSIGN_AUTH", "{tokns: [hunter2]}"),
        ("COUNTERSIGN_TOOLS", "[hello"),
        ("COUNTERSIGN_DATABASE", "mysql://root:hunter2@db"),
    ];
    snapshot("environment", "root: .\n", &pairs);
    let overrides = Overrides { listen: Some("8000".to_owned()), log_level: Some("loud".to_owned()), config: None };
    let folder = folder("http: {listen: '0.0.0.0:8000'}\n");
    let mistakes = Config::load(&overrides, &Environment::from_pairs::<&str, &str>([]), folder.path()).unwrap_err();
    insta::assert_snapshot!("flags", mistakes);
}

#[test]
fn files_that_are_not_configurations_are_refused() {
    let folder = TempDir::new().unwrap();
    for (name, bytes) in [
        ("utf16.yaml", b"\xFF\xFEr\0o\0".to_vec()),
        ("latin1.yaml", b"root: .\nmemory: {dir: caf\xE9}\n".to_vec()),
        ("large.yaml", vec![b'#'; 1024 * 1024 + 1]),
    ] {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    fs::create_dir(folder.path().join("folder.yaml")).unwrap();
    let refusals = ["utf16.yaml", "latin1.yaml", "large.yaml", "folder.yaml"].map(|name| {
        let overrides = Overrides { config: Some(name.into()), ..Overrides::default() };
        let environment = Environment::from_pairs::<&str, &str>([]);
        Config::load(&overrides, &environment, folder.path()).unwrap_err().to_string()
    });
    insta::assert_snapshot!("not_configurations", refusals.join("\n"));
    fs::write(folder.path().join("countersign.yaml"), vec![b'#'; 1024 * 1024]).unwrap();
    assert!(Config::load(&Overrides::default(), &Environment::from_pairs::<&str, &str>([]), folder.path()).is_ok());
}

#[test]
fn a_database_is_shown_without_its_password() {
    let config = load("database: postgres://ann:hunter2@db.example/tasks\n").unwrap();
    assert_eq!(config.show()["database"], "postgres://ann@db.example/tasks");
    assert!(!format!("{config:?}").contains("hunter2"));
    assert!(load("database: 'postgres://h:99999/d'\n").is_err());
}

#[test]
fn no_message_repeats_a_value() {
    let texts = [
        "auth: {tokens: [{name: a, token: 'hunter2 hunter2'}]}\ndatabase: hunter2\nllm: hunter2\n",
        "auth: {tokens: [{name: a, token: [hunter2]}]}\nllm: {url: hunter2, model: [hunter2], api_key: {a: hunter2}}\n",
        "auth: {tokens: hunter2}\nhttp: {listen: hunter2, grace: hunter2, max_body: hunter2, allowed_origins: [hunter2/]}\n",
        "context: {embedder: {url: 'https://hunter2@a', model: m, api_key: hunter2}}\nweb_fetch: {resolver: hunter2}\n",
        "auth: {tokens: [{name: a, token: \"hunter2}]}\n",
        "tools: [hunter2 hunter2]\nlog: {level: hunter2}\naudit: hunter2\n",
    ];
    for text in texts {
        let mistakes = load_with(text, &[("COUNTERSIGN_AUTH__OAUTH", "hunter2")]).unwrap_err();
        assert!(!mistakes.to_string().contains("hunter2"), "{mistakes}");
    }
}

#[test]
fn large_and_deep_files_stay_cheap() {
    let laughs = "a: &a [x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nd: [*c, *c, *c, *c]\n";
    let wide = "approval:\n".to_owned() + &"  ? [x]\n  : never\n".repeat(20_000);
    let unknown: String = (0..50_000).map(|index| format!("k{index}: 1")).collect::<Vec<_>>().join("\n");
    let repeated = "root: a\n".repeat(100_000);
    let names: Vec<_> = (0..30_000).map(|index| format!("  a b{index}: never")).collect();
    let names = format!("approval:\n{}", names.join("\n"));
    let unclosed = "root: ".to_owned() + &"${a".repeat(300_000);
    let long_key = format!("servers:\n  ? {}\n  : {{args: [{}]}}\n", "k".repeat(300_000), "*a, [], ".repeat(50_000));
    for text in [
        laughs,
        &unclosed,
        &long_key,
        &wide,
        &unknown,
        &repeated,
        &names,
        &"- ".repeat(100_000),
        &"{a: ".repeat(100_000),
    ] {
        let mistakes = load(text).unwrap_err();
        assert!(mistakes.to_string().lines().count() < 80);
    }
}

#[test]
fn what_is_shown_is_a_configuration_without_secrets() {
    let text = "\
auth: {tokens: [{name: ci, token: hunter2, tools: [hello]}]}
context: {embedder: {url: 'http://a/v1', model: m, api_key: hunter2}}
limits: {timeout: {hello: 90s}}
web_fetch: {resolver: 9.9.9.9:53}
";
    let config = load(text).unwrap();
    let value = config.show();
    assert_eq!(Schema::compile(config_schema()).unwrap().mistakes(&value), []);
    let folder = config.sources.file.clone().unwrap().parent().unwrap().display().to_string();
    insta::assert_snapshot!("shown", config.show_yaml().replace(&folder, "/project"));
    assert!(!format!("{config:?}{value}").contains("hunter2"));
    // What is shown says the same when it is read again, except for the tokens.
    let again = load(&config.show_yaml()).unwrap();
    assert_eq!(again.show(), value);
}

#[test]
fn reloading_tells_what_needs_a_restart() {
    let base = folder("");
    let at = |text: &str| {
        fs::write(base.path().join("countersign.yaml"), text).unwrap();
        Config::load(&Overrides::default(), &Environment::from_pairs::<&str, &str>([]), base.path()).unwrap()
    };
    let old = at("auth: {tokens: [{name: a, token: one}]}\n");
    assert_eq!(changed_keys(&old, &old.clone()), ChangedKeys::default());
    let new =
        at("auth: {tokens: [{name: a, token: two}]}\nroot: x\nlimits: {timeout: {default: 1s}}\nlog: {level: off}\n");
    let expected = ChangedKeys { applied: vec!["auth", "limits"], needs_restart: vec!["root", "log"] };
    assert_eq!(changed_keys(&old, &new), expected);
}

#[test]
fn the_schema_is_published() {
    let schema = config_schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema.pointer("/properties/http/properties/max_body/default"), Some(&json!(16_777_216)));
    Schema::compile(schema.clone()).unwrap();
    assert_eq!(undescribed(&schema, "").join(" "), "", "every key has a description");
    insta::assert_json_snapshot!("config_schema", schema);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        let _ = load(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn mutated_files_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&b"\n\t :,-[]{}&*!|>'\"%@#?~$\\0a\xC3"[..])), 1..12),
    ) {
        let mut bytes = TEN_MISTAKES.as_bytes().to_vec();
        for (place, byte) in edits {
            let index = place.index(bytes.len());
            bytes[index] = byte;
        }
        let _ = load(&String::from_utf8_lossy(&bytes));
    }
}

fn load(text: &str) -> Result<Config, ConfigMistakes> {
    load_with(text, &[])
}

fn load_with(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigMistakes> {
    let folder = folder(text);
    Config::load(&Overrides::default(), &Environment::from_pairs(variables.iter().copied()), folder.path())
}

fn folder(text: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("countersign.yaml"), text).unwrap();
    folder
}

/// The messages for a file, under the file itself.
fn snapshot(name: &str, text: &str, variables: &[(&str, &str)]) {
    let mistakes = load_with(text, variables).unwrap_err();
    let numbered = text.lines().take(30).enumerate().map(|(index, line)| format!("{:>3} {line:.100}\n", index + 1));
    let variables: Vec<_> = variables.iter().map(|(name, value)| format!("    {name}={value}\n")).collect();
    insta::assert_snapshot!(name, format!("{}{}\n{mistakes}", numbered.collect::<String>(), variables.concat()));
}

/// Everything but the folder, which differs from test to test.
fn shown(config: &Config) -> String {
    let folder = config.sources.file.as_deref().and_then(Path::parent).unwrap();
    config.show_yaml().replace(&folder.display().to_string(), "/project")
}

fn tool(name: &str) -> ToolName {
    name.parse().unwrap()
}

fn undescribed(schema: &Value, path: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        missing.extend(undescribed(property, &path));
        missing.extend(undescribed(&property["items"], &path));
        missing.extend(undescribed(&property["additionalProperties"], &path));
        if property["description"].as_str().is_none_or(str::is_empty) {
            missing.push(path);
        }
    }
    missing
}
