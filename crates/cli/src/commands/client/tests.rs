//! Every client in every form, as it is printed and as its parser reads it back.

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum as _;
use serde_json::{Value, json};

use super::snippet::{self, Server};
use super::{Reach, advise, configured_url, reach};
use crate::args::{Client, ClientConfigArguments};
use crate::config::{Config, Environment, Overrides};

const PROGRAM: &str = "/opt/countersign/bin/countersign";
const PROJECT: &str = "/home/ann/project";

/// What has broken quoting somewhere before.
const ODD: [&str; 8] = [
    "/a b/c",
    r#"/say "hi"/x"#,
    r"/back\slash\u0041",
    "/it's/${HOME}/%PATH%",
    "/naïve/日本/🦀",
    "/tab\tnew\nline\r\u{1}\u{7f}\u{85}\u{2028}",
    "/# not: a, [comment] {x}",
    "/'''\"\"\"/ends in space ",
];

#[test]
fn every_client_is_told_how_and_where() {
    for client in Client::value_variants() {
        let mut told = String::new();
        for (title, config, arguments) in forms(*client) {
            told.push_str(&format!("=== {title}\n"));
            match advise(&arguments, &config, Path::new(PROGRAM), "linux") {
                Ok(advice) => told.push_str(&format!("{}--- stderr\n{}\n", advice.snippet, advice.talk())),
                Err(error) => told.push_str(&format!("{}\n", error.text())),
            }
        }
        insta::assert_snapshot!(name(*client), told);
    }
}

#[test]
fn what_is_printed_reads_back_as_what_was_meant() {
    for client in Client::value_variants() {
        for odd in ODD {
            let env = BTreeMap::from([("COUNTERSIGN_ROOT", odd.to_owned())]);
            let args = ["mcp", "--config", odd].map(str::to_owned).to_vec();
            let server = Server::Started { command: odd.to_owned(), args, env };
            let entry = entry(*client, &server);
            let (command, env) = if *client == Client::Goose { ("cmd", "envs") } else { ("command", "env") };
            assert_eq!(entry[command], json!(odd), "{client:?}");
            assert_eq!(entry["args"], json!(["mcp", "--config", odd]), "{client:?}");
            assert_eq!(entry[env], json!({"COUNTERSIGN_ROOT": odd}), "{client:?}");
        }
    }
}

#[test]
fn a_token_is_asked_for_and_never_shown() {
    let (url, secret) = ("http://127.0.0.1:8000/mcp", "s3cret-s3cret-s3cret-s3cret-s3cret");
    let expected = |client| match client {
        Client::ClaudeDesktop => None,
        Client::ClaudeCode => {
            Some(json!({"type": "http", "url": url, "headers": {"Authorization": "Bearer ${COUNTERSIGN_TOKEN}"}}))
        }
        Client::VsCode => {
            Some(json!({"type": "http", "url": url, "headers": {"Authorization": "Bearer ${input:countersign-token}"}}))
        }
        Client::Cursor | Client::Windsurf => {
            Some(json!({"url": url, "headers": {"Authorization": "Bearer ${env:COUNTERSIGN_TOKEN}"}}))
        }
        Client::Zed => Some(json!({"url": url, "headers": {"Authorization": "Bearer <token>"}})),
        Client::Codex => Some(json!({"url": url, "bearer_token_env_var": "COUNTERSIGN_TOKEN"})),
        Client::Goose => Some(json!({
            "enabled": true,
            "type": "streamable_http",
            "name": "countersign",
            "description": "Tools whose contracts are enforced",
            "uri": url,
            "env_keys": ["COUNTERSIGN_TOKEN"],
            "headers": {"Authorization": "Bearer ${COUNTERSIGN_TOKEN}"},
            "timeout": 300,
        })),
    };
    let config = configured(&[("COUNTERSIGN_AUTH__TOKENS", &format!("[{{name: ci, token: {secret}}}]"))]);
    assert_eq!(config.tokens.len(), 1);
    for client in Client::value_variants() {
        let advice = advise(&http(*client, None), &config, Path::new(PROGRAM), "linux");
        assert_eq!(advice.is_ok(), expected(*client).is_some(), "{client:?}");
        let (Ok(advice), Some(expected)) = (advice, expected(*client)) else { continue };
        assert_eq!(inside(*client, &advice.snippet), expected, "{client:?}");
        let all = format!("{}{}{}", advice.snippet, advice.talk(), advice.json());
        assert!(!all.contains(secret), "{client:?}: {all}");
        assert!(all.contains("token"), "{client:?}: {all}");
    }
}

