use std::sync::Arc;

use countersign_contract::{BoxFuture, Effect};
use countersign_index::{EmbedError, Embedder};
use jiff::civil::date;
use serde_json::{Value, json};

use super::deed::Deed;
use super::lexicon::plain_words_for;
use super::question::Question;
use super::words::{StopWords, is_misspelt, stem, stems};
use super::{Candidate, Choice, Offer, Plan, Planner};

#[tokio::test]
async fn the_right_tool_is_called() {
    for (question, tool, arguments) in [
        ("add a task called Buy Milk", "add_task", json!({"title": "Buy Milk"})),
        ("add a task: water the plants", "add_task", json!({"title": "water the plants"})),
        ("show the pending tasks", "list_tasks", json!({"status": "pending"})),
        ("delete task 12", "delete_task", json!({"task_id": 12})),
        ("get rid of task 12", "delete_task", json!({"task_id": 12})),
        ("fetch https://example.org/a", "web__fetch", json!({"url": "https://example.org/a"})),
        ("use web__fetch on example.org/b", "web__fetch", json!({"url": "https://example.org/b"})),
        ("tick off, no, delete task 12", "delete_task", json!({"task_id": 12})),
        ("list tasks", "list_tasks", json!({})),
    ] {
        let Plan { choice, candidates } = plan(question).await;
        let Choice::Call { tool: called, arguments: given, .. } = &choice else { panic!("{question}: {choice:?}") };
        assert_eq!((called.as_str(), Value::from(given.clone())), (tool, arguments), "{question}");
        assert_eq!(candidates[0].tool, tool, "{question}");
    }
}

#[test]
fn what_is_asked_for() {
    for (question, deeds) in [
        ("add a task: delete the old bucket", "Create"),
        ("todo: review the change", "Create"),
        ("new best practice: review every change", "Create"),
        ("remind me to close the window", "Create"),
        ("take task 13 off the list", "Delete"),
        ("task 6 was a mistake, throw it away", "Delete"),
        ("the page is wrong: could you remove it?", "Delete"),
        ("this relation should be deleted", "Delete"),
        ("tick it off", "Complete"),
        ("I finished task 3", "Complete"),
        ("task 8 can be ticked off", "Complete"),
        ("record task 5 as done", "Complete"),
        ("un-add all files", "Undo"),
        ("the finished tasks", "Read"),
        ("commits since last week", "Read"),
        ("what was deleted?", "Read"),
        ("I'd like an overview of the tasks", "Read"),
        ("where is it used?", "Search"),
        ("git push /srv/app", "Transfer"),
        ("restart the server", "Operate"),
        ("run npm install", "Operate"),
        ("serach the notes", "Search"),
        ("git log /srv/app", "Read"),
        ("Ada gets another remark", "Create"),
        ("pls ad a task: call mom", "Create"),
        ("\"Call mom\" - task, please", "Create"),
        ("I must call mom, note that down", "Create"),
        ("commit history of /srv/app", "Read"),
        ("gimme the list", "Read"),
        ("go back to main", "Update"),
        ("run the regex a+ over it", "Search"),
    ] {
        let request = Question::new(question).request;
        let deed = Deed::ALL.iter().find(|deed| request.deeds.is_only(**deed));
        assert_eq!(deed.map(|deed| format!("{deed:?}")).as_deref(), Some(deeds), "{question}: {request:?}");
    }
}

#[test]
fn what_it_is_to_be_done_to() {
    for (question, object) in [
        ("remove the description from task 6", &["descript"][..]),
        ("open a new branch feature/x in /srv/app", &["branch"]),
        ("drop Vault from the graph", &[]),
        ("which tasks are done?", &["task"]),
    ] {
        let stems: Vec<String> = object.iter().map(|word| stem(word)).collect();
        let found = Question::new(question).request.object;
        assert!(found.iter().zip(&stems).all(|(found, stem)| found.starts_with(stem)), "{question}: {found:?}");
        assert_eq!(found.len(), stems.len(), "{question}: {found:?}");
    }
}

#[test]
fn what_is_not_asked_for() {
    for (question, deed) in [
        ("task 4 is not done", Deed::Complete),
        ("search it, stop at ten matches", Deed::Operate),
        ("commit HEAD~4 of /srv/app", Deed::Create),
        ("commits of /srv/app", Deed::Create),
    ] {
        let request = Question::new(question).request;
        assert!(!request.deeds.has(deed), "{question}: {request:?}");
    }
}

