//! The command line: what it prints where, and how it ends.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::env::{TestEnv, stderr, stdout};
use crate::model::{KEY, Model, Said, words};

#[test]
fn help_is_part_of_the_interface() {
    let env = TestEnv::new();
    let mut pages = String::new();
    for command in [
        &[][..],
        &["serve"],
        &["tools"],
        &["call"],
        &["contracts"],
        &["contracts", "check"],
        &["stats"],
        &["audit"],
        &["client"],
        &["client", "config"],
        &["config"],
        &["doctor"],
    ] {
        let mut arguments = command.to_vec();
        arguments.push("--help");
        let output = env.run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        pages.push_str(&format!("$ countersign {}\n{}\n", arguments.join(" "), stdout(&output)));
    }
    insta::assert_snapshot!(pages);
}

#[test]
fn mistakes_end_with_their_exit_code_and_a_way_out() {
    let env = TestEnv::new();
    env.write("broken.yaml", "http:\n  lisen: 127.0.0.1:1\n  max_body: lots\ntoolz: all\n");
    env.write("odd.yaml", "tools: [hello, helo]\n");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (arguments, exit, words) in [
        (&[][..], 1, &["Usage"][..]),
        (&["sevre"], 1, &["serve"]),
        (&["completions", "foo"], 1, &["error: invalid value 'foo'"]),
        (&["serve", "--listen"], 1, &["--listen"]),
        (&["serve", "--listen", "nonsense"], 1, &["--listen", "127.0.0.1:8000"]),
        (&["serve", "--listen", &taken], 1, &[&taken, "--listen 127.0.0.1:0"]),
        (&["serve", "--listen", "203.0.113.7:1"], 1, &["auth.tokens"]),
        (&["tools", "--config", "missing.yaml"], 1, &["missing.yaml"]),
        (
            &["tools", "--config", "broken.yaml"],
            1,
            &["broken.yaml:2", "listen", "broken.yaml:3", "broken.yaml:4", "tools"],
        ),
        (&["tools", "--config", "odd.yaml"], 1, &["`helo`", "hello"]),
        (&["call", "helo"], 1, &["did you mean `hello`?"]),
        (&["call", "hello", "name"], 1, &["KEY=VALUE"]),
        (&["call", "hello", "name=a", "name=b"], 1, &["twice"]),
        (&["call", "hello", "--args", "{"], 1, &["not valid JSON"]),
        (&["call", "hello", "volume=11"], 5, &["Invalid parameters", "VALIDATION_ERROR"]),
        (&["contracts", "show", "helo"], 1, &["did you mean `hello`?"]),
        (&["contracts", "check", "nowhere"], 6, &["nowhere/hello.json", "contracts export"]),
        (&["audit", "show", "not-an-id"], 1, &["not a request id"]),
        (&["stats", "--since", "soon"], 1, &["not a duration"]),
        (&["client", "config", "cursr"], 1, &["'cursor'", "claude-desktop", "vscode", "windsurf"]),
        (&["client", "config", "claude-desktop", "--http"], 1, &["Connectors", "--http"]),
        (&["client", "config", "zed", "--url", "example.com"], 1, &["https://"]),
    ] {
        let output = env.run(arguments);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {text}");
        for word in words {
            assert!(text.contains(word), "{arguments:?} should mention {word}:\n{text}");
        }
        let mut with_json = arguments.to_vec();
        with_json.push("--json");
        let output = env.run(&with_json);
        let lines: Vec<_> = stderr(&output).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 1, "{with_json:?}: {lines:?}");
        let failure: Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(failure["exit"], json!(exit), "{with_json:?}: {failure}");
    }
}

#[test]
fn a_data_folder_that_cannot_be_used_is_explained() {
    let env = TestEnv::with_config("data_dir: taken\n");
    env.write("taken", "a file, not a folder");
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["call", "hello"], &["doctor"]] {
        let output = env.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let text = format!("{}{}", stdout(&output), stderr(&output));
        assert!(text.contains("taken") && text.contains("data_dir"), "{arguments:?}: {text}");
    }
}

