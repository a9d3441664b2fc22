//! The shared corpus on files: a tree full of traps, and what may and may not come out of it on every wire.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::file_io::plant_data;
use crate::rows::{self, Caller, WIRES};

/// What files hold that must not appear in any answer or log; what only some tools may not show is said by tool.
const FORBIDDEN: [&str; 1] = ["CANARY_"];
const FORBIDDEN_TO: [(&str, &[&str]); 2] =
    [("read_repo_file", &["SECRETNAME_"]), ("read_file", &["MODULES_", "DEEPDEP_"])];

#[test]
fn rows_hold_on_every_wire() {
    let env = TestEnv::with_config("root: repo\nlimits: {rate_per_minute: {read_file: 0, grep_codebase: 0}}\n");
    plant(env.folder());
    let rows: Vec<Value> =
        include_str!("../corpus/paths.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut metrics = String::new();
    for wire in WIRES {
        let mut caller = Caller::start(&env, wire);
        let listed = caller.server.get("/v1/tools").json();
        let tools = listed["tools"].as_array().unwrap();
        let known: BTreeSet<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        let mut ran = 0;
        for row in rows.iter().filter(|row| known.contains(row["tool"].as_str().unwrap())) {
            if ["check", "needs", "profile", "steps"].iter().any(|key| !row[key].is_null()) {
                continue;
            }
            let answer = caller.call(row["tool"].as_str().unwrap(), &filled_in(&row["input"], env.folder()));
            check_markers(row, &answer);
            rows::check(row, wire, &answer);
            ran += 1;
        }
        assert!(ran >= 100, "{wire}: only {ran} rows ran");
        metrics.push_str(&String::from_utf8(caller.server.get("/metrics").body).unwrap());
    }
    assert!(metrics.contains("read_repo_file") && FORBIDDEN.iter().all(|marker| !metrics.contains(marker)));
    let log = fs::read_to_string(env.path(".countersign/countersign.log")).unwrap();
    assert!(FORBIDDEN.iter().all(|marker| !log.contains(marker)), "the log shows what no answer may");
}

pub(crate) fn check_markers(row: &Value, answer: &Value) {
    let text = answer.to_string();
    let to_this = FORBIDDEN_TO.iter().filter(|(tool, _)| row["tool"] == *tool).flat_map(|(_, markers)| *markers);
    for marker in FORBIDDEN.iter().chain(to_this) {
        assert!(!text.contains(marker), "{marker}: {row}: {text}");
    }
}

/// `{{OUT}}` is the folder outside.
fn filled_in(input: &Value, folder: &Path) -> Value {
    rows::filled_in(input, &[("{{OUT}}", folder.join("outside").to_str().unwrap())])
}

/// The tree that the rows speak of, as far as the tools that read single files look at it.
pub(crate) fn plant(folder: &Path) {
    let repo = folder.join("repo");
    for (name, marker) in [
        ("README.md", "README"),
        ("src/main.rs", "main_rs"),
        ("src/lib.rs", "lib_rs"),
        ("src/env.ts", "env_ts"),
        ("src/environment.ts", "environment_ts"),
        ("src/creds.rs", "creds_rs"),
        ("src/tokens.rs", "tokens_rs"),
        ("docs/dotenv.md", "dotenv_md"),
        ("docs/git-guide.md", "git_guide"),
        ("docs/.hidden", "hidden"),
        (".gitattributes", "gitattributes"),
        (".gitignore", "dotgitignore"),
        (".github/workflows/ci.yml", "ci_yml"),
        ("environment/prod.md", "env_dir"),
        ("gitlike/config", "gitlike"),
        ("a/b/c/d/e/f/g/deep.txt", "deep"),
        ("docs/café.md", "unicode_nfc"),
        ("docs/a+b@c.md", "plus_at"),
        ("docs/v1..v2.md", "dotdot_name"),
    ] {
        put(&repo.join(name), format!("OK_{marker}\n").as_bytes());
    }
    put(&repo.join("node_modules/pkg/index.js"), b"MODULES_nm\n");
    put(&repo.join("docs/exact_1mib.txt"), &vec![b'a'; 1024 * 1024]);
    put(&repo.join("docs/over_1mib.txt"), &vec![b'a'; 1024 * 1024 + 1]);
    put(&repo.join("docs/latin1.txt"), b"OK_latin1 caf\xe9\n");
    put(&repo.join("dist/out.js"), b"IGNORED_dist\n");
    put(&repo.join("empty.txt"), b"");
    fs::File::create(repo.join("docs/sparse_8g.txt")).unwrap().set_len(8 << 30).unwrap();
    plant_forbidden(folder, &repo);
    crate::read_file::plant_dependencies(&repo);
    plant_links(folder, &repo);
    plant_data(folder);
}

fn plant_forbidden(folder: &Path, repo: &Path) {
    for name in [
        ".env",
        ".env.production",
        ".env.local",
        ".envrc",
        ".Env.Test",
        "src/.env",
        "config/.env.example",
        ".git/config",
        "docs/.git",
        "a/.git/config",
    ] {
        put(&repo.join(name), b"CANARY_inside\n");
    }
    for name in [
        "config/secret.yaml",
        "config/Secrets.yaml",
        "secrets/readme.md",
        "docs/secretary.md",
        "credentials.json",
        "config/Credentials.toml",
        "src/credential_store.rs",
        "aws/credential",
    ] {
        let marker = name.rsplit('/').next().unwrap();
        put(&repo.join(name), format!("SECRETNAME_{marker}\n").as_bytes());
    }
    for name in ["outside/canary.txt", "outside/sub/deep.txt", "repo-evil/readme.md"] {
        put(&folder.join(name), b"CANARY_outside\n");
    }
}

fn put(path: &Path, text: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn plant_links(folder: &Path, repo: &Path) {
    for (target, link) in [
        ("../outside/canary.txt", "link_rel_file"),
        ("../outside", "link_rel_dir"),
        ("/", "link_root"),
        ("/proc/self", "link_proc"),
        ("..", "link_parent"),
        ("link_rel_dir", "link_chain"),
        ("link_chain", "link_chain2"),
        ("/etc/passwd", "link_passwd"),
        ("node_modules", "link_to_modules"),
        ("../.git/config", "docs/link_gitcfg"),
        ("../../outside/canary.txt", "dep/evil.ts"),
        ("self", "self"),
        ("loop_b", "loop_a"),
        ("loop_a", "loop_b"),
        ("missing_target", "dangling"),
        ("README.md", "link_inside"),
        (".env", "link_to_env"),
        (".git", "link_to_git"),
        ("secret.yaml", "config/innocent.yaml"),
    ] {
        symlink(target, repo.join(link)).unwrap();
    }
    symlink(folder.join("outside"), repo.join("link_abs_dir")).unwrap();
    symlink(folder.join("outside/canary.txt"), repo.join("link_abs_file")).unwrap();
    fs::hard_link(repo.join("README.md"), repo.join("hardlink_in.md")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(repo.join("fifo")).status().unwrap().success());
    drop(std::os::unix::net::UnixListener::bind(repo.join("sock")).unwrap());
}

#[test]
fn our_own_files_are_nobodys() {
    let env = TestEnv::with_config("log: {file: app.log}\n");
    env.write("notes.md", "OK");
    let server = env.serve();
    let read = |path: &str| server.post("/mcp/tool/read_repo_file", &json!({"path": path}).to_string()).json();
    assert_eq!(read("notes.md")["content"], "OK");
    symlink(env.path(".countersign"), env.path("inside")).unwrap();
    for path in ["countersign.yaml", "app.log", ".countersign/countersign.db", "inside/countersign.db"] {
        assert_eq!(read(path)["code"], "ACCESS_DENIED", "{path}");
    }
}
