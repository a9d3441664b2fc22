//! Who waits for which answer. A request's id is also its progress token.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_contract::{Capability, Progress, ProgressUpdate, Severity, visible};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::CallFailure;
use super::users::Users;
use crate::link::{Came, Message};
use crate::texts;

/// Words that wait to be passed on; more are dropped.
const WORDS_KEPT: usize = 16;

/// Of what it says to refuse.
const REFUSAL_MAX: usize = 1000;

/// Of a message that goes to the log.
const SAID_MAX: usize = 200;

/// Of the versions that a server says it speaks.
const VERSIONS_MAX: usize = 10;

#[derive(Default)]
pub(super) struct Waiting {
    /// For the log.
    server: String,
    requests: Mutex<HashMap<u64, Asked>>,
    users: Users,
    /// No answer comes any more.
    over: AtomicBool,
}

/// What is asked, as seen from where the answer arrives.
pub(super) struct Asked {
    answer: oneshot::Sender<Result<Value, CallFailure>>,
    words: mpsc::Sender<Word>,
    progress: Progress,
    /// On whose behalf; without one, on ours.
    caller: Option<Arc<str>>,
}

/// What a server says or asks while it works on something.
pub(super) enum Word {
    Message(Severity, Value),
    /// In the older era, a request of its own.
    Question {
        id: Value,
        request: Value,
    },
}

type Answered = oneshot::Receiver<Result<Value, CallFailure>>;

impl Asked {
    pub(super) fn new(progress: Progress, caller: Option<Arc<str>>) -> (Self, Answered, mpsc::Receiver<Word>) {
        let (answer, answered) = oneshot::channel();
        let (words, said) = mpsc::channel(WORDS_KEPT);
        (Self { answer, words, progress, caller }, answered, said)
    }
}

/// What an answer says.
pub(super) fn outcome(mut message: Message) -> Result<Value, CallFailure> {
    match message.get("error") {
        Some(error) => Err(refusal(error)),
        None => message.remove("result").ok_or(CallFailure::Garbled("neither result nor error")),
    }
}

/// What an error of JSON-RPC says.
fn refusal(error: &Value) -> CallFailure {
    const MISSING_CAPABILITY: i64 = -32021;
    const UNSUPPORTED_VERSION: i64 = -32022;
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    let data = error.get("data").unwrap_or(&Value::Null);
    match (code, needed(&data["requiredCapabilities"])) {
        (MISSING_CAPABILITY, Some(capability)) => CallFailure::NeedsCapability(capability),
        (UNSUPPORTED_VERSION, _) => {
            let versions = data["supported"].as_array().into_iter().flatten().filter_map(Value::as_str);
            CallFailure::OtherVersion(versions.take(VERSIONS_MAX).map(texts::cleaned).collect())
        }
        (code, _) => {
            let text = error.get("message").and_then(Value::as_str).unwrap_or_default();
            let text: String = text.chars().take(REFUSAL_MAX).collect();
            CallFailure::Refused { code, message: texts::cleaned(&text) }
        }
    }
}

/// What a client has to be able to do.
fn needed(required: &Value) -> Option<Capability> {
    let known =
        [("elicitation", Capability::Elicitation), ("sampling", Capability::Sampling), ("roots", Capability::Roots)];
    known.into_iter().find_map(|(name, capability)| required.get(name).map(|_| capability))
}

