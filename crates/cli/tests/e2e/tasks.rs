//! The task tools on every wire: the shared corpus, the document's own line, two servers on one database, and kills.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::env::{Server, TestEnv, wait_for};
use crate::postgres::Postgres;
use crate::rows::{self, Caller, WIRES};

/// One call and its structured result or error.
type Wire<'a> = dyn FnMut(&str, &Value) -> Value + 'a;

#[test]
fn rows_hold_on_every_wire_and_every_database() {
    for wire in WIRES {
        TestEnv::on_each_database().for_each(|env| rows_hold(&env, wire));
    }
}

fn rows_hold(env: &TestEnv, wire: &'static str) {
    let mut caller = Caller::start(env, wire);
    let mut call = |tool: &str, input: &Value| caller.call(tool, input);
    let mut ran = 0;
    for line in include_str!("../corpus/tasks.jsonl").lines() {
        // A lone surrogate is no text, and so no JSON that could be sent from here; `hostile` sends such bytes.
        let Ok(row) = serde_json::from_str::<Value>(line) else { continue };
        if !row["transports"].is_null() {
            continue;
        }
        let mut saved = BTreeMap::new();
        let steps = row["steps"].as_array().cloned().unwrap_or_else(|| vec![row.clone()]);
        for step in &steps {
            run_step(&format!("{wire}: {row}"), &row, step, &mut saved, wire == "v1", &mut call);
        }
        ran += 1;
    }
    assert!(ran >= 45, "only {ran} rows ran");
}

fn run_step(
    what: &str,
    row: &Value,
    step: &Value,
    saved: &mut BTreeMap<String, Value>,
    enveloped: bool,
    call: &mut Wire<'_>,
) {
    let tool = step["call"].as_str().or(step["tool"].as_str()).unwrap();
    let answer = call(tool, &filled_in(row, &step["input"], saved));
    assert_ne!(answer["code"], "INTERNAL_ERROR", "{what}: {answer}");
    let code = &answer["code"];
    let refused = matches!(step["expect"].as_str(), Some("deny" | "error"));
    if refused {
        let expected = &step["code"];
        let right = expected.as_array().map_or(expected == code, |codes| codes.contains(code));
        assert!(right, "{what}: {answer}");
        let error = &step["error"];
        assert!(error.is_null() || *error == answer["error"], "{what}: {answer}");
    } else if step["expect"] != "any" {
        assert_eq!(answer["success"], json!(true), "{what}: {answer}");
    }
    // An error in the envelope of `/v1/tools` has its own layout.
    if !(refused && enveloped) {
        for (path, value) in filled_in(row, &step["eq"], saved).as_object().into_iter().flatten() {
            assert_eq!(at(&answer, path), value, "{what}: {path} in {answer}");
        }
    }
    for (name, path) in step["save"].as_object().into_iter().flatten() {
        saved.insert(name.clone(), at(&answer, path.as_str().unwrap()).clone());
    }
    let (text, unique) = (answer.to_string(), row["id"].as_str().unwrap());
    for (key, expected) in [("must_contain", true), ("must_not_contain", false)] {
        if let Some(part) = step[key].as_str() {
            assert_eq!(text.contains(&part.replace("{{T}}", unique)), expected, "{what}: {text}");
        }
    }
}

fn at<'a>(answer: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(answer, |value, key| &value[key])
}

/// `{{T}}` is a text of this row's own, `{{$name}}` is what was saved.
fn filled_in(row: &Value, input: &Value, saved: &BTreeMap<String, Value>) -> Value {
    let saved: Vec<_> = saved.iter().map(|(name, value)| (format!("\"{{{{${name}}}}}\""), value.to_string())).collect();
    let mut places: Vec<_> = saved.iter().map(|(place, value)| (place.as_str(), value.as_str())).collect();
    places.push(("{{T}}", row["id"].as_str().unwrap()));
    rows::filled_in(input, &places)
}

