//! How many texts may be run at a time, whoever they are from.

use std::mem;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::encoder::Scratch;

/// Each is a pool of one thread: products take all threads of the pool they are called on, and a run that is spread over
/// several costs more than it gains.
#[derive(Debug)]
pub(super) struct Lanes {
    count: NonZeroUsize,
    idle: Mutex<Idle>,
    freed: Condvar,
}

#[derive(Debug)]
struct Idle {
    runners: Vec<Runner>,
    /// Threads are started when they are needed for the first time.
    unmade: usize,
}

#[derive(Debug, Default)]
struct Runner {
    /// None if there can be no more threads: then whoever asks does the work.
    pool: Option<ThreadPool>,
    scratch: Scratch,
}

impl Lanes {
    pub(super) fn new(count: NonZeroUsize) -> Self {
        let idle = Idle { runners: Vec::new(), unmade: count.get() };
        Self { count, idle: Mutex::new(idle), freed: Condvar::new() }
    }

    pub(super) fn count(&self) -> usize {
        self.count.get()
    }

    /// Waits until one is free.
    pub(super) fn take(&self) -> Lane<'_> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(runner) = idle.runners.pop() {
                return Lane { lanes: self, runner };
            }
            if idle.unmade > 0 {
                idle.unmade -= 1;
                let pool = ThreadPoolBuilder::new().num_threads(1).thread_name(|_| "model".to_owned()).build().ok();
                return Lane { lanes: self, runner: Runner { pool, scratch: Scratch::default() } };
            }
            idle = self.freed.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Free again when dropped.
#[derive(Debug)]
pub(super) struct Lane<'a> {
    lanes: &'a Lanes,
    runner: Runner,
}

impl Lane<'_> {
    pub(super) fn run<R: Send>(&mut self, work: impl FnOnce(&mut Scratch) -> R + Send) -> R {
        let Runner { pool, scratch } = &mut self.runner;
        match pool {
            Some(pool) => pool.install(|| work(scratch)),
            None => work(scratch),
        }
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        let runner = mem::take(&mut self.runner);
        self.lanes.idle.lock().unwrap_or_else(PoisonError::into_inner).runners.push(runner);
        self.lanes.freed.notify_one();
    }
}