#[test]
fn a_service_that_does_not_answer_is_unreachable() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let env = TestEnv::with_config(&format!("database: postgres://ada@127.0.0.1:{port}/countersign\n"));
    for arguments in [&["call", "hello"][..], &["search", "anything"], &["ask", "say hello"], &["stats"]] {
        let output = env.run(arguments);
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("cannot connect to the database"), "{arguments:?}: {}", stderr(&output));
    }
    let embedder = format!("context: {{embedder: {{url: 'http://127.0.0.1:{port}/v1', model: small}}}}\n");
    let env = TestEnv::with_config(&embedder);
    env.write("README.md", "# Importer\n\nReads invoices.\n");
    let output = env.run(&["index"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot be reached"), "{}", stderr(&output));
}

#[test]
fn what_is_wrong_with_a_search_is_said() {
    let env = TestEnv::new();
    for (arguments, words) in [
        (&["--limit", "0"][..], &["Invalid parameters", "/limit: "][..]),
        (&["--limit", "99", "--type", "code"], &["/limit: ", "/type: "]),
    ] {
        let output = env.run(&[&["search", "anything"], arguments].concat());
        assert_eq!(output.status.code(), Some(5), "{arguments:?}");
        for word in words {
            assert!(stderr(&output).contains(word), "{arguments:?} should mention {word}: {}", stderr(&output));
        }
    }
}

#[test]
fn commands_that_only_look_create_nothing() {
    let env = TestEnv::new();
    for arguments in [
        &["tools"][..],
        &["contracts", "show", "hello"],
        &["client", "config", "zed"],
        &["config"],
        &["config", "check"],
    ] {
        assert!(env.run(arguments).status.success(), "{arguments:?}");
    }
    for arguments in [&["stats"][..], &["audit"]] {
        let output = env.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains("data_dir"), "{}", stderr(&output));
    }
    assert!(!env.path(".countersign").exists());
}

#[test]
fn a_call_is_recorded_counted_and_shown() {
    let env = TestEnv::new();
    assert_eq!(env.json(&["call", "hello", "name=Ann", "--json"])["message"], json!("Hello, Ann!"));
    assert_eq!(env.run(&["call", "hello", "x=1"]).status.code(), Some(5));
    let stats = env.json(&["stats", "--json"]);
    let hello = &stats["tools"][0];
    assert_eq!(
        (&hello["calls"], &hello["ok"], &hello["failures"]),
        (&json!(2), &json!(1), &json!({"VALIDATION_ERROR": 1}))
    );
    let export = stdout(&env.run(&["audit", "export"]));
    let first: Value = serde_json::from_str(export.lines().next().unwrap()).unwrap();
    assert_eq!((&first["record"]["tool"], &first["record"]["wire"]), (&json!("hello"), &json!("cli")));
    let id = first["record"]["request_id"].as_str().unwrap();
    let shown = env.json(&["audit", "show", id, "--json"]);
    assert_eq!(shown["records"][0]["record"]["request_id"], json!(id));
    assert_eq!(env.json(&["stats", "--since", "1h", "--json"])["tools"][0]["calls"], json!(2));
}

#[test]
fn arguments_come_from_pairs_json_or_stdin() {
    let env = TestEnv::new();
    env.write("in.json", r#"{"name": "Cid"}"#);
    let mut piped = env.command(&["call", "hello", "--json", "--args", "-"]);
    let output = piped.stdin(fs::File::open(env.path("in.json")).unwrap()).output().unwrap();
    assert!(stdout(&output).contains("Hello, Cid!"), "{}", stderr(&output));
    // What looks like a number stays text where the schema wants text.
    assert_eq!(env.json(&["call", "hello", "--json", "name=42"])["message"], json!("Hello, 42!"));
}

#[test]
fn contracts_travel_to_a_folder_and_back() {
    let env = TestEnv::new();
    assert!(env.run(&["contracts", "export", "out"]).status.success());
    assert!(env.run(&["contracts", "check", "out"]).status.success());
    let exported = env.json(&["contracts", "export", "out", "--json"]);
    let written = exported["written"].as_array().unwrap();
    assert!(written.contains(&json!("out/hello.json")) && exported["folder"] == "out", "{exported}");
    let checked = env.json(&["contracts", "check", "out", "--json"]);
    assert_eq!(checked, json!({"valid": true, "files": written.len()}));
    let file = env.path("out/hello.json");
    let stale = fs::read_to_string(&file).unwrap().replace("Greeting message", "Greeting");
    fs::write(&file, stale).unwrap();
    let checked = env.run(&["contracts", "check", "out"]);
    assert_eq!(checked.status.code(), Some(6));
    assert!(stderr(&checked).contains("out/hello.json: differs"), "{}", stderr(&checked));
}

#[test]
fn the_configuration_is_found_without_a_flag() {
    let env = TestEnv::new();
    env.write("adam.yaml", "log: {file: adam.log}\n");
    assert!(stdout(&env.run(&["config", "check"])).contains("adam.yaml"));
    env.json(&["call", "hello", "--json"]);
    let log = fs::read_to_string(env.path("adam.log")).unwrap();
    assert!(log.contains("\"event\":\"tool_call\""), "{log}");
    env.write("countersign.yaml", "log: {file: own.log}\n");
    assert!(stdout(&env.run(&["config", "check"])).contains("countersign.yaml"));
}

#[test]
fn completions_and_manual_are_printed() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&env.run(&["completions", shell]));
        assert!(script.contains("countersign") && script.contains("serve"), "{shell}");
    }
    assert!(stdout(&env.run(&["man"])).contains(".TH countersign"));
    assert!(stdout(&env.run(&["man", "serve"])).contains("--listen".replace('-', "\\-").as_str()));
    assert_eq!(env.run(&["man", "sevre"]).status.code(), Some(1));
}

