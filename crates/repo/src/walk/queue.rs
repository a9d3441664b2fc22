//! Work for several threads that make more of it. It is at an end when nobody is at work and nothing is left.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Stop;

pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    /// The last is taken first: that keeps few folders open.
    waiting: Vec<T>,
    at_work: usize,
    ended: bool,
}

impl<T> Queue<T> {
    /// For exactly this many workers.
    pub(super) fn new(workers: usize, first: T) -> Self {
        let state = State { waiting: vec![first], at_work: workers, ended: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(super) fn put(&self, work: impl Iterator<Item = T>) {
        let mut state = self.lock();
        let before = state.waiting.len();
        state.waiting.extend(work);
        let new = state.waiting.len() - before;
        drop(state);
        for _ in 0..new.min(8) {
            self.changed.notify_one();
        }
    }

    /// Waits until there is some; `None` is the end.
    pub(super) fn next(&self, stop: &Stop) -> Option<T> {
        let mut state = self.lock();
        state.at_work -= 1;
        loop {
            if state.ended || stop.is_stopped() {
                break;
            }
            if let Some(work) = state.waiting.pop() {
                state.at_work += 1;
                return Some(work);
            }
            if state.at_work == 0 {
                break;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.ended = true;
        // Counted again, so that each worker leaves the count as it found it.
        state.at_work += 1;
        drop(state);
        self.changed.notify_all();
        None
    }

    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    /// To be held by each worker: one that panics would be waited for.
    pub(super) fn working(&self) -> Working<'_, T> {
        Working(self)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Working<'a, T>(&'a Queue<T>);

impl<T> Drop for Working<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const WORKERS: usize = 4;

    #[test]
    fn everything_is_done_once() {
        let (queue, done) = (Queue::new(WORKERS, 14_u32), AtomicU32::new(0));
        run(&queue, &Stop::default(), |number| {
            done.fetch_add(1, Ordering::Relaxed);
            queue.put((0..2).filter(|_| number > 0).map(|_| number - 1));
        });
        assert_eq!(done.into_inner(), (1 << 15) - 1);
    }

    #[test]
    fn it_ends_when_it_is_stopped_and_when_a_worker_breaks() {
        let (endless, stop) = (Queue::new(WORKERS, 0_u32), Stop::default());
        run(&endless, &stop, |number| {
            endless.put([number + 1].into_iter());
            if number == 1000 {
                stop.stop();
            }
        });
        let broken = Queue::new(WORKERS, 0_u32);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run(&broken, &Stop::default(), |number| {
                broken.put([number + 1].into_iter());
                assert!(number < 1000, "broken on purpose");
            });
        }));
        assert!(outcome.is_err());
    }

    fn run(queue: &Queue<u32>, stop: &Stop, work: impl Fn(u32) + Sync) {
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    let _guard = queue.working();
                    while let Some(number) = queue.next(stop) {
                        work(number);
                    }
                });
            }
        });
    }
}
