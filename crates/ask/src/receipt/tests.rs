//! What a receipt proves: every byte counts, parts that were made to fit each other do not fit the rest, and a replay
//! says exactly what would be decided otherwise.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use countersign_contract::{Approval, Digest, RequestId, to_json};
use countersign_host::{Policy, Ruling};
use countersign_index::Local;
use jiff::civil::date;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    AskReceipt, Called, Claims, FORMAT, Here, Keeping, Kept, KeptText, Offered, PlannedBy, Receipt, ReceiptFile,
    ReceiptFlaw,
};
use crate::grounding::Grounded;
use crate::offers::{Described, Material};
use crate::planner::{Choice, Planner};

fn receipt(keeping: Keeping) -> AskReceipt {
    let text = json!({"type": "string"});
    let definition = json!({
        "name": "lookup", "title": "Lookup", "description": "Looks up a mill", "effect": "read",
        "inputSchema": {"type": "object", "properties": {"place": text}, "required": ["place"]},
        "outputSchema": {"type": "object", "properties": {"text": text}, "required": ["text"]},
    });
    let material =
        Material { tools: vec![Described { definition: definition.clone(), upstream: false, examples: vec![] }] };
    let arguments = json!({"place": "Aach"});
    let result = json!({"text": "The mill was built in 1712. Ünïcode — “quoted”."});
    let plan = Choice::Call {
        tool: "lookup".to_owned(),
        arguments: arguments.as_object().unwrap().clone(),
        why: "It fits.".to_owned(),
    };
    let quoted = "The mill was built in 1712.".to_owned();
    let shown = vec![Grounded { claim: quoted.clone(), evidence: quoted, pointer: "/text".to_owned() }];
    let ruling = Ruling { approval: Approval::Never, rate_per_minute: None, timeout_ms: None };
    let receipt = Receipt {
        format: FORMAT,
        id: serde_json::from_value(json!(Uuid::now_v7())).unwrap(),
        at: "2026-01-02T03:04:05Z".parse().unwrap(),
        caller: "local".to_owned(),
        wire: "cli".to_owned(),
        version: "0.1.0".to_owned(),
        query: Kept::value(&json!("the mill in Aach?"), keeping),
        planner: PlannedBy::Model { name: "m".to_owned() },
        material: material.digest(),
        plan: Kept::value(&json!(plan), keeping),
        supplied: None,
        call: Some(Called {
            request_id: RequestId::generate(),
            tool: "lookup".parse().unwrap(),
            contract: Digest::of_json(&definition),
            promised: ruling,
            ruling: Ruling { timeout_ms: Some(30_000), ..ruling },
            arguments: Kept::value(&arguments, keeping),
            outcome: "ok".to_owned(),
            result: KeptText::new(&to_json(&result), keeping),
        }),
        summary: Some(Kept::value(&json!(Claims { shown, dropped: vec![], failed: None }), keeping)),
    };
    AskReceipt { receipt, material }
}

/// Of a question that the embedded planner planned, with what was said when it asked back.
async fn embedded(query: &str, degrees: Value, said: &[(&str, Value)]) -> AskReceipt {
    let mut ask = receipt(Keeping::Content);
    let degrees = json!({"type": "number", "description": "How warm", "minimum": -0.0, "enum": [degrees, 999.5]});
    let definition = json!({
        "name": "heat_room", "title": "Heat", "description": "Heats a room", "effect": "write",
        "inputSchema": {"type": "object", "properties": {"degrees": degrees}, "required": ["degrees"]},
        "outputSchema": {"type": "object"},
    });
    let examples = vec![(json!({"degrees": 20.0}), json!({"degrees": -0.0}))];
    ask.material = Material { tools: vec![Described { definition, upstream: false, examples }] };
    let local = Arc::new(Local::on_all_cores());
    let planner = Planner::new(ask.material.offers(), local).await.unwrap();
    let choice = planner.plan(query, date(2026, 1, 2)).await.unwrap().choice;
    let said: Map<String, Value> = said.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    ask.receipt.planner = PlannedBy::Embedded { vectors: "v".to_owned() };
    ask.receipt.query = Kept::value(&json!(query), Keeping::Content);
    ask.receipt.material = ask.material.digest();
    ask.receipt.plan = Kept::value(&json!(choice.supplied(&said)), Keeping::Content);
    ask.receipt.supplied = (!said.is_empty()).then(|| Kept::value(&json!(said), Keeping::Content));
    (ask.receipt.call, ask.receipt.summary) = (None, None);
    ask
}

