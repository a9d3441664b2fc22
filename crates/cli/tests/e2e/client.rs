//! `client config`: what it prints is tried out the way a client would use it.

use std::path::Path;

use serde_json::{Value, json};

use crate::env::{TestEnv, stderr, stdout};

#[test]
fn a_snippet_means_the_same_in_every_folder() {
    let (bare, elsewhere) = (TestEnv::new(), TestEnv::new());
    let filed = TestEnv::with_config("root: src\ndata_dir: state\n");
    for (env, is_pinned) in [(&bare, true), (&filed, false)] {
        let here = env.json(&["config", "show", "--json"]);
        let entry = &env.json(&["client", "config", "cursor"])["mcpServers"]["countersign"];
        assert!(Path::new(entry["command"].as_str().unwrap()).is_absolute(), "{entry}");
        let arguments: Vec<_> = entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(arguments[0], "mcp");
        assert_eq!(entry.get("env").is_some(), is_pinned, "{entry}");
        // Another command with the same arguments and environment: it tells what `mcp` would work on.
        let mut show = elsewhere.command(&["config", "show", "--json"]);
        show.args(&arguments[1..]);
        for (name, value) in entry["env"].as_object().into_iter().flatten() {
            show.env(name, value.as_str().unwrap());
        }
        let there = show.output().unwrap();
        assert!(there.status.success(), "{}", stderr(&there));
        assert_eq!(tidied(&serde_json::from_str(&stdout(&there)).unwrap()), tidied(&here));
    }
}

#[test]
fn the_snippet_goes_to_stdout_and_its_place_to_stderr() {
    let env = TestEnv::with_config("http: {listen: 127.0.0.1:8123}\n");
    let output = env.run(&["client", "config", "goose", "--http"]);
    assert!(stdout(&output).starts_with("extensions:\n"), "{}", stdout(&output));
    assert!(stdout(&output).contains("uri: http://127.0.0.1:8123/mcp\n"), "{}", stdout(&output));
    assert!(stderr(&output).contains("goose/config.yaml"), "{}", stderr(&output));
    let object = env.json(&["client", "config", "goose", "--http", "--json"]);
    assert_eq!((&object["client"], &object["format"]), (&json!("goose"), &json!("yaml")));
    assert_eq!(object["snippet"], json!(stdout(&output)));
    assert_eq!(env.json(&["client", "config", "devin", "--json"])["client"], json!("windsurf"));
}

#[test]
fn the_variable_for_the_token_is_no_setting() {
    let env = TestEnv::new();
    let output = env.command(&["config", "check"]).env("COUNTERSIGN_TOKEN", "t").output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

/// `/project/.` is `/project`.
fn tidied(config: &Value) -> Value {
    serde_json::from_str(&config.to_string().replace("/.\"", "\"")).unwrap()
}
