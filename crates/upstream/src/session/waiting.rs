//! Who waits for which answer. A request's id is also its progress token.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use countersign_contract::{Capability, Progress, ProgressUpdate, Severity};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::CallFailure;
use crate::link::{Came, Message};
use crate::texts;

/// Words that wait to be passed on; more are dropped.
const WORDS_KEPT: usize = 16;

/// Of what it says to refuse.
const REFUSAL_MAX: usize = 1000;

/// Of the versions that a server says it speaks.
const VERSIONS_MAX: usize = 10;

#[derive(Default)]
pub(super) struct Waiting {
    requests: Mutex<HashMap<u64, Asked>>,
    /// No answer comes any more.
    over: AtomicBool,
}

/// What is asked, as seen from where the answer arrives.
pub(super) struct Asked {
    answer: oneshot::Sender<Result<Value, CallFailure>>,
    words: mpsc::Sender<Word>,
    progress: Progress,
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
    pub(super) fn new(progress: Progress) -> (Self, Answered, mpsc::Receiver<Word>) {
        let (answer, answered) = oneshot::channel();
        let (words, said) = mpsc::channel(WORDS_KEPT);
        (Self { answer, words, progress }, answered, said)
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
    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<u64, Asked>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there can be an answer.
    pub(super) fn insert(&self, id: u64, asked: Asked) -> bool {
        let mut requests = self.lock();
        let possible = !self.over.load(Ordering::Relaxed);
        if possible {
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

    /// An answer counts once, and only for what was asked.
    pub(super) fn answer(&self, message: Message) {
        let id = message.get("id").and_then(Value::as_u64);
        let Some(asked) = id.and_then(|id| self.lock().remove(&id)) else {
            tracing::debug!("an answer to nothing that was asked");
            return;
        };
        // Whoever asked may be gone.
        drop(asked.answer.send(outcome(message)));
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
