//! Held calls in real databases, from several stores at once, and later than they should be.

use std::sync::Arc;

use countersign_contract::{
    ApprovalId, CallToApprove, Decider, Decision, Digest, HeldCall, HeldCalls as _, HeldState, NotDecided, RequestId,
    Standing,
};

use crate::db::testing::{Site, sites};
use crate::{Store, StoredCalls};

struct Bench {
    site: Site,
    stores: [Store; 2],
}

impl Bench {
    /// One on each kind of database.
    async fn each() -> Vec<Self> {
        let mut benches = Vec::new();
        for site in sites().await {
            let stores = [Store::open(&site.place).await.unwrap(), Store::open(&site.place).await.unwrap()];
            benches.push(Self { site, stores });
        }
        benches
    }

    fn held(&self, process: usize) -> StoredCalls {
        self.held_in("project", process)
    }

    fn held_in(&self, scope: &str, process: usize) -> StoredCalls {
        self.stores[process].held_calls(scope.into(), true)
    }

    async fn change(&self, statement: &str) {
        self.site.change(statement).await;
    }
}

fn call(arguments: &str) -> CallToApprove {
    CallToApprove {
        caller: "agent".into(),
        tool: "write".parse().unwrap(),
        scope: "project".into(),
        arguments: Digest::of_bytes(arguments.as_bytes()),
        contract: Digest::of_bytes(b"contract"),
        request_id: RequestId::generate(),
        preview: arguments.to_owned(),
    }
}

async fn wait(held: &StoredCalls, call: CallToApprove) -> ApprovalId {
    let standing = held.claim(call).await.unwrap();
    let Standing::Waiting(held) = standing else { panic!("{standing:?}") };
    held.id
}

#[tokio::test]
async fn an_approval_is_used_once_whichever_process_asks() {
    for bench in Bench::each().await {
        let id = wait(&bench.held(0), call("a")).await;
        assert_eq!(wait(&bench.held(1), call("a")).await, id, "the same call is held once");
        let decided = bench.held(1).decide(id, Decision::Approve, Decider::Owner).await.unwrap();
        assert_eq!((decided.state, decided.decided_by.as_deref()), (HeldState::Approved, Some("owner (cli)")));
        let claims = (0..20).map(|n| {
            let held = bench.held(n % 2);
            async move { matches!(held.claim(call("a")).await.unwrap(), Standing::Approved(used) if used == id) }
        });
        let approved = futures_util::future::join_all(claims).await;
        assert_eq!(approved.into_iter().filter(|approved| *approved).count(), 1);
        assert_eq!(bench.held(0).get(id).await.unwrap().map(|call| call.state), Some(HeldState::Used));
    }
}

#[tokio::test]
async fn an_approval_that_was_given_back_is_good_for_one_more_claim() {
    for bench in Bench::each().await {
        let held = bench.held(0);
        let id = wait(&held, call("a")).await;
        held.give_back(id).await.unwrap();
        assert_eq!(wait(&held, call("a")).await, id, "what nobody agreed to cannot be given back");
        held.decide(id, Decision::Approve, Decider::Owner).await.unwrap();
        for _ in 0..2 {
            assert_eq!(held.claim(call("a")).await.unwrap(), Standing::Approved(id));
            bench.held(1).give_back(id).await.unwrap();
        }
        assert_eq!(held.claim(call("a")).await.unwrap(), Standing::Approved(id));
        assert_ne!(wait(&held, call("a")).await, id);
    }
}

#[tokio::test]
async fn an_approval_is_bound_to_all_of_its_call() {
    for bench in Bench::each().await {
        let held = bench.held(0);
        let id = wait(&held, call("a")).await;
        held.decide(id, Decision::Approve, Decider::Approver("boss".into())).await.unwrap();
        for other in [
            call("b"),
            CallToApprove { caller: "other".into(), ..call("a") },
            CallToApprove { tool: "erase".parse().unwrap(), ..call("a") },
            CallToApprove { scope: "another project".into(), ..call("a") },
            CallToApprove { contract: Digest::of_bytes(b"changed"), ..call("a") },
        ] {
            assert_ne!(wait(&held, other).await, id);
        }
        assert_eq!(held.claim(call("a")).await.unwrap(), Standing::Approved(id));
        assert_eq!(held.waiting().await.unwrap().len(), 4);
    }
}

