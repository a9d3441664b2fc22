//! The shared corpus on `grep_codebase`, and what hostile trees and patterns do to the whole program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use countersign_contract::Schema;
use serde_json::{Value, json};

use crate::env::{TestEnv, wait_for};
use crate::mcp_http::modern;
use crate::paths::plant;
use crate::rows::{self, Caller, WIRES};

const TOOL: &str = "grep_codebase";

/// What must not appear in any answer or log.
const FORBIDDEN: [&str; 3] = ["CANARY_", "MODULES_", "IGNORED_"];

const UNLIMITED: &str = "limits: {rate_per_minute: {grep_codebase: 0}}\n";

#[test]
fn rows_hold_on_every_wire() {
    let repo = TestEnv::with_config(&format!("root: repo\n{UNLIMITED}"));
    plant_repo(repo.folder());
    let project = TestEnv::with_config(&format!("root: project\n{UNLIMITED}"));
    put(&project.path("project/src/index.ts"), b"export function main() {}\n");
    let mut ran = 0;
    for (env, profile) in [(&repo, Value::Null), (&project, json!("project"))] {
        let rows = include_str!("../corpus/grep.jsonl").lines();
        let rows: Vec<Value> = rows.map(|line| serde_json::from_str(line).unwrap()).collect();
        let is_here = |row: &&Value| row["profile"] == profile && row["check"] != "parallel_100";
        for wire in WIRES {
            let mut caller = Caller::start(env, wire);
            for row in rows.iter().filter(is_here) {
                check(row, wire, &caller.call(TOOL, &rows::filled_in(&row["input"], &[])));
                ran += 1;
            }
        }
        let log = fs::read_to_string(env.path(".countersign/countersign.log")).unwrap();
        assert!(FORBIDDEN.iter().all(|marker| !log.contains(marker)), "the log shows what no answer may");
    }
    assert_eq!(ran, 44 * WIRES.len());
}

fn check(row: &Value, wire: &str, answer: &Value) {
    let text = answer.to_string();
    assert!(FORBIDDEN.iter().all(|marker| !text.contains(marker)), "{wire}: {row}: {text}");
    assert_ne!(answer["code"], "INTERNAL_ERROR", "{wire}: {row}");
    match row["expect"].as_str().unwrap() {
        "allow" => assert_eq!(answer["code"], Value::Null, "{wire}: {row}: {text}"),
        "deny" => assert_eq!(answer["code"], row["code"], "{wire}: {row}: {text}"),
        _ => {}
    }
    if row["error"].is_string() {
        assert_eq!(answer["error"], row["error"], "{wire}: {row}");
    }
    // Failures on `/v1/tools` have their error and their code only.
    let whole = wire != "v1" || answer["code"].is_null();
    for (path, value) in row["eq"].as_object().into_iter().flatten().filter(|_| whole) {
        match path.strip_prefix("len:") {
            Some(path) => assert_eq!(json!(answer[path].as_array().unwrap().len()), *value, "{wire}: {row}"),
            None => assert_eq!(answer.pointer(&pointer(path)), Some(value), "{wire}: {path}: {row}: {text}"),
        }
    }
    for (path, kind) in row["out"].as_object().into_iter().flatten() {
        let value = answer.pointer(&pointer(&path.replace("[]", "[0]"))).unwrap_or(&Value::Null);
        let right = match kind.as_str().unwrap() {
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_u64(),
            "number" => value.is_number(),
            other => panic!("unknown type {other} in {row}"),
        };
        assert!(right, "{wire}: {path}: {row}: {text}");
    }
    let listed = |list: &Value| list.as_array().cloned().unwrap_or_else(|| vec![list.clone()]);
    for wanted in listed(&row["must_contain"]).iter().filter_map(Value::as_str) {
        assert!(text.contains(wanted), "{wire}: {wanted}: {row}: {text}");
    }
    for unwanted in listed(&row["must_not_contain"]).iter().filter_map(Value::as_str) {
        assert!(!text.contains(unwanted), "{wire}: {unwanted}: {row}: {text}");
    }
    if row["check"] == "grep_context" {
        let expected = json!({
            "before": ["// Generate JWT token", "function generateToken(payload) {"],
            "after": ["  return token;", "}"],
        });
        assert_eq!(answer["matches"][0]["context"], expected, "{wire}: {row}");
        assert_eq!(answer["matches"][0]["column"], json!(17), "{wire}: {row}");
    }
}