#[test]
fn the_address_is_one_that_a_client_can_use() {
    for (listen, url) in [
        ("127.0.0.1:8000", Ok("http://127.0.0.1:8000/mcp")),
        ("0.0.0.0:80", Ok("http://127.0.0.1:80/mcp")),
        ("[::]:8000", Ok("http://[::1]:8000/mcp")),
        ("192.0.2.7:8000", Ok("http://192.0.2.7:8000/mcp")),
        ("127.0.0.1:0", Err("--url")),
    ] {
        match (configured_url(listen.parse().unwrap()), url) {
            (Ok(found), Ok(url)) => assert_eq!(found, url, "{listen}"),
            (Err(error), Err(hint)) => assert!(error.text().contains(hint), "{listen}: {}", error.text()),
            (found, _) => panic!("{listen}: {found:?}"),
        }
    }
}

#[test]
fn others_need_a_token_and_mistaken_urls_are_refused() {
    for (url, expected) in [
        ("http://localhost:8000/mcp", Ok(Reach::ThisMachine)),
        ("http://[::1]:8000/mcp", Ok(Reach::ThisMachine)),
        ("http://127.0.0.1/mcp", Ok(Reach::ThisMachine)),
        ("https://tools.example.com/mcp", Ok(Reach::Others)),
        ("http://192.0.2.7:8000/mcp", Ok(Reach::Others)),
        ("http://localhost.example.com/mcp", Ok(Reach::Others)),
        ("tools.example.com/mcp", Err("http://")),
        ("https:///mcp", Err("host")),
        ("https://ann:secret@example.com/mcp", Err("password")),
        ("https://example.com/a b", Err("spaces")),
    ] {
        match (reach(url), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{url}"),
            (Err(error), Err(word)) => assert!(error.text().contains(word), "{url}: {}", error.text()),
            (found, _) => panic!("{url}: {found:?}"),
        }
    }
}

#[test]
fn each_system_has_its_own_file() {
    let files = Client::value_variants().iter().flat_map(|client| {
        ["macos", "linux", "windows"]
            .map(|system| format!("{} {system}: {}", name(*client), client.profile().file.on(system)))
    });
    insta::assert_snapshot!(files.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_program_gets_one_object() {
    let arguments = http(Client::Codex, Some("https://tools.example.com/mcp"));
    let advice = advise(&arguments, &configured(&[]), Path::new(PROGRAM), "macos").unwrap();
    insta::assert_json_snapshot!(advice.json());
}

fn forms(client: Client) -> Vec<(&'static str, Config, ClientConfigArguments)> {
    let mut with_file = configured(&[]);
    with_file.sources.file = Some(format!("{PROJECT}/./countersign.yaml").into());
    let with_variable = configured(&[("COUNTERSIGN_HTTP__LISTEN", "127.0.0.1:9000")]);
    vec![
        ("started, with a configuration file", with_file, stdio(client)),
        ("started, without one", with_variable, stdio(client)),
        ("running", configured(&[]), http(client, None)),
        ("running elsewhere", configured(&[]), http(client, Some("https://tools.example.com/mcp"))),
    ]
}

fn stdio(client: Client) -> ClientConfigArguments {
    ClientConfigArguments { client, http: false, url: None }
}

fn http(client: Client, url: Option<&str>) -> ClientConfigArguments {
    ClientConfigArguments { client, http: true, url: url.map(str::to_owned) }
}

/// What holds in the project's folder, which has no file.
fn configured(variables: &[(&str, &str)]) -> Config {
    let environment = Environment::from_pairs(variables.iter().copied());
    Config::load(&Overrides::default(), &environment, Path::new(PROJECT)).unwrap()
}

fn name(client: Client) -> String {
    client.to_possible_value().unwrap().get_name().to_owned()
}

fn entry(client: Client, server: &Server) -> Value {
    inside(client, &snippet::snippet(client.profile(), server).unwrap())
}

/// The entry, as the parser of the client's format reads it.
fn inside(client: Client, snippet: &str) -> Value {
    let file: Value = match client.profile().shape.format() {
        "toml" => toml::from_str(snippet).unwrap(),
        "yaml" => serde_saphyr::from_str(snippet).unwrap(),
        _ => serde_json::from_str(snippet).unwrap(),
    };
    let key = match client {
        Client::ClaudeDesktop | Client::ClaudeCode | Client::Cursor | Client::Windsurf => "mcpServers",
        Client::VsCode => "servers",
        Client::Codex => "mcp_servers",
        Client::Goose => "extensions",
        Client::Zed => "context_servers",
    };
    file[key]["countersign"].clone()
}
