//! `context_search` and the index behind it: the shared corpus, changes that are followed, processes that are killed or
//! share a data folder, and what is said where there is nothing to search.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::env::{Server, TestEnv, stderr, wait_for};
use crate::rows::{self, Caller, WIRES, filled_in};

const TOOL: &str = "context_search";

const UNLIMITED: &str = "limits: {rate_per_minute: {context_search: 0}}\n";

/// Rounds of `kill -9` while indexing.
const KILLS: u64 = 50;

/// What must not appear in any answer.
const FORBIDDEN: [&str; 3] = ["CANARY_", "MODULES_", "IGNORED_"];

#[test]
fn rows_hold_on_every_wire() {
    for env in TestEnv::on_each_database() {
        env.write("countersign.yaml", &format!("root: project\nmemory: {{dir: project-memory}}\n{UNLIMITED}"));
        plant_project(env.folder());
        let built = env.json(&["index", "--json"]);
        assert!(built["chunks"].as_u64().unwrap() > 10, "{built}");
        assert_eq!(built["chunks"], built["embedded"], "all of them at the first time");
        assert_eq!(env.json(&["index", "--json"])["embedded"], 0, "and none of them again");
        let mut ran = 0;
        for wire in WIRES {
            let mut caller = Caller::start(&env, wire);
            for row in include_str!("../corpus/context.jsonl").lines() {
                let row: Value = serde_json::from_str(row).unwrap();
                if row["profile"] != "project" {
                    continue;
                }
                let input = filled_in(&row["input"], &[]);
                let answer = caller.call(TOOL, &input);
                rows::check(&row, wire, &answer);
                check_results(&row, &input, &answer);
                ran += 1;
            }
        }
        assert_eq!(ran, 28 * WIRES.len());
    }
}

