//! Answers, whole or as a stream.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use hyper::body::{Frame, SizeHint};

pub(crate) type Response = http::Response<Body>;

pub(crate) enum Body {
    Whole(Full<Bytes>),
    Stream(BoxBody<Bytes, Infallible>),
}

/// A body that says when it is over, however it ends.
pub(crate) struct Watched {
    body: Body,
    busy: Arc<AtomicBool>,
}

pub(crate) fn json_response(status: StatusCode, body: impl Into<Bytes>) -> Response {
    response(status, "application/json", body)
}

pub(crate) fn response(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::Whole(Full::new(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

impl Watched {
    /// Clears `busy` at the end.
    pub(crate) fn new(body: Body, busy: Arc<AtomicBool>) -> Self {
        Self { body, busy }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.busy.store(false, Ordering::Relaxed);
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::Whole(Full::default())
    }
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.body {
            Body::Whole(body) => Pin::new(body).poll_frame(cx),
            Body::Stream(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Body::Whole(body) => body.is_end_stream(),
            Body::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Body::Whole(body) => body.size_hint(),
            Body::Stream(body) => body.size_hint(),
        }
    }
}