#[test]
fn pages_lead_through_all_tasks() {
    TestEnv::on_each_database().for_each(|env| pages_lead_through(&env));
}

fn pages_lead_through(env: &TestEnv) {
    let server = env.serve();
    for n in 0..5 {
        server.post("/mcp/tool/add_task", &json!({"title": n.to_string()}).to_string());
    }
    let (mut titles, mut after) = (Vec::new(), None);
    loop {
        let mut input = json!({"limit": 2});
        if let Some(after) = after {
            input["after"] = json!(after);
        }
        let page = server.post("/mcp/tool/list_tasks", &input.to_string()).json();
        titles.extend(page["data"].as_array().unwrap().iter().map(|task| task["title"].as_str().unwrap().to_owned()));
        after = page["next"].as_i64();
        assert_eq!(page["message"].as_str().unwrap().contains("more"), after.is_some(), "{page}");
        if after.is_none() {
            break;
        }
    }
    assert_eq!(titles, ["0", "1", "2", "3", "4"]);
    let nothing = server.post("/mcp/tool/update_task", r#"{"task_id": 1}"#).json();
    assert_eq!((&nothing["code"], &nothing["success"]), (&json!("VALIDATION_ERROR"), &json!(false)), "{nothing}");
    assert!(nothing["details"]["errors"].is_array(), "{nothing}");
}

#[test]
fn two_servers_give_every_id_once() {
    for env in TestEnv::on_each_database() {
        let servers = [env.serve(), env.serve()];
        let ids: BTreeSet<i64> = std::thread::scope(|scope| {
            let writers: Vec<_> = servers
                .iter()
                .map(|server| scope.spawn(move || (0..100).map(|_| add(server)).collect::<Vec<_>>()))
                .collect();
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
        });
        assert_eq!(ids.len(), 200);
    }
}

fn add(server: &Server) -> i64 {
    let added = server.post("/mcp/tool/add_task", r#"{"title": "t"}"#).json();
    added["data"]["id"].as_i64().unwrap_or_else(|| panic!("{added}"))
}

#[test]
fn what_was_acknowledged_survives_every_kill() {
    TestEnv::on_each_database().for_each(|env| survives_kills(&env));
}

fn survives_kills(env: &TestEnv) {
    let rounds = if is_long() { 300 } else { 20 };
    let (mut kept, mut seed) = (Tasks::new(), 0x1234_5678_9abc_def1_u64);
    for round in 0..rounds {
        let server = env.serve();
        let address = server.address;
        let writing: Vec<_> = (0..WRITERS)
            .map(|_| std::thread::spawn(move || write(address, |answer| answer.map_or(Go::Away, |_| Go::On))))
            .collect();
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_millis(10 + seed % 90));
        server.kill();
        kept.extend(writing.into_iter().flat_map(|writer| writer.join().unwrap()));
        check(env, &kept, &format!("after round {round}"));
    }
    assert!(kept.len() > rounds, "only {} tasks in {rounds} rounds", kept.len());
    assert_eq!(env.json(&["audit", "verify", "--json"])["verified"], json!(true));
    let examined = env.json(&["doctor", "--json"]);
    assert!(examined["checks"].as_array().unwrap().iter().all(|check| check["ok"] == json!(true)), "{examined}");
}

/// The server of the database dies and comes back; ours goes on by itself.
#[test]
fn what_was_acknowledged_survives_every_kill_of_postgres() {
    let Some(mut postgres) = Postgres::start() else { return };
    let rounds = if is_long() { 60 } else { 20 };
    let env = TestEnv::with_database(postgres.address());
    let server = env.serve();
    let address = server.address;
    let (refused, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let writing: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (refused, stop) = (Arc::clone(&refused), Arc::clone(&stop));
            std::thread::spawn(move || {
                write(address, |answer| match answer {
                    Some(_) if stop.load(Ordering::Relaxed) => Go::Away,
                    Some(answer) if answer["code"].is_null() => Go::On,
                    Some(answer) => {
                        assert_eq!(answer["code"], json!("DATABASE_ERROR"), "{answer}");
                        assert!(!answer.to_string().contains("127.0.0.1"), "{answer}");
                        refused.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(20));
                        Go::On
                    }
                    None => panic!("our server does not answer"),
                })
            })
        })
        .collect();
    for _ in 0..rounds {
        let before = refused.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(100));
        postgres.kill();
        wait_for("an error", || (refused.load(Ordering::Relaxed) > before).then_some(()));
        assert_eq!(server.get("/readyz").status, 503);
        postgres.start_again();
        wait_for("a task", || {
            let added = server.post("/mcp/tool/add_task", r#"{"title": "t"}"#).json();
            (added["success"] == json!(true)).then_some(())
        });
    }
    stop.store(true, Ordering::Relaxed);
    let kept: Tasks = writing.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
    assert!(kept.len() > rounds, "only {} tasks in {rounds} rounds", kept.len());
    check(&env, &kept, "in the end");
    assert_eq!(server.get("/readyz").status, 200);
    assert_eq!(env.json(&["audit", "verify", "--json"])["verified"], json!(true));
}

