//! What stands before every route: from a place that may ask, not too many at once, and by somebody we know.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use countersign_contract::Code;
use tokio::sync::SemaphorePermit;
use tower::Service as _;

use super::{Service, routes};
use crate::problem::Problem;

/// For supervisors, which have no token.
const OPEN_ROUTES: [&str; 2] = ["/healthz", "/readyz"];

/// The routes behind their guard. One plain function instead of a layer each: this runs before every call.
#[derive(Debug, Clone)]
pub struct Guarded {
    service: Arc<Service>,
    routes: Router,
}

impl Guarded {
    pub fn new(service: Arc<Service>) -> Self {
        Self { routes: routes(Arc::clone(&service)), service }
    }

    pub(crate) async fn handle(mut self, mut request: Request<Body>) -> Response {
        let mut response = match admit(&self.service, &mut request) {
            Ok(_permit) => match self.routes.call(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
            Err(problem) => problem.into_response(),
        };
        let headers = response.headers_mut();
        // Answers are for the one who asked, and are never anything but what their type says.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}

/// The permit counts as long as the request is under way.
fn admit<'a>(service: &'a Service, request: &mut Request<Body>) -> Result<SemaphorePermit<'a>, Problem> {
    service.guard.check(request.uri(), request.headers())?;
    let permit = service.in_flight.try_acquire().map_err(|_| {
        let error = "Too many requests are under way; try again in a moment";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, error)
            .with_header(RETRY_AFTER, HeaderValue::from_static("1"))
    })?;
    if !OPEN_ROUTES.contains(&request.uri().path()) {
        let caller = service.auth.load().authenticate(request.headers())?;
        request.extensions_mut().insert(caller);
    }
    Ok(permit)
}
