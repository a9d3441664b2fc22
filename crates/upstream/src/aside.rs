//! A thread for what would hold up everybody else: calls to other servers are answered in the same few threads.

use std::panic::{self, AssertUnwindSafe};
use std::sync::LazyLock;
use std::thread;

use tokio::sync::{mpsc, oneshot};

/// Jobs that wait; others wait before they are in line.
const WAITING_MAX: usize = 64;

type Job = Box<dyn FnOnce() + Send>;

/// Starting a program holds its thread up until the program's code is loaded, tens of milliseconds on a busy machine. And the
/// kernel tells a supervisor that we are gone when the *thread* that started it is, so it is one that lives as long as we do.
pub(crate) static STARTER: Aside = Aside::new(|| thread_of("starter"));

/// One thread, started when it is needed first.
pub(crate) struct Aside(LazyLock<mpsc::Sender<Job>>);

impl Aside {
    const fn new(start: fn() -> mpsc::Sender<Job>) -> Self {
        Self(LazyLock::new(start))
    }

    /// Done even if nobody waits for it any more. None where there can be no thread, or it panicked.
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (done, result) = oneshot::channel();
        self.0.send(Box::new(move || drop(done.send(work())))).await.ok()?;
        result.await.ok()
    }
}

fn thread_of(name: &str) -> mpsc::Sender<Job> {
    let (jobs, mut waiting) = mpsc::channel::<Job>(WAITING_MAX);
    let work = move || {
        while let Some(job) = waiting.blocking_recv() {
            // It tells whoever waits for it by being dropped.
            drop(panic::catch_unwind(AssertUnwindSafe(job)));
        }
    };
    // Without a thread, whoever has a job is told that it is not done.
    drop(thread::Builder::new().name(name.to_owned()).spawn(work));
    jobs
}

#[cfg(test)]
mod tests {
    use super::{Aside, thread_of};

    static TESTED: Aside = Aside::new(|| thread_of("tested"));

    #[tokio::test]
    async fn a_panic_is_the_end_of_one_job() {
        let first = TESTED.run(|| std::thread::current().id()).await;
        let panicking: Option<()> = TESTED.run(|| panic!("on purpose")).await;
        assert_eq!(panicking, None);
        assert_eq!(TESTED.run(|| std::thread::current().id()).await, first);
        assert_ne!(first, Some(std::thread::current().id()));
    }
}