#[tokio::test]
async fn another_project_neither_sees_nor_decides() {
    for bench in Bench::each().await {
        let (held, other) = (bench.held(0), bench.held_in("another project", 1));
        let id = wait(&held, call("a")).await;
        let theirs = wait(&other, CallToApprove { scope: "another project".into(), ..call("a") }).await;
        let listed = |calls: Vec<HeldCall>| calls.into_iter().map(|call| call.id).collect::<Vec<_>>();
        assert_eq!(listed(held.waiting().await.unwrap()), [id]);
        assert_eq!(listed(other.waiting().await.unwrap()), [theirs]);
        assert_eq!(other.get(id).await.unwrap(), None);
        for decision in [Decision::Approve, Decision::Deny] {
            for decider in [Decider::Owner, Decider::Client, Decider::Approver("boss".into())] {
                assert_eq!(other.decide(id, decision, decider).await, Err(NotDecided::Unknown));
            }
        }
        assert_eq!(wait(&held, call("a")).await, id, "nothing was decided");
        held.decide(id, Decision::Approve, Decider::Owner).await.unwrap();
        assert_eq!(held.claim(call("a")).await.unwrap(), Standing::Approved(id));
    }
}

#[tokio::test]
async fn a_project_holds_so_many_calls_of_a_caller_whatever_others_hold() {
    for bench in Bench::each().await {
        let held = bench.held(0);
        for number in 0..64 {
            wait(&held, call(&number.to_string())).await;
        }
        assert_eq!(held.claim(call("64")).await.unwrap(), Standing::TooMany);
        let elsewhere = CallToApprove { scope: "another project".into(), ..call("64") };
        wait(&bench.held_in("another project", 0), elsewhere).await;
    }
}

#[tokio::test]
async fn what_is_over_is_over() {
    for bench in Bench::each().await {
        let held = bench.held(0);
        let pending = wait(&held, call("a")).await;
        bench.change("UPDATE approval SET expires_at = 1000").await;
        assert!(matches!(
            held.decide(pending, Decision::Approve, Decider::Owner).await,
            Err(NotDecided::NotPending(HeldState::Expired))
        ));
        assert_eq!(held.waiting().await.unwrap(), []);
        let approved = wait(&held, call("a")).await;
        assert_ne!(approved, pending);
        held.decide(approved, Decision::Approve, Decider::Owner).await.unwrap();
        bench.change("UPDATE approval SET expires_at = 1000 WHERE state = 'approved'").await;
        let third = wait(&held, call("a")).await;
        assert_ne!(third, approved, "an approval that nobody used in time is none");
        assert_eq!(held.get(pending).await.unwrap(), None, "old ones are forgotten");
        held.decide(third, Decision::Deny, Decider::Client).await.unwrap();
        assert!(matches!(held.claim(call("a")).await.unwrap(), Standing::Denied(call) if call.id == third));
        bench.change("UPDATE approval SET expires_at = 1000").await;
        wait(&held, call("a")).await;
    }
}

#[tokio::test]
async fn not_everybody_decides_and_not_about_everything() {
    for bench in Bench::each().await {
        let held = bench.held(0);
        let id = wait(&held, call("a")).await;
        let own = Decider::Approver(Arc::from("agent"));
        assert_eq!(held.decide(id, Decision::Approve, own).await, Err(NotDecided::OwnCall));
        let forged = ApprovalId::generate();
        assert_eq!(held.decide(forged, Decision::Approve, Decider::Owner).await, Err(NotDecided::Unknown));
        held.decide(id, Decision::Deny, Decider::Owner).await.unwrap();
        for decision in [Decision::Approve, Decision::Deny] {
            let again = held.decide(id, decision, Decider::Owner).await;
            assert!(matches!(again, Err(NotDecided::NotPending(_))), "{again:?}");
        }
    }
}

#[tokio::test]
async fn all_processes_share_a_key() {
    for bench in Bench::each().await {
        let key = bench.stores[0].shared_key("one").await.unwrap();
        assert_eq!((key.len(), bench.stores[1].shared_key("one").await.unwrap()), (32, key.clone()));
        assert_ne!(bench.stores[1].shared_key("other").await.unwrap(), key);
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_written_approves_nothing() {
    for bench in Bench::each().await {
        let held = bench.held(0);
        let id = wait(&held, call("a")).await;
        held.decide(id, Decision::Approve, Decider::Owner).await.unwrap();
        bench.change("ALTER TABLE approval RENAME COLUMN state TO elsewhere").await;
        assert!(held.claim(call("a")).await.is_err(), "what cannot be used up is not used");
        bench.change("ALTER TABLE approval RENAME COLUMN elsewhere TO state").await;
        assert_eq!(held.claim(call("a")).await.unwrap(), Standing::Approved(id));
    }
}
