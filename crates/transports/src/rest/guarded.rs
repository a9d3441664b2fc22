//! What stands before every route: not too many at once, from a place that may ask, and by somebody we know.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Request, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use countersign_contract::Code;

use super::Service;
use crate::problem::Problem;

pub(super) async fn guarded(State(service): State<Arc<Service>>, request: Request<Body>, next: Next) -> Response {
    let mut response = match service.guard.check(request.uri(), request.headers()) {
        Err(problem) => problem.into_response(),
        Ok(()) => {
            if let Ok(_permit) = service.in_flight.try_acquire() {
                next.run(request).await
            } else {
                let error = "Too many requests are under way; try again in a moment";
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, error)
                    .with_header(RETRY_AFTER, HeaderValue::from_static("1"))
                    .into_response()
            }
        }
    };
    let headers = response.headers_mut();
    // Answers are for the one who asked, and are never anything but what their type says.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

pub(super) async fn authenticated(
    State(service): State<Arc<Service>>,
    mut request: Request<Body>,
    next: Next,
) -> Response {
    let caller = service.auth.load().authenticate(request.headers());
    match caller {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}
