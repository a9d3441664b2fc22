//! One call for each query, whoever plans it: the gate counts, not the planner.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use uuid::Uuid;

/// A query that was not followed by a call for so long was given up.
const OPEN_FOR: Duration = Duration::from_mins(10);

/// Names one query in its answer and in its receipt. Time-ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QueryId(Uuid);

impl fmt::Display for QueryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Queries that may still make their call.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    open: Mutex<HashMap<QueryId, Instant>>,
}

impl Budget {
    pub(crate) fn open(&self) -> QueryId {
        let query = QueryId(Uuid::now_v7());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, since| since.elapsed() < OPEN_FOR);
        open.insert(query, Instant::now());
        query
    }

    /// Whether it had its call still to make; now it has not.
    pub(crate) fn spend(&self, query: QueryId) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&query).is_some_and(|since| since.elapsed() < OPEN_FOR)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_query_has_one_call_and_not_for_ever() {
        let budget = Budget::default();
        let (one, other) = (budget.open(), budget.open());
        assert!(budget.spend(one) && !budget.spend(one), "the second is refused");
        assert!(!budget.spend(QueryId(Uuid::now_v7())), "nobody opened that one");
        advance(OPEN_FOR).await;
        assert!(!budget.spend(other), "given up");
    }
}
