//! `file-io` on every wire: the shared corpus, races, full disks, kills, and files of which everybody sees all or
//! nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::{Pid, Resource, Rlimit};
use serde_json::{Value, json};

use crate::env::{Server, TestEnv};
use crate::http::Answer;
use crate::rows::{Caller, WIRES, filled_in};

const TOOL: &str = "file-io";
const LIMIT: usize = 5 * 1024 * 1024;

/// The sandbox that the rows speak of, and what lies around it.
pub(crate) fn plant_data(folder: &Path) {
    let put = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("outside/target.txt", b"CANARY_data_target\n");
    put("data-evil/x.txt", b"CANARY_data_evil\n");
    put("outside/hard_src.txt", b"OK_hard_src\n");
    put("outside/hard_target.txt", b"OK_hard_target\n");
    for (name, text) in [
        ("hello.txt", &b"OK_hello\n"[..]),
        ("sub/a.json", b"OK_a_json\n"),
        ("my-notes.txt", b"OK_my_notes\n"),
        ("empty.txt", b""),
        ("latin1.txt", b"caf\xe9\n"),
        ("binary.bin", b"OK_over \xff\xfe"),
        ("file_not_dir", b"OK_fnd\n"),
        ("config/secret.txt", b"OK_data_secret\n"),
        (".env", b"OK_data_env\n"),
    ] {
        put(&format!("data/{name}"), text);
    }
    let data = folder.join("data");
    for (target, link) in [
        ("../outside/target.txt", "link_out"),
        ("../outside", "link_dir"),
        ("hello.txt", "link_in"),
        ("../outside/created.txt", "dangling_out"),
        ("..", "up"),
        ("loop", "loop"),
    ] {
        symlink(target, data.join(link)).unwrap();
    }
    for (source, link) in [("hard_src.txt", "hard_read.txt"), ("hard_target.txt", "hard_write.txt")] {
        fs::hard_link(folder.join("outside").join(source), data.join(link)).unwrap();
    }
}

/// Every file below, with its content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            found.extend(files(&path));
        } else if kind.is_file() {
            // One that is being written may be gone by now.
            found.extend(fs::read(&path).ok().map(|content| (path, content)));
        }
    }
    found
}

fn leftovers(env: &TestEnv) -> Vec<PathBuf> {
    let temporary = |path: &PathBuf| path.to_string_lossy().contains(".countersign-");
    let in_data = files(&env.path("data")).into_keys().filter(temporary);
    in_data.chain(files(&env.path(".countersign/writing")).into_keys()).collect()
}

fn write(server: &Server, path: &str, content: &str) -> Value {
    let input = json!({"command": "write_file", "path": path, "content": content});
    server.post("/mcp/tool/file-io", &input.to_string()).json()
}

fn read(server: &Server, path: &str) -> Value {
    server.post("/mcp/tool/file-io", &json!({"command": "read_file", "path": path}).to_string()).json()
}

#[test]
fn rows_hold_on_every_wire() {
    for wire in WIRES {
        let env = TestEnv::new();
        plant_data(env.folder());
        let outside = |env: &TestEnv| [files(&env.path("outside")), files(&env.path("data-evil"))];
        let before = outside(&env);
        let mut caller = Caller::start(&env, wire);
        let mut ran = 0;
        let rows =
            include_str!("../corpus/paths.jsonl").lines().chain(include_str!("../corpus/contracts.jsonl").lines());
        for row in rows.map(|row| serde_json::from_str::<Value>(row).unwrap()).filter(|row| row["tool"] == TOOL) {
            if row["check"] == "whole_file" || row["check"] == "toctou_write" {
                continue;
            }
            let id = row["id"].as_str().unwrap();
            let one = [row.clone()];
            for step in row["steps"].as_array().map_or(&one[..], Vec::as_slice) {
                let input = filled_in(&step["input"], &[("{{T}}", id)]);
                let answer = caller.call(TOOL, &input);
                check(&format!("{wire}: {id}"), step, &answer);
            }
            ran += 1;
        }
        assert!(ran >= 35, "only {ran} rows ran");
        assert_eq!(outside(&env), before, "{wire}");
        assert_eq!(leftovers(&env), Vec::<PathBuf>::new(), "{wire}");
        assert_eq!(fs::read(env.path("data/hard_write.txt")).unwrap(), b"OK_written");
    }
}

fn check(what: &str, row: &Value, answer: &Value) {
    let text = answer.to_string();
    assert!(!text.contains("CANARY_") && answer["code"] != "INTERNAL_ERROR", "{what}: {text}");
    match row["expect"].as_str() {
        Some("any") => return,
        Some("deny" | "error") => {
            let is_code = |code: &Value| code.is_null() || *code == answer["code"];
            assert!(
                row["code"].as_array().map_or(is_code(&row["code"]), |codes| codes.iter().any(is_code)),
                "{what}: {text}"
            );
            assert!(row["error"].is_null() || row["error"] == answer["error"], "{what}: {text}");
            return;
        }
        _ => assert_eq!(answer["ok"], json!(true), "{what}: {text}"),
    }
    for (key, value) in row["eq"].as_object().into_iter().flatten() {
        assert_eq!(answer[key], *value, "{what}");
    }
    assert!(text.contains(row["must_contain"].as_str().unwrap_or_default()), "{what}: {text}");
}

