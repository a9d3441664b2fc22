//! Requests under way, and the usual calls among them, which do not take the SDK's way.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use countersign_contract::Caller;
use countersign_host::Wire;
use futures_util::FutureExt as _;
use rmcp::model::RequestId;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::output::Output;
use super::room::{EXPECTED_WITHIN, Held, Room};
use crate::mcp::Shared;
use crate::mcp::direct::{Usual, Written};
use crate::mcp::message::Refused;

pub(super) type InFlight = HashMap<RequestId, Slot>;

/// The place of a request under way.
pub(super) struct Slot {
    pub(super) _permit: Option<OwnedSemaphorePermit>,
    /// Of a call that the SDK does not know of.
    pub(super) cancelled: Option<CancellationToken>,
}

/// With what it holds until it is written, or on its way.
type Answer = (Written, Option<Held>, Option<Slot>);

pub(super) struct Calls {
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Arc<Caller>,
    pub(super) output: Output,
    pub(super) in_flight: Arc<Mutex<InFlight>>,
    pub(super) room: Arc<Room>,
    /// What runs, and what waits for the pipe.
    pub(super) under_way: TaskTracker,
    /// No call runs any longer.
    pub(super) over: CancellationToken,
}

impl Calls {
    /// A request that has its place. The answer of a short call that waits for nothing: to hand it to another thread takes
    /// longer than many a call. One that does wait is polled again, as a task of its own.
    pub(super) fn start(&self, id: RequestId, usual: Usual) -> Option<String> {
        let in_flight = Arc::clone(&self.in_flight);
        let (shared, caller) = (Arc::clone(&self.shared), Arc::clone(&self.caller));
        let cancelled = lock(&in_flight).get(&id).and_then(|slot| slot.cancelled.clone()).unwrap_or_default();
        let (stopped, tool) = (cancelled.clone(), usual.tool().to_owned());
        let answer = async move { shared.answer_directly(usual, caller, Wire::Stdio, stopped).await.message };
        // A panic ends this call and nothing else.
        let mut call = Box::pin(AssertUnwindSafe(answer).catch_unwind().map(move |answer| {
            let mut in_flight = lock(&in_flight);
            // Nobody waits any more, and the place may be another's by now.
            if cancelled.is_cancelled() {
                return None;
            }
            let slot = in_flight.remove(&id);
            Some((answer.unwrap_or_else(|_| Written::Whole(Refused::broken(&id).body())), slot))
        }));
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some((Written::Whole(message), _slot))) => return Some(message),
            Poll::Ready(Some((long, slot))) => {
                let held = self.room.hold(long.len());
                self.answer_later(std::future::ready(Some((long, held, slot))));
            }
            Poll::Ready(None) => {}
            Poll::Pending => {
                let mut expected = self.room.expect(&tool);
                self.answer_later(async move {
                    let answered = if let Ok(answered) = timeout(EXPECTED_WITHIN, &mut call).await {
                        answered
                    } else {
                        expected.forget();
                        call.await
                    };
                    let (message, slot) = answered?;
                    let held = expected.answered(tool, message.len());
                    Some((message, held, slot))
                });
            }
        }
        None
    }

    fn answer_later(&self, call: impl Future<Output = Option<Answer>> + Send + 'static) {
        let output = self.output.clone();
        self.under_way.spawn(async move {
            if let Some((message, held, _slot)) = call.await {
                output.answer(message, held).await;
            }
        });
    }
}

/// The place of a request that the SDK has answered. There is none if it was cancelled, or a call of our own has it.
pub(super) fn answered_by_the_sdk(in_flight: &Mutex<InFlight>, id: &RequestId) -> Option<Slot> {
    let mut in_flight = lock(in_flight);
    let is_the_sdks = in_flight.get(id).is_some_and(|slot| slot.cancelled.is_none());
    if is_the_sdks { in_flight.remove(id) } else { None }
}

pub(super) fn lock(in_flight: &Mutex<InFlight>) -> MutexGuard<'_, InFlight> {
    in_flight.lock().unwrap_or_else(PoisonError::into_inner)
}
