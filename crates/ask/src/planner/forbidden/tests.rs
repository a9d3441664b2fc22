use std::sync::Arc;

use countersign_contract::Effect;
use countersign_index::Local;
use jiff::civil::date;
use serde_json::{Value, json};

use crate::planner::{Choice, Offer, Planner};

const REFUSED: [(&str, &str); 66] = [
    ("do not delete task 1", "what not to do"),
    ("don't delete task 1", "what not to do"),
    ("don’t delete task 1", "what not to do"),
    ("dont delete task 1", "what not to do"),
    ("do not delte task 1", "what not to do"),
    ("never delete task 1", "what not to do"),
    ("never, ever delete task 1", "what not to do"),
    ("Please do NOT delete task 1!", "what not to do"),
    ("could you please not delete task 1", "what not to do"),
    ("do NOT delete anything for now", "what not to do"),
    ("ANY task, please, but DO NOT delete task 1", "what not to do"),
    ("I don't want you to delete task 1", "what not to do"),
    ("do not, under any circumstances, delete task 1", "what not to do"),
    ("nobody should delete task 1", "what not to do"),
    ("there is no need to delete task 1", "what not to do"),
    ("please avoid deleting task 1", "what not to do"),
    ("stop deleting task 1", "what not to do"),
    ("delete task 1 - not!", "what not to do"),
    ("delete task 1? No, please don't", "what not to do"),
    ("don't tick off task 4", "what not to do"),
    ("don't get rid of task 4", "what not to do"),
    ("do not mark task 8 as done", "what not to do"),
    ("mark task 8 as not completed", "what not to do"),
    ("task 4 must not be deleted", "what not to do"),
    ("don't create a task called Buy milk", "what not to do"),
    ("never add a task: buy milk", "what not to do"),
    ("do not write hello to notes.txt", "what not to do"),
    ("delete task 1 without deleting anything", "what not to do"),
    ("delete every task except task 6", "exception"),
    ("delete all tasks but 7", "exception"),
    ("delete all tasks but not task 7", "exception"),
    ("delete all tasks other than task 7", "exception"),
    ("delete task 3 unless it is open", "exception"),
    ("delete task 4, not task 3", "exception"),
    ("undo the deletion of task 6", "undo"),
    ("revert the deletion of task 6", "undo"),
    ("undelete task 6", "undo"),
    ("cancel the deletion of task 6", "undo"),
    ("reopen task 8", "undo"),
    ("mark task 8 as unfinished", "undo"),
    ("should I delete task 1?", "asks about"),
    ("what happens if I delete task 1?", "asks about"),
    ("if I delete task 1, what happens?", "asks about"),
    ("how do I delete task 1", "asks about"),
    ("how to delete task 1?", "asks about"),
    ("who deleted task 1?", "asks about"),
    ("why was task 1 deleted?", "asks about"),
    ("when did you delete task 1?", "asks about"),
    ("was task 9 completed?", "asks about"),
    ("has task 9 been completed?", "asks about"),
    ("is task 9 done?", "asks about"),
    ("did anybody delete task 9?", "asks about"),
    ("have you deleted task 9?", "asks about"),
    ("can I delete task 1?", "asks about"),
    ("would deleting task 1 be a problem?", "asks about"),
    ("is it safe to delete task 1?", "asks about"),
    ("tell me how to delete task 1", "asks about"),
    ("could you explain how to delete task 1?", "asks about"),
    ("do you know who deleted task 1?", "asks about"),
    ("I wonder whether to delete task 1", "asks about"),
    ("task 1 was deleted yesterday", "asks about"),
    ("delete tasks 3, 4 and 5", "several"),
    ("delete task 3 and task 4", "several"),
    ("delete tasks 3-5", "several"),
    ("complete tasks #3 & #4", "several"),
    ("tick off tasks 3 through 7", "several"),
];

