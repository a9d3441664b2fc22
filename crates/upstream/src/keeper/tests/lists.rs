//! What a server offers, looked at again and again, and what is known of it meanwhile.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use countersign_contract::Provider as _;
use serde_json::json;

use super::{Fleet, ServerReport, ServerSpec, call, caller, fleet, legacy, on_one_thread, ready, report_when, tools};
use crate::admission::Verdict;
use crate::keeper::Event;
use crate::link::toy::{Answer, Asked, Toy};
use crate::spec::Reach;

/// Of the older era, with everything.
fn welcome(asked: &Asked) -> Answer {
    let capabilities = json!({"tools": {}, "resources": {}, "prompts": {}});
    let info = json!({"name": "toy", "version": "1"});
    let welcome = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info});
    Answer::result(asked, &welcome).in_session("one")
}

fn others(asked: &Asked) -> Option<Answer> {
    let list = match asked.method.as_str() {
        "resources/list" => json!({"resources": [{"uri": "toy://a", "name": "a"}]}),
        "resources/templates/list" => json!({"resourceTemplates": [{"uriTemplate": "toy://t/{x}", "name": "t"}]}),
        "prompts/list" => json!({"prompts": [{"name": "p"}]}),
        _ => return None,
    };
    Some(Answer::result(asked, &list))
}

fn offered(fleet: &Fleet) -> (usize, usize, usize) {
    (fleet.resources(&caller()).len(), fleet.templates(&caller()).len(), fleet.prompts(&caller()).len())
}

#[test]
fn a_list_that_fails_hides_no_other() {
    for (failing, left) in
        [("resources/list", (0, 1, 1)), ("resources/templates/list", (1, 0, 1)), ("prompts/list", (1, 1, 0))]
    {
        on_one_thread(async move {
            let fails = Rc::new(Cell::new(true));
            let failed = Rc::clone(&fails);
            let toy = Toy::start(0, move |asked| match asked.method.as_str() {
                "initialize" => welcome(asked),
                method if method == failing && failed.get() => Answer::json(500, &json!({"error": "oops"})),
                _ => others(asked).or_else(|| legacy(asked, "one")).unwrap(),
            });
            let toy = toy.await;
            let fleet = fleet(&toy);
            let report = report_when(&fleet, |report| report.error.is_some()).await;
            assert!(report.error.unwrap().contains("cannot be listed"), "{failing}");
            call(&fleet).await.unwrap();
            assert_eq!(offered(&fleet), left, "{failing}");
            fails.set(false);
            let report = report_when(&fleet, |report| report.error.is_none()).await;
            assert_eq!((offered(&fleet), report.restarts), ((1, 1, 1), 0), "{failing}");
        });
    }
}

/// What is there, and what is wrong with another, is not kept back by a third that never comes.
#[test]
fn a_list_that_never_comes_delays_no_other() {
    on_one_thread(async {
        let toy = Toy::start(0, |asked| match asked.method.as_str() {
            "initialize" => welcome(asked),
            "resources/templates/list" => Answer::never(),
            "resources/list" => Answer::json(500, &json!({"error": "oops"})),
            _ => others(asked).or_else(|| legacy(asked, "one")).unwrap(),
        });
        let toy = toy.await;
        let begun = Instant::now();
        let fleet = fleet(&toy);
        let report = report_when(&fleet, |report| report.error.is_some() && !fleet.prompts(&caller()).is_empty()).await;
        assert!(report.error.unwrap().starts_with("its resources cannot be listed"));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    });
}

