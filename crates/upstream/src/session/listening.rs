//! What comes from a server beside the answers to what was asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::waiting::Waiting;
use super::{Inner, Said};
use crate::link::{Came, Listener, Message};

/// Beside answers to what was asked.
const MESSAGES_A_SECOND: u32 = 500;
const SECOND: Duration = Duration::from_secs(1);

/// What is done with what comes.
pub(super) struct Ears {
    pub(super) waiting: Arc<Waiting>,
    pub(super) said: Arc<Said>,
    pub(super) replies: mpsc::Sender<Message>,
    pub(super) flood: Mutex<Flood>,
}

impl Listener for Ears {
    fn hear(&self, mut message: Message, came: Came) -> Option<Instant> {
        let method = message.get("method").and_then(Value::as_str);
        let pause = method.and_then(|_| self.flood().pause(1));
        match (method, message.get("id")) {
            (None, _) => {
                let answers = self.waiting.answer(message);
                return (!answers).then(|| self.flood().pause(1)).flatten();
            }
            (Some("elicitation/create"), Some(_)) if self.waiting.question(&message, came) => {}
            (Some(method), Some(id)) if !id.is_null() => {
                let answer = match method {
                    "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                    "elicitation/create" => json!({"jsonrpc": "2.0", "id": id, "result": {"action": "cancel"}}),
                    _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}),
                };
                if let Value::Object(answer) = answer {
                    // A server that asks faster than it reads the answers gets fewer of them.
                    drop(self.replies.try_send(answer));
                }
            }
            (Some("notifications/progress"), _) => self.waiting.progress(message.get("params").unwrap_or(&Value::Null)),
            (Some("notifications/message"), _) => self.waiting.message(&mut message, came),
            (Some("notifications/resources/updated"), _) => {
                let uri = message.get("params").and_then(|params| params.get("uri")).and_then(Value::as_str);
                if let Some(uri) = uri {
                    self.said.has_changed(uri.to_owned());
                }
            }
            (Some("notifications/subscriptions/acknowledged"), _) => self.said.noted.hear(message.get("params"), came),
            (Some(method), _) if method.ends_with("/list_changed") => self.said.lists_changed.notify_one(),
            (Some(_), _) => {}
        }
        pause
    }

    fn hear_nothing(&self, lines: u32) -> Option<Instant> {
        if lines == 0 { None } else { self.flood().pause(lines) }
    }
}

impl Ears {
    fn flood(&self) -> MutexGuard<'_, Flood> {
        self.flood.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the server says of its own accord, asks, or says for nobody, in the current second.
pub(super) struct Flood {
    since: Instant,
    messages: u32,
}

impl Default for Flood {
    fn default() -> Self {
        Self { since: Instant::now(), messages: 0 }
    }
}

impl Flood {
    /// A server that never stops talking is listened to now and then.
    fn pause(&mut self, messages: u32) -> Option<Instant> {
        if self.since.elapsed() >= SECOND {
            (self.since, self.messages) = (Instant::now(), 0);
        }
        self.messages = self.messages.saturating_add(messages);
        (self.messages > MESSAGES_A_SECOND).then(|| self.since + SECOND)
    }
}

/// A server that does not read must not keep its session from ending.
pub(super) async fn reply(session: Weak<Inner>, mut replies: mpsc::Receiver<Message>) {
    while let Some(message) = replies.recv().await {
        let Some(session) = session.upgrade() else { return };
        tokio::select! {
            // Whoever does not take it may take the next.
            sent = session.link.send(message) => drop(sent),
            () = session.ended.cancelled() => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use tokio::sync::{Notify, mpsc};

    use super::{Ears, Flood, MESSAGES_A_SECOND};
    use crate::link::{Came, Listener as _, Message};
    use crate::session::Said;
    use crate::session::subscribing::Noted;

    fn ears() -> Ears {
        let (updated, updates) = mpsc::channel(1);
        let (lists_changed, noted) = (Notify::new(), Noted::default());
        let said = Arc::new(Said { lists_changed, updated, updates: updates.into(), noted });
        let (replies, _) = mpsc::channel(1);
        Ears { waiting: Arc::default(), said, replies, flood: Flood::default().into() }
    }

    fn message(message: Value) -> Message {
        let Value::Object(message) = message else { panic!() };
        message
    }

    #[test]
    fn who_says_nothing_all_the_time_is_listened_to_now_and_then() {
        let unasked = |ears: &Ears| {
            let answer = json!({"jsonrpc": "2.0", "id": 999_999, "result": {}});
            ears.hear(message(answer), Came::Anyhow)
        };
        let blank = |ears: &Ears| ears.hear_nothing(1);
        let pings = |ears: &Ears| ears.hear(message(json!({"id": 1, "method": "ping"})), Came::Anyhow);
        for say in [unasked as fn(&Ears) -> _, blank, pings] {
            let ears = ears();
            for _ in 0..MESSAGES_A_SECOND {
                assert!(say(&ears).is_none());
            }
            assert!(say(&ears).is_some());
        }
        assert!(ears().hear_nothing(10 * MESSAGES_A_SECOND).is_some());
        assert!(ears().hear_nothing(0).is_none());
    }
}