#[tokio::test]
async fn what_must_not_be_changed_is_not() {
    let planner = planner().await;
    let mut wrong = Vec::new();
    for (question, why) in REFUSED {
        match planner.plan(question, date(2026, 11, 16)).await.unwrap().choice {
            Choice::Nothing { why: said } if said.contains(why) || said.contains("nearest") => {}
            Choice::Call { tool, .. } if tool == "list_tasks" && why == "asks about" => {}
            Choice::Call { arguments, .. } if arguments.get("command") == Some(&json!("read_file")) => {}
            choice @ (Choice::Call { .. } | Choice::Missing { .. } | Choice::Nothing { .. }) => {
                wrong.push(format!("{question}: {choice:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_is_asked_for_is_done() {
    let planner = planner().await;
    let mut wrong = Vec::new();
    for (question, tool, arguments) in [
        ("delete task 3", "delete_task", json!({"task_id": 3})),
        ("could you delete task 3?", "delete_task", json!({"task_id": 3})),
        ("can you please delete task 3", "delete_task", json!({"task_id": 3})),
        ("would you mark task 3 as completed?", "complete_task", json!({"task_id": 3})),
        ("would you kindly delete task 3", "delete_task", json!({"task_id": 3})),
        ("do you mind deleting task 3?", "delete_task", json!({"task_id": 3})),
        ("I want you to delete task 3", "delete_task", json!({"task_id": 3})),
        ("I'd like task 3 to be deleted", "delete_task", json!({"task_id": 3})),
        ("task 3 should be deleted", "delete_task", json!({"task_id": 3})),
        ("I don't need task 14 any more, get rid of it", "delete_task", json!({"task_id": 14})),
        ("I do not need task 14 anymore so delete it", "delete_task", json!({"task_id": 14})),
        ("nobody will ever do task 72, so delete it", "delete_task", json!({"task_id": 72})),
        ("why is task 5 still there? delete it", "delete_task", json!({"task_id": 5})),
        ("don't forget to buy milk", "add_task", json!({"title": "buy milk"})),
        ("can I add a task: buy milk", "add_task", json!({"title": "buy milk"})),
        ("could I add a task called buy milk", "add_task", json!({"title": "buy milk"})),
        ("hi, can we add a task named 'Buy milk'?", "add_task", json!({"title": "Buy milk"})),
        ("could we add a task to buy milk?", "add_task", json!({"title": "buy milk"})),
        ("how about deleting task 3", "delete_task", json!({"task_id": 3})),
        ("I finished task 3", "complete_task", json!({"task_id": 3})),
        ("task 5 is done", "complete_task", json!({"task_id": 5})),
        ("add a task: do not forget the milk", "add_task", json!({"title": "do not forget the milk"})),
        ("add a task: never add sugar", "add_task", json!({"title": "never add sugar"})),
        ("add a task: ask who deleted the file", "add_task", json!({"title": "ask who deleted the file"})),
        ("todo: don't delete the backups", "add_task", json!({"title": "don't delete the backups"})),
        ("add a task called \"should I delete it?\"", "add_task", json!({"title": "should I delete it?"})),
        (
            "add a task: buy 3 apples, 4 pears and 5 plums",
            "add_task",
            json!({"title": "buy 3 apples, 4 pears and 5 plums"}),
        ),
        (
            "write to notes.txt: never delete backups",
            "file-io",
            json!({"command": "write_file", "path": "notes.txt", "content": "never delete backups"}),
        ),
        ("what did I write in notes.txt? read it", "file-io", json!({"command": "read_file", "path": "notes.txt"})),
        ("list tasks that are not completed", "list_tasks", json!({"status": "pending"})),
        ("which tasks are not completed?", "list_tasks", json!({"status": "pending"})),
        ("show the tasks except the completed ones", "list_tasks", Value::Null),
    ] {
        match planner.plan(question, date(2026, 11, 16)).await.unwrap().choice {
            Choice::Call { tool: called, arguments: given, .. }
                if called == tool && (arguments.is_null() || Value::Object(given.clone()) == arguments) => {}
            choice @ (Choice::Call { .. } | Choice::Missing { .. } | Choice::Nothing { .. }) => {
                wrong.push(format!("{question}: {choice:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn politeness_behind_a_text_takes_nothing_back() {
    let planner = planner().await;
    let mut wrong = Vec::new();
    for (question, title) in [
        ("Can I add a task: \"buy milk\"?", "buy milk"),
        ("can I add a task called \"buy milk\", please? Thanks!", "buy milk"),
        ("could we add a task called \"buy milk\" to my list please", "buy milk"),
        ("can I add a task: pay the rent or the landlord", "pay the rent or the landlord"),
        ("can I add a task called \"buy milk\" with the description \"two litres\"?", "buy milk"),
    ] {
        match planner.plan(question, date(2026, 11, 16)).await.unwrap().choice {
            Choice::Call { tool, arguments, .. } if tool == "add_task" && arguments["title"] == title => {}
            choice @ (Choice::Call { .. } | Choice::Missing { .. } | Choice::Nothing { .. }) => {
                wrong.push(format!("{question}: {choice:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn nothing_is_read_instead_of_a_text_that_is_to_be_written() {
    let planner = planner().await;
    let mut wrong = Vec::new();
    for question in [
        "should I add a task: buy milk?",
        "may I add a task called Buy milk?",
        "when can I add a task: buy milk",
        "why can't I add a task called \"Buy milk\"?",
        "is it safe to add a task named 'Buy milk'?",
        "would it hurt to add a task saying buy milk?",
        "could we add a task called \"x\" or is that forbidden?",
        "Can I add a task: \"buy milk\"? Just tell me yes or no.",
        "Can I add a task called \"foo\" or would that break things?",
        "could we add a task called x or is that forbidden?",
        "Can I add a task: buy milk? Just tell me yes or no.",
        "Can I add a task: buy milk, yes or no?",
        "can I add a task called \"foo\" or not",
        "can I add a task: buy milk, or would that break things?",
        "can I add a task: buy milk. Is that allowed?",
        "could we add a task called 'foo'? I only want to know whether I may.",
        "could I add a task to buy milk, or is it \"forbidden\"?",
        "can I add a task called 'foo' without asking Ann?",
        "yes or no: can I add a task called \"foo\"?",
        "can I add a task called \"foo\" if it's not already there?",
        "can I add a task?",
        "can I add a due date to a task?",
        "can I delete the task called \"Buy milk\"?",
    ] {
        let choice = planner.plan(question, date(2026, 11, 16)).await.unwrap().choice;
        if !matches!(choice, Choice::Nothing { .. }) {
            wrong.push(format!("{question}: {choice:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let before = planner.plan("did I add a task called \"Buy milk\"?", date(2026, 11, 16)).await.unwrap().choice;
    assert!(matches!(&before, Choice::Call { tool, .. } if tool == "list_tasks"), "{before:?}");
}

async fn planner() -> Planner {
    let id = json!({"task_id": {"type": "integer", "description": "The task's id"}});
    let status = json!({"status": {"type": "string", "enum": ["all", "pending", "completed"]}});
    let text = json!({"type": "string"});
    let written = json!({"title": text, "description": text});
    let file = json!({
        "command": {"type": "string", "enum": ["read_file", "write_file"]},
        "path": {"type": "string", "description": "Path of the file"},
        "content": {"type": "string", "description": "The text to write; `write_file` only, and needed there"},
    });
    let offers = [
        ("add_task", "Create a new task", Effect::Writes, &written, &["title"][..]),
        ("list_tasks", "List tasks by their status", Effect::ReadsLocal, &status, &[]),
        ("complete_task", "Mark a task as completed", Effect::Writes, &id, &["task_id"]),
        ("delete_task", "Remove a task for good", Effect::Destroys, &id, &["task_id"]),
        ("file-io", "Read from and write to files of the sandbox", Effect::Destroys, &file, &["command", "path"]),
    ];
    let offers = offers.map(|(name, description, effect, properties, required)| Offer {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({"type": "object", "properties": properties, "required": required}),
        effect,
        examples: Vec::new(),
    });
    Planner::new(offers.into(), Arc::new(Local::on_all_cores())).await.unwrap()
}
