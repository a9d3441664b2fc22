//! MCP over stdin and stdout: one message a line, within bounds in both directions.
//!
//! No more than so many requests are under way, and no more than so many bytes of long answers wait (`room.rs`): the rest
//! waits in the pipe. A client that does not read its answers therefore stops being read. What is bounded by number only
//! are the answers that the SDK still makes, and those that turn out longer than their tool's before.

mod calls;
mod output;
mod room;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use countersign_contract::Caller;
use countersign_host::Wire;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{QuitReason, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use rmcp::transport::io::stdio_pipes;
use serde_json::Value;
use tokio::io::{AsyncBufRead as _, AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::calls::{Calls, Slot, answered_by_the_sdk, lock};
use self::output::{Outgoing, Output, ended, widen};
use super::Mcp;
use super::direct::Usual;
use super::message::{self, Message, Refused, Request};

/// As long as the largest body over HTTP may be by default, several times over.
const MAX_LINE: usize = 16 * 1024 * 1024;

const MAX_IN_FLIGHT: usize = 1024;

/// Answers that are ready wait for those behind them up to this size, or until the next request has to be waited for.
const ANSWER_AT_ONCE: usize = 64 * 1024;

/// For calls that are under way at the end.
const LAST_CALLS: Duration = Duration::from_secs(5);

/// For what is written last, from the moment at which the client took something last.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Longer than that nobody waits for us after a signal, however steadily the client reads.
const LAST_MINUTE: Duration = Duration::from_mins(1);

/// For what has to be recorded when nobody waits any more.
const LAST_RECORDS: Duration = Duration::from_millis(250);

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

/// How a session over stdio is told to end.
#[derive(Debug, Clone, Default)]
pub struct StdioStop {
    /// What is under way is cancelled; what is answered is written.
    pub asked: CancellationToken,
    /// Nothing is waited for any more.
    pub at_once: CancellationToken,
}

impl Mcp {
    /// Serves until the input ends or somebody asks to stop; after the end of the input, calls under way have a few seconds
    /// to finish.
    pub async fn serve_stdio(&self, caller: Arc<Caller>, stop: &StdioStop) -> io::Result<StdioEnd> {
        let (input, output) = stdio_pipes();
        widen(&io::stdout());
        self.serve_lines(input, output, caller, stop).await
    }

    pub(super) async fn serve_lines(
        &self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        caller: Arc<Caller>,
        stop: &StdioStop,
    ) -> io::Result<StdioEnd> {
        let (writing, under_way, over) = (TaskTracker::new(), TaskTracker::new(), CancellationToken::new());
        let (output, task) = Output::new(output);
        let progress = output.progress();
        writing.spawn(task);
        writing.close();
        let calls = Calls {
            shared: Arc::clone(&self.shared),
            caller: Arc::clone(&caller),
            output,
            in_flight: Arc::default(),
            room: Arc::default(),
            under_way: under_way.clone(),
            over: over.clone(),
        };
        let transport = Lines::new(input, calls);
        let serving = async {
            let served = self.serve_messages(transport, caller, &stop.asked, &over).await;
            self.stop();
            under_way.close();
            let mut written = pin!(async {
                under_way.wait().await;
                writing.wait().await;
            });
            tokio::select! {
                () = &mut written => return served,
                () = stop.asked.cancelled() => {}
                // Like those that the SDK has under way.
                () = sleep(LAST_CALLS) => {}
            }
            // From here on nothing runs but what notes that it was cut off, and answers on their way out.
            over.cancel();
            tokio::select! {
                () = written => {}
                // A client that does not read its last answers does not get them.
                () = progress.idle(LAST_WORDS) => {}
                () = async { stop.asked.cancelled().await; sleep(LAST_MINUTE).await } => {}
            }
            served
        };
        let served = tokio::select! {
            served = Box::pin(serving) => served,
            () = stop.at_once.cancelled() => {
                over.cancel();
                under_way.close();
                let _ = timeout(LAST_RECORDS, under_way.wait()).await;
                Ok(StdioEnd::Stopped)
            }
        };
        served.map(|end| if stop.asked.is_cancelled() { StdioEnd::Stopped } else { end })
    }

    /// What the SDK sees of it.
    async fn serve_messages(
        &self,
        transport: Lines<impl AsyncRead + Send + Unpin + 'static>,
        caller: Arc<Caller>,
        asked: &CancellationToken,
        over: &CancellationToken,
    ) -> io::Result<StdioEnd> {
        let endpoint = self.endpoint(Wire::Stdio, Some(caller));
        let service = tokio::select! {
            begun = serve_server(endpoint, transport) => match begun {
                Ok(service) => service,
                // Nothing was asked that needed it.
                Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(StdioEnd::Closed),
                Err(error) => return Err(io::Error::other(error)),
            },
            () = asked.cancelled() => return Ok(StdioEnd::Stopped),
        };
        let stop = service.cancellation_token();
        let mut served = pin!(service.waiting());
        let (quit, end) = tokio::select! {
            quit = &mut served => (quit, StdioEnd::Closed),
            () = asked.cancelled() => {
                self.stop();
                stop.cancel();
                over.cancel();
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
    /// Answers that are lines already. What is written next, or stays here while the pipe takes no more.
    ready: Vec<u8>,
    slots: Arc<Semaphore>,
    /// A slot for the request that is read next.
    slot: Option<OwnedSemaphorePermit>,
    /// Of those that the SDK has under way, the newest ones.
    cancelled: VecDeque<RequestId>,
    calls: Calls,
    /// The SDK has seen a request; it takes no other message for the first.
    begun: bool,
    /// The session of the older era has begun.
    initialized: bool,
}

/// What a line turned out to be.
enum Line {
    /// For the SDK.
    Message(RxJsonRpcMessage<RoleServer>),
    Call(RequestId, Usual),
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(input: R, calls: Calls) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            skipping: false,
            ready: Vec::new(),
            slots: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            slot: None,
            cancelled: VecDeque::new(),
            calls,
            begun: false,
            initialized: false,
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
            Line::Call(id, _) => (id, Some(self.calls.over.child_token())),
        };
        let mut in_flight = lock(&self.calls.in_flight);
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

    /// Whether the client has to read before we do, or what is ready is enough to be written.
    fn pauses(&self) -> bool {
        (self.slot.is_none() && self.slots.available_permits() == 0)
            || self.ready.len() >= ANSWER_AT_ONCE
            || self.calls.room.is_full()
    }

    /// Whether there is nothing to read yet.
    async fn has_to_wait(&mut self) -> bool {
        poll_fn(|ctx| Poll::Ready(Pin::new(&mut self.input).poll_fill_buf(ctx).is_pending())).await
    }

    /// Hands over what is ready.
    async fn answer_ready(&mut self) {
        if !self.ready.is_empty() && !self.calls.output.write_now(&mut self.ready) {
            self.calls.output.queue(&mut self.ready).await;
        }
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, in_flight) = (self.calls.output.clone(), Arc::clone(&self.calls.in_flight));
        let (room, under_way) = (Arc::clone(&self.calls.room), self.calls.under_way.clone());
        async move {
            let line = serde_json::to_string(&message)?;
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            let Some(id) = answered else { return output.send(Outgoing::line(line)).await };
            // Before the answer goes out, so that whoever has it may use the id again; the slot only after that.
            let Some(slot) = answered_by_the_sdk(&in_flight, id) else { return Ok(()) };
            let held = room.hold(line.len());
            // At the end the SDK gives what it has left a few seconds in all, however steadily its client reads. So it never
            // waits for one that reads slowly.
            if let Some(line) = output.try_send(Outgoing::line(line).holding(held))? {
                under_way.spawn(async move {
                    let _ = output.send(line).await;
                    drop(slot);
                });
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // Calls that are answered on the spot wait for nothing, and others want their turn.
            tokio::task::consume_budget().await;
            if self.pauses() {
                self.answer_ready().await;
                self.calls.room.free().await;
            }
            if self.slot.is_none() {
                self.slot = Arc::clone(&self.slots).acquire_owned().await.ok();
            }
            let line = match self.next_line().await {
                Ok(Some(line)) => line,
                Ok(None) => return self.end(),
                Err(error) => {
                    tracing::warn!(%error, "cannot read stdin");
                    return self.end();
                }
            };
            match line.and_then(|()| self.understand()) {
                Ok(Line::Call(id, usual)) => {
                    if let Some(answer) = self.calls.start(id, usual) {
                        self.ready.append(&mut ended(answer));
                    }
                }
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
        Ok(())
    }
}

impl<R> Lines<R> {
    /// Nobody is left who could answer, or wants to hear of changes; calls under way may finish.
    fn end<T>(&mut self) -> Option<T> {
        self.calls.shared.stopping.cancel();
        self.answer_last();
        None
    }

    /// The SDK does not wait for it: see `send`.
    fn answer_last(&mut self) {
        if self.ready.is_empty() || self.calls.output.write_now(&mut self.ready) {
            return;
        }
        // Outside a runtime there is nobody left to write it.
        let Ok(runtime) = Handle::try_current() else { return };
        let (output, mut ready) = (self.calls.output.clone(), std::mem::take(&mut self.ready));
        self.calls.under_way.spawn_on(async move { output.queue(&mut ready).await }, &runtime);
    }

    /// A cancelled request is never answered, so its place becomes free here. Whether it was one of our own.
    fn free_cancelled(&mut self, notification: &ClientNotification) -> bool {
        if let ClientNotification::CancelledNotification(cancelled) = notification
            && let Some(id) = &cancelled.params.request_id
            && let Some(slot) = lock(&self.calls.in_flight).remove(id)
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

impl<R> Drop for Lines<R> {
    /// After a signal nobody asks for the next line any more.
    fn drop(&mut self) {
        self.answer_last();
    }
}

#[cfg(test)]
mod tests;
