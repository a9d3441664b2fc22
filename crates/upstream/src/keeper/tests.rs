mod callers;
mod lists;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_contract::{Access, CallContext, Caller, Client, Output, Progress, ToolError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Condition, ServerReport};
use crate::admission::{Level, Verdict};
use crate::fleet::Fleet;
use crate::link::toy::{Answer, Asked, Toy};
use crate::spec::{Reach, ServerSpec};

const PATIENCE: Duration = Duration::from_secs(20);

/// What a server of the older era says in this session, if it knows the one that is named. Everything else is `None`.
fn legacy(asked: &Asked, session: &str) -> Option<Answer> {
    match asked.method.as_str() {
        "server/discover" => return Some(Answer::error(asked, 200, -32601)),
        "initialize" => {
            let info = json!({"name": "toy", "version": "1"});
            let welcome = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info});
            return Some(Answer::result(asked, &welcome).in_session(session));
        }
        "GET" => return Some(Answer::nothing(405)),
        _ if asked.session.as_deref() != Some(session) => return None,
        "tools/list" => return Some(Answer::result(asked, &tools("Adds"))),
        "tools/call" => return Some(Answer::result(asked, &sum())),
        "ping" => return Some(Answer::result(asked, &json!({}))),
        _ => {}
    }
    Some(Answer::nothing(202))
}

fn tools(description: &str) -> Value {
    json!({"resultType": "complete", "tools": [{
        "name": "add",
        "description": description,
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]},
        "annotations": {"readOnlyHint": true},
    }]})
}

fn sum() -> Value {
    json!({"resultType": "complete", "content": [], "structuredContent": {"sum": 3}})
}

fn fleet(toy: &Toy) -> Fleet {
    let reach = Reach::Http { url: toy.url(), headers: [].into() };
    Fleet::start(vec![ServerSpec::new("toy".parse().unwrap(), reach)], Level::Strict)
}

fn caller() -> Caller {
    Caller { name: "ann".into(), access: Access::All, approver: false }
}

async fn call(fleet: &Fleet) -> Result<Output, ToolError> {
    let (cancelled, progress) = (CancellationToken::new(), Progress::default());
    let ctx = CallContext::new(Arc::new(caller()), PATIENCE, cancelled, progress, Client::default());
    fleet.tools()[0].call_json(&ctx, json!({})).await
}

async fn report_when(fleet: &Fleet, wanted: impl Fn(&ServerReport) -> bool) -> ServerReport {
    let begun = Instant::now();
    loop {
        let report = fleet.reports().remove(0);
        if wanted(&report) {
            return report;
        }
        assert!(begun.elapsed() < PATIENCE, "{report:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn ready(fleet: &Fleet) -> ServerReport {
    report_when(fleet, |report| report.condition == Condition::Ready).await
}

fn on_one_thread(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

#[test]
fn a_server_that_forgot_the_session_is_greeted_again() {
    let plain: fn(&Asked) -> Answer = |_| Answer::json(404, &json!({"error": "no such session"}));
    let of_nobody = |_: &Asked| Answer::json(404, &json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32001}}));
    let of_the_request = |asked: &Asked| Answer::error(asked, 404, -32001);
    let by_another_number = |asked: &Asked| Answer::error(asked, 404, -32000);
    let bad = |_: &Asked| Answer::json(400, &json!({"jsonrpc": "2.0", "id": "x", "error": {"code": -32000}}));
    for unknown in [plain, of_nobody, of_the_request, by_another_number, bad] {
        on_one_thread(async move {
            let session = Rc::new(RefCell::new("one"));
            let known = Rc::clone(&session);
            let toy = Toy::start(0, move |asked| legacy(asked, *known.borrow()).unwrap_or_else(|| unknown(asked)));
            let toy = toy.await;
            let fleet = fleet(&toy);
            ready(&fleet).await;
            call(&fleet).await.unwrap();
            *session.borrow_mut() = "two";
            assert!(call(&fleet).await.is_err());
            let gone = report_when(&fleet, |report| report.condition != Condition::Ready).await;
            assert!(gone.error.unwrap().contains("does not know the session"));
            assert_eq!(ready(&fleet).await.restarts, 1);
            call(&fleet).await.unwrap();
        });
    }
}

/// Whatever is wrong with one request is no reason to end what others have begun.
#[test]
fn a_request_that_fails_ends_no_session() {
    let refused: fn(&Asked) -> Answer = |asked| Answer::error(asked, 400, -32602);
    let unknown = |asked: &Asked| Answer::error(asked, 404, -32601);
    let not_there = |asked: &Asked| Answer::error(asked, 404, -32002);
    let unreadable = |_: &Asked| Answer::json(400, &json!({"error": "bad arguments"}));
    let broken = |_: &Asked| Answer::json(500, &json!({"error": "oops"}));
    let closed = |_: &Asked| Answer::never().then_close();
    for failing in [refused, unknown, not_there, unreadable, broken, closed] {
        on_one_thread(async move {
            let fails = Rc::new(Cell::new(true));
            let failed = Rc::clone(&fails);
            let toy = Toy::start(0, move |asked| match asked.method.as_str() {
                "tools/call" if failed.get() => failing(asked),
                _ => legacy(asked, "one").unwrap(),
            });
            let toy = toy.await;
            let fleet = fleet(&toy);
            ready(&fleet).await;
            for _ in 0..5 {
                assert!(call(&fleet).await.is_err());
            }
            fails.set(false);
            call(&fleet).await.unwrap();
            assert_eq!(fleet.reports()[0].restarts, 0);
        });
    }
}

