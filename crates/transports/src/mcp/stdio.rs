//! MCP over stdin and stdout: one message a line, within bounds in both directions.
//!
//! No more than so many requests are under way: the rest waits in the pipe. A client that does not read its answers
//! therefore stops being read, and memory stays where it is.

use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use countersign_contract::Caller;
use countersign_host::Wire;
use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{QuitReason, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::Transport;
use rmcp::transport::io::stdio_pipes;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::task::TaskTracker;

use super::Mcp;
use super::message::{self, Message, Refused};

/// As long as the largest body over HTTP may be by default, several times over.
const MAX_LINE: usize = 16 * 1024 * 1024;

const MAX_IN_FLIGHT: usize = 1024;

/// Answers on their way to the pipe.
const QUEUED_LINES: usize = 64;

/// Written at once when more than one is waiting.
const WRITE_AT_ONCE: usize = 256 * 1024;

/// For what is written last.
const LAST_WORDS: Duration = Duration::from_secs(1);

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
        let (lines, queued) = mpsc::channel(QUEUED_LINES);
        writing.spawn(write_lines(output, queued));
        writing.close();
        let transport = Lines::new(input, lines);
        let endpoint = self.endpoint(Wire::Stdio, Some(caller));
        let mut shutdown = pin!(shutdown);
        let service = tokio::select! {
            begun = serve_server(endpoint, transport) => match begun {
                Ok(service) => service,
                // It ended before it began.
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
                (served.await, StdioEnd::Stopped)
            }
        };
        self.stop();
        // A client that does not read its last answers does not get them.
        let _ = tokio::time::timeout(LAST_WORDS, writing.wait()).await;
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
    output: mpsc::Sender<Vec<u8>>,
    slots: Arc<Semaphore>,
    /// A slot for the request that is read next.
    slot: Option<OwnedSemaphorePermit>,
    in_flight: Arc<Mutex<InFlight>>,
}

type InFlight = HashMap<RequestId, OwnedSemaphorePermit>;

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(input: R, output: mpsc::Sender<Vec<u8>>) -> Self {
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            skipping: false,
            output,
            slots: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            slot: None,
            in_flight: Arc::default(),
        }
    }

    /// The next line that is not blank, without its end. It can be dropped at any time and called again. The last line
    /// counts only if it is complete.
    async fn next_line(&mut self) -> io::Result<Option<Result<(), Refused>>> {
        loop {
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
    fn understand(&mut self) -> Result<RxJsonRpcMessage<RoleServer>, Refused> {
        let line = std::mem::take(&mut self.line);
        let checked = message::check(&line);
        let parsed = checked.and_then(|message| {
            let id = match &message {
                Message::Request(request) => request.id.clone(),
                Message::Notification | Message::Response => Value::Null,
            };
            serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(&line)
                .map_err(|_| Refused::invalid("This is not a message of MCP", id))
        });
        // Kept for the next line, unless this one was large.
        self.line = line;
        self.line.clear();
        self.line.shrink_to(64 * 1024);
        let message = parsed?;
        if let JsonRpcMessage::Request(request) = &message {
            let mut in_flight = lock(&self.in_flight);
            if in_flight.contains_key(&request.id) {
                let id = serde_json::to_value(&request.id).unwrap_or_default();
                return Err(Refused::invalid("A request with this id is under way", id));
            }
            if let Some(slot) = self.slot.take() {
                in_flight.insert(request.id.clone(), slot);
            }
        }
        Ok(message)
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, in_flight) = (self.output.clone(), Arc::clone(&self.in_flight));
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            // Before the answer goes out, so that whoever has it may use the id again; the slot only after that.
            let _slot = answered.and_then(|id| lock(&in_flight).remove(id));
            let sent = output.send(line).await;
            sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.slot.is_none() {
                self.slot = Arc::clone(&self.slots).acquire_owned().await.ok();
            }
            let line = match self.next_line().await {
                Ok(line) => line?,
                Err(error) => {
                    tracing::warn!(%error, "cannot read stdin");
                    return None;
                }
            };
            match line.and_then(|()| self.understand()) {
                Ok(JsonRpcMessage::Notification(notification)) => {
                    self.free_cancelled(&notification.notification);
                    return Some(JsonRpcMessage::Notification(notification));
                }
                Ok(message) => return Some(message),
                Err(refused) => {
                    let mut body = refused.body().into_bytes();
                    body.push(b'\n');
                    self.output.send(body).await.ok()?;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<R> Lines<R> {
    /// A cancelled request is never answered, so its place becomes free here.
    fn free_cancelled(&self, notification: &rmcp::model::ClientNotification) {
        if let rmcp::model::ClientNotification::CancelledNotification(cancelled) = notification
            && let Some(id) = &cancelled.params.request_id
        {
            lock(&self.in_flight).remove(id);
        }
    }
}

fn lock(in_flight: &Mutex<InFlight>) -> MutexGuard<'_, InFlight> {
    in_flight.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes lines as they come; those that come together go out together.
async fn write_lines(mut output: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    let mut pending = BytesMut::new();
    while let Some(line) = lines.recv().await {
        pending.extend_from_slice(&line);
        while pending.len() < WRITE_AT_ONCE
            && let Ok(line) = lines.try_recv()
        {
            pending.extend_from_slice(&line);
        }
        if output.write_all(&pending).await.is_err() || output.flush().await.is_err() {
            // Nobody reads any more; the input ends in a moment, too.
            return;
        }
        pending.clear();
    }
}
