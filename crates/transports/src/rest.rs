//! REST: two faces over the same call path, and the routes around them.
//!
//! `POST /v1/tools/{tool}` wraps arguments and result in an envelope; `POST /mcp/tool/{tool}` takes and gives them bare.

mod body;
mod guarded;

use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;
use axum::extract::{Extension, State};
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use countersign_contract::{Access, BoxFuture, Caller, Code, Progress};
use countersign_host::{Answer, Call, Gate, NoAnswer, Wire};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::body::read_json;
pub use self::guarded::Guarded;
use crate::auth::Auth;
use crate::guard::Guard;
use crate::openapi::{description, openapi, summary};
use crate::problem::{Problem, json_response, shown};
use crate::wire::http_status;

/// Requests that may be under way at once; more are turned away, so that memory stays bounded by this many bodies.
const MAX_IN_FLIGHT: usize = 512;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Everything that the routes share.
#[derive(Debug)]
pub struct Service {
    gate: Arc<Gate>,
    /// Replaced when the configuration changes.
    auth: ArcSwap<Auth>,
    guard: Guard,
    readiness: Arc<dyn Readiness>,
    max_body: usize,
    in_flight: Semaphore,
}

/// Whether calls can be served right now; the reason if not.
pub trait Readiness: Send + Sync + std::fmt::Debug {
    fn check(&self) -> BoxFuture<'_, Result<(), String>>;
}

impl Service {
    pub fn new(gate: Arc<Gate>, auth: Auth, guard: Guard, readiness: Arc<dyn Readiness>, max_body: usize) -> Self {
        let in_flight = Semaphore::new(MAX_IN_FLIGHT);
        Self { gate, auth: ArcSwap::from_pointee(auth), guard, readiness, max_body, in_flight }
    }

    /// From the next request on.
    pub fn replace_auth(&self, auth: Auth) {
        self.auth.store(Arc::new(auth));
    }
}

/// Every route. All of them are reached through [`Guarded`] only.
fn routes(service: Arc<Service>) -> Router {
    Router::new()
        .route("/v1/tools/{tool}", post(call_enveloped).get(show_tool))
        .route("/mcp/tool/{tool}", post(call_bare))
        .route("/v1/tools", get(list_tools))
        .route("/v1/stats", get(stats))
        .route("/openapi.json", get(show_openapi))
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .with_state(service)
}

async fn call_enveloped(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Arc<Caller>>,
    request: Request<axum::body::Body>,
) -> Response {
    let path = request.uri().path().to_owned();
    let called = async {
        let body = read_json(request, service.max_body).await?;
        let tool = last_segment(&path);
        let answer = service.call(tool, open_envelope(body)?, caller).await?;
        let body = envelope(tool, &answer);
        Ok(respond(&answer, body))
    };
    called.await.unwrap_or_else(|problem: Problem| problem.respond(&path))
}

async fn call_bare(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Arc<Caller>>,
    request: Request<axum::body::Body>,
) -> Response {
    let path = request.uri().path().to_owned();
    let called = async {
        let arguments = read_json(request, service.max_body).await?;
        let mut answer = service.call(last_segment(&path), arguments, caller).await?;
        let body = std::mem::take(&mut answer.reply.text);
        Ok(respond(&answer, body))
    };
    called.await.unwrap_or_else(|problem: Problem| problem.respond(&path))
}

/// A tool's name needs no escaping, so what is escaped is no tool's name.
fn last_segment(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

impl Service {
    async fn call(&self, tool: &str, arguments: Value, caller: Arc<Caller>) -> Result<Answer, Problem> {
        let call = Call {
            tool: tool.to_owned(),
            arguments,
            caller,
            wire: Wire::Rest,
            session: None,
            // A request that is dropped drops this whole future, and the tool with it.
            cancelled: CancellationToken::new(),
            progress: Progress::default(),
        };
        self.gate.call(call).await.map_err(|reason| match reason {
            NoAnswer::UnknownTool => Problem::unknown_tool(tool),
            NoAnswer::Cancelled => Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, "Cancelled"),
        })
    }
}

