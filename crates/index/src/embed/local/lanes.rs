//! How many texts may be run at a time, whoever they are from.

use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rten::ThreadPool;

/// Each is a pool of one thread: a run that is spread over several costs more than it gains.
#[derive(Debug)]
pub(super) struct Lanes {
    count: NonZeroUsize,
    idle: Mutex<Idle>,
    freed: Condvar,
}

#[derive(Debug)]
struct Idle {
    pools: Vec<Arc<ThreadPool>>,
    /// Threads are started when they are needed for the first time.
    unmade: usize,
}

impl Lanes {
    pub(super) fn new(count: NonZeroUsize) -> Self {
        let idle = Idle { pools: Vec::new(), unmade: count.get() };
        Self { count, idle: Mutex::new(idle), freed: Condvar::new() }
    }

    pub(super) fn count(&self) -> usize {
        self.count.get()
    }

    /// Waits until one is free.
    pub(super) fn take(&self) -> Lane<'_> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(pool) = idle.pools.pop() {
                return Lane { lanes: self, pool };
            }
            if idle.unmade > 0 {
                idle.unmade -= 1;
                return Lane { lanes: self, pool: Arc::new(ThreadPool::with_num_threads(1)) };
            }
            idle = self.freed.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Free again when dropped.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    lanes: &'a Lanes,
    pool: Arc<ThreadPool>,
}

impl Lane<'_> {
    pub(super) fn run<R: Send>(&self, work: impl FnOnce(&Arc<ThreadPool>) -> R + Send) -> R {
        self.pool.run(|| work(&self.pool))
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        self.lanes.idle.lock().unwrap_or_else(PoisonError::into_inner).pools.push(Arc::clone(&self.pool));
        self.lanes.freed.notify_one();
    }
}
