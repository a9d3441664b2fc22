//! The way out: a task writes lines as they come, those that come together at once. While it has nothing to do, whoever
//! has an answer writes it in its place: to wake a thread for it takes longer.
//!
//! Such an answer may go out before what is queued, so it must be one whose place among others says nothing.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::{Instant, sleep_until};

use super::room::Held;
use crate::mcp::direct::{LongMessage, Written};

/// Answers on their way to the pipe.
const QUEUED_LINES: usize = 64;

/// Written at once when more than one is waiting, and at most: where stdout is no pipe, what a thread has taken is no sign yet
/// that anybody reads.
const WRITE_AT_ONCE: usize = 256 * 1024;

/// As much as an unprivileged process may have on Linux.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1024 * 1024;

/// A line on its way out.
pub(super) struct Outgoing {
    text: Text,
    /// Until it is written.
    held: Option<Held>,
}

enum Text {
    /// With its end.
    Line(Vec<u8>),
    /// Without its end.
    Long(LongMessage),
}

impl Outgoing {
    pub(super) fn line(message: String) -> Self {
        Self::lines(ended(message))
    }

    fn lines(lines: Vec<u8>) -> Self {
        Self { text: Text::Line(lines), held: None }
    }

    pub(super) fn holding(self, held: Option<Held>) -> Self {
        Self { held, ..self }
    }
}

/// A message as a line.
pub(super) fn ended(message: String) -> Vec<u8> {
    let mut line = message.into_bytes();
    line.push(b'\n');
    line
}

/// The handle. When the last one is gone, the task ends.
#[derive(Clone)]
pub(super) struct Output {
    lines: mpsc::Sender<Outgoing>,
    pipe: Arc<Mutex<Pipe>>,
}

struct Pipe {
    output: Box<dyn AsyncWrite + Send + Unpin>,
    /// By the task, until all it had is written.
    taken: bool,
    /// The end of a line whose beginning is out. The task, which has been told, writes it first.
    rest: Vec<u8>,
    /// When it took something last.
    moved: Instant,
}

impl Pipe {
    fn poll_write(&mut self, ctx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let bytes = &bytes[..bytes.len().min(WRITE_AT_ONCE)];
        let written = Pin::new(&mut self.output).poll_write(ctx, bytes);
        if written.is_ready() {
            self.moved = Instant::now();
        }
        written
    }

    fn poll_flush(&mut self, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.output).poll_flush(ctx);
        if flushed.is_ready() {
            self.moved = Instant::now();
        }
        flushed
    }
}

/// Shows whether anybody reads, also when all handles are gone.
pub(super) struct Progress(Arc<Mutex<Pipe>>);

impl Progress {
    /// Until the pipe has taken nothing for so long, from now on.
    pub(super) async fn idle(&self, limit: Duration) {
        let mut until = Instant::now() + limit;
        while until > Instant::now() {
            sleep_until(until).await;
            until = lock(&self.0).moved + limit;
        }
    }
}

impl Output {
    /// And the task.
    pub(super) fn new(output: impl AsyncWrite + Send + Unpin + 'static) -> (Self, impl Future<Output = ()>) {
        let pipe = Arc::new(Mutex::new(Pipe {
            output: Box::new(output),
            taken: false,
            rest: Vec::new(),
            moved: Instant::now(),
        }));
        let (lines, queued) = mpsc::channel(QUEUED_LINES);
        (Self { lines, pipe: Arc::clone(&pipe) }, write_lines(Turn(pipe), queued))
    }

    pub(super) fn progress(&self) -> Progress {
        Progress(Arc::clone(&self.pipe))
    }