/// `{"args": {…}}`; without `args` the tool's defaults have to do.
fn open_envelope(body: Value) -> Result<Value, Problem> {
    let bad = |error: String| Problem::new(StatusCode::BAD_REQUEST, Code::ValidationError, error);
    let Value::Object(mut members) = body else {
        return Err(bad("The body must be an object: {\"args\": {…}}".to_owned()));
    };
    let arguments = members.remove("args").unwrap_or_else(|| Value::Object(Map::new()));
    match members.keys().next() {
        None => Ok(arguments),
        Some(key) => {
            let key = shown(key);
            Err(bad(format!("The body has the key `{key}`; it may have `args` only, and arguments go inside that")))
        }
    }
}

fn envelope(tool: &str, answer: &Answer) -> String {
    let reply = &answer.reply;
    if !reply.is_error() {
        // The name was found in the catalog, so it needs no escaping; the text is JSON already.
        return [r#"{"tool":""#, tool, r#"","ok":true,"result":"#, &reply.text, "}"].concat();
    }
    let mut failure = json!({"tool": tool, "ok": false});
    for key in ["error", "code", "details"] {
        if let Some(value) = reply.structured.get(key) {
            failure[key] = value.clone();
        }
    }
    failure.to_string()
}

fn respond(answer: &Answer, body: String) -> Response {
    let status = answer.reply.failure.map_or(StatusCode::OK, |failure| http_status(failure.code));
    let mut response = json_response(status, body);
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(answer.request_id.encode(&mut [0; 36])) {
        headers.insert(REQUEST_ID, id);
    }
    if let Some(wait) = answer.reply.failure.and_then(|failure| failure.retry_after) {
        let seconds = u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
        headers.insert(RETRY_AFTER, seconds.into());
    }
    response
}

async fn list_tools(State(service): State<Arc<Service>>, Extension(caller): Extension<Arc<Caller>>) -> Response {
    let catalog = service.gate.catalog();
    let tools: Vec<_> = catalog.contracts(&caller).map(summary).collect();
    json_response(StatusCode::OK, json!({"tools": tools}).to_string())
}

async fn show_tool(
    State(service): State<Arc<Service>>,
    Extension(caller): Extension<Arc<Caller>>,
    uri: Uri,
) -> Response {
    let (catalog, tool) = (service.gate.catalog(), last_segment(uri.path()));
    match catalog.find(tool, &caller).map(|found| description(found.contract())) {
        Some(contract) => json_response(StatusCode::OK, contract.to_string()),
        None => Problem::unknown_tool(tool).respond(uri.path()),
    }
}

async fn stats(State(service): State<Arc<Service>>, Extension(caller): Extension<Arc<Caller>>) -> Response {
    let figures = service.gate.recorder().metrics.figures();
    let visible: Vec<_> = figures.into_iter().filter(|figure| caller.access.allows(&figure.tool)).collect();
    json_response(StatusCode::OK, json!({"tools": visible}).to_string())
}

async fn show_openapi(State(service): State<Arc<Service>>, Extension(caller): Extension<Arc<Caller>>) -> Response {
    let catalog = service.gate.catalog();
    json_response(StatusCode::OK, openapi(catalog.contracts(&caller)).to_string())
}

async fn metrics(State(service): State<Arc<Service>>, Extension(caller): Extension<Arc<Caller>>, uri: Uri) -> Response {
    if caller.access != Access::All {
        let error = "The metrics name every tool, so only a caller who may use them all may read them";
        return Problem::new(StatusCode::FORBIDDEN, Code::AccessDenied, error).respond(uri.path());
    }
    let Ok(text) = service.gate.recorder().metrics.exposition() else {
        let problem = Problem::new(StatusCode::INTERNAL_SERVER_ERROR, Code::InternalError, "Internal error");
        return problem.respond(uri.path());
    };
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, HeaderValue::from_static(kind))], text).into_response()
}

async fn healthz() -> Response {
    json_response(StatusCode::OK, r#"{"status":"ok"}"#.to_owned())
}

async fn readyz(State(service): State<Arc<Service>>, uri: Uri) -> Response {
    match service.readiness.check().await {
        Ok(()) => json_response(StatusCode::OK, r#"{"status":"ready"}"#.to_owned()),
        Err(reason) => Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, reason).respond(uri.path()),
    }
}

async fn no_route(uri: Uri) -> Response {
    let error = "There is no such route; GET /openapi.json lists them";
    Problem::new(StatusCode::NOT_FOUND, Code::NotFound, error).respond(uri.path())
}

async fn no_method(uri: Uri) -> Response {
    let error = "This route does not take that method";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, Code::ValidationError, error).respond(uri.path())
}
