//! Asking a server to tell what changes: in the modern era it says nothing that it was not asked to say, and is asked by
//! a request that stays open. One that works goes on until the server has taken note of the one in its place.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use countersign_contract::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::watched::NOTE_TIMEOUT;
use super::{CallFailure, Errand, Inner};
use crate::link::Came;

/// Before a server that ended a subscription is asked for it again; longer and longer where it refuses.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// A subscription is renewed now and then: a connection may be dead without anybody noticing.
const RENEWED_AFTER: Duration = Duration::from_mins(30);

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// In the parameters of what a server says of a subscription: the id of the request for it.
const ABOUT: &str = "io.modelcontextprotocol/subscriptionId";

/// Whether the server has taken note of the subscription that it was asked for last.
#[derive(Debug, Default)]
pub(super) struct Noted(watch::Sender<Note>);

#[derive(Debug, Default)]
struct Note {
    id: u64,
    is_taken: bool,
}

struct Subscriber {
    to_watch: watch::Receiver<BTreeSet<String>>,
    /// The subscription before this one.
    replaced: Option<Subscription>,
    /// Something may have changed that nobody was told of.
    missed: bool,
    asked: Telling,
    shown: Telling,
    /// Before it is asked again after the next refusal.
    pause: Duration,
}

type Subscription = BoxFuture<'static, Answer>;
type Answer = Result<Value, CallFailure>;

/// What a server can tell of: as long as it is not known, it is asked for everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Telling {
    Nothing,
    Lists,
    Everything,
}

impl Noted {
    fn expect(&self, id: u64) {
        self.0.send_replace(Note { id, is_taken: false });
    }

    /// What says that a server took note. Over HTTP it comes with the request; elsewhere a server that does not say which one
    /// it is about means the last.
    pub(super) fn hear(&self, params: Option<&Value>, came: Came) {
        let about = params.and_then(|params| params.get("_meta")?.get(ABOUT));
        self.0.send_if_modified(|note| {
            let is_meant = match (came, about) {
                (Came::With(id), _) => id == note.id,
                (Came::Anyhow | Came::Alone, Some(Value::String(id))) => *id == note.id.to_string(),
                (Came::Anyhow | Came::Alone, Some(id)) => *id == note.id,
                (Came::Anyhow | Came::Alone, None) => true,
            };
            is_meant && !std::mem::replace(&mut note.is_taken, true)
        });
    }

    async fn is_taken(&self) {
        drop(self.0.subscribe().wait_for(|note| note.is_taken).await);
    }
}

/// Until the session is over.
pub(super) async fn subscribe(session: Weak<Inner>) {
    let Some(to_watch) = session.upgrade().map(|session| session.to_watch.subscribe()) else { return };
    let (asked, shown) = (Telling::Everything, Telling::Nothing);
    let mut subscriber = Subscriber { to_watch, replaced: None, missed: false, asked, shown, pause: PAUSE };
    loop {
        let Some(session) = session.upgrade() else { return };
        let ended = session.ended.clone();
        let turn = async {
            let pause = subscriber.subscribe(&session).await;
            drop(session);
            subscriber.rest(pause).await;
        };
        if ended.run_until_cancelled(turn).await.is_none() {
            return;
        }
    }
}

impl Subscriber {
    /// Asks for what is wanted now, until that is over or something else is wanted. Answers how long to wait then.
    async fn subscribe(&mut self, session: &Arc<Inner>) -> Duration {
        let watched = self.to_watch.borrow_and_update().clone();
        if std::mem::take(&mut self.missed) {
            // Who answers now may be another, too.
            session.said.may_have_changed(&watched);
        }
        let wanted = session.wanted(self.asked, &watched);
        if self.asked < Telling::Everything || wanted.is_empty() {
            // It tells of none of them, and nobody has to wait for that.
            session.told.send_replace(watched.clone());
        }
        if wanted.is_empty() {
            self.replaced = None;
            // Its sender is there as long as the session.
            drop(self.to_watch.changed().await);
            return Duration::ZERO;
        }
        let answer = self.listen(session, wanted, &watched).await;
        if self.asked == Telling::Everything {
            // It was told, whatever it does about it.
            session.told.send_replace(watched.clone());
        }
        answer.map_or(Duration::ZERO, |answer| self.take(&answer, self.asked_with(&watched)))
    }

    fn asked_with(&self, watched: &BTreeSet<String>) -> Telling {
        if watched.is_empty() { self.asked.min(Telling::Lists) } else { self.asked }
    }

