//! `write_memory_entry` on every wire: the shared corpus, many writers, and a disk that is full for a while.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::{Pid, Resource, Rlimit};
use serde_json::{Value, json};

use crate::env::{Server, TestEnv};
use crate::rows::{self, Caller, WIRES};

const TOOL: &str = "write_memory_entry";
const FILES: [&str; 3] = ["progress_log.jsonl", "decisions.jsonl", "best_practices.md"];

/// One call and its structured result or error.
type Wire<'a> = dyn FnMut(&str, &Value) -> Value + 'a;

#[test]
fn rows_hold_on_every_wire() {
    for wire in WIRES {
        let env = TestEnv::new();
        let mut caller = Caller::start(&env, wire);
        let mut call = |tool: &str, input: &Value| caller.call(tool, input);
        let mut ran = 0;
        for row in include_str!("../corpus/memory.jsonl").lines() {
            let row: Value = serde_json::from_str(row).unwrap();
            if row["transports"].is_null() {
                run_row(&env, wire, &row, &mut call);
                ran += 1;
            }
        }
        assert!(ran >= 30, "only {ran} rows ran");
    }
}

fn run_row(env: &TestEnv, wire: &str, row: &Value, call: &mut Wire<'_>) {
    let before = memory(env);
    let what = format!("{wire}: {row}");
    if let Some(steps) = row["steps"].as_array() {
        run_steps(env, &what, row, steps, call);
    } else {
        let input = filled_in(row, &row["input"]);
        let mut answer = call(TOOL, &input);
        let asks = answer["code"] == "APPROVAL_REQUIRED";
        if asks && (row["approve"] == json!(true) || row["approve_if_asked"] == json!(true)) {
            approve(env, &answer);
            answer = call(TOOL, &input);
        }
        assert_ne!(answer["code"], "INTERNAL_ERROR", "{what}");
        match row["expect"].as_str().unwrap() {
            "allow" => {
                for (key, value) in row["eq"].as_object().into_iter().flatten() {
                    assert_eq!(answer[key], *value, "{what}: {answer}");
                }
                let added = added(env, &before, input["file"].as_str().unwrap());
                assert_eq!(answer["bytes_written"], json!(added.len()), "{what}");
                if let Some(stored) = row["stored"].as_str() {
                    assert_eq!(added, stored, "{what}");
                }
            }
            "deny" => expect_code(&what, &row["code"], &answer),
            _ => {}
        }
    }
    if row["expect"] == "deny" {
        assert_eq!(memory(env), before, "{what}");
    }
    for (file, text) in memory(env).iter().filter(|(file, _)| file.ends_with("jsonl")) {
        let parses = text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok());
        assert!(parses && (text.is_empty() || text.ends_with('\n')), "{what}: {file}");
    }
}

fn run_steps(env: &TestEnv, what: &str, row: &Value, steps: &[Value], call: &mut Wire<'_>) {
    let mut saved: BTreeMap<String, String> = BTreeMap::new();
    for step in steps {
        if let Some(arguments) = step["cli"].as_array() {
            let fill = |text: &str| saved.iter().fold(text.to_owned(), |text, (name, id)| text.replace(name, id));
            let arguments: Vec<String> = arguments.iter().map(|text| fill(text.as_str().unwrap())).collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            assert!(env.run(&arguments).status.success(), "{what}: {arguments:?}");
            continue;
        }
        let answer = call(step["call"].as_str().unwrap(), &filled_in(row, &step["input"]));
        if step["expect"] == "deny" {
            expect_code(what, &step["code"], &answer);
        } else {
            assert_eq!(answer["success"], json!(true), "{what}: {answer}");
        }
        if let Some(name) = step["save_approval"].as_str() {
            let id = answer["details"]["approval_id"].as_str().unwrap().to_owned();
            saved.insert(format!("{{{{${name}}}}}"), id);
        }
    }
}

fn expect_code(what: &str, expected: &Value, answer: &Value) {
    let code = &answer["code"];
    assert!(expected.as_array().map_or(expected == code, |codes| codes.contains(code)), "{what}: {answer}");
}

/// `{{T}}` is a text of this row's own.
fn filled_in(row: &Value, input: &Value) -> Value {
    rows::filled_in(input, &[("{{T}}", row["id"].as_str().unwrap())])
}

fn approve(env: &TestEnv, held: &Value) {
    env.json(&["approvals", "approve", held["details"]["approval_id"].as_str().unwrap(), "--json"]);
}

fn memory(env: &TestEnv) -> BTreeMap<&'static str, String> {
    let read = |file| Some((file, fs::read_to_string(env.path(".claude/memory").join(file)).ok()?));
    FILES.into_iter().filter_map(read).collect()
}