/// The named checks.
fn check_results(row: &Value, input: &Value, answer: &Value) {
    let text = answer.to_string();
    assert!(FORBIDDEN.iter().all(|marker| !text.contains(marker)), "{row}: {text}");
    if row["expect"] != "allow" {
        return;
    }
    let results = answer["results"].as_array().unwrap();
    let limit = input["limit"].as_u64().unwrap_or(5);
    assert!(results.len() as u64 <= limit && answer["totalFound"].as_u64().unwrap() >= results.len() as u64, "{row}");
    let scores: Vec<f64> = results.iter().map(|result| result["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, next| one >= next) && scores.iter().all(|score| (0.0..=1.0).contains(score)));
    let ids: BTreeSet<&str> = results.iter().map(|result| result["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), results.len(), "{row}: twice the same");
    match row["check"].as_str() {
        Some("ranked") => {
            let first = results[0].to_string();
            assert!(first.contains(row["must_contain"].as_str().unwrap()), "{row}: the first is {first}");
        }
        Some("filtered") => {
            assert!(!results.is_empty(), "{row}");
            for key in ["type", "module"].into_iter().filter(|key| input[*key].is_string()) {
                assert!(results.iter().all(|result| result[key] == input[key]), "{row}: {text}");
            }
        }
        Some("sources") => {
            let sources: BTreeSet<&str> = results.iter().map(|result| result["source"].as_str().unwrap()).collect();
            assert_eq!(sources, ["code", "discovery", "session"].into(), "{row}: {text}");
        }
        Some(_) | None => {}
    }
}

#[test]
fn a_broken_repository_degrades_the_search_only() {
    let env = TestEnv::with_config(UNLIMITED);
    env.write("README.md", "# OK_README\n\nThe importer.\n");
    fs::create_dir_all(env.path(".git/objects")).unwrap();
    env.write(".git/HEAD", "ref: refs/heads/\u{0}broken\n");
    let found = search(&env.serve(), "OK_README");
    assert!(found.to_string().contains("The importer"), "{found}");
}

#[test]
fn the_first_question_is_answered_before_anything_is_indexed() {
    let env = TestEnv::with_config(UNLIMITED);
    for number in 0..200 {
        env.write(&format!("part{number}.py"), &format!("def part_{number}():\n    return {number}\n"));
    }
    env.write("invoices.py", "def import_invoices(folder):\n    '''Reads every invoice of the night.'''\n");
    let found = search(&env.serve(), "where are invoices imported");
    assert_eq!(found["results"][0]["path"], "invoices.py", "{found}");
}

#[test]
fn nothing_and_not_yet_are_told_apart() {
    let env = TestEnv::with_config(UNLIMITED);
    let server = env.serve();
    let answer = wait_for("the first look", || {
        let answer = search(&server, "anything at all");
        (answer["error"] != "No embeddings available").then_some(answer)
    });
    assert_eq!(answer["error"], "No embeddings found. Run initial session to generate context.");
    assert_eq!(answer["fallback"], "Use grep_codebase for text search");
    assert_eq!(answer["code"], "UNAVAILABLE");
}

#[test]
fn a_remote_embedder_that_fails_is_named() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let env = TestEnv::with_config(&format!(
        "context: {{embedder: {{url: 'http://127.0.0.1:{port}/v1', model: small}}}}\n{UNLIMITED}"
    ));
    env.write("README.md", "# Importer\n\nReads invoices.\n");
    let answer = search(&env.serve(), "the importer");
    assert_eq!(answer["error"], "Failed to generate query embedding", "{answer}");
    assert_eq!(answer["fallback"], "Use grep_codebase for text search");
    assert!(answer["details"].is_string(), "{answer}");
}

#[test]
fn changes_are_followed() {
    let env = TestEnv::with_config(&format!("context: {{exclude: ['drafts/']}}\n{UNLIMITED}"));
    env.write("a.md", "# Zebra\n\nThe zebra has stripes.\n");
    fs::create_dir_all(env.path("drafts")).unwrap();
    env.write("drafts/b.md", "# Zebra draft\n");
    let server = env.serve();
    let paths = || {
        let found = search(&server, "zebra stripes walrus tusks");
        let results = found["results"].as_array().cloned().unwrap_or_default();
        let paths = results.iter().filter_map(|result| result["path"].as_str().map(str::to_owned));
        paths.filter(|path| path != ".ignore").collect::<BTreeSet<_>>()
    };
    let becomes = |expected: &[&str]| {
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        wait_for("the change", || (paths() == expected).then_some(()));
    };
    becomes(&["a.md"]);
    fs::create_dir(env.path("new")).unwrap();
    env.write("new/walrus.md", "# Walrus\n\nThe walrus has tusks.\n");
    becomes(&["a.md", "new/walrus.md"]);
    env.write("a.md", "# Nothing of the kind\n\nQuarterly figures.\n");
    env.write("c.md", "# Zebra again\n\nStripes.\n");
    wait_for("the new text", || (!search(&server, "zebra").to_string().contains("has stripes")).then_some(()));
    fs::remove_file(env.path("a.md")).unwrap();
    becomes(&["c.md", "new/walrus.md"]);
    env.write(".ignore", "new/\n");
    becomes(&["c.md"]);
}

#[test]
fn a_single_question_is_answered_from_what_is_there_now() {
    for arguments in
        [&["search", "zebra stripes", "--json"][..], &["call", "context_search", "query=zebra stripes", "--json"]]
    {
        let env = TestEnv::with_config(UNLIMITED);
        for (name, text) in [("kept.md", "stripes"), ("gone.md", "stripes GONE"), ("hidden.md", "stripes HIDDEN")] {
            env.write(name, &format!("# Zebra\n\nThe zebra has {text}.\n"));
        }
        env.json(&["index", "--json"]);
        fs::remove_file(env.path("gone.md")).unwrap();
        env.write(".ignore", "hidden.md\n");
        let found = env.json(arguments).to_string();
        assert!(found.contains("kept.md"), "{arguments:?}: {found}");
        assert!(!found.contains("GONE") && !found.contains("HIDDEN"), "{arguments:?}: {found}");
    }
}

#[test]
fn what_git_excludes_here_only_is_followed() {
    let env = TestEnv::with_config(UNLIMITED);
    git(env.folder(), &["init", "-q", "."], None);
    env.write("zebra.md", "# Zebra\n\nThe zebra has stripes.\n");
    fs::create_dir_all(env.path(".git/info")).unwrap();
    env.write(".git/info/exclude", "");
    let server = env.serve();
    let is_found = || search(&server, "zebra stripes").to_string().contains("zebra.md");
    wait_for("the file", || is_found().then_some(()));
    env.write(".git/info/exclude", "zebra.md\n");
    wait_for("the exclusion", || (!is_found()).then_some(()));
}

#[test]
fn memory_is_found_when_it_appears() {
    let env = TestEnv::with_config(UNLIMITED);
    env.write("README.md", "# Project\n");
    let server = env.serve();
    search(&server, "anything");
    fs::create_dir_all(env.path(".claude/memory")).unwrap();
    let entry = json!({"type": "decision", "module": "database", "content": "PostgreSQL holds the tasks"});
    env.write(".claude/memory/decisions.jsonl", &format!("{entry}\n"));
    let found = wait_for("the entry", || {
        let found = search(&server, "which database holds the tasks");
        (found["results"][0]["type"] == "decision").then_some(found)
    });
    assert_eq!(found["results"][0]["module"], "database", "{found}");
}

#[test]
fn two_processes_share_one_index() {
    let env = TestEnv::with_config(UNLIMITED);
    plant_code(env.folder(), 40);
    let (one, other) = (env.serve(), env.serve());
    let ids = |server: &Server| {
        let found = search(server, "handler number 17");
        found["results"].as_array().cloned().unwrap_or_default().iter().map(|result| result["id"].clone()).collect()
    };
    wait_for("the same answers", || {
        let both: [Vec<Value>; 2] = [ids(&one), ids(&other)];
        (!both[0].is_empty() && both[0] == both[1]).then_some(())
    });
    let busy = env.run(&["index"]);
    assert!(busy.status.success() && stderr(&busy).contains("another process keeps this index up to date"), "{busy:?}");
    assert!(env.json(&["index", "--json"])["busy"].is_string());
    // Whoever is left goes on.
    one.kill();
    env.write("walrus.md", "# Walrus\n\nThe walrus has tusks.\n");
    wait_for("the change", || search(&other, "walrus tusks").to_string().contains("walrus.md").then_some(()));
}

#[test]
fn killed_again_and_again_it_ends_with_the_same_index() {
    let (env, undisturbed) = (TestEnv::with_config(UNLIMITED), TestEnv::with_config(UNLIMITED));
    for env in [&env, &undisturbed] {
        plant_code(env.folder(), 60);
    }
    for round in 0..KILLS {
        let mut command = env.command(&["index", "--json"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(20 + (round * 37) % 300));
        let _ = child.kill();
        child.wait().unwrap();
    }
    let (killed, whole) = (env.json(&["index", "--json"]), undisturbed.json(&["index", "--json"]));
    assert_eq!(killed["chunks"], whole["chunks"]);
    assert_eq!(env.json(&["index", "--json"])["embedded"], 0, "nothing is left to do");
    for query in ["handler number 17", "how are requests answered", "part_3", "numbers that are returned"] {
        let answers = [&env, &undisturbed].map(|env| {
            let mut answer = env.json(&["search", query, "--limit", "20", "--json"]);
            for result in answer["results"].as_array_mut().unwrap() {
                result["date"].take();
                // Files of the one are a little older than those of the other.
                result["score"] = json!((result["score"].as_f64().unwrap() * 1000.0).round());
            }
            answer["results"].take()
        });
        assert_eq!(answers[0], answers[1], "{query}");
    }
    let doctor = env.run(&["doctor"]);
    assert!(doctor.status.success(), "{}", stderr(&doctor));
}

fn search(server: &Server, query: &str) -> Value {
    server.post("/mcp/tool/context_search", &json!({"query": query}).to_string()).json()
}

fn plant_code(folder: &Path, files: usize) {
    for number in 0..files {
        let text = format!(
            "def part_{number}(request):\n    '''Handler number {number}.'''\n    return answer(request, {number})\n\n\n\
             class Other{number}:\n    def value(self):\n        return {number}\n"
        );
        fs::write(folder.join(format!("part{number}.py")), text).unwrap();
    }
}

/// The corpus's project: code, a decision record, memory files and a history.
fn plant_project(folder: &Path) {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("project/src/server/auth/AuthService.ts", AUTH_SERVICE);
    write("project/src/server/auth/TokenManager.ts", TOKEN_MANAGER);
    write(
        "project/src/server/users/UserRepository.ts",
        "// OK_user_repository\nexport interface UserContext { id: string }\nexport class UserRepository {}\n",
    );
    write(
        "project/src/index.ts",
        "import { AuthService } from \"./server/auth/AuthService\";\n// TODO: wire the request logger OK_todo_index\n\
         export function main() { return new AuthService(); }\n",
    );
    write("project/docs/adr/0001-use-postgresql.md", DECISION);
    write("project/README.md", "# Project\n\nOK_project_readme. The billing importer parses invoices nightly.\n");
    write("project/.env", "CANARY_project_env\n");
    write("project/node_modules/x/index.js", "// MODULES_project_nm\n");
    write("project/dist/bundle.js", "// IGNORED_project_dist\n");
    write("project/.gitignore", "node_modules/\ndist/\n.env\n");
    write("project-memory/progress_log.jsonl", PROGRESS);
    write(
        "project-memory/decisions.jsonl",
        "{\"timestamp\":\"2026-01-17T10:00:00Z\",\"type\":\"decision\",\"module\":\"database\",\
         \"content\":\"PostgreSQL chosen as the database for shared task storage\"}\n",
    );
    write(
        "project-memory/best_practices.md",
        "# Best practices\n\n- Rule: every handler validates its input before it touches the database\n",
    );
    let project = folder.join("project");
    git(&project, &["init", "-q", "-b", "main", "."], None);
    git(&project, &["add", "README.md", ".gitignore", "docs"], None);
    git(&project, &["commit", "-qm", "Choose PostgreSQL for the task store"], Some("2026-01-14T09:00:00Z"));
    git(&project, &["add", "src"], None);
    let message = "Fix token refresh race with a mutex in the auth module";
    git(&project, &["commit", "-qm", message], Some("2026-01-15T09:00:00Z"));
    git(&project, &["commit", "-q", "--allow-empty", "-m", "Document the nightly invoice import"], None);
}

fn git(folder: &Path, arguments: &[&str], date: Option<&str>) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=Ada", "-c", "user.email=ada@example.test"]).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    if let Some(date) = date {
        command.env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
    }
    assert!(command.status().unwrap().success(), "git {arguments:?}");
}

const AUTH_SERVICE: &str = r#"import { TokenManager } from "./TokenManager";
import { UserRepository } from "../users/UserRepository";
import fs from "fs";

// OK_auth_service
export class AuthService {
  constructor(private tokens: TokenManager, private users: UserRepository) {}
  // Generate JWT token
  login(payload: object) {
    const token = jwt.sign(payload, KEY_NAME);
    return token;
  }
}
"#;

const TOKEN_MANAGER: &str = r#"import { helper } from "./helper";
// OK_token_manager: implement token refresh with mutex locks to prevent race conditions
export class TokenManager {}
"#;

const DECISION: &str = "# 1. Use PostgreSQL for the task store\n\nStatus: accepted\n\n## Decision\n\nWe choose PostgreSQL \
                        over MongoDB because tasks need transactions. OK_adr_database\n";

const PROGRESS: &str = r#"{"timestamp":"2026-01-01T00:00:00Z","entry":"OK_seed"}
{"timestamp":"2026-01-15T10:00:00Z","type":"issue","module":"auth","content":"Token refresh race condition fixed with mutex lock"}
{"timestamp":"2026-01-16T10:00:00Z","type":"pattern","module":"auth","content":"Use JWT tokens stored in httpOnly cookies for auth"}
"#;
