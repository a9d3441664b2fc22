//! A peer that has closed its side may still want its answer (`nc -N` does), or it may be gone: the two look alike. So
//! the end of its bytes is passed on only a moment later while a call is under way. Quick calls are answered; a long
//! one is then cancelled, as it is for every peer that goes away.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Lingering<S> {
    stream: S,
    /// Set by the connection while a call is under way.
    busy: Arc<AtomicBool>,
    /// Since the peer closed its side in the middle of a call.
    ended: Option<Pin<Box<Sleep>>>,
}

impl<S> Lingering<S> {
    pub(super) fn new(stream: S, busy: Arc<AtomicBool>) -> Self {
        Self { stream, busy, ended: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.ended.is_none() {
            let before = buf.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
            if buf.filled().len() > before || !self.busy.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
        }
        if !self.busy.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        self.ended.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER))).as_mut().poll(cx).map(Ok)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
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