#[test]
fn a_command_says_what_it_lacks() {
    let env = TestEnv::new();
    let server = env.serve();
    for (input, path) in [
        (json!({"command": "write_file", "path": "a.txt"}), "/content"),
        (json!({"command": "read_file", "path": "a.txt", "content": "x"}), "/content"),
        (json!({"command": "read_file"}), "/path"),
        (json!({"path": "a.txt"}), "/command"),
    ] {
        let answer = server.post("/v1/tools/file-io", &json!({"args": input}).to_string());
        let body = answer.json();
        assert_eq!((answer.status, &body["code"]), (400, &json!("VALIDATION_ERROR")), "{body}");
        assert!(body["details"].as_array().unwrap().iter().any(|mistake| mistake["path"] == path), "{body}");
    }
    assert!(!env.path("data").exists());
}

#[test]
fn five_megabytes_go_both_ways_and_no_byte_more() {
    let env = TestEnv::new();
    // Four of five bytes are written in six by a client that escapes what is not ASCII.
    let content = "Ж\n\"Ж".repeat(LIMIT / 6).chars().chain(std::iter::repeat_n('x', LIMIT % 6)).collect::<String>();
    assert_eq!(content.len(), LIMIT);
    for wire in WIRES {
        let mut caller = Caller::start(&env, wire);
        let written = caller.call(TOOL, &json!({"command": "write_file", "path": wire, "content": content}));
        assert_eq!(written, json!({"ok": true, "bytes_written": LIMIT}), "{wire}");
        let read = caller.call(TOOL, &json!({"command": "read_file", "path": wire}));
        assert!(read["contents"] == content, "{wire}: {}", read["code"]);
        let more = format!("{content}x");
        let refused = caller.call(TOOL, &json!({"command": "write_file", "path": wire, "content": more}));
        assert_eq!(refused["code"], "TOO_LARGE", "{wire}: {refused}");
        assert_eq!(fs::read_to_string(env.path("data").join(wire)).unwrap().len(), LIMIT);
        env.write(&format!("data/{wire}"), &more);
        let refused = caller.call(TOOL, &json!({"command": "read_file", "path": wire}));
        assert_eq!(refused["code"], "TOO_LARGE", "{wire}: {refused}");
    }
}

#[test]
fn readers_see_one_whole_text() {
    let env = TestEnv::new();
    let servers = [env.serve(), env.serve()];
    let text = |writer: usize| char::from(b'a' + u8::try_from(writer).unwrap()).to_string().repeat(1024 * 1024);
    write(&servers[0], "shared.txt", &text(0));
    let seen = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for worker in 0..16 {
            let (server, seen) = (&servers[worker % 2], &seen);
            scope.spawn(move || {
                let written = write(server, "shared.txt", &text(worker));
                assert_eq!(written["bytes_written"], json!(1024 * 1024), "{written}");
            });
            scope.spawn(move || {
                let found = read(server, "shared.txt");
                let found = found["contents"].as_str().unwrap();
                let first = found.as_bytes()[0];
                assert!(found.len() == 1024 * 1024 && found.bytes().all(|byte| byte == first), "a mix of texts");
                seen.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(seen.into_inner(), 16);
    assert_eq!(leftovers(&env), Vec::<PathBuf>::new());
}

#[test]
fn a_folder_swapped_for_a_link_leads_nowhere() {
    let env = TestEnv::new();
    plant_data(env.folder());
    let server = env.serve();
    let (race, link) = (env.path("data/race2"), env.path("data/swap"));
    fs::create_dir(&race).unwrap();
    symlink(env.path("outside"), &link).unwrap();
    let before = files(&env.path("outside"));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &race, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                std::thread::yield_now();
            }
        });
        let mut came_through = 0;
        for round in 0..150 {
            let written = write(&server, "race2/target.txt", &format!("OK_{round}"));
            came_through += u32::from(written["ok"] == json!(true));
            write(&server, "race2/deep/er/x.txt", "OK_deep");
            let found = read(&server, "race2/target.txt");
            assert!(!found.to_string().contains("CANARY"), "{found}");
        }
        over.store(true, Ordering::Relaxed);
        assert!(came_through > 0, "no write came through");
    });
    assert_eq!(files(&env.path("outside")), before);
    assert_eq!(leftovers(&env), Vec::<PathBuf>::new());
}

