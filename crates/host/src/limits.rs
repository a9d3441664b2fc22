//! How often a caller may use a tool: at most N calls in any sixty seconds.
//!
//! The times of the last N calls are kept, so the limit is exact at every moment; a token bucket would let twice as
//! many through in the first minute, and a fixed window around its edge.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use countersign_contract::ToolName;
use tokio::time::Instant;

const WINDOW: Duration = Duration::from_mins(1);

/// Beyond this many callers and tools, those that were quiet for a whole window are forgotten.
const MANY_KEYS: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Limiter {
    /// Written by every limited call, for one statement at a time.
    recent: Mutex<HashMap<Key, VecDeque<Instant>>>,
}

/// A caller's name and the tool.
type Key = (Arc<str>, ToolName);

/// How long to wait until a call would be let through.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wait(pub(crate) Duration);

impl Limiter {
    pub(crate) fn admit(&self, caller: &Arc<str>, tool: &ToolName, per_minute: u32) -> Result<(), Wait> {
        let now = Instant::now();
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() > MANY_KEYS {
            recent.retain(|_, calls| calls.back().is_some_and(|last| now.duration_since(*last) < WINDOW));
        }
        let calls = recent.entry((Arc::clone(caller), tool.clone())).or_default();
        while calls.front().is_some_and(|first| now.duration_since(*first) >= WINDOW) {
            calls.pop_front();
        }
        if calls.len() >= per_minute as usize {
            let wait = calls.front().map_or(WINDOW, |first| WINDOW.saturating_sub(now.duration_since(*first)));
            return Err(Wait(wait));
        }
        calls.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::{Limiter, Wait};

    #[tokio::test(start_paused = true)]
    async fn exactly_n_calls_pass_in_any_minute() {
        let limiter = Limiter::default();
        let tool = "read".parse().unwrap();
        for _ in 0..3 {
            assert_eq!(limiter.admit(&"ann".into(), &tool, 3), Ok(()));
            advance(Duration::from_secs(10)).await;
        }
        assert_eq!(limiter.admit(&"ann".into(), &tool, 3), Err(Wait(Duration::from_secs(30))));
        advance(Duration::from_secs(30)).await;
        assert_eq!(limiter.admit(&"ann".into(), &tool, 3), Ok(()), "the first call is a minute old");
        assert_eq!(limiter.admit(&"ann".into(), &tool, 3), Err(Wait(Duration::from_secs(10))));
    }

    #[tokio::test(start_paused = true)]
    async fn callers_and_tools_do_not_share_an_allowance() {
        let limiter = Limiter::default();
        let (read, grep) = ("read".parse().unwrap(), "grep".parse().unwrap());
        assert_eq!(limiter.admit(&"ann".into(), &read, 1), Ok(()));
        assert_eq!(limiter.admit(&"bob".into(), &read, 1), Ok(()));
        assert_eq!(limiter.admit(&"ann".into(), &grep, 1), Ok(()));
        assert!(limiter.admit(&"ann".into(), &read, 1).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn quiet_callers_are_forgotten() {
        let limiter = Limiter::default();
        let tool = "read".parse().unwrap();
        for caller in 0..5000 {
            limiter.admit(&caller.to_string().into(), &tool, 1).unwrap();
        }
        advance(Duration::from_secs(61)).await;
        limiter.admit(&"ann".into(), &tool, 1).unwrap();
        assert_eq!(limiter.recent.lock().unwrap().len(), 1);
    }
}