    /// In the order in which they are sent. An error where nobody reads any more.
    pub(super) async fn send(&self, line: Outgoing) -> io::Result<()> {
        self.lines.send(line).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// The same where that waits for nothing; otherwise the line comes back.
    pub(super) fn try_send(&self, line: Outgoing) -> io::Result<Option<Outgoing>> {
        match self.lines.try_send(line) {
            Ok(()) => Ok(None),
            Err(TrySendError::Full(line)) => Ok(Some(line)),
            Err(TrySendError::Closed(_)) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Answers that the pipe does not take now; they are as long as many a queue, so they wait until it is empty. Dropped while
    /// it waits, it has taken nothing.
    pub(super) async fn queue(&self, lines: &mut Vec<u8>) {
        // Nobody reads any more: the input ends in a moment, too.
        let Ok(mut places) = self.lines.reserve_many(self.lines.max_capacity()).await else { return lines.clear() };
        if let Some(place) = places.next() {
            place.send(Outgoing::lines(std::mem::take(lines)));
        }
    }

    /// An answer, which is in no order with others; on the spot if that is possible.
    pub(super) async fn answer(&self, message: Written, held: Option<Held>) {
        let text = match message {
            Written::Whole(message) => {
                let mut line = ended(message);
                if self.write_now(&mut line) {
                    return;
                }
                Text::Line(line)
            }
            Written::Long(message) => Text::Long(message),
        };
        // Nobody reads any more: the input ends in a moment, too.
        let _ = self.send(Outgoing { text, held }).await;
    }

    /// Whether the pipe took them; they are left alone otherwise.
    pub(super) fn write_now(&self, lines: &mut Vec<u8>) -> bool {
        let mut pipe = lock(&self.pipe);
        if pipe.taken || !pipe.rest.is_empty() {
            return false;
        }
        // Whoever waits for room is the task, if there is none.
        let mut nobody = Context::from_waker(Waker::noop());
        match pipe.poll_write(&mut nobody, lines) {
            Poll::Ready(Ok(count)) if count > 0 => {
                pipe.rest.extend_from_slice(&lines[count..]);
                lines.clear();
                if !pipe.rest.is_empty() {
                    // Where the queue is full, it is about to come anyway.
                    let _ = self.lines.try_send(Outgoing::lines(Vec::new()));
                }
                true
            }
            // It finds the same.
            Poll::Ready(_) | Poll::Pending => false,
        }
    }
}

/// The task's end of the pipe.
struct Turn(Arc<Mutex<Pipe>>);

impl Turn {
    /// From now on nobody else writes. Answers what has to be written first.
    fn take(&self) -> Vec<u8> {
        let mut pipe = lock(&self.0);
        pipe.taken = true;
        std::mem::take(&mut pipe.rest)
    }

    fn give_back(&self) {
        lock(&self.0).taken = false;
    }
}

impl AsyncWrite for Turn {
    fn poll_write(self: Pin<&mut Self>, ctx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        lock(&self.0).poll_write(ctx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.0).poll_flush(ctx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, ctx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut lock(&self.0).output).poll_shutdown(ctx)
    }
}

fn lock(pipe: &Mutex<Pipe>) -> MutexGuard<'_, Pipe> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A long answer then takes a few writes, and not one for every 64 KiB, each of which waits for the reader to wake up.
pub(super) fn widen(output: &io::Stdout) {
    #[cfg(target_os = "linux")]
    if rustix::pipe::fcntl_setpipe_size(output, PIPE_BYTES).is_err() {
        tracing::debug!("stdout is not a pipe, or has to stay as narrow as it is");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = output;
}

async fn write_lines(mut output: Turn, mut lines: mpsc::Receiver<Outgoing>) {
    let mut pending = BytesMut::new();
    let mut next = lines.recv().await;
    while let Some(Outgoing { text, held: _held }) = next.take() {
        pending.extend_from_slice(&output.take());
        let written = match text {
            Text::Line(line) => {
                pending.extend_from_slice(&line);
                while pending.len() < WRITE_AT_ONCE && next.is_none() {
                    match lines.try_recv() {
                        Ok(Outgoing { text: Text::Line(line), held: None }) => pending.extend_from_slice(&line),
                        Ok(long) => next = Some(long),
                        Err(_) => break,
                    }
                }
                output.write_all(&pending).await
            }
            Text::Long(message) => match output.write_all(&pending).await {
                Ok(()) => write_long(&mut output, &message).await,
                broken => broken,
            },
        };
        pending.clear();
        if written.is_err() || output.flush().await.is_err() {
            // Nobody reads any more; the input ends in a moment, too.
            return;
        }
        if next.is_none() {
            output.give_back();
            next = lines.recv().await;
        }
    }
    // What others wrote in its place may be on its way still: where stdout is no pipe, a thread writes.
    let _ = output.flush().await;
}

async fn write_long(output: &mut Turn, message: &LongMessage) -> io::Result<()> {
    let mut parts = message.parts().peekable();
    while let Some(mut part) = parts.next() {
        if parts.peek().is_none() {
            part.to_mut().push('\n');
        }
        output.write_all(part.as_bytes()).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::Pin;
    use std::sync::{Arc, Mutex};
    use std::task::{Context, Poll};

    use tokio::io::{AsyncReadExt as _, AsyncWrite};

    use super::{Outgoing, Output};
    use crate::mcp::direct::Written;

    async fn answer(output: &Output, message: &str) {
        output.answer(Written::Whole(message.to_owned()), None).await;
    }

    #[tokio::test]
    async fn an_answer_that_the_pipe_takes_needs_no_task() {
        let (ours, mut theirs) = tokio::io::duplex(64);
        let (output, _task) = Output::new(ours);
        answer(&output, "one").await;
        answer(&output, "two").await;
        let mut read = [0; 8];
        theirs.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"one\ntwo\n");
    }

    /// However little the pipe takes at a time, no line gets into another.
    #[tokio::test]
    async fn lines_stay_whole() {
        let (ours, mut theirs) = tokio::io::duplex(7);
        let (output, task) = Output::new(ours);
        let lines: Vec<String> = (0..200).map(|number| format!("{number} {}", "x".repeat(number % 23))).collect();
        let sending = async move {
            for (number, line) in lines.into_iter().enumerate() {
                if number % 3 == 0 {
                    output.send(Outgoing::line(line)).await.unwrap();
                } else {
                    answer(&output, &line).await;
                }
                if number % 5 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        };
        let mut text = String::new();
        tokio::join!(sending, task, async { theirs.read_to_string(&mut text).await.unwrap() });
        let mut numbers: Vec<usize> = Vec::new();
        for line in text.lines() {
            let (number, rest) = line.split_once(' ').unwrap();
            numbers.push(number.parse().unwrap());
            assert_eq!(rest, "x".repeat(numbers[numbers.len() - 1] % 23));
        }
        numbers.sort_unstable();
        assert_eq!(numbers, (0..200).collect::<Vec<_>>());
    }

    /// What was handed to it, and what arrived.
    #[derive(Clone, Default)]
    struct Lazy(Arc<Mutex<(Vec<u8>, Vec<u8>)>>);

    impl AsyncWrite for Lazy {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.0.lock().unwrap().0.extend_from_slice(bytes);
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            let mut both = self.0.lock().unwrap();
            let handed = std::mem::take(&mut both.0);
            both.1.extend(handed);
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn what_was_written_without_the_task_arrives_before_it_ends() {
        let theirs = Lazy::default();
        let (output, task) = Output::new(theirs.clone());
        answer(&output, "one").await;
        drop(output);
        task.await;
        assert_eq!(theirs.0.lock().unwrap().1, b"one\n");
    }

    #[tokio::test]
    async fn what_is_sent_keeps_its_order() {
        let (ours, mut theirs) = tokio::io::duplex(5);
        let (output, task) = Output::new(ours);
        let sending = async move {
            for number in 0..300 {
                output.send(Outgoing::line(number.to_string())).await.unwrap();
            }
        };
        let mut text = String::new();
        tokio::join!(sending, task, async { theirs.read_to_string(&mut text).await.unwrap() });
        assert!(text.lines().map(|line| line.parse::<u32>().unwrap()).eq(0..300));
    }

    #[tokio::test]
    async fn nobody_waits_for_a_reader_that_is_gone() {
        let (ours, theirs) = tokio::io::duplex(4);
        let (output, task) = Output::new(ours);
        drop(theirs);
        answer(&output, "one").await;
        task.await;
        assert!(output.send(Outgoing::line("two".to_owned())).await.is_err());
        answer(&output, "three").await;
    }
}
