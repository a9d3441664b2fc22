//! How much may wait for a client to read it: long answers by what they take, calls under way by what such calls took
//! before. When it is full, no more requests are read.
//!
//! Nothing waits for room that has its answer already: that would only keep it longer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// A dozen of the longest answers that our own tools give.
const ROOM: usize = 64 * 1024 * 1024;

/// Shorter ones are bounded well enough by their number.
const LONG_ANSWER: usize = 64 * 1024;

/// Of a tool that has not answered yet: two for each of sixteen callers find room.
const EXPECTED_AT_FIRST: usize = ROOM / 32;

/// A call that takes longer waits for something, and nothing is expected of it: it must not keep others waiting as well.
pub(super) const EXPECTED_WITHIN: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Room {
    taken: AtomicUsize,
    /// By tool. Only calls that ran come in, so there are no more than tools.
    expected: Mutex<HashMap<String, usize>>,
    /// For the one who reads.
    freed: Notify,
}

/// What one answer takes, until it is written.
pub(super) struct Held {
    room: Arc<Room>,
    bytes: usize,
}

impl Room {
    pub(super) fn is_full(&self) -> bool {
        self.taken.load(Ordering::Acquire) >= ROOM
    }

    /// Until it is not full. It can be dropped at any time and called again.
    pub(super) async fn free(&self) {
        while self.is_full() {
            self.freed.notified().await;
        }
    }

    /// For an answer that is there. Short ones take nothing.
    pub(super) fn hold(self: &Arc<Self>, bytes: usize) -> Option<Held> {
        (bytes >= LONG_ANSWER).then(|| self.held(bytes))
    }

    /// For one that is still being made.
    pub(super) fn expect(self: &Arc<Self>, tool: &str) -> Held {
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner).get(tool).copied();
        self.held(expected.unwrap_or(EXPECTED_AT_FIRST))
    }

    fn held(self: &Arc<Self>, bytes: usize) -> Held {
        self.taken.fetch_add(bytes, Ordering::AcqRel);
        Held { room: Arc::clone(self), bytes }
    }

    /// One long answer makes others likely, and only many short ones make them unlikely again.
    fn learn(&self, tool: String, bytes: usize) {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        let expected = expected.entry(tool).or_insert(EXPECTED_AT_FIRST);
        *expected = bytes.max(*expected - *expected / 8);
    }

    fn give_back(&self, bytes: usize) {
        let before = self.taken.fetch_sub(bytes, Ordering::AcqRel);
        if before >= ROOM && before - bytes < ROOM {
            self.freed.notify_one();
        }
    }
}

impl Held {
    /// Nothing is expected any more.
    pub(super) fn forget(&mut self) {
        self.room.give_back(std::mem::take(&mut self.bytes));
    }

    /// The answer is there. It takes what it takes.
    pub(super) fn answered(self, tool: String, bytes: usize) -> Option<Self> {
        self.room.learn(tool, bytes);
        // What was expected is given back after that: whoever waits must not see neither.
        self.room.hold(bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{EXPECTED_AT_FIRST, LONG_ANSWER, ROOM, Room};

    #[tokio::test]
    async fn a_full_room_is_free_when_something_was_written() {
        let room = Arc::new(Room::default());
        assert!(room.hold(LONG_ANSWER - 1).is_none());
        let (first, second) = (room.hold(ROOM / 2), room.hold(ROOM));
        assert!(room.is_full());
        drop(first);
        assert!(room.is_full(), "an answer that is longer than all of it takes all of it");
        drop(second);
        room.free().await;
    }

    #[test]
    fn what_a_tool_gave_is_expected_again() {
        let room = Arc::new(Room::default());
        let expected = |tool: &str| room.expect(tool).bytes;
        assert_eq!(expected("a"), EXPECTED_AT_FIRST);
        let long = room.expect("a").answered("a".to_owned(), 5_000_000);
        assert_eq!(
            (expected("a"), expected("b"), long.map(|held| held.bytes)),
            (5_000_000, EXPECTED_AT_FIRST, Some(5_000_000))
        );
        for _ in 0..60 {
            assert!(room.expect("a").answered("a".to_owned(), 100).is_none());
        }
        assert!(expected("a") < LONG_ANSWER, "{}", expected("a"));
        let mut hung = room.expect("b");
        hung.forget();
        assert_eq!(room.taken.load(std::sync::atomic::Ordering::Relaxed), 0);
    }
}