fn is_long() -> bool {
    std::env::var_os("COUNTERSIGN_LONG").is_some()
}

fn check(env: &TestEnv, kept: &Tasks, when: &str) {
    let found = tasks(env);
    for (id, status) in kept {
        assert_eq!(found.get(id).map(String::as_str), status.as_deref(), "task {id} {when}");
    }
}

/// What became of each task: its status and title, or that it is gone.
type Tasks = BTreeMap<i64, Option<String>>;

const WRITERS: usize = 3;

enum Go {
    On,
    Away,
}

/// Adds, completes, renames and deletes tasks, and answers what the server said it did. `next` sees every answer, or that there
/// was none, and says whether to go on.
fn write(address: std::net::SocketAddr, mut next: impl FnMut(Option<&Value>) -> Go) -> Tasks {
    let mut call = |tool: &str, input: Value| -> Result<Option<Value>, ()> {
        let headers = [("content-type", "application/json")];
        let body = input.to_string();
        let asked = || crate::http::request(address, "POST", &format!("/mcp/tool/{tool}"), &headers, body.as_bytes());
        let answer = std::panic::catch_unwind(asked).ok().map(|answer| answer.json());
        match (next(answer.as_ref()), answer) {
            (Go::On, answer) => Ok(answer.filter(|answer| answer["success"] == json!(true))),
            (Go::Away, _) => Err(()),
        }
    };
    let mut said = Tasks::new();
    let mut work = || -> Result<(), ()> {
        loop {
            let Some(added) = call("add_task", json!({"title": "t"}))? else { continue };
            let id = added["data"]["id"].as_i64().unwrap();
            let (tool, input, becomes) = match id % 4 {
                1 => ("complete_task", json!({"task_id": id}), Some("completed: t")),
                2 => ("delete_task", json!({"task_id": id}), None),
                3 => ("update_task", json!({"task_id": id, "title": "u"}), Some("pending: u")),
                _ => {
                    said.insert(id, Some("pending: t".to_owned()));
                    continue;
                }
            };
            // Until it is answered, either may be true.
            if call(tool, input)?.is_some() {
                said.insert(id, becomes.map(str::to_owned));
            }
        }
    };
    work().unwrap_err();
    said
}

fn tasks(env: &TestEnv) -> BTreeMap<i64, String> {
    let (mut found, mut after) = (BTreeMap::new(), 0);
    loop {
        let input = if after == 0 { json!({}) } else { json!({"after": after}) };
        let page = env.json(&["call", "list_tasks", "--json", "--args", &input.to_string()]);
        for task in page["data"].as_array().unwrap() {
            let state = format!("{}: {}", task["status"].as_str().unwrap(), task["title"].as_str().unwrap());
            found.insert(task["id"].as_i64().unwrap(), state);
        }
        match page["next"].as_i64() {
            Some(next) => after = next,
            None => return found,
        }
    }
}
