use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use super::{ABOUT, Noted, PAUSE};
use crate::link::Came;
use crate::link::toy::{Answer, Asked, Toy};
use crate::session::{Session, Users, Watched, connect};
use crate::spec::{Reach, ServerSpec};

/// What a server takes to note a subscription.
const SLOWLY: Duration = Duration::from_millis(300);

/// Of the modern era, with lists that change and resources that can be watched.
fn modern(asked: &Asked, listen: impl FnOnce() -> Answer) -> Answer {
    match asked.method.as_str() {
        "server/discover" => {
            let capabilities = json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}});
            Answer::result(asked, &json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities}))
        }
        "subscriptions/listen" => listen(),
        _ => Answer::nothing(202),
    }
}

fn noted(asked: &Asked) -> Answer {
    let params = json!({"_meta": {ABOUT: asked.message["id"]}, "notifications": {}});
    let method = "notifications/subscriptions/acknowledged";
    Answer::events(&[json!({"jsonrpc": "2.0", "method": method, "params": params})])
}

fn watched(asked: &Asked) -> usize {
    let uris = &asked.message["params"]["notifications"]["resourceSubscriptions"];
    uris.as_array().map_or(0, Vec::len)
}

async fn connected(toy: &Toy, watched: &Watched) -> Session {
    let reach = Reach::Http { url: toy.url(), headers: [].into() };
    let (spec, tasks) = (ServerSpec::new("toy".parse().unwrap(), reach), TaskTracker::new());
    let session = connect(&spec, None, &Users::default(), &tasks).await.unwrap();
    session.follow(watched, &tasks);
    session
}

fn on_one_thread(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}

#[test]
fn a_note_is_about_the_subscription_that_it_names() {
    let about = |id: Value| json!({"_meta": {ABOUT: id}, "notifications": {}});
    for (params, came, is_meant) in [
        (about(json!(7)), Came::Anyhow, true),
        (about(json!("7")), Came::Anyhow, true),
        (about(json!(6)), Came::Anyhow, false),
        (about(json!("six")), Came::Anyhow, false),
        (json!({}), Came::Anyhow, true),
        (json!({}), Came::With(7), true),
        (json!({}), Came::With(6), false),
    ] {
        let noted = Noted::default();
        noted.expect(7);
        noted.hear(Some(&params), came);
        assert_eq!(noted.0.borrow().is_taken, is_meant, "{params} {came:?}");
        noted.expect(8);
        assert!(!noted.0.borrow().is_taken, "it says nothing of the next");
    }
}

/// A subscription as its server sees it: it works once the server has noted it, as long as anybody holds on to it.
struct Open {
    noted: Instant,
    held: Weak<()>,
    watched: usize,
}

/// The server takes its time, and meanwhile something else is to be watched.
#[test]
fn a_subscription_that_works_goes_on_until_another_does() {
    on_one_thread(async {
        let open: Rc<RefCell<Vec<Open>>> = Rc::default();
        let opened = Rc::clone(&open);
        let toy = Toy::start(0, move |asked| {
            modern(asked, || {
                let held = Rc::new(());
                let noted_at = Instant::now() + SLOWLY;
                let open = Open { noted: noted_at, held: Rc::downgrade(&held), watched: watched(asked) };
                opened.borrow_mut().push(open);
                noted(asked).after(tokio::time::sleep(SLOWLY)).holding(held)
            })
        });
        let toy = toy.await;
        let works = || {
            let open = open.borrow();
            let works = open.iter().filter(|open| open.noted <= Instant::now() && open.held.strong_count() > 0);
            works.map(|open| open.watched).max()
        };
        let wanted = Watched::default();
        let session = connected(&toy, &wanted).await;
        let step = Duration::from_millis(5);
        while works().is_none() {
            tokio::time::sleep(step).await;
        }
        let mut watching = Vec::new();
        for uri in ["a", "b", "c"] {
            watching.push(wanted.add(uri));
            for _ in 0..10 {
                assert!(works().is_some(), "{uri}");
                tokio::time::sleep(step).await;
            }
        }
        while works() != Some(3) {
            assert!(works().is_some(), "nobody hears of anything");
            tokio::time::sleep(step).await;
        }
        session.tells_of("c").await;
        assert_eq!(session.inner.told.borrow().len(), 3);
    });
}

/// It may have been busy, or want something else than what it was asked.
#[test]
fn who_refuses_a_subscription_for_now_is_asked_again() {
    // The number of the subscription that is refused.
    for (code, refused) in [(-32603, 1), (-32603, 2), (-32602, 2)] {
        on_one_thread(async move {
            let times = Rc::new(RefCell::new(0));
            let counted = Rc::clone(&times);
            let toy = Toy::start(0, move |asked| {
                modern(asked, || {
                    *counted.borrow_mut() += 1;
                    match *counted.borrow() {
                        number if number == refused => Answer::error(asked, 200, code),
                        1 => noted(asked).then_close(),
                        _ => noted(asked),
                    }
                })
            });
            let (toy, begun) = (toy.await, Instant::now());
            let session = connected(&toy, &Watched::default()).await;
            while *times.borrow() <= refused {
                assert!(begun.elapsed() < PAUSE * 5, "{code} {refused}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            // Whatever was missed is looked at.
            session.lists_changed().await;
        });
    }
}

#[test]
fn who_cannot_tell_of_something_is_not_asked_again_nor_waited_for() {
    for code in [-32601, -32602] {
        // All it can tell is how its lists change; or nothing at all.
        for at_all in [true, false] {
            on_one_thread(async move {
                let times: Rc<RefCell<Vec<usize>>> = Rc::default();
                let counted = Rc::clone(&times);
                let toy = Toy::start(0, move |asked| {
                    modern(asked, || {
                        counted.borrow_mut().push(watched(asked));
                        let can = at_all && watched(asked) == 0;
                        if can { noted(asked) } else { Answer::error(asked, 200, code) }
                    })
                });
                let (toy, wanted) = (toy.await, Watched::default());
                let _first = wanted.add("a");
                let session = connected(&toy, &wanted).await;
                let begun = Instant::now();
                let mut watching = Vec::new();
                for uri in ["a", "b", "c"] {
                    watching.push(wanted.add(uri));
                    session.tells_of(uri).await;
                }
                assert!(begun.elapsed() < Duration::from_secs(3), "{code} {at_all} {:?}", begun.elapsed());
                let told: BTreeSet<String> = ["a", "b", "c"].map(str::to_owned).into();
                assert_eq!(*session.inner.told.borrow(), told);
                // Before it is known what is to be watched, with that, and without it.
                assert!(times.borrow().len() <= 3 && times.borrow().last() == Some(&0), "{:?}", times.borrow());
            });
        }
    }
}