/// Neither changes of the tools nor other rules wait for a list that never comes, nor whoever wants nothing but tools.
#[test]
fn a_list_that_never_comes_keeps_no_tool_back() {
    for silent in ["resources/list", "resources/templates/list", "prompts/list"] {
        on_one_thread(async move {
            let listed = Rc::new(Cell::new(0));
            let times = Rc::clone(&listed);
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            let toy = Toy::start(0, move |asked| match asked.method.as_str() {
                "initialize" => welcome(asked),
                "GET" => Answer::events(std::slice::from_ref(&changed)),
                "tools/list" => {
                    times.set(times.get() + 1);
                    Answer::result(asked, &tools(if times.get() < 2 { "Adds" } else { "Adds more" }))
                }
                method if method == silent => Answer::never(),
                _ => others(asked).or_else(|| legacy(asked, "one")).unwrap(),
            });
            let toy = toy.await;
            let begun = Instant::now();
            let fleet = fleet(&toy);
            fleet.settle_tools(Duration::from_secs(20)).await;
            assert_eq!(fleet.tools().len(), 1, "{silent}");
            report_when(&fleet, |report| described(report) == "Adds more").await;
            let reach = Reach::Http { url: toy.url(), headers: [].into() };
            let mut spec = ServerSpec::new("toy".parse().unwrap(), reach);
            spec.timeout = Some(Duration::from_secs(9));
            fleet.replace(vec![spec]);
            report_when(&fleet, |report| !described(report).is_empty()).await;
            call(&fleet).await.unwrap();
            assert!(begun.elapsed() < Duration::from_secs(5), "{silent}: {:?}", begun.elapsed());
        });
    }
}

/// Nor does any other list.
#[test]
fn a_change_is_seen_while_another_list_does_not_come() {
    on_one_thread(async {
        let listed = Rc::new(Cell::new(0));
        let times = Rc::clone(&listed);
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"});
        let toy = Toy::start(0, move |asked| match asked.method.as_str() {
            "initialize" => welcome(asked),
            "resources/list" => Answer::never(),
            "prompts/list" => {
                times.set(times.get() + 1);
                let list = json!({"prompts": vec![json!({"name": "p"}); times.get()]});
                let answer = json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": list});
                let news = if times.get() < 2 { vec![changed.clone(), answer] } else { vec![answer] };
                Answer::events(&news)
            }
            _ => others(asked).or_else(|| legacy(asked, "one")).unwrap(),
        });
        let toy = toy.await;
        let begun = Instant::now();
        let fleet = fleet(&toy);
        report_when(&fleet, |_| fleet.prompts(&caller()).len() == 2).await;
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    });
}

/// Whoever looks only once is told what cannot be had.
#[test]
fn a_server_is_tried_when_each_list_had_an_answer() {
    for failing in ["resources/list", "resources/templates/list", "prompts/list"] {
        on_one_thread(async move {
            let toy = Toy::start(0, move |asked| match asked.method.as_str() {
                "initialize" => welcome(asked),
                method if method == failing => {
                    let late = tokio::time::sleep(Duration::from_millis(300));
                    Answer::json(500, &json!({"error": "oops"})).after(late)
                }
                _ => others(asked).or_else(|| legacy(asked, "one")).unwrap(),
            });
            let toy = toy.await;
            let fleet = fleet(&toy);
            fleet.settle(Duration::from_secs(20)).await;
            let error = fleet.reports().remove(0).error;
            assert!(error.is_some_and(|error| error.contains("cannot be listed")), "{failing}");
            let all =
                [fleet.resources(&caller()).len(), fleet.templates(&caller()).len(), fleet.prompts(&caller()).len()];
            assert_eq!(all.iter().sum::<usize>(), 2, "{failing}");
        });
    }
}

/// What a server tells of resources that nobody watches would take the room of what is watched.
#[test]
fn news_of_what_nobody_watches_are_no_news() {
    on_one_thread(async {
        let updated =
            |uri: &str| json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}});
        let toy = Toy::start(0, move |asked| match asked.method.as_str() {
            "initialize" => welcome(asked),
            "resources/subscribe" => {
                let answer = json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": {}});
                let mut events = vec![updated("toy://b"); 100];
                events.extend([updated("toy://a"), answer]);
                Answer::events(&events)
            }
            _ => others(asked).or_else(|| legacy(asked, "one")).unwrap(),
        });
        let toy = toy.await;
        let fleet = fleet(&toy);
        report_when(&fleet, |_| !fleet.resources(&caller()).is_empty()).await;
        let mut events = fleet.events();
        let watching = fleet.watch(&caller(), "toy+toy://a").await.unwrap();
        assert_eq!(fleet.watched(), ["toy+toy://a"]);
        loop {
            if let Event::Resource(uri) = events.recv().await.unwrap() {
                assert_eq!(uri, "toy+toy://a");
                break;
            }
        }
        drop(watching);
        assert_eq!(fleet.watched(), [""; 0]);
    });
}