#[test]
fn a_full_disk_changes_nothing() {
    let env = TestEnv::new();
    let server = env.serve();
    assert_eq!(write(&server, "a.txt", "old")["bytes_written"], json!(3));
    let limit = |limit: Option<u64>| {
        let pid = Pid::from_raw(i32::try_from(server.id()).unwrap());
        rustix::process::prlimit(pid, Resource::Fsize, Rlimit { current: limit, maximum: None }).unwrap();
    };
    let content = "x".repeat(4 * 1024 * 1024);
    limit(Some(3 * 1024 * 1024));
    for path in ["a.txt", "new/folder/b.txt"] {
        let input = json!({"command": "write_file", "path": path, "content": content});
        let answer = server.post("/v1/tools/file-io", &json!({"args": input}).to_string());
        let body = answer.json();
        assert_eq!((answer.status, &body["code"]), (507, &json!("IO_ERROR")), "{body}");
        assert_eq!(body["error"], "Failed to write file");
        assert!(body["details"].as_str().unwrap().contains("No space"), "{body}");
    }
    assert_eq!(files(&env.path("data")), [(env.path("data/a.txt"), b"old".to_vec())].into());
    assert!(!env.path("data/new").exists());
    assert_eq!(leftovers(&env), Vec::<PathBuf>::new());
    limit(None);
    assert_eq!(write(&server, "new/folder/b.txt", &content)["bytes_written"], json!(content.len()));
    assert_eq!(env.json(&["audit", "verify", "--json"])["verified"], json!(true));
}

#[test]
fn what_decides_about_us_cannot_be_written() {
    let env = TestEnv::with_config("file_io: {root: .}\nlog: {file: app.log}\n");
    let server = env.serve();
    fs::create_dir_all(env.path(".claude/memory")).unwrap();
    env.write(".claude/memory/decisions.jsonl", "{}\n");
    symlink(".countersign", env.path("inside")).unwrap();
    for path in [
        "countersign.yaml",
        "adam.yaml",
        "app.log",
        ".countersign/countersign.db",
        ".countersign/new/x",
        "inside/countersign.db",
        ".claude/memory/decisions.jsonl",
        "countersign.lock",
        "contracts/overlays/docs/tool.json",
    ] {
        assert_eq!(write(&server, path, "evil")["error"], "Access denied", "{path}");
    }
    assert!(!env.path("contracts").exists() && !env.path("adam.yaml").exists());
    assert_eq!(read(&server, ".claude/memory/decisions.jsonl")["contents"], "{}\n");
    assert_eq!(write(&server, "notes/mine.txt", "fine")["ok"], json!(true));
}

/// A text that says which one it is at every place.
fn numbered(writer: usize, number: u64) -> String {
    format!("{writer}:{number:09};").repeat(100_000)
}

/// `writer` and number of the text, if it is one, whole.
fn number_of(writer: usize, text: &str) -> Option<u64> {
    let number = text.strip_prefix(&format!("{writer}:"))?.split(';').next()?.parse().ok()?;
    (text == numbered(writer, number)).then_some(number)
}

#[test]
fn a_killed_writer_leaves_the_old_or_the_new_text() {
    const WRITERS: usize = 3;
    let rounds = if std::env::var_os("COUNTERSIGN_LONG").is_some() { 300 } else { 20 };
    let env = TestEnv::new();
    let path = |writer: usize| format!("folder-{writer}/file.txt");
    let acknowledged: [AtomicU64; WRITERS] = Default::default();
    let mut found_unfinished = 0;
    for round in 0..rounds {
        let server = env.serve();
        assert_eq!(leftovers(&env), Vec::<PathBuf>::new(), "round {round}");
        std::thread::scope(|scope| {
            for (writer, acknowledged) in acknowledged.iter().enumerate() {
                let address = server.address;
                scope.spawn(move || {
                    let mut number = acknowledged.load(Ordering::Relaxed);
                    loop {
                        number += 1;
                        if !wrote(address, &path(writer), &numbered(writer, number)) {
                            return;
                        }
                        acknowledged.store(number, Ordering::Relaxed);
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(60 + (round * 37) % 140));
            server.kill();
        });
        found_unfinished += leftovers(&env).len();
        for (writer, last) in acknowledged.iter().enumerate() {
            let Ok(text) = fs::read_to_string(env.path("data").join(path(writer))) else {
                assert_eq!(last.load(Ordering::Relaxed), 0, "round {round}: the file is gone");
                continue;
            };
            let found =
                number_of(writer, &text).unwrap_or_else(|| panic!("round {round}: a mix of {} bytes", text.len()));
            // One that got there unacknowledged must not be lost later, either.
            let acknowledged = last.fetch_max(found, Ordering::Relaxed);
            assert!(found >= acknowledged, "round {round}: {found} after {acknowledged} was acknowledged");
        }
    }
    assert!(found_unfinished > 0, "no kill met a writer");
    drop(env.serve());
    assert_eq!(leftovers(&env), Vec::<PathBuf>::new());
}

/// Whether the server lived long enough to say so.
fn wrote(address: SocketAddr, path: &str, content: &str) -> bool {
    let body = json!({"command": "write_file", "path": path, "content": content}).to_string();
    let head = format!(
        "POST /mcp/tool/file-io HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).is_err() {
        return false;
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Answer::parse(&answer).is_some_and(|answer| answer.status == 200 && answer.json()["ok"] == json!(true))
}
