//! What stands before every route: from a place that may ask, not too many at once, and by somebody we know.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, CACHE_CONTROL, RETRY_AFTER,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, Request, StatusCode};
use axum::response::Response;
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
        let foreign = self.service.guard.listed_origin(request.headers());
        let mut response = match admit(&self.service, &mut request) {
            Ok(_) if foreign.is_some() && is_preflight(&request) => preflight(),
            Ok(admission) => match admission.authenticate(&mut request) {
                Ok(_permit) => match self.routes.call(request).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                },
                Err(problem) => problem.respond(request.uri().path()),
            },
            Err(problem) => problem.respond(request.uri().path()),
        };
        let headers = response.headers_mut();
        // Answers are for the one who asked, and are never anything but what their type says.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Some(origin) = foreign {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("x-request-id, retry-after"));
            headers.insert(VARY, HeaderValue::from_static("origin"));
        }
        response
    }
}

/// A request that may be answered, by whomever it is. It counts as long as it is under way.
struct Admission<'a> {
    service: &'a Service,
    permit: SemaphorePermit<'a>,
}

fn admit<'a>(service: &'a Service, request: &mut Request<Body>) -> Result<Admission<'a>, Problem> {
    service.guard.check(request.uri(), request.headers())?;
    let permit = service.in_flight.try_acquire().map_err(|_| {
        let error = "Too many requests are under way; try again in a moment";
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, error)
            .with_header(RETRY_AFTER, HeaderValue::from_static("1"))
    })?;
    Ok(Admission { service, permit })
}

impl<'a> Admission<'a> {
    fn authenticate(self, request: &mut Request<Body>) -> Result<SemaphorePermit<'a>, Problem> {
        if !OPEN_ROUTES.contains(&request.uri().path()) {
            let caller = self.service.auth.load().authenticate(request.headers())?;
            request.extensions_mut().insert(caller);
        }
        Ok(self.permit)
    }
}

/// A browser's question before it sends what another origin's page asks it to; it carries no token.
fn is_preflight(request: &Request<Body>) -> bool {
    request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    for (name, value) in [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type"),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
