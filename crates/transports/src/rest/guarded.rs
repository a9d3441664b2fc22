//! What stands before every route: from a place that may ask, not too many at once, and by somebody we know.

use std::sync::Arc;
use std::time::Duration;

use countersign_contract::Code;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, CACHE_CONTROL, RETRY_AFTER,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderValue, Method, Request, StatusCode};
use hyper::body::Incoming;
use tokio::sync::SemaphorePermit;

use super::{Asked, Route, Service};
use crate::problem::Problem;
use crate::response::Response;

/// How often to look whether all calls are answered.
const STOP_LOOK: Duration = Duration::from_millis(50);

/// What a page of a listed origin may send.
const ALLOWED_HEADERS: &str = "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, \
    mcp-session-id, last-event-id";

/// The routes behind their guard. One plain function instead of a layer each: this runs before every call.
#[derive(Debug, Clone)]
pub struct Guarded {
    service: Arc<Service>,
}

impl Guarded {
    pub fn new(service: Arc<Service>) -> Self {
        Self { service }
    }

    /// Lets subscriptions end and waits for calls under way; then every stream ends, too.
    pub(crate) async fn stop(self) {
        self.service.mcp.stop();
        while self.service.gate.recorder().metrics.in_flight() > 0 {
            tokio::time::sleep(STOP_LOOK).await;
        }
        // What was answered last is still on its way through its stream.
        tokio::time::sleep(STOP_LOOK).await;
        self.service.mcp.cut();
    }

    pub(crate) async fn handle(self, request: Request<Incoming>) -> Response {
        let (head, body) = request.into_parts();
        let uri = head.uri.clone();
        let foreign = self.service.guard.listed_origin(&head.headers);
        let answered = async {
            let _permit = admit(&self.service, &head)?;
            if foreign.is_some() && is_preflight(&head) {
                return Ok(preflight());
            }
            let route = Route::of(uri.path());
            if let Some(open) = route.filter(|route| route.is_open()) {
                return self.service.answer_anyone(open, &head.method).await;
            }
            let caller = self.service.auth.load().authenticate(&head.headers)?;
            self.service.answer(route, Asked { head, body, caller }).await
        };
        let mut response = answered.await.unwrap_or_else(|problem: Problem| problem.respond(uri.path()));
        let headers = response.headers_mut();
        // Answers are for the one who asked, and are never anything but what their type says.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Some(origin) = foreign {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(
                ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static("x-request-id, retry-after, mcp-session-id"),
            );
            headers.insert(VARY, HeaderValue::from_static("origin"));
        }
        response
    }
}

/// Whether a request may be answered, by whomever it is. It counts as long as it is under way.
fn admit<'a>(service: &'a Service, head: &Parts) -> Result<SemaphorePermit<'a>, Problem> {
    service.guard.check(&head.uri, &head.headers)?;
    service.in_flight.try_acquire().map_err(|_| {
        let error = "Too many requests are under way; try again in a moment";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, error)
            .with_header(RETRY_AFTER, HeaderValue::from_static("1"))
    })
}

/// A browser's question before it sends what another origin's page asks it to; it carries no token.
fn is_preflight(head: &Parts) -> bool {
    head.method == Method::OPTIONS && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    for (name, value) in [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
