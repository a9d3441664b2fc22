//! What a server offers, looked at again and again, and what is known of it meanwhile.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use countersign_contract::Provider as _;
use serde_json::json;

use super::{Fleet, ServerReport, ServerSpec, call, caller, fleet, legacy, on_one_thread, ready, report_when, tools};
use crate::admission::Verdict;
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