/// `a[0].b` as a JSON Pointer.
fn pointer(path: &str) -> String {
    format!("/{}", path.replace(['.', '['], "/").replace(']', ""))
}

#[test]
fn answers_satisfy_the_published_schema() {
    let env = TestEnv::with_config("root: repo\n");
    plant_repo(env.folder());
    let server = env.serve();
    let listed = modern(&server, "tools/list", None, json!({})).json();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let schema = tools.iter().find(|tool| tool["name"] == TOOL).unwrap()["outputSchema"].clone();
    let schema = Schema::compile(schema).unwrap();
    for input in [json!({"pattern": "OK_main_rs"}), json!({"pattern": "nowhere to be found"}), json!({"pattern": "("})]
    {
        let answer = server.post("/mcp/tool/grep_codebase", &input.to_string()).json();
        assert!(schema.is_valid(&answer), "{input}: {answer}");
    }
}

#[test]
fn nothing_found_is_said_and_mistakes_are_explained_together() {
    let env = TestEnv::new();
    env.write("a.txt", "text\n");
    let server = env.serve();
    let ask = |input: Value| server.post("/mcp/tool/grep_codebase", &input.to_string()).json();
    let mut nothing = ask(json!({"pattern": "nonexistent"}));
    assert!(nothing["searchTime"].take().is_u64());
    let message = "No matches found for pattern 'nonexistent'";
    let expected = json!({"matches": [], "pattern": "nonexistent", "totalMatches": 0, "filesSearched": 1,
        "searchTime": null, "message": message});
    assert_eq!(nothing, expected);
    let both = ask(json!({"pattern": "(", "filePattern": "{a"}));
    assert_eq!((&both["error"], &both["pattern"]), (&json!("Invalid regex pattern"), &json!("(")));
    let paths: Vec<_> = both["details"].as_array().unwrap().iter().map(|mistake| mistake["path"].clone()).collect();
    assert_eq!(paths, ["/pattern", "/filePattern"], "{both}");
    assert!(both["details"][0]["message"].as_str().unwrap().contains("unclosed group"), "{both}");
    let glob = ask(json!({"pattern": "a", "filePattern": "{a"}));
    assert_eq!((&glob["error"], &glob["code"]), (&json!("Invalid parameters"), &json!("VALIDATION_ERROR")), "{glob}");
}