/// Nor does it take what was known away, or the calls that are under way.
#[test]
fn a_list_that_fails_later_ends_nothing() {
    on_one_thread(async {
        let (listed, fails) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(true)));
        let (times, failed) = (Rc::clone(&listed), Rc::clone(&fails));
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let toy = Toy::start(0, move |asked| match asked.method.as_str() {
            "GET" => Answer::events(std::slice::from_ref(&changed)),
            "tools/list" => {
                times.set(times.get() + 1);
                match times.get() {
                    1 => Answer::result(asked, &tools("Adds")),
                    _ if failed.get() => Answer::json(500, &json!({"error": "oops"})),
                    _ => Answer::result(asked, &tools("Adds more")),
                }
            }
            _ => legacy(asked, "one").unwrap(),
        });
        let toy = toy.await;
        let fleet = fleet(&toy);
        let report = report_when(&fleet, |report| report.error.is_some()).await;
        assert!(report.error.unwrap().contains("its tools cannot be listed again"));
        call(&fleet).await.unwrap();
        fails.set(false);
        let report = report_when(&fleet, |report| report.error.is_none() && described(report) == "Adds more").await;
        assert_eq!(report.restarts, 0);
    });
}

fn described(report: &ServerReport) -> &str {
    match report.judged.first().map(|judged| &judged.verdict) {
        Some(Verdict::Admitted { contract, .. }) => &contract.description,
        Some(Verdict::Refused(_) | Verdict::LeftOut) | None => "",
    }
}

#[test]
fn other_rules_start_no_server_anew() {
    on_one_thread(async {
        let greeted = Rc::new(Cell::new(0));
        let times = Rc::clone(&greeted);
        let toy = Toy::start(0, move |asked| {
            if asked.method == "initialize" {
                times.set(times.get() + 1);
            }
            legacy(asked, "one").unwrap()
        });
        let toy = toy.await;
        let fleet = fleet(&toy);
        ready(&fleet).await;
        let name = |fleet: &Fleet| fleet.tools().first().map(|tool| tool.contract().name.to_string());
        assert_eq!(name(&fleet).as_deref(), Some("toy__add"));
        let reach = Reach::Http { url: toy.url(), headers: [].into() };
        let mut spec = ServerSpec::new("toy".parse().unwrap(), reach);
        spec.tools.deny.insert("add".to_owned());
        fleet.replace(vec![spec.clone()]);
        // At once: what is forbidden must not wait for the server.
        assert_eq!(name(&fleet), None);
        report_when(&fleet, |report| matches!(report.judged.first().map(|tool| &tool.verdict), Some(Verdict::LeftOut)))
            .await;
        spec.tools.deny.clear();
        spec.tools.rename.insert("add".to_owned(), "sum".to_owned());
        fleet.replace(vec![spec]);
        report_when(&fleet, |report| !described(report).is_empty()).await;
        assert_eq!(name(&fleet).as_deref(), Some("toy__sum"));
        call(&fleet).await.unwrap();
        assert_eq!((greeted.get(), fleet.reports()[0].restarts), (1, 0));
    });
}

/// It says that its tools changed whenever they were looked at.
#[test]
fn who_always_changes_is_looked_at_less_and_less() {
    on_one_thread(async {
        let listed = Rc::new(Cell::new(0_usize));
        let times = Rc::clone(&listed);
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let toy = Toy::start(0, move |asked| match asked.method.as_str() {
            // Told with the answer, which is a stream then.
            "tools/list" => {
                times.set(times.get() + 1);
                let list = tools(&format!("Adds {}", times.get()));
                let answer = json!({"jsonrpc": "2.0", "id": asked.message["id"], "result": list});
                Answer::events(&[changed.clone(), answer])
            }
            _ => legacy(asked, "one").unwrap(),
        });
        let toy = toy.await;
        let fleet = fleet(&toy);
        ready(&fleet).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
        // After 0.4, 0.8 and 1.6 seconds.
        assert!((2..=5).contains(&listed.get()), "{}", listed.get());
    });
}
