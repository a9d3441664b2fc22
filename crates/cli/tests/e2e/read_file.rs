//! `read_file` over the real wires: dependencies, what must not come along, limits, and that reads are counted.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use countersign_store::{Place, Store};
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::http::request;
use crate::paths::{check_markers, plant};
use crate::rows::{self, Caller, WIRES};

/// The rows' project is theirs alone; the limit on calls is not what they are about.
const PROJECT: &str = "root: project\nlimits: {rate_per_minute: {read_file: 0}}\n";
const REPO: &str = "root: repo\nlimits: {rate_per_minute: {read_file: 0}}\n";

#[test]
fn project_rows_hold_on_every_wire() {
    for wire in WIRES {
        let env = TestEnv::with_config(PROJECT);
        plant_project(&env.path("project"));
        let mut caller = Caller::start(&env, wire);
        let rows =
            include_str!("../corpus/paths.jsonl").lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut ran = 0;
        for row in rows.filter(|row| row["tool"] == "read_file" && row["profile"] == "project") {
            let answer = caller.call("read_file", &row["input"]);
            check_markers(&row, &answer);
            rows::check(&row, wire, &answer);
            if row["check"] == "auth_deps" {
                let shown: Vec<_> = answer["dependencies"].as_array().unwrap().iter().collect();
                let paths: Vec<_> = shown.iter().map(|shown| shown["path"].as_str().unwrap()).collect();
                assert_eq!(paths, ["src/server/auth/TokenManager.ts", "src/server/users/UserRepository.ts"]);
                assert!(shown.iter().all(|shown| shown["type"] == "import" && shown["level"] == 1), "{answer}");
                assert_eq!(answer["metadata"]["module"], "auth");
                assert_eq!(answer["metadata"]["role"], "core");
                assert_eq!(answer["notIncluded"], json!([{"specifier": "fs", "type": "import", "reason": "external"}]));
            }
            ran += 1;
        }
        assert_eq!(ran, 3);
    }
}

/// Files that the policy refuses, links out of the root, and files that are too large: named, never shown.
#[test]
fn nothing_comes_along_that_could_not_be_read() {
    for wire in WIRES {
        let env = TestEnv::with_config(REPO);
        plant(env.folder());
        let mut caller = Caller::start(&env, wire);
        let mut read = |path: &str| {
            let answer = caller.call("read_file", &json!({"path": path, "includeDeps": true}));
            check_markers(&json!({"tool": "read_file"}), &answer);
            let names = |list: &str, name: &str| -> Vec<String> {
                let list = answer[list].as_array().into_iter().flatten();
                list.map(|entry| format!("{} {}", entry[name].as_str().unwrap(), entry["reason"])).collect()
            };
            (names("dependencies", "path"), names("notIncluded", "specifier"))
        };
        let (included, refused) = read("dep/a.ts");
        assert_eq!(included, ["dep/b.ts null", "dep/cycle.ts null"], "{wire}");
        let expected = ["../.env", "../../outside/canary.txt", "../node_modules/pkg/index.js"];
        assert_eq!(refused, expected.map(|specifier| format!("{specifier} \"refused\"")), "{wire}");
        assert_eq!(read("dep/link.ts"), (vec![], vec!["./evil \"refused\"".to_owned()]), "{wire}");
        assert_eq!(
            read("dep/bigdep.ts"),
            (vec!["dep/b.ts null".to_owned()], vec!["./big \"too_large\"".to_owned()]),
            "{wire}"
        );
    }
}

/// Our own files are no dependencies, either.
#[test]
fn our_own_files_do_not_come_along() {
    let env = TestEnv::with_config("log: {file: app.js}\n");
    env.write("main.ts", "import './countersign.yaml';\nimport './app';\nimport './.countersign/countersign.db';\n");
    let server = env.serve();
    let read = |input: Value| server.post("/mcp/tool/read_file", &input.to_string()).json();
    let answer = read(json!({"path": "main.ts", "includeDeps": true}));
    assert_eq!(answer["dependencies"], json!([]), "{answer}");
    assert_eq!(answer["notIncluded"].as_array().unwrap().len(), 3, "{answer}");
    assert!(!answer.to_string().contains("tool_call"), "{answer}");
}

#[test]
fn a_parse_error_says_where() {
    let env = TestEnv::with_config(REPO);
    plant(env.folder());
    let server = env.serve();
    let read = |input: Value| server.post("/mcp/tool/read_file", &input.to_string());
    let answer = read(json!({"path": "dep/broken.ts", "includeDeps": true}));
    let expected = json!({
        "error": "Failed to parse imports",
        "code": "UNSUPPORTED_TYPE",
        "path": "dep/broken.ts",
        "details": "Syntax error at line 15",
    });
    assert_eq!((answer.status, answer.json()), (415, expected));
    for input in
        [json!({"path": "dep/broken.ts"}), json!({"path": "dep/broken.ts", "includeDeps": true, "maxDepth": 0})]
    {
        assert_eq!(read(input.clone()).status, 200, "only whoever wants imports needs them parsed: {input}");
    }
}

