//! A future that is polled again at once when it wakes itself while it is being polled.
//!
//! hyper does so for every request with a body: reading the body wakes the connection it is part of. The runtime takes
//! that for a task that gives way to others, wakes an idle thread to help, and puts the task at the end of its queue.
//! For a short call that costs more than the call.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

/// So often at most before others get their turn.
const ROUNDS: usize = 4;

const IDLE: u8 = 0;
const POLLED: u8 = 1;
const WOKEN: u8 = 2;

pub(super) struct Steady<F> {
    future: Pin<Box<F>>,
    shared: Arc<Shared>,
    waker: Waker,
}

#[derive(Default)]
struct Shared {
    state: AtomicU8,
    /// The task around the future.
    task: AtomicWaker,
}

impl<F> Steady<F> {
    pub(super) fn new(future: F) -> Self {
        let shared = Arc::new(Shared::default());
        Self { future: Box::pin(future), waker: Arc::clone(&shared).into(), shared }
    }
}

impl<F: Future> Future for Steady<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, shared, waker } = &mut *self;
        shared.task.register(cx.waker());
        for _ in 0..ROUNDS {
            shared.state.store(POLLED, Ordering::SeqCst);
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(output);
            }
            if shared.state.compare_exchange(POLLED, IDLE, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return Poll::Pending;
            }
        }
        shared.state.store(IDLE, Ordering::SeqCst);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Whoever polls sees the change when the poll is over.
        if self.state.compare_exchange(POLLED, WOKEN, Ordering::SeqCst, Ordering::SeqCst) == Err(IDLE) {
            self.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake};

    use super::{ROUNDS, Steady};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Ready after so many polls, each of which wakes itself. Gives the polls of the task and its wakes.
    fn run(own_wakes: usize) -> (usize, usize) {
        let (count, mut left, mut polls) = (Arc::new(Count::default()), own_wakes, 0);
        let mut future = std::pin::pin!(Steady::new(poll_fn(|cx| {
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        })));
        let waker = Arc::clone(&count).into();
        loop {
            polls += 1;
            if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                return (polls, count.0.load(Ordering::SeqCst));
            }
        }
    }

    #[test]
    fn waking_oneself_is_not_seen_outside_up_to_a_bound() {
        assert_eq!(run(0), (1, 0));
        assert_eq!(run(ROUNDS - 1), (1, 0));
        assert_eq!(run(ROUNDS), (2, 1));
        assert_eq!(run(3 * ROUNDS), (4, 3));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_from_elsewhere_is_lost() {
        let (to, mut from) = tokio::sync::mpsc::channel(1);
        let (back, mut answers) = tokio::sync::mpsc::channel(1);
        let echo = tokio_util::task::TaskTracker::new().spawn(Steady::new(async move {
            while let Some(number) = from.recv().await {
                back.send(number).await.unwrap();
            }
        }));
        for number in 0..50_000 {
            to.send(number).await.unwrap();
            assert_eq!(answers.recv().await, Some(number));
        }
        drop(to);
        echo.await.unwrap();
    }
}
