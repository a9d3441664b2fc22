//! The usual calls, which do not take the SDK's way. Those that were read together wait here until somebody begins them:
//! the reader itself, and where there are several, another thread beside it.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use countersign_contract::{Caller, where_it_may_wait};
use countersign_host::Wire;
use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::output::{Outgoing, Output, ended};
use super::{ANSWER_AT_ONCE, Slot};
use crate::mcp::Shared;
use crate::mcp::direct::{Usual, Written};

/// With so many waiting, it is worth waking a thread.
const WORTH_HELP: usize = 6;

pub(super) struct Calls {
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Arc<Caller>,
    output: Output,
    under_way: TaskTracker,
    waiting: Mutex<VecDeque<Call>>,
    /// Somebody is at them beside the reader.
    helped: AtomicBool,
}

/// `None` where nobody waits for the answer any more.
type Call = Pin<Box<dyn Future<Output = Option<Answer>> + Send>>;

struct Answer {
    message: Written,
    /// Free when the answer is out.
    _slot: Option<Slot>,
}

impl Calls {
    pub(super) fn new(shared: Arc<Shared>, caller: Arc<Caller>, output: Output, under_way: TaskTracker) -> Arc<Self> {
        let (waiting, helped) = (Mutex::default(), AtomicBool::new(false));
        Arc::new(Self { shared, caller, output, under_way, waiting, helped })
    }

    /// `leave` gives up its place among the requests under way.
    pub(super) fn add(
        self: &Arc<Self>,
        usual: Usual,
        cancelled: CancellationToken,
        leave: impl FnOnce() -> Option<Slot> + Send + 'static,
    ) {
        let (shared, caller) = (Arc::clone(&self.shared), Arc::clone(&self.caller));
        let call = async move {
            let answer = shared.answer_directly(usual, caller, Wire::Stdio, cancelled.clone()).await;
            // Nobody waits any more, and the place may be another's by now.
            if cancelled.is_cancelled() {
                return None;
            }
            Some(Answer { message: answer.message, _slot: leave() })
        };
        // A panic ends this call and nothing else.
        let call = Box::pin(AssertUnwindSafe(call).catch_unwind().map(Result::unwrap_or_default));
        let count = {
            let mut waiting = self.waiting();
            waiting.push_back(call);
            waiting.len()
        };
        if count >= WORTH_HELP && !self.helped.swap(true, Ordering::Relaxed) {
            let calls = Arc::clone(self);
            self.under_way.spawn_blocking(move || where_it_may_wait(|| calls.help()));
        }
    }

    /// Whether there was one. Its answer is among those that are ready, or comes later.
    pub(super) fn begin_next(&self, ready: &mut Vec<u8>) -> bool {
        let Some(mut call) = self.waiting().pop_front() else { return false };
        // A call that waits for nothing is answered on the spot: to hand it to another thread takes longer than many a call.
        // One that does wait is polled again, as a task of its own.
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Answer { message: Written::Whole(message), .. })) => ready.append(&mut ended(message)),
            Poll::Ready(Some(long)) => self.answer_later(std::future::ready(Some(long))),
            Poll::Ready(None) => {}
            Poll::Pending => self.answer_later(call),
        }
        true
    }

    fn answer_later(&self, call: impl Future<Output = Option<Answer>> + Send + 'static) {
        let output = self.output.clone();
        self.under_way.spawn(async move {
            match call.await {
                Some(Answer { message: Written::Whole(message), _slot }) => output.answer(ended(message)).await,
                // Nobody reads any more: the input ends in a moment, too.
                Some(Answer { message: Written::Long(message), _slot }) => {
                    drop(output.send(Outgoing::Long(message)).await);
                }
                None => {}
            }
        });
    }

    /// Until none is waiting.
    fn help(&self) {
        let mut ready = Vec::new();
        loop {
            while self.begin_next(&mut ready) && ready.len() < ANSWER_AT_ONCE {}
            if ready.is_empty() {
                break;
            }
            if !self.output.write_now(&mut ready) {
                Handle::current().block_on(self.output.queue(&mut ready));
            }
        }
        // What came since is the reader's, who begins all that nobody else does.
        self.helped.store(false, Ordering::Relaxed);
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Call>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