    /// Until there is an answer, or another subscription is needed.
    async fn listen(
        &mut self,
        session: &Arc<Inner>,
        wanted: Map<String, Value>,
        watched: &BTreeSet<String>,
    ) -> Option<Answer> {
        let mut subscription = open(Arc::clone(session), wanted);
        let (mut is_noted, mut is_late) = (false, false);
        let mut patience = pin!(tokio::time::sleep(NOTE_TIMEOUT));
        loop {
            // One that works is not given up for one of which nobody knows whether it does.
            let may_change = is_noted || is_late || self.replaced.is_none();
            tokio::select! {
                biased;
                () = session.said.noted.is_taken(), if !is_noted => {
                    is_noted = true;
                    self.begun(session, watched);
                }
                answer = &mut subscription => {
                    // Both may have come at once.
                    if !is_noted && session.said.noted.0.borrow().is_taken {
                        self.begun(session, watched);
                    }
                    return Some(answer);
                }
                () = over(&mut self.replaced) => (self.replaced, self.missed) = (None, true),
                () = &mut patience, if !is_noted && !is_late => {
                    is_late = true;
                    session.told.send_replace(watched.clone());
                }
                _ = self.to_watch.changed(), if may_change => {
                    if self.asked < Telling::Everything {
                        session.told.send_replace(self.to_watch.borrow_and_update().clone());
                        continue;
                    }
                    if is_noted || self.replaced.is_none() {
                        self.replaced = Some(subscription);
                    }
                    return None;
                }
            }
        }
    }

    /// The server has taken note of it.
    fn begun(&mut self, session: &Inner, watched: &BTreeSet<String>) {
        self.shown = self.shown.max(self.asked_with(watched));
        (self.replaced, self.pause) = (None, PAUSE);
        session.told.send_replace(watched.clone());
        if std::mem::take(&mut self.missed) {
            session.said.may_have_changed(watched);
        }
    }

    /// What an answer says: in how long to ask again, and for what. `asked` is what it answers.
    fn take(&mut self, answer: &Answer, asked: Telling) -> Duration {
        match answer {
            // It does not know how to tell of resources, or at all. One that did before has other reasons.
            Err(CallFailure::Refused { code: METHOD_NOT_FOUND | INVALID_PARAMS, .. }) if asked > self.shown => {
                self.asked = if asked == Telling::Everything { Telling::Lists } else { Telling::Nothing };
                Duration::ZERO
            }
            Err(CallFailure::Refused { .. }) => {
                self.missed = true;
                let longer = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
                std::mem::replace(&mut self.pause, longer)
            }
            // It was there for a while.
            Ok(_) | Err(CallFailure::Late(_)) => {
                self.shown = self.shown.max(asked);
                (self.missed, self.pause) = (true, PAUSE);
                PAUSE
            }
            Err(_) => {
                self.missed = true;
                PAUSE
            }
        }
    }

    /// What is there yet is still heard.
    async fn rest(&mut self, pause: Duration) {
        let mut pause = pin!(tokio::time::sleep(pause));
        loop {
            tokio::select! {
                () = &mut pause => return,
                () = over(&mut self.replaced) => (self.replaced, self.missed) = (None, true),
            }
        }
    }
}

fn open(session: Arc<Inner>, wanted: Map<String, Value>) -> Subscription {
    let params = Map::from_iter([("notifications".to_owned(), Value::Object(wanted))]);
    let id = session.new_id();
    session.said.noted.expect(id);
    Box::pin(async move { session.ask_as(id, "subscriptions/listen", params, RENEWED_AFTER, Errand::default()).await })
}

async fn over(subscription: &mut Option<Subscription>) {
    match subscription {
        Some(subscription) => drop(subscription.await),
        None => std::future::pending().await,
    }
}

impl Inner {
    /// What the server is to tell, of all that it can.
    fn wanted(&self, telling: Telling, watched: &BTreeSet<String>) -> Map<String, Value> {
        let mut wanted = Map::new();
        if telling >= Telling::Lists {
            for (capability, key) in [
                ("tools", "toolsListChanged"),
                ("prompts", "promptsListChanged"),
                ("resources", "resourcesListChanged"),
            ] {
                if self.server["capabilities"][capability]["listChanged"] == true {
                    wanted.insert(key.to_owned(), true.into());
                }
            }
        }
        if telling == Telling::Everything && !watched.is_empty() {
            wanted.insert("resourceSubscriptions".to_owned(), json!(watched));
        }
        wanted
    }
}

#[cfg(test)]
mod tests;
