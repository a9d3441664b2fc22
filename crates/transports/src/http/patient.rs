//! How long a connection waits for its peer, without a timer for every request.
//!
//! Between requests, the next one's headers must be complete in time, however slowly they drip in. During a call, the
//! end of the peer's bytes is passed on only a moment later: a peer that has closed its side may still want its answer
//! (`nc -N` does), or it may be gone, and the two look alike. Quick calls are answered; a long one is then cancelled.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// From the opening of a connection, or its last answer, to the end of the next request's headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);

const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Patient<S> {
    stream: S,
    /// Set by the connection from the end of a request's headers until its answer is there.
    busy: Arc<AtomicBool>,
    /// What was waited for when the stream was last looked at, and since when.
    waiting: (Waiting, Instant),
    /// Moved only when it fires too early, so that requests in a row cost nothing.
    timer: Pin<Box<Sleep>>,
    ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    ForHeaders,
    ForAnswer,
    /// The peer closed its side in the middle of a call.
    AfterEnd,
}

impl Waiting {
    fn patience(self) -> Option<Duration> {
        match self {
            Self::ForHeaders => Some(HEADER_TIMEOUT),
            Self::ForAnswer => None,
            Self::AfterEnd => Some(LINGER),
        }
    }
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, busy: Arc<AtomicBool>) -> Self {
        let timer = Box::pin(tokio::time::sleep(HEADER_TIMEOUT));
        Self { stream, busy, waiting: (Waiting::ForHeaders, Instant::now()), timer, ended: false }
    }

    /// Ready when patience is at its end.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let waiting = match (self.busy.load(Ordering::Relaxed), self.ended) {
            (false, _) => Waiting::ForHeaders,
            (true, false) => Waiting::ForAnswer,
            (true, true) => Waiting::AfterEnd,
        };
        if waiting != self.waiting.0 {
            self.waiting = (waiting, Instant::now());
        }
        let Some(patience) = waiting.patience() else { return Poll::Pending };
        let deadline = self.waiting.1 + patience;
        if self.timer.deadline() > deadline {
            self.timer.as_mut().reset(deadline);
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.ended {
            let before = buf.filled().len();
            match Pin::new(&mut self.stream).poll_read(cx, buf) {
                Poll::Ready(Ok(())) if buf.filled().len() == before => self.ended = true,
                Poll::Ready(read) => return Poll::Ready(read),
                Poll::Pending => {
                    let exhausted = self.poll_patience(cx);
                    return exhausted.map(|()| Err(io::ErrorKind::TimedOut.into()));
                }
            }
        }
        if !self.busy.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        self.poll_patience(cx).map(Ok)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