#[test]
fn a_program_learns_where_it_is_served() {
    let env = TestEnv::new();
    let mut command = env.command(&["serve", "--listen", "127.0.0.1:0", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    assert!(said["rest"].as_str().is_some_and(|url| url.starts_with("http://127.0.0.1:")), "{said}");
    assert!(["mcp", "openapi", "metrics", "version"].iter().all(|key| said[*key].is_string()), "{said}");
}

#[test]
fn a_reader_that_hangs_up_is_no_failure() {
    let env = TestEnv::new();
    let mut child = env.command(&["config", "schema"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_misspelt_tool_in_the_configuration_is_pointed_out() {
    for (keys, key) in [
        ("approval: {helo: client}", "approval"),
        ("limits: {rate_per_minute: {helo: 5}}", "limits.rate_per_minute"),
        ("limits: {timeout: {helo: 5s}}", "limits.timeout"),
        ("auth: {tokens: [{name: ci, token: 0123456789abcdef0123456789abcdef, tools: [helo]}]}", "auth.tokens"),
    ] {
        let env = TestEnv::with_config(keys);
        let checked = env.run(&["config", "check"]);
        assert_eq!(checked.status.code(), Some(1), "{keys}: {}", stderr(&checked));
        let expected = format!("`{key}` names `helo`, which is not a tool here; did you mean `hello`?");
        assert!(stderr(&checked).contains(&expected), "{keys}: {}", stderr(&checked));
    }
    // Names of tools to come are nobody's slip.
    let servers = "servers: {time: {command: time-server}}\napproval: {time__now: client}\n";
    let checked = TestEnv::with_config(servers).run(&["config", "check"]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    let env = TestEnv::with_config("approval: {helo: client}\nlimits: {rate_per_minute: {hello: 5}}\n");
    let doctor = env.run(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(stdout(&doctor).contains("`approval` names `helo`"), "{}", stdout(&doctor));
    assert!(stdout(&doctor).contains("did you mean `hello`?"), "{}", stdout(&doctor));
    assert!(stderr(&env.run(&["call", "hello"])).contains("names `helo`"));
}

#[test]
fn the_doctor_finds_a_healthy_place_healthy() {
    let env = TestEnv::new();
    let report = env.json(&["doctor", "--json"]);
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() >= 7 && checks.iter().all(|check| check["ok"] == json!(true)), "{report}");
}

#[test]
fn the_doctor_asks_the_services_that_are_configured() {
    let (embedder, model) = (Model::start(), Model::start());
    let config = json!({"context": {"embedder": embedder.config()}, "llm": model.config()});
    let env = TestEnv::with_config(&config.to_string());
    let vector = json!({"data": [{"index": 0, "embedding": [1.0, 0.5]}]}).to_string();
    let wrong_key = Said::Raw(401, "{}".to_owned());
    for (embeds, says, expected) in [
        (Said::Raw(200, vector), words("yes"), [true, true]),
        (wrong_key.clone(), wrong_key, [false, false]),
        (Said::Raw(200, "[]".to_owned()), Said::Raw(200, "[]".to_owned()), [false, false]),
    ] {
        embedder.says(&[embeds]);
        model.says(&[says]);
        let output = env.run(&["doctor", "--json"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let is_ok = |name: &str| {
            let mut checks = report["checks"].as_array().unwrap().iter();
            checks.find(|check| check["check"] == name).unwrap()["ok"].as_bool().unwrap()
        };
        assert_eq!([is_ok("embedding service"), is_ok("language model")], expected, "{report}");
        assert!(!report.to_string().contains(KEY), "{report}");
        assert_eq!(output.status.success(), expected[0]);
        assert_eq!((embedder.asked().len(), model.asked().len()), (1, 1), "one cheap question each");
    }
}

#[test]
fn a_call_waits_for_no_server_that_cannot_have_the_tool() {
    let env = TestEnv::new();
    env.write("countersign.yaml", "servers: {silent: {command: sleep, args: ['100']}}");
    let start = Instant::now();
    let refused = env.run(&["call", "other__tool"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("other__tool"), "{}", stderr(&refused));
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}