#[test]
fn phrases_have_plain_words() {
    for (question, plain) in [
        ("which files are modified in /srv/app?", "working tree status"),
        ("what have i not staged yet?", "unstaged changes"),
        ("is the repo clean?", "working tree status"),
        ("if it's 5 pm in oslo, what is it in rome?", "convert time between timezones"),
        ("the last three commits", "commit logs"),
        ("commit history of /srv/app", "commit logs"),
        ("the state of the repo", "working tree status"),
        ("continue on the existing branch x", "switches branches"),
        ("how does it differ from main?", "differences between branches or commits"),
    ] {
        assert!(plain_words_for(question).any(|found| found == plain), "{question}");
    }
    assert_eq!(plain_words_for("order a pizza").next(), None);
}

#[test]
fn what_is_misspelt() {
    for (one, other, expected) in [
        ("comit", "commit", true),
        ("brnach", "branch", true),
        ("statsu", "status", true),
        ("status", "status", true),
        ("state", "status", false),
        ("mask", "task", false),
    ] {
        assert_eq!(is_misspelt(one, other), expected, "{one} {other}");
    }
}

#[tokio::test]
async fn what_is_not_said_is_missing() {
    let choice = plan("delete the task").await.choice;
    let expected = Choice::Missing {
        tool: "delete_task".to_owned(),
        arguments: serde_json::Map::new(),
        parameters: vec!["task_id".to_owned()],
        why: "`delete_task` fits, but the question does not say `task_id`.".to_owned(),
    };
    assert_eq!(choice, expected);
    assert_eq!(serde_json::to_value(&choice).unwrap()["kind"], "missing");
}

#[tokio::test]
async fn nothing_is_called_that_does_not_fit() {
    for question in ["order a large pizza with extra cheese", "who wrote War and Peace?", "delete the page", ""] {
        let Plan { choice, candidates } = plan(question).await;
        assert!(matches!(choice, Choice::Nothing { .. }), "{question}: {choice:?}");
        assert_eq!(candidates.len(), 4, "the nearest are shown: {question}");
    }
    let nobody = Planner::new(Vec::new(), Arc::new(Words)).await.unwrap();
    let Plan { choice, candidates } = nobody.plan("anything", date(2026, 11, 16)).await.unwrap();
    assert_eq!((choice, candidates), (Choice::Nothing { why: "There is no tool to choose from.".to_owned() }, vec![]));
}

#[tokio::test]
async fn what_is_to_be_posted_is_not_fetched() {
    let choice = plan("post {\"a\": 1} to https://example.org/a").await.choice;
    assert!(!matches!(&choice, Choice::Call { tool, .. } if tool == "web__fetch"), "{choice:?}");
}

#[tokio::test]
async fn a_score_is_the_sum_of_its_parts() {
    for Candidate { score, parts, .. } in plan("delete task 12").await.candidates {
        let sum = parts.meaning + parts.words + parts.name + parts.verb + parts.arguments + parts.unused;
        assert!((score - sum).abs() < 1e-9, "{score} {parts:?}");
    }
}

async fn plan(question: &str) -> Plan {
    let task_id = json!({"type": "integer", "description": "Number of the task"});
    let status = json!({"type": "string", "enum": ["all", "pending", "completed"]});
    let offers = vec![
        offer("add_task", "Adds a task to the list", &json!({"title": {"type": "string"}}), &["title"]),
        offer("list_tasks", "Lists tasks by their status", &json!({"status": status}), &[]),
        offer("delete_task", "Deletes a task for good", &json!({"task_id": task_id}), &["task_id"]),
        offer("web__fetch", "Fetches a page of the web", &json!({"url": {"type": "string"}}), &["url"]),
    ];
    let planner = Planner::new(offers, Arc::new(Words)).await.unwrap();
    planner.plan(question, date(2026, 11, 16)).await.unwrap()
}

fn offer(name: &str, description: &str, properties: &Value, required: &[&str]) -> Offer {
    let input_schema = json!({"type": "object", "properties": properties, "required": required});
    let effect = Effect::Destroys;
    Offer { name: name.to_owned(), description: description.to_owned(), input_schema, effect, examples: Vec::new() }
}

/// Alike is what has the same words.
#[derive(Debug)]
struct Words;

impl Embedder for Words {
    fn model(&self) -> &'static str {
        "words"
    }

    fn dimensions(&self) -> Option<usize> {
        Some(256)
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        let vector = |text: &String| {
            let mut vector = vec![0.0; 256];
            for stem in stems(text, StopWords::Dropped) {
                let at = stem.bytes().fold(0_u8, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte));
                vector[usize::from(at)] += 1.0;
            }
            let length = vector.iter().map(|value: &f32| value * value).sum::<f32>().sqrt().max(1.0);
            vector.iter().map(|value| value / length).collect()
        };
        Box::pin(std::future::ready(Ok(texts.iter().map(vector).collect())))
    }
}
