//! The ready-made configurations: each is valid and serves the tools it names.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::env::TestEnv;

#[test]
fn every_example_configuration_serves_what_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut served = BTreeSet::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let env = TestEnv::with_config(&text);
        assert!(env.run(&["config", "check"]).status.success(), "{}", path.display());
        if text.contains("\nservers:") {
            // What it starts is fetched from elsewhere.
            continue;
        }
        let listed = env.serve().get("/v1/tools").json();
        let tools: Vec<_> = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
        served.insert((path.file_stem().unwrap().to_str().unwrap().to_owned(), Value::from(tools).to_string()));
    }
    let expected = [
        ("adam", r#"["web-fetch","file-io","adam-sys-audit"]"#),
        ("context", r#"["context_search","read_file","grep_codebase"]"#),
        ("learner", r#"["hello","read_repo_file","write_memory_entry"]"#),
        ("tasks", r#"["add_task","list_tasks","update_task","complete_task","delete_task"]"#),
    ];
    assert_eq!(served, expected.map(|(name, tools)| (name.to_owned(), tools.to_owned())).into());
}