#[test]
fn our_own_files_are_not_searched() {
    let env = TestEnv::with_config("log: {file: app.log}\ndata_dir: data\n# NEEDLE\n");
    env.write("notes.md", "NEEDLE\n");
    let server = env.serve();
    // The pattern is in the log by then.
    for _ in 0..2 {
        let answer = server.post("/mcp/tool/grep_codebase", r#"{"pattern": "NEEDLE"}"#).json();
        assert_eq!(
            (&answer["totalMatches"], &answer["matches"][0]["file"]),
            (&json!(1), &json!("notes.md")),
            "{answer}"
        );
    }
}

#[test]
fn a_hundred_calls_at_once_are_all_answered() {
    let env = TestEnv::with_config(&format!("root: repo\n{UNLIMITED}"));
    plant_repo(env.folder());
    let server = env.serve();
    thread::scope(|scope| {
        let calls: Vec<_> = (0..100)
            .map(|_| {
                scope.spawn(|| server.post("/v1/tools/grep_codebase", r#"{"args": {"pattern": "OK_main_rs"}}"#).json())
            })
            .collect();
        for call in calls {
            let answer = call.join().unwrap();
            assert_eq!(answer["result"]["totalMatches"], json!(1), "{answer}");
        }
    });
}

#[test]
fn the_documents_rate_limit_holds() {
    let env = TestEnv::new();
    let server = env.serve();
    let ask = || server.post("/mcp/tool/grep_codebase", r#"{"pattern": "a"}"#);
    let statuses: Vec<_> = (0..61).map(|_| ask().status).collect();
    assert!(statuses[..60].iter().all(|status| *status == 200), "{statuses:?}");
    assert_eq!((statuses[60], ask().json()["error"].clone()), (429, json!("Rate limit exceeded for grep_codebase")));
}

/// A search that is too long for its time is answered, and its threads end.
#[test]
fn a_search_ends_with_its_call() {
    let env = TestEnv::with_config("limits: {timeout: {grep_codebase: 10ms}}\n");
    let text = "words upon words upon words\n".repeat(30_000);
    for number in 0..60 {
        env.write(&format!("{number}.txt"), &text);
    }
    let server = env.serve();
    let input = r#"{"pattern": "(\\w+ ?){1,9}\\d"}"#;
    let start = Instant::now();
    let answer = server.post("/mcp/tool/grep_codebase", input).json();
    assert_eq!(answer["code"], json!("TIMEOUT"), "{answer}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let busy = || fs::read_to_string(format!("/proc/{}/stat", server.id())).unwrap();
    let ticks = |stat: String| -> u64 {
        let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    };
    wait_for("the search to end", || {
        let before = ticks(busy());
        thread::sleep(Duration::from_millis(300));
        (ticks(busy()) <= before + 1).then_some(())
    });
}

/// The tree that the rows speak of, as far as searching goes.
fn plant_repo(folder: &Path) {
    plant(folder);
    let repo = folder.join("repo");
    let sample = "// OK_sample\nimport x from \"./lib\";\n// Generate JWT token\nfunction generateToken(payload) {\n  const \
                  token = jwt.sign(payload, KEY_NAME);\n  return token;\n}\n// TODO: rotate the keys OK_todo\n";
    for (name, text) in [
        (".gitignore", "target/\n*.log\nskipped_dir/\n# OK_dotgitignore\n"),
        ("src/sample.ts", sample),
        ("src/my_secret_store.rs", "SECRETNAME_store\n"),
        ("g/case.txt", "MixedCase OK_case\nmixedcase OK_lower\n"),
        ("g/ansi.txt", "\u{1b}[2J\u{1b}]0;owned\u{7}needle OK_ansi\n"),
        ("g/unicode.txt", "OK_unicode naïve Straße \u{17f} K \u{130}\u{202e}\u{e0041}\n"),
        ("g/crlf.txt", "OK_crlf one\r\nneedle two\r\n"),
        ("sub/node_modules/p/i.js", "MODULES_nested\n"),
        ("Node_Modules/x.js", "MODULES_case\n"),
        ("sub/.GIT/config", "CANARY_upper\n"),
        ("target/build.txt", "IGNORED_target\n"),
        ("app.log", "IGNORED_log\n"),
        ("skipped_dir/x.txt", "IGNORED_dir\n"),
        ("dist/out.js", "IGNORED_dist\n"),
        ("build/out.js", "IGNORED_build\n"),
        (".next/out.js", "IGNORED_next\n"),
        (".context/out.js", "IGNORED_context\n"),
        ("unreadable.txt", "OK_unreadable\n"),
    ] {
        put(&repo.join(name), text.as_bytes());
    }
    fs::set_permissions(repo.join("unreadable.txt"), fs::Permissions::from_mode(0o000)).unwrap();
    put(&repo.join("g/redos.txt"), format!("{}!\nOK_redos\n", "a".repeat(50_000)).as_bytes());
    put(&repo.join("g/oneline_5m.txt"), format!("{}OK_longline\n", "x".repeat(5_000_000)).as_bytes());
    put(&repo.join("g/many.txt"), "needle here\n".repeat(200_000).as_bytes());
    put(&repo.join("g/bin.dat"), b"\0needle\0CANARY_bin_is_skipped\n");
    let limit: String = (1..=150).map(|number| format!("limitword {number}\n")).collect();
    put(&repo.join("g/five.txt"), limit.as_bytes());
    for number in 0..3000 {
        put(&repo.join(format!("g/wide/f{number}.txt")), if number % 100 == 0 { b"needle\n" } else { b"hay\n" });
    }
    fs::File::create(repo.join("docs/sparse_8g.txt")).unwrap().set_len(8 << 30).unwrap();
}

fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}