/// As large and as deep as a file may be: an answer comes, in time, and the next one, too.
#[test]
fn hostile_sources_keep_nobody() {
    let env = TestEnv::with_config("limits: {rate_per_minute: {read_file: 0}}\n");
    let half = 512 * 1024 - 1;
    for (name, text) in [
        ("a.ts", "(".repeat(2 * half)),
        ("b.js", "[".repeat(half) + &"]".repeat(half)),
        ("c.py", "(".repeat(2 * half)),
        ("d.rs", format!("use {}x{};", "a::{".repeat(half / 5), "}".repeat(half / 5))),
        ("e.cpp", "#if 1\n".repeat(half / 6)),
        ("f.sh", "$(".repeat(half)),
        ("g.tsx", "<a>".repeat(half / 3)),
        ("h.php", format!("<?php require {}'x';", "(".repeat(half))),
    ] {
        env.write(name, &text);
    }
    let server = env.serve();
    for name in ["a.ts", "b.js", "c.py", "d.rs", "e.cpp", "f.sh", "g.tsx", "h.php"] {
        let start = Instant::now();
        let answer = server.post("/mcp/tool/read_file", &json!({"path": name, "includeDeps": true}).to_string());
        let (took, json) = (start.elapsed(), answer.json());
        assert!(took < Duration::from_secs(15), "{name}: {took:?}");
        assert!(answer.status == 200 || json["error"] == "Failed to parse imports", "{name}: {}", json["error"]);
    }
    assert_eq!(server.post("/mcp/tool/hello", r#"{"name": "x"}"#).status, 200);
}

/// A hundred a minute, whatever a caller says about where it comes from.
#[test]
fn the_rate_is_the_documents() {
    let env = TestEnv::new();
    env.write("README.md", "OK");
    let server = env.serve();
    let read = |from: &str| {
        let headers = [("content-type", "application/json"), ("x-forwarded-for", from)];
        request(server.address, "POST", "/v1/tools/read_file", &headers, br#"{"args": {"path": "README.md"}}"#)
    };
    for at in 0..100 {
        assert_eq!(read(&format!("10.0.0.{at}")).status, 200, "{at}");
    }
    let limited = read("10.1.1.1");
    assert_eq!((limited.status, limited.json()["code"].clone()), (429, json!("RATE_LIMITED")));
}

#[test]
fn reads_are_counted_on_each_database() {
    for env in TestEnv::on_each_database() {
        env.write("notes.md", "OK");
        env.write("other.md", "OK");
        let server = env.serve();
        for path in ["notes.md", "./notes.md", "other.md", "gone.md", ".env"] {
            server.post("/mcp/tool/read_file", &json!({"path": path}).to_string());
        }
        server.signal("TERM");
        assert_eq!(server.wait(), Some(0));
        env.json(&["call", "read_file", "--json", "path=notes.md"]);
        let place = match env.database() {
            Some(address) => Place::Server(address.parse().unwrap()),
            None => Place::Folder(env.path(".countersign")),
        };
        let scope = env.folder().canonicalize().unwrap().to_str().unwrap().into();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut counted = runtime.block_on(async {
            let store = Store::open_existing(place).await.unwrap();
            let counted = store.accesses(scope).newest(10).await.unwrap();
            store.close().await.unwrap();
            counted.into_iter().map(|read| (read.path, read.count)).collect::<Vec<_>>()
        });
        counted.sort();
        assert_eq!(counted, [("notes.md".to_owned(), 3), ("other.md".to_owned(), 1)]);
    }
}

/// What the rows import from one another.
pub(crate) fn plant_dependencies(repo: &Path) {
    let many: String = (0..5000).map(|at| format!("import \"./m{at}\";\n")).collect();
    let broken = format!(
        "import {{b}} from \"./b\";\n{}import {{ from \"./b\" ((( ;\nfunction {{{{{{\n",
        "// OK_dep_broken\n".repeat(13)
    );
    let files = [
        (
            "a.ts",
            "import {b} from \"./b\";\nimport s from \"../.env\";\nimport o from \"../../outside/canary.txt\";\n\
             import c from \"./cycle\";\nimport m from \"../node_modules/pkg/index.js\";\n// OK_dep_a\n",
        ),
        ("b.ts", "import {z} from \"./lvl2\";\n// OK_dep_b\nexport const b = 1;\n"),
        ("lvl2.ts", "// DEEPDEP_level2\nexport const z = 1;\n"),
        ("cycle.ts", "import \"./a\";\n// OK_dep_cycle\n"),
        ("link.ts", "import \"./evil\";\n// OK_dep_link\n"),
        ("big.ts", &"a".repeat(1024 * 1024 + 1)),
        ("bigdep.ts", "import \"./big\";\nimport \"./b\";\n// OK_dep_bigdep\n"),
        ("missingdep.ts", "import \"./missing\";\n// OK_dep_missing\n"),
        ("many.ts", &(many + "// OK_dep_many\n")),
        ("broken.ts", &broken),
    ];
    fs::create_dir_all(repo.join("dep")).unwrap();
    for (name, text) in files {
        fs::write(repo.join("dep").join(name), text).unwrap();
    }
}

fn plant_project(project: &Path) {
    for (path, text) in [
        (
            "src/server/auth/AuthService.ts",
            "import { TokenManager } from \"./TokenManager\";\nimport { UserRepository } from \"../users/UserRepository\";\n\
             import fs from \"fs\";\n\n// OK_auth_service\nexport class AuthService {}\n",
        ),
        (
            "src/server/auth/TokenManager.ts",
            "import { helper } from \"./helper\";\n// OK_token_manager\nexport class TokenManager {}\n",
        ),
        ("src/server/auth/helper.ts", "// DEEPDEP_helper\nexport const helper = 1;\n"),
        ("src/server/users/UserRepository.ts", "// OK_user_repository\nexport class UserRepository {}\n"),
    ] {
        fs::create_dir_all(project.join(path).parent().unwrap()).unwrap();
        fs::write(project.join(path), text).unwrap();
    }
}
