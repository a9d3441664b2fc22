//! How long work outside the async world may go on.

use std::fmt;
use std::time::{Duration, Instant};

/// Work looks at it every now and then, and gives up when it is over.
pub struct Until {
    deadline: Instant,
    cancelled: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Until {
    /// `cancelled` says whether nobody waits any more.
    pub fn new(within: Duration, cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let now = Instant::now();
        // A time that no clock can show is none.
        let deadline = now.checked_add(within).unwrap_or_else(|| now + Duration::from_hours(24));
        Self { deadline, cancelled: Box::new(cancelled) }
    }

    pub(crate) fn is_over(&self) -> bool {
        (self.cancelled)() || Instant::now() >= self.deadline
    }
}

impl fmt::Debug for Until {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Until").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