async fn steps(receipt: &ReceiptFile) -> Vec<super::Step> {
    let policy = Policy::default();
    let here = Here { local: Local::on_all_cores(), policy: &policy, offered: &|_| Offered::Unknown };
    receipt.replay(&here).await.unwrap()
}

fn file(receipt: AskReceipt) -> ReceiptFile {
    ReceiptFile::Ask(Box::new(receipt))
}

#[test]
fn a_receipt_reads_back_and_any_changed_byte_is_found() {
    for keeping in [Keeping::Content, Keeping::Digests] {
        let receipt = file(receipt(keeping));
        let text = receipt.to_text();
        assert_eq!(ReceiptFile::verify(text.as_bytes()).unwrap(), receipt);
        let bytes = text.as_bytes();
        // Every byte, each changed in two ways: more than any sample.
        let mut tried = 0;
        for at in 0..bytes.len() {
            for flip in [1 << (at % 8), 0x20] {
                let mut changed = bytes.to_vec();
                changed[at] ^= flip;
                assert!(ReceiptFile::verify(&changed).is_err(), "byte {at}: {}", String::from_utf8_lossy(&changed));
                tried += 1;
            }
            let without = [&bytes[..at], &bytes[at + 1..]].concat();
            assert!(ReceiptFile::verify(&without).is_err(), "without byte {at}");
        }
        assert!(tried >= 1000, "{tried}");
        let spaced = text.replacen(',', ", ", 1);
        assert!(matches!(ReceiptFile::verify(spaced.as_bytes()), Err(ReceiptFlaw::Rewritten)));
    }
}

/// Numbers of all kinds, as they are written: `20.0` is another text than `20`.
const NUMBERS: [&str; 9] = [
    "20.0",
    "-0.0",
    "0.1",
    "1e300",
    "1e16",
    "5e-324",
    "18446744073709551615",
    "-9223372036854775808",
    "0.30000000000000004",
];

