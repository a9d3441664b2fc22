//! MCP over stdin and stdout: one message a line, within bounds in both directions.
//!
//! No more than so many requests are under way: the rest waits in the pipe. A client that does not read its answers
//! therefore stops being read, and memory stays where it is.

mod output;

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use countersign_contract::Caller;
use countersign_host::Wire;
use futures_util::FutureExt as _;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{QuitReason, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use rmcp::transport::io::stdio_pipes;
use serde_json::Value;
use tokio::io::{AsyncBufRead as _, AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::output::{Outgoing, Output, ended, widen};
use super::direct::{Usual, Written};
use super::message::{self, Message, Refused, Request};
use super::{Mcp, Shared};

/// As long as the largest body over HTTP may be by default, several times over.
const MAX_LINE: usize = 16 * 1024 * 1024;

const MAX_IN_FLIGHT: usize = 1024;

/// Answers that are ready wait for those behind them up to this size, or until the next request has to be waited for.
const ANSWER_AT_ONCE: usize = 64 * 1024;

/// For calls that are under way at the end.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// For what is written last.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Ids of cancelled requests that the SDK is not given again at once: what became of them may still be on its way.
const CANCELLED_KEPT: usize = 64;

/// How a session over stdio ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdioEnd {
    /// The client closed its side.
    Closed,
    /// We were asked to stop.
    Stopped,
}

impl Mcp {
    /// Serves until the input ends or `shutdown` is ready; calls under way then have a few seconds to finish.
    pub async fn serve_stdio(&self, caller: Arc<Caller>, shutdown: impl Future<Output = ()>) -> io::Result<StdioEnd> {
        let (input, output) = stdio_pipes();
        widen(&io::stdout());
        self.serve_lines(input, output, caller, shutdown).await
    }

    pub(super) async fn serve_lines(
        &self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        caller: Arc<Caller>,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<StdioEnd> {
        let writing = TaskTracker::new();
        let (output, task) = Output::new(output);
        writing.spawn(task);
        writing.close();
        let calls = TaskTracker::new();
        let direct = Calls { shared: Arc::clone(&self.shared), caller: Arc::clone(&caller), under_way: calls.clone() };
        let transport = Lines::new(input, output, direct);
        let served = self.serve_messages(transport, caller, shutdown).await;
        self.stop();
        calls.close();
        // Like those that the SDK has under way.
        let _ = timeout(LAST_CALLS, calls.wait()).await;
        // A client that does not read its last answers does not get them.
        let _ = timeout(LAST_WORDS, writing.wait()).await;
        served
    }

    /// What the SDK sees of it.
    async fn serve_messages(
        &self,
        transport: Lines<impl AsyncRead + Send + Unpin + 'static>,
        caller: Arc<Caller>,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<StdioEnd> {
        let endpoint = self.endpoint(Wire::Stdio, Some(caller));
        let mut shutdown = pin!(shutdown);
        let service = tokio::select! {
            begun = serve_server(endpoint, transport) => match begun {
                Ok(service) => service,
                // Nothing was asked that needed it.
                Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(StdioEnd::Closed),
                Err(error) => return Err(io::Error::other(error)),
            },
            () = &mut shutdown => return Ok(StdioEnd::Stopped),
        };
        let stop = service.cancellation_token();
        let mut served = pin!(service.waiting());
        let (quit, end) = tokio::select! {
            quit = &mut served => (quit, StdioEnd::Closed),
            () = shutdown => {
                self.stop();
                stop.cancel();
                match timeout(LAST_CALLS, served).await {
                    Ok(quit) => (quit, StdioEnd::Stopped),
                    Err(_) => return Ok(StdioEnd::Stopped),
                }
            }
        };
        match quit {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
            Ok(_) => Ok(end),
        }
    }
}

struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Inside a line that is too long, up to its end.
    skipping: bool,
    output: Output,
    /// Answers that are lines already. What is written next, or stays here while the pipe takes no more.
    ready: Vec<u8>,
    slots: Arc<Semaphore>,
    /// A slot for the request that is read next.
    slot: Option<OwnedSemaphorePermit>,
    in_flight: Arc<Mutex<InFlight>>,
    /// Of those that the SDK has under way, the newest ones.
    cancelled: VecDeque<RequestId>,
    calls: Calls,
    /// The SDK has seen a request; it takes no other message for the first.
    begun: bool,
    /// The session of the older era has begun.
    initialized: bool,
    /// Until when the last answers may take, once nothing more is read.
    last_words: Option<Instant>,
}

type InFlight = HashMap<RequestId, Slot>;

/// The place of a request under way.
struct Slot {
    _permit: Option<OwnedSemaphorePermit>,
    /// Of a call that the SDK does not know of.
    cancelled: Option<CancellationToken>,
}

/// The usual calls, which do not take the SDK's way.
struct Calls {
    shared: Arc<Shared>,
    caller: Arc<Caller>,
    under_way: TaskTracker,
}

/// What a line turned out to be.
enum Line {
    /// For the SDK.
    Message(RxJsonRpcMessage<RoleServer>),
    Call(RequestId, Usual),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(input: R, output: Output, calls: Calls) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            skipping: false,
            output,
            ready: Vec::new(),
            slots: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            slot: None,
            in_flight: Arc::default(),
            cancelled: VecDeque::new(),
            calls,
            begun: false,
            initialized: false,
            last_words: None,
        }
    }

    /// The next line that is not blank, without its end. It can be dropped at any time and called again. The last line
    /// counts only if it is complete.
    async fn next_line(&mut self) -> io::Result<Option<Result<(), Refused>>> {
        loop {
            if self.has_to_wait().await {
                self.answer_ready().await;
            }
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let too_long = !self.skipping && self.line.len() + taken > MAX_LINE;
            if !self.skipping && !too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken);
            if too_long {
                self.line.clear();
                self.skipping = end.is_none();
                let error = format!("A message may not be longer than {MAX_LINE} bytes");
                return Ok(Some(Err(Refused::invalid(error, Value::Null))));
            }
            if end.is_some() {
                let skipped = std::mem::take(&mut self.skipping);
                let blank = self.line.trim_ascii().is_empty();
                if !skipped && !blank {
                    return Ok(Some(Ok(())));
                }
                self.line.clear();
            }
        }
    }

    /// What the line says, or why it goes no further.
    fn understand(&mut self) -> Result<Line, Refused> {
        let line = std::mem::take(&mut self.line);
        let checked = message::check(&line);
        let parsed = checked.and_then(|mut message| {
            let id = match &mut message {
                Message::Request(request) => match self.usual(request) {
                    Some((id, usual)) => return Ok(Line::Call(id, usual)),
                    None => request.id.take(),
                },
                Message::Notification | Message::Response => Value::Null,
            };
            serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(&line)
                .map(Line::Message)
                .map_err(|_| Refused::invalid("This is not a message of MCP", id))
        });
        // Kept for the next line, unless this one was large.
        self.line = line;
        self.line.clear();
        self.line.shrink_to(64 * 1024);
        let line = parsed?;
        let (id, cancelled) = match &line {
            Line::Message(JsonRpcMessage::Request(request)) => (&request.id, None),
            Line::Message(_) => return Ok(line),
            Line::Call(id, _) => (id, Some(CancellationToken::new())),
        };
        let mut in_flight = lock(&self.in_flight);
        // A call of our own has nothing to do with what the SDK still has.
        if in_flight.contains_key(id) || (cancelled.is_none() && self.cancelled.contains(id)) {
            let id = serde_json::to_value(id).unwrap_or_default();
            return Err(Refused::invalid("A request with this id is under way", id));
        }
        in_flight.insert(id.clone(), Slot { _permit: self.slot.take(), cancelled });
        drop(in_flight);
        Ok(line)
    }

    /// A call that needs nothing of the SDK. One that stands alone can ask its client by its answer; in the older era
    /// that takes the SDK.
    fn usual(&self, request: &mut Request) -> Option<(RequestId, Usual)> {
        let id = serde_json::from_value(request.id.clone()).ok()?;
        if let Some(usual) = Usual::modern(request) {
            return Some((id, usual));
        }
        let tool = request.params.get("name")?.as_str()?;
        if !self.initialized || !self.calls.shared.gate.asks_nobody(tool, &self.calls.caller) {
            return None;
        }
        Usual::legacy(request).map(|usual| (id, usual))
    }

    fn call(&mut self, id: RequestId, usual: Usual) {
        let in_flight = Arc::clone(&self.in_flight);
        let (shared, caller) = (Arc::clone(&self.calls.shared), Arc::clone(&self.calls.caller));
        let cancelled = lock(&in_flight).get(&id).and_then(|slot| slot.cancelled.clone()).unwrap_or_default();
        let stopped = cancelled.clone();
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
        // A call that waits for nothing is answered on the spot: to hand it to another thread takes longer than many a call.
        // One that does wait is polled again, as a task of its own.
        match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some((Written::Whole(message), _slot))) => self.ready.append(&mut ended(message)),
            Poll::Ready(Some(long)) => self.answer_later(std::future::ready(Some(long))),
            Poll::Ready(None) => {}
            Poll::Pending => self.answer_later(call),
        }
    }

    fn answer_later(&self, call: impl Future<Output = Option<(Written, Option<Slot>)>> + Send + 'static) {
        let output = self.output.clone();
        self.calls.under_way.spawn(async move {
            match call.await {
                Some((Written::Whole(message), _slot)) => output.answer(ended(message)).await,
                // Nobody reads any more: the input ends in a moment, too.
                Some((Written::Long(message), _slot)) => drop(output.send(Outgoing::Long(message)).await),
                None => {}
            }
        });
    }

    /// Whether the client has to read before we do, or what is ready is enough to be written.
    fn pauses(&self) -> bool {
        (self.slot.is_none() && self.slots.available_permits() == 0) || self.ready.len() >= ANSWER_AT_ONCE
    }

    /// Whether there is nothing to read yet.
    async fn has_to_wait(&mut self) -> bool {
        poll_fn(|ctx| Poll::Ready(Pin::new(&mut self.input).poll_fill_buf(ctx).is_pending())).await
    }

    /// Hands over what is ready.
    async fn answer_ready(&mut self) {
        if !self.ready.is_empty() && !self.output.write_now(&mut self.ready) {
            self.output.queue(&mut self.ready).await;
        }
    }

    /// The same when nothing more is read: a client that does not read either must not keep us.
    async fn answer_last(&mut self) {
        let until = *self.last_words.get_or_insert_with(|| Instant::now() + LAST_WORDS);
        let _ = timeout_at(until, self.answer_ready()).await;
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, in_flight) = (self.output.clone(), Arc::clone(&self.in_flight));
        async move {
            let line = serde_json::to_string(&message)?;
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            // Before the answer goes out, so that whoever has it may use the id again; the slot only after that.
            let _slot = answered.and_then(|id| lock(&in_flight).remove(id));
            output.send(Outgoing::line(line)).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // Calls that are answered on the spot wait for nothing, and others want their turn.
            tokio::task::consume_budget().await;
            if self.pauses() {
                self.answer_ready().await;
            }
            if self.slot.is_none() {
                self.slot = Arc::clone(&self.slots).acquire_owned().await.ok();
            }
            let line = match self.next_line().await {
                Ok(Some(line)) => line,
                Ok(None) => {
                    // Nobody is left who could answer, or wants to hear of changes; calls under way may finish.
                    self.calls.shared.stopping.cancel();
                    self.answer_last().await;
                    return None;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot read stdin");
                    self.answer_last().await;
                    return None;
                }
            };
            match line.and_then(|()| self.understand()) {
                Ok(Line::Call(id, usual)) => self.call(id, usual),
                Ok(Line::Message(JsonRpcMessage::Notification(notification))) => {
                    if self.free_cancelled(&notification.notification) || !self.begun {
                        continue;
                    }
                    self.initialized |=
                        matches!(notification.notification, ClientNotification::InitializedNotification(_));
                    return Some(JsonRpcMessage::Notification(notification));
                }
                Ok(Line::Message(message)) => {
                    self.begun |= matches!(message, JsonRpcMessage::Request(_));
                    if self.begun {
                        return Some(message);
                    }
                    // An answer, and nothing was asked yet.
                }
                // Like an answer: to wait here would lose it, should the SDK have something else to do meanwhile.
                Err(refused) => self.ready.append(&mut ended(refused.body())),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.answer_last().await;
        Ok(())
    }
}

impl<R> Lines<R> {
    /// A cancelled request is never answered, so its place becomes free here. Whether it was one of our own.
    fn free_cancelled(&mut self, notification: &ClientNotification) -> bool {
        if let ClientNotification::CancelledNotification(cancelled) = notification
            && let Some(id) = &cancelled.params.request_id
            && let Some(slot) = lock(&self.in_flight).remove(id)
        {
            if let Some(call) = slot.cancelled {
                call.cancel();
                return true;
            }
            // What the SDK still has of it would be taken for the answer to the next one of that name.
            self.cancelled.push_front(id.clone());
            self.cancelled.truncate(CANCELLED_KEPT);
        }
        false
    }
}

fn lock(in_flight: &Mutex<InFlight>) -> MutexGuard<'_, InFlight> {
    in_flight.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