#[test]
fn a_server_where_nobody_is_any_more_is_not_ready() {
    on_one_thread(async {
        let toy = Toy::start(0, |asked| legacy(asked, "one").unwrap()).await;
        let (fleet, port) = (fleet(&toy), toy.port);
        ready(&fleet).await;
        drop(toy);
        // What it had open is closed with it.
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(call(&fleet).await.is_err());
        let gone = report_when(&fleet, |report| report.condition == Condition::Waiting).await;
        assert!(gone.error.unwrap().contains("refused"));
        let _toy = Toy::start(port, |asked| legacy(asked, "two").unwrap()).await;
        ready(&fleet).await;
        call(&fleet).await.unwrap();
    });
}

/// In between it may have become another.
#[test]
fn what_a_server_has_is_looked_at_again_when_it_was_not_listened_to() {
    on_one_thread(async {
        let listened = Rc::new(Cell::new(0));
        let times = Rc::clone(&listened);
        let toy = Toy::start(0, move |asked| match asked.method.as_str() {
            "server/discover" => {
                let capabilities = json!({"tools": {"listChanged": true}});
                let found = json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities});
                Answer::result(asked, &found)
            }
            "subscriptions/listen" => {
                times.set(times.get() + 1);
                if times.get() == 1 { Answer::events(&[]).then_close() } else { Answer::events(&[]) }
            }
            "tools/list" => Answer::result(asked, &tools(if times.get() < 2 { "Adds" } else { "Adds more" })),
            _ => Answer::result(asked, &sum()),
        });
        let toy = toy.await;
        let fleet = fleet(&toy);
        let described = |report: &ServerReport| match report.judged.first().map(|judged| judged.verdict.clone()) {
            Some(Verdict::Admitted { contract, .. }) => contract.description.clone(),
            Some(Verdict::Refused(_) | Verdict::LeftOut) | None => String::new(),
        };
        let now = report_when(&fleet, |report| described(report) == "Adds more").await;
        assert_eq!((now.restarts, listened.get()), (0, 2));
    });
}

/// What nobody waits for must not take what others need.
#[test]
fn a_server_that_takes_no_answers_gets_few_of_them() {
    on_one_thread(async {
        let pings: Vec<Value> = (0..400).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).collect();
        let toy = Toy::start(0, move |asked| match asked.method.as_str() {
            "GET" => Answer::events(&pings),
            "" => Answer::never(),
            _ => legacy(asked, "one").unwrap(),
        });
        let toy = toy.await;
        let fleet = fleet(&toy);
        ready(&fleet).await;
        for _ in 0..20 {
            call(&fleet).await.unwrap();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(toy.open.get().1 <= 12, "{:?}", toy.open.get());
    });
}

#[test]
fn an_answer_that_is_not_taken_is_given_up() {
    on_one_thread(async {
        let asks = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let toy = Toy::start(0, move |asked| match asked.method.as_str() {
            "GET" => Answer::events(std::slice::from_ref(&asks)),
            "" => Answer::never(),
            _ => legacy(asked, "one").unwrap(),
        });
        let toy = toy.await;
        let fleet = fleet(&toy);
        ready(&fleet).await;
        let begun = Instant::now();
        while toy.open.get().0 < 3 {
            assert!(begun.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        while toy.open.get().0 == 3 {
            assert!(begun.elapsed() < PATIENCE, "{:?}", toy.open.get());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

#[test]
fn a_list_does_not_grow_from_page_to_page_without_an_end() {
    for (page, pages, fits) in [(5 * 1024 * 1024, 3, true), (5 * 1024 * 1024, 4, false), (7, 60, false)] {
        on_one_thread(async move {
            let listed = Cell::new(0);
            let toy = Toy::start(0, move |asked| {
                if asked.method != "tools/list" {
                    return legacy(asked, "one").unwrap();
                }
                listed.set(listed.get() % pages + 1);
                let mut list = tools("Adds");
                list["tools"][0]["name"] = format!("add{}", listed.get()).into();
                list["tools"][0]["_meta"] = json!({"x": "y".repeat(page)});
                if listed.get() < pages {
                    list["nextCursor"] = "more".into();
                }
                Answer::result(asked, &list)
            });
            let toy = toy.await;
            let fleet = fleet(&toy);
            let report = report_when(&fleet, |report| report.condition != Condition::Connecting).await;
            assert_eq!(report.condition == Condition::Ready, fits, "{page} {pages} {:?}", report.error);
        });
    }
}