#[test]
fn any_number_in_a_result_verifies() {
    for number in NUMBERS {
        let mut ask = receipt(Keeping::Content);
        let result: Value = serde_json::from_str(&format!(r#"{{"text":"{number}","value":{number}}}"#)).unwrap();
        let text = to_json(&result);
        let evidence = format!(r#""value":{}"#, result["value"]);
        let shown = vec![Grounded { claim: format!("value: {number}"), evidence, pointer: String::new() }];
        ask.receipt.call.as_mut().unwrap().result = KeptText::new(&text, Keeping::Content);
        ask.receipt.summary =
            Some(Kept::value(&json!(Claims { shown, dropped: vec![], failed: None }), Keeping::Content));
        let written = file(ask.clone()).to_text();
        let read = ReceiptFile::verify(written.as_bytes());
        assert_eq!(read, Ok(file(ask)), "{number}");
        let Ok(ReceiptFile::Ask(read)) = read else { panic!("a question's") };
        let result = read.receipt.call.unwrap().result;
        assert_eq!(result.content, Some(text.clone()), "{number}");
        assert_eq!(result.digest, Digest::of_bytes(text.as_bytes()), "as in the audit log");
    }
}

#[tokio::test]
async fn any_number_in_a_question_verifies_and_replays() {
    for number in NUMBERS {
        let ask = embedded(&format!("heat the room to {number}"), serde_json::from_str(number).unwrap(), &[]).await;
        let read = ReceiptFile::verify(file(ask).to_text().as_bytes()).unwrap();
        let steps = steps(&read).await;
        assert!(!steps.iter().any(super::Step::changed), "{number}: {steps:?}");
    }
}

#[tokio::test]
async fn what_was_supplied_verifies_and_replays() {
    for number in NUMBERS {
        let number: Value = serde_json::from_str(number).unwrap();
        let ask = embedded("heat the room", json!(1), &[("degrees", number.clone())]).await;
        let why = ask.receipt.plan.content.as_ref().unwrap()["why"].clone();
        assert_eq!(why, "`heat_room` fits; `degrees` was asked for.");
        let text = file(ask.clone()).to_text();
        let read = ReceiptFile::verify(text.as_bytes()).unwrap();
        assert_eq!(read.to_text(), text);
        let plan = steps(&read).await.remove(0);
        assert!(!plan.changed(), "{number}: {plan:?}");
        // Without a word on who said it, the question does not come to this plan.
        let without = AskReceipt { receipt: Receipt { supplied: None, ..ask.receipt.clone() }, ..ask.clone() };
        assert!(steps(&file(without)).await[0].changed());
        let mut other = ask;
        other.receipt.supplied = Some(Kept::value(&json!({"degrees": 12345}), Keeping::Content));
        let verified = ReceiptFile::verify(file(other).to_text().as_bytes());
        assert!(matches!(verified, Err(ReceiptFlaw::Contradiction(_))), "{verified:?}");
    }
}

#[test]
fn what_was_said_and_what_was_not() {
    let missing = |parameters: &[&str]| Choice::Missing {
        tool: "t".to_owned(),
        arguments: Map::new(),
        parameters: parameters.iter().map(|&name| name.to_owned()).collect(),
        why: "w".to_owned(),
    };
    let said = json!({"a": 1, "b": 2});
    let said = said.as_object().unwrap();
    let why = |choice: Choice| json!(choice.supplied(said))["why"].clone();
    assert_eq!(why(missing(&["a", "b"])), "`t` fits; `a` and `b` were asked for.");
    assert_eq!(why(missing(&["a", "c"])), "`t` fits; `a` was asked for, and nobody said `c`.");
    assert_eq!(missing(&["c"]).supplied(said), missing(&["c"]));
}

#[test]
fn content_is_kept_or_not() {
    let digests = file(receipt(Keeping::Digests)).to_text();
    for secret in ["Aach", "1712", "It fits", "the mill in"] {
        assert!(!digests.contains(secret), "{secret} in {digests}");
        assert!(file(receipt(Keeping::Content)).to_text().contains(secret));
    }
}

/// Whoever changes a part can compute the digest over all of it anew; the parts still have to fit.
#[test]
fn parts_that_do_not_fit_are_found_behind_a_fresh_digest() {
    let change = |path: &str, to: Value| {
        let mut value = json!(receipt(Keeping::Content));
        *value.pointer_mut(path).unwrap() = to;
        let changed: AskReceipt = serde_json::from_value(value).unwrap();
        ReceiptFile::verify(file(changed).to_text().as_bytes())
    };
    for (path, to) in [
        ("/receipt/query/content", json!("another question")),
        ("/receipt/plan/content/tool", json!("other")),
        ("/receipt/call/arguments/content/place", json!("Bach")),
        ("/receipt/call/result/content", json!(r#"{"text":"It was built in 1812."}"#)),
        ("/receipt/call/tool", json!("other")),
        ("/receipt/summary/content/shown/0/evidence", json!("never")),
        ("/material/tools/0/definition/description", json!("Deletes a mill")),
    ] {
        assert!(matches!(change(path, to), Err(ReceiptFlaw::Contradiction(_))), "{path}");
    }
    let future = change("/receipt/format", json!(FORMAT + 1));
    assert_eq!(future, Err(ReceiptFlaw::Newer(u64::from(FORMAT) + 1)));
}

type Change = Box<dyn Fn(&mut AskReceipt)>;

/// With fresh digests everywhere: parts that are each what their digest says, and of different questions.
#[test]
fn parts_of_different_questions_are_found_behind_fresh_digests() {
    let text = json!({"type": "string"});
    let other = json!({
        "name": "other", "title": "Other", "description": "Looks up a bridge", "effect": "read",
        "inputSchema": {"type": "object", "properties": {"place": text}}, "outputSchema": {"type": "object"},
    });
    let verify = |change: &dyn Fn(&mut AskReceipt)| {
        let mut ask = receipt(Keeping::Content);
        ask.material.tools.push(Described { definition: other.clone(), upstream: false, examples: vec![] });
        change(&mut ask);
        ask.receipt.material = ask.material.digest();
        ReceiptFile::verify(file(ask).to_text().as_bytes()).map(|_| ())
    };
    assert_eq!(verify(&|_| ()), Ok(()));
    let plan = |plan: Value| move |ask: &mut AskReceipt| ask.receipt.plan = Kept::value(&plan, Keeping::Content);
    let summary =
        |claims: Value| move |ask: &mut AskReceipt| ask.receipt.summary = Some(Kept::value(&claims, Keeping::Content));
    let call =
        |tool: &str, place: &str| json!({"kind": "call", "tool": tool, "arguments": {"place": place}, "why": "w"});
    let bullet = json!({"claim": "It was built.", "evidence": "The mill was built in 1712.", "pointer": "/text"});
    let changes: [(&str, Change); 12] = [
        ("the plan calls another tool", Box::new(plan(call("other", "Aach")))),
        ("the plan has another argument", Box::new(plan(call("lookup", "Bach")))),
        ("the plan has none", Box::new(plan(json!({"kind": "call", "tool": "lookup", "arguments": {}, "why": "w"})))),
        ("nothing was planned", Box::new(plan(json!({"kind": "nothing", "why": "w"})))),
        (
            "something was missing",
            Box::new(plan(
                json!({"kind": "missing", "tool": "lookup", "arguments": {}, "parameters": ["place"], "why": "w"}),
            )),
        ),
        ("the plan is none", Box::new(plan(json!({"kind": "dance"})))),
        (
            "the call is of another tool",
            Box::new(move |ask| {
                let call = ask.receipt.call.as_mut().unwrap();
                (call.tool, call.contract) =
                    ("other".parse().unwrap(), Digest::of_json(&ask.material.tools[1].definition));
            }),
        ),
        ("the call failed", Box::new(|ask| ask.receipt.call.as_mut().unwrap().outcome = "TIMEOUT".to_owned())),
        ("there was no call", Box::new(|ask| ask.receipt.call = None)),
        ("claims of a failed summary", Box::new(summary(json!({"shown": [bullet], "dropped": [], "failed": "f"})))),
        (
            "dropped ones, too",
            Box::new(summary(
                json!({"shown": [], "dropped": [{"claim": "c", "evidence": "e", "why": "w"}], "failed": "f"}),
            )),
        ),
        ("a summary that nobody reads", Box::new(summary(json!({"shown": [], "dropped": [], "more": []})))),
    ];
    for (what, change) in changes {
        let verified = verify(&change);
        assert!(matches!(verified, Err(ReceiptFlaw::Contradiction(_))), "{what}: {verified:?}");
    }
    // What says nothing of it does not contradict it.
    assert_eq!(verify(&|ask| ask.receipt.plan.content = None), Ok(()));
    assert_eq!(verify(&|ask| (ask.receipt.call, ask.receipt.summary) = (None, None)), Ok(()), "refused after the plan");
    assert_eq!(verify(&summary(json!({"shown": [], "dropped": [], "failed": "f"}))), Ok(()));
}

/// As the gate has them: trimmed, with declared defaults, whole numbers as integers.
#[test]
fn arguments_are_those_of_the_plan_as_the_contract_settles_them() {
    let definition = json!({
        "name": "lookup", "title": "Lookup", "description": "Looks up", "effect": "read",
        "inputSchema": {"type": "object", "properties": {
            "place": {"type": "string"}, "note": {"type": ["string", "null"]}, "limit": {"type": "integer", "default": 20.0},
            "within": {"type": "object", "properties": {"km": {"type": "integer"}, "all": {"default": false}}},
        }},
        "outputSchema": {"type": "object"},
    });
    let verify = |planned: Value, called: Value| {
        let mut ask = receipt(Keeping::Content);
        ask.material.tools[0].definition = definition.clone();
        ask.receipt.material = ask.material.digest();
        let plan = json!({"kind": "call", "tool": "lookup", "arguments": planned, "why": "w"});
        ask.receipt.plan = Kept::value(&plan, Keeping::Content);
        let call = ask.receipt.call.as_mut().unwrap();
        (call.contract, call.arguments) = (Digest::of_json(&definition), Kept::value(&called, Keeping::Content));
        ReceiptFile::verify(file(ask).to_text().as_bytes()).is_ok()
    };
    for (planned, called, fits) in [
        (json!({"place": "Aach"}), json!({"place": "Aach", "limit": 20}), true),
        (json!({"place": " Aach\n"}), json!({"place": "Aach", "limit": 20}), true),
        (json!({"place": " Aach"}), json!({"place": " Aach", "limit": 20}), true),
        (json!({"note": "  "}), json!({"note": null, "limit": 20}), true),
        (json!({"note": "  "}), json!({"note": "", "limit": 20}), true),
        (json!({"limit": 5.0, "within": {"km": 3.0}}), json!({"limit": 5, "within": {"km": 3, "all": false}}), true),
        (json!({"limit": 1e18}), json!({"limit": 1e18}), true),
        (json!({"place": "Aach"}), json!({"place": "Aach"}), false),
        (json!({"place": "Aach"}), json!({"place": "Aach", "limit": 21}), false),
        (json!({"place": "Aach"}), json!({"place": "aach", "limit": 20}), false),
        (json!({"place": "Aach"}), json!({"limit": 20}), false),
        (json!({"note": "so"}), json!({"note": null, "limit": 20}), false),
        (json!({"within": {"km": 3}}), json!({"within": {"km": 4, "all": false}, "limit": 20}), false),
        (json!({}), json!({"place": "Aach", "limit": 20}), false),
    ] {
        assert_eq!(verify(planned.clone(), called.clone()), fits, "{planned} as {called}");
    }
}

#[tokio::test]
async fn a_replay_shows_exactly_what_changed() {
    let receipt = file(receipt(Keeping::Content));
    let ReceiptFile::Ask(ask) = &receipt else { panic!("a question's") };
    let contract = ask.receipt.call.as_ref().unwrap().contract;
    let changed = async |policy: Policy, offered: Offered| {
        let offered = move |_: &_| offered;
        let here = Here { local: Local::on_all_cores(), policy: &policy, offered: &offered };
        let steps = receipt.replay(&here).await.unwrap();
        let changed = steps.into_iter().filter(super::Step::changed);
        changed.map(|step| (step.check, step.now.unwrap())).collect::<Vec<_>>()
    };
    let same = Policy::default();
    assert_eq!(changed(same.clone(), Offered::Yes(contract)).await, []);
    assert_eq!(changed(same.clone(), Offered::No).await, [("tool".to_owned(), "not offered".to_owned())]);
    let other = Digest::of_bytes(b"another contract");
    assert_eq!(changed(same.clone(), Offered::Yes(other)).await, [("contract".to_owned(), other.to_string())]);
    let lookup: countersign_contract::ToolName = "lookup".parse().unwrap();
    let stricter = Policy {
        approval: BTreeMap::from([(lookup.clone(), Approval::OutOfBand)]),
        rate_per_minute: BTreeMap::from([(lookup, 5)]),
        timeout: Duration::from_secs(10),
        ..same
    };
    let verdicts = changed(stricter, Offered::Yes(contract)).await;
    let checks: Vec<&str> = verdicts.iter().map(|(check, _)| check.as_str()).collect();
    assert_eq!(checks, ["approval", "rate limit", "time limit"], "{verdicts:?}");
}
