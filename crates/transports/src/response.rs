//! Answers of one piece, as every route but a stream gives them.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use http_body_util::Full;

pub(crate) type Response = http::Response<Full<Bytes>>;

pub(crate) fn json_response(status: StatusCode, body: impl Into<Bytes>) -> Response {
    response(status, "application/json", body)
}

pub(crate) fn response(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