impl Waiting {
    pub(super) fn of(server: &str, users: Users) -> Self {
        Self { server: server.to_owned(), users, ..Self::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<u64, Asked>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there can be an answer.
    pub(super) fn insert(&self, id: u64, asked: Asked) -> bool {
        let mut requests = self.lock();
        let possible = !self.over.load(Ordering::Relaxed);
        if possible {
            if let Some(caller) = &asked.caller {
                self.users.note(caller);
            }
            requests.insert(id, asked);
        }
        possible
    }

    /// Nobody waits any more.
    pub(super) fn end(&self) {
        let mut requests = self.lock();
        self.over.store(true, Ordering::Relaxed);
        requests.clear();
    }

    /// Whether it answers something: it counts once, and only for what was asked.
    pub(super) fn answer(&self, message: Message) -> bool {
        let id = message.get("id").and_then(Value::as_u64);
        let Some(asked) = id.and_then(|id| self.lock().remove(&id)) else {
            tracing::debug!("an answer to nothing that was asked");
            return false;
        };
        // Whoever asked may be gone.
        drop(asked.answer.send(outcome(message)));
        true
    }

    pub(super) fn progress(&self, params: &Value) {
        let number = |key: &str| params.get(key).and_then(Value::as_f64);
        let token = params.get("progressToken").and_then(Value::as_u64);
        let Some((token, done)) = token.zip(number("progress")) else { return };
        let Some(progress) = self.lock().get(&token).map(|asked| asked.progress.clone()) else { return };
        let message = params.get("message").and_then(Value::as_str).map(texts::cleaned);
        progress.report(ProgressUpdate { done, total: number("total"), message });
    }

    pub(super) fn message(&self, message: &mut Message, came: Came) {
        let Some(mut params) = message.remove("params") else { return };
        let severity = match params.get("level").and_then(Value::as_str) {
            Some("debug") => Severity::Debug,
            Some("info" | "notice") => Severity::Info,
            Some("warning") => Severity::Warning,
            Some("error" | "critical" | "alert" | "emergency") => Severity::Error,
            Some(_) | None => return,
        };
        let mut data = params.get_mut("data").map(Value::take).unwrap_or_default();
        texts::clean(&mut data);
        if self.may_be_anothers(came) {
            let said: String = visible(&data.to_string()).chars().take(SAID_MAX).collect();
            tracing::debug!(server = self.server, ?severity, said, "a message for nobody in particular");
            return;
        }
        // Nobody waits for a client that is slow to listen.
        self.pass_on(came, Word::Message(severity, data));
    }

    /// Whether there is someone to ask. On stdio nobody said that a server may.
    pub(super) fn question(&self, message: &Message, came: Came) -> bool {
        if came == Came::Anyhow || self.may_be_anothers(came) {
            return false;
        }
        let id = message.get("id").cloned().unwrap_or_default();
        let request = json!({"method": message.get("method"), "params": message.get("params")});
        self.pass_on(came, Word::Question { id, request })
    }

    /// Whether it may be about what somebody else asked before.
    fn may_be_anothers(&self, came: Came) -> bool {
        match came {
            Came::With(_) => false,
            Came::Anyhow | Came::Alone => self.users.are_several(),
        }
    }

    /// To whoever asked what it came with; where that cannot be told, to the only one who asks anything.
    fn pass_on(&self, came: Came, word: Word) -> bool {
        let requests = self.lock();
        let asked = match came {
            Came::With(id) => requests.get(&id),
            Came::Anyhow | Came::Alone => {
                // What we ask ourselves, such as a subscription that stays open, is on nobody's behalf.
                let mut callers = requests.values().filter(|asked| asked.caller.is_some());
                callers.next().filter(|_| callers.next().is_none())
            }
        };
        asked.is_some_and(|asked| asked.words.try_send(word).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use countersign_contract::Progress;
    use serde_json::{Value, json};
    use tokio::sync::mpsc;

    use super::{Asked, Users, Waiting, Word};
    use crate::link::{Came, Message};

    fn message(message: Value) -> Message {
        let Value::Object(message) = message else { panic!() };
        message
    }

    fn says(waiting: &Waiting, came: Came) {
        let said = json!({"method": "notifications/message", "params": {"level": "info", "data": "secret"}});
        waiting.message(&mut message(said), came);
    }

    fn asks(waiting: &Waiting, came: Came) {
        let question = json!({"id": "q", "method": "elicitation/create", "params": {"message": "secret"}});
        waiting.question(&message(question), came);
    }

    fn begin(waiting: &Waiting, id: u64, caller: Option<&str>) -> mpsc::Receiver<Word> {
        let (asked, _, words) = Asked::new(Progress::default(), caller.map(Into::into));
        assert!(waiting.insert(id, asked));
        words
    }

    /// Those of these requests that hear what the server says, after they were asked one after the other; each but the last
    /// has its answer by then.
    fn hear(callers: &[Option<&str>], says: fn(&Waiting, Came), came: Came) -> bool {
        let waiting = Waiting::of("toy", Users::default());
        let mut last: Option<mpsc::Receiver<Word>> = None;
        for (id, caller) in (1..).zip(callers) {
            last = Some(begin(&waiting, id, *caller));
            waiting.lock().retain(|waits, _| *waits == id);
        }
        says(&waiting, came);
        last.unwrap().try_recv().is_ok()
    }

    #[test]
    fn what_may_be_about_another_callers_call_is_told_to_nobody() {
        for (callers, heard) in [
            (&[Some("ann")][..], true),
            (&[Some("ann"), Some("ann")], true),
            (&[None, Some("ann")], true),
            (&[Some("ann"), Some("bob")], false),
            (&[Some("ann"), Some("bob"), Some("bob")], false),
            // Who that is, nobody knows.
            (&[Some("anonymous")], false),
            (&[Some("anonymous"), Some("ann")], false),
        ] {
            assert_eq!(hear(callers, says, Came::Anyhow), heard, "{callers:?}");
            assert!(!hear(callers, asks, Came::Anyhow), "nobody said that it may");
            let last = u64::try_from(callers.len()).unwrap();
            for say in [says, asks] {
                assert_eq!(hear(callers, say, Came::Alone), heard, "{callers:?}");
                assert!(hear(callers, say, Came::With(last)), "what came with it is its own");
            }
        }
    }

    #[test]
    fn who_used_the_server_before_counts_in_the_next_session() {
        let users = Users::default();
        drop(begin(&Waiting::of("toy", users.clone()), 1, Some("ann")));
        for (caller, heard) in [("ann", true), ("bob", false)] {
            for say in [says, asks] {
                let waiting = Waiting::of("toy", users.clone());
                let mut words = begin(&waiting, 1, Some(caller));
                say(&waiting, Came::Alone);
                assert_eq!(words.try_recv().is_ok(), heard, "{caller}");
            }
        }
    }

    /// In the modern era a subscription is always open.
    #[test]
    fn what_we_ask_ourselves_keeps_nothing_from_a_caller() {
        let waiting = Waiting::of("toy", Users::default());
        let (mut ours, mut first) = (begin(&waiting, 1, None), begin(&waiting, 2, Some("ann")));
        says(&waiting, Came::Anyhow);
        assert!(first.try_recv().is_ok() && ours.try_recv().is_err());
        let mut second = begin(&waiting, 3, Some("ann"));
        says(&waiting, Came::Anyhow);
        assert!([&mut ours, &mut first, &mut second].into_iter().all(|words| words.try_recv().is_err()));
    }
}
