//! The task tools on every wire: the shared corpus, the document's own line, two servers on one database, and kills.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::env::{Server, TestEnv};
use crate::rows::{self, Caller, WIRES};

/// One call and its structured result or error.
type Wire<'a> = dyn FnMut(&str, &Value) -> Value + 'a;

#[test]
fn rows_hold_on_every_wire() {
    for wire in WIRES {
        let env = TestEnv::new();
        let mut caller = Caller::start(&env, wire);
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
    let env = TestEnv::new();
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
    let env = TestEnv::new();
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

fn add(server: &Server) -> i64 {
    let added = server.post("/mcp/tool/add_task", r#"{"title": "t"}"#).json();
    added["data"]["id"].as_i64().unwrap_or_else(|| panic!("{added}"))
}

#[test]
fn what_was_acknowledged_survives_every_kill() {
    let rounds = if std::env::var_os("COUNTERSIGN_LONG").is_some() { 300 } else { 20 };
    let env = TestEnv::new();
    let (mut kept, mut seed) = (BTreeMap::new(), 0x1234_5678_9abc_def1_u64);
    for round in 0..rounds {
        let server = env.serve();
        let address = server.address;
        let writing = std::thread::spawn(move || write_until_it_ends(address));
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        std::thread::sleep(Duration::from_millis(10 + seed % 90));
        server.kill();
        kept.extend(writing.join().unwrap());
        let found = tasks(&env);
        for (id, status) in &kept {
            assert_eq!(found.get(id).map(String::as_str), status.as_deref(), "task {id} after round {round}");
        }
    }
    assert!(kept.len() > rounds, "only {} tasks in {rounds} rounds", kept.len());
    assert_eq!(env.json(&["audit", "verify", "--json"])["verified"], json!(true));
}

/// What the server said became of each task: its status, or that it is gone.
fn write_until_it_ends(address: std::net::SocketAddr) -> BTreeMap<i64, Option<String>> {
    let call = |tool: &str, input: Value| -> Option<Value> {
        let headers = [("content-type", "application/json")];
        let body = input.to_string();
        let asked = || crate::http::request(address, "POST", &format!("/mcp/tool/{tool}"), &headers, body.as_bytes());
        let answer = std::panic::catch_unwind(asked).ok()?;
        (answer.status == 200).then(|| answer.json())
    };
    let mut said = BTreeMap::new();
    while let Some(added) = call("add_task", json!({"title": "t"})) {
        let id = added["data"]["id"].as_i64().unwrap();
        said.insert(id, Some("pending".to_owned()));
        match id % 3 {
            // From here on until it is answered, either may be true.
            1 => {
                said.remove(&id);
                if call("complete_task", json!({"task_id": id})).is_none() {
                    break;
                }
                said.insert(id, Some("completed".to_owned()));
            }
            2 => {
                said.remove(&id);
                if call("delete_task", json!({"task_id": id})).is_none() {
                    break;
                }
                said.insert(id, None);
            }
            _ => {}
        }
    }
    said
}

fn tasks(env: &TestEnv) -> BTreeMap<i64, String> {
    let (mut found, mut after) = (BTreeMap::new(), 0);
    loop {
        let input = if after == 0 { json!({}) } else { json!({"after": after}) };
        let page = env.json(&["call", "list_tasks", "--json", "--args", &input.to_string()]);
        for task in page["data"].as_array().unwrap() {
            found.insert(task["id"].as_i64().unwrap(), task["status"].as_str().unwrap().to_owned());
        }
        match page["next"].as_i64() {
            Some(next) => after = next,
            None => return found,
        }
    }
}