fn added(env: &TestEnv, before: &BTreeMap<&str, String>, file: &str) -> String {
    let (now, old) = (&memory(env)[file], before.get(file).map(String::as_str).unwrap_or_default());
    now.strip_prefix(old).unwrap_or_else(|| panic!("what was there did not stay as it was: {now}")).to_owned()
}

/// Approves what it is asked about by the token of an approver, and calls again.
fn write(server: &Server, arguments: &Value) -> Value {
    let post = |path: &str, token: &str, body: &Value| {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        crate::http::request(server.address, "POST", path, &headers, body.to_string().as_bytes()).json()
    };
    let tool = format!("/mcp/tool/{TOOL}");
    let held = post(&tool, "token-of-agent", arguments);
    let Some(id) = held["details"]["approval_id"].as_str() else { return held };
    post(&format!("/v1/approvals/{id}"), "token-of-boss", &json!({"decision": "approve"}));
    post(&tool, "token-of-agent", arguments)
}

const CONFIG: &str = "auth: {tokens: [{name: agent, token: token-of-agent}, \
    {name: boss, token: token-of-boss, approver: true}]}\n";

#[test]
fn two_servers_with_many_writers_do_not_mix_entries() {
    let env = TestEnv::with_config(CONFIG);
    let servers = [env.serve(), env.serve()];
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let server = &servers[writer % 2];
            scope.spawn(move || {
                for n in 0..10 {
                    let entry = json!({"w": writer, "n": n, "x": "y".repeat(5000)}).to_string();
                    let answer = write(server, &json!({"file": "progress_log.jsonl", "entry": entry}));
                    assert_eq!(answer["success"], json!(true), "{answer}");
                }
            });
        }
    });
    let text = &memory(&env)["progress_log.jsonl"];
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 80);
    for writer in 0..8 {
        let own: Vec<_> =
            lines.iter().filter(|line| line["w"] == json!(writer)).map(|line| line["n"].clone()).collect();
        assert_eq!(own, (0..10).map(|n| json!(n)).collect::<Vec<_>>());
    }
}

/// `..` goes through folders that are not there, and out of the repository.
#[test]
fn a_folder_is_written_by_whatever_way_it_was_named() {
    for (dir, place) in [("repo/../shared/memory", "shared/memory"), ("repo/sub/../notes", "repo/notes")] {
        let env = TestEnv::with_config(&format!("{CONFIG}root: repo\nmemory: {{dir: {dir}}}\nfile_io: {{root: .}}\n"));
        fs::create_dir(env.path("repo")).unwrap();
        let server = env.serve();
        let written = write(&server, &json!({"file": "best_practices.md", "entry": "one"}));
        assert_eq!(written["bytes_written"], json!(4), "{dir}: {written}");
        let file = format!("{place}/best_practices.md");
        assert_eq!(fs::read_to_string(env.path(&file)).unwrap(), "one\n", "{dir}");
        // It stays a person's to agree to.
        let input = json!({"command": "write_file", "path": file, "content": "evil"}).to_string();
        let headers = [("authorization", "Bearer token-of-agent"), ("content-type", "application/json")];
        let refused =
            crate::http::request(server.address, "POST", "/mcp/tool/file-io", &headers, input.as_bytes()).json();
        assert_eq!(refused["error"], "Access denied", "{dir}: {refused}");
    }
}

#[test]
fn a_full_disk_leaves_the_file_as_it_was() {
    const FULL: u64 = 16 * 1024 * 1024;
    let env = TestEnv::with_config(CONFIG);
    let server = env.serve();
    let folder = env.path(".claude/memory");
    fs::create_dir_all(&folder).unwrap();
    // Room for a part of the entry: the worst place to stop.
    let line = format!("{}\n", "x".repeat(1023));
    let mut before = line.repeat(16 * 1024).into_bytes();
    before.truncate(before.len() - 100);
    *before.last_mut().unwrap() = b'\n';
    fs::write(folder.join("best_practices.md"), &before).unwrap();
    let limit = |limit: Option<u64>| {
        let pid = Pid::from_raw(i32::try_from(server.id()).unwrap());
        rustix::process::prlimit(pid, Resource::Fsize, Rlimit { current: limit, maximum: None }).unwrap();
    };
    let arguments = json!({"file": "best_practices.md", "entry": "z".repeat(500)});
    limit(Some(FULL));
    let refused = write(&server, &arguments);
    assert_eq!(refused["code"], "IO_ERROR", "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("No space"), "{refused}");
    assert_eq!(fs::read(folder.join("best_practices.md")).unwrap(), before);
    limit(None);
    let written = write(&server, &arguments);
    assert_eq!(written["bytes_written"], json!(501), "{written}");
    let after = fs::read(folder.join("best_practices.md")).unwrap();
    assert_eq!((&after[..before.len()], after.len()), (&before[..], before.len() + 501));
    assert_eq!(env.json(&["audit", "verify", "--json"])["verified"], json!(true));
}
