//! Who waits for which answer. A request's id is also its progress token.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use countersign_contract::{Capability, Progress, ProgressUpdate, Severity, visible};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::CallFailure;
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

/// The caller that stands for everybody without a token. No token has this name.
pub(crate) const ANYBODY: &str = "anonymous";

#[derive(Default)]
pub(super) struct Waiting {
    /// For the log.
    server: String,
    requests: Mutex<HashMap<u64, Asked>>,
    users: Mutex<Users>,
    /// No answer comes any more.
    over: AtomicBool,
}

/// Who has ever asked something in this session.
#[derive(Default)]
enum Users {
    #[default]
    Nobody,
    One(Arc<str>),
    /// Or anybody: what is for one of them may be for another.
    Several,
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

impl Users {
    fn note(&mut self, caller: &Arc<str>) {
        match self {
            Self::Nobody if **caller != *ANYBODY => *self = Self::One(Arc::clone(caller)),
            Self::One(known) if known == caller => {}
            Self::Nobody | Self::One(_) | Self::Several => *self = Self::Several,
        }
    }
}

impl Waiting {
    pub(super) fn of(server: &str) -> Self {
        Self { server: server.to_owned(), ..Self::default() }
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
                self.users().note(caller);
            }
            requests.insert(id, asked);
        }
        possible
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
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
        // It may be about what somebody else asked before.
        if !matches!(came, Came::With(_)) && matches!(*self.users(), Users::Several) {
            let said: String = visible(&data.to_string()).chars().take(SAID_MAX).collect();
            tracing::debug!(server = self.server, ?severity, said, "a message for nobody in particular");
            return;
        }
        // Nobody waits for a client that is slow to listen.
        self.pass_on(came, Word::Message(severity, data));
    }

    /// Whether there is someone to ask. On stdio nobody said that a server may.
    pub(super) fn question(&self, message: &Message, came: Came) -> bool {
        if came == Came::Anyhow {
            return false;
        }
        let id = message.get("id").cloned().unwrap_or_default();
        let request = json!({"method": message.get("method"), "params": message.get("params")});
        self.pass_on(came, Word::Question { id, request })
    }

    /// To whoever asked what it came with; where that cannot be told, to the only one who asks anything.
    fn pass_on(&self, came: Came, word: Word) -> bool {
        let requests = self.lock();
        let asked = match came {
            Came::With(id) => requests.get(&id),
            Came::Anyhow | Came::Alone => requests.values().next().filter(|_| requests.len() == 1),
        };
        asked.is_some_and(|asked| asked.words.try_send(word).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use countersign_contract::Progress;
    use serde_json::{Value, json};
    use tokio::sync::mpsc;

    use super::{Asked, Waiting, Word};
    use crate::link::{Came, Message};

    fn said() -> Message {
        let message = json!({"method": "notifications/message", "params": {"level": "info", "data": "secret"}});
        let Value::Object(message) = message else { panic!() };
        message
    }

    /// Those of these requests that hear what the server says, after they were asked one after the other; each but the last
    /// has its answer by then.
    fn hear(callers: &[Option<&str>], came: Came) -> bool {
        let waiting = Waiting::of("toy");
        let mut last: Option<mpsc::Receiver<Word>> = None;
        for (id, caller) in (1..).zip(callers) {
            let (asked, _, words) = Asked::new(Progress::default(), caller.map(Into::into));
            assert!(waiting.insert(id, asked));
            waiting.lock().retain(|waits, _| *waits == id);
            last = Some(words);
        }
        waiting.message(&mut said(), came);
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
            for came in [Came::Anyhow, Came::Alone] {
                assert_eq!(hear(callers, came), heard, "{callers:?}");
            }
            let last = u64::try_from(callers.len()).unwrap();
            assert!(hear(callers, Came::With(last)), "what came with it is its own");
        }
    }
}
