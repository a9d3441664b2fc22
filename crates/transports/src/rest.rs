//! REST: two faces over the same call path, and the routes around them.
//!
//! `POST /v1/tools/{tool}` wraps arguments and result in an envelope; `POST /mcp/tool/{tool}` takes and gives them bare.

mod approvals;
mod ask;
mod guarded;
mod route;

use std::sync::Arc;

use arc_swap::ArcSwap;
use countersign_ask::Ask;
use countersign_contract::{Access, BoxFuture, Caller, Client, Code, HeldCalls, Progress};
use countersign_host::{Answer, Call, Gate, NoAnswer, Wire};
use http::header::{ALLOW, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use hyper::body::Incoming;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use self::guarded::Guarded;
use self::route::Route;
use crate::auth::Auth;
use crate::body::read_json;
use crate::guard::Guard;
use crate::mcp::{Mcp, Streamable};
use crate::openapi::{description, openapi, summary};
use crate::problem::{Problem, shown};
use crate::response::{Response, json_response, response};
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
    mcp: Streamable,
    approvals: Option<Arc<dyn HeldCalls>>,
    ask: Option<Arc<Ask>>,
    servers: ServerReports,
}

/// How upstream servers do, as JSON.
struct ServerReports(Box<dyn Fn() -> Value + Send + Sync>);

impl std::fmt::Debug for ServerReports {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ServerReports")
    }
}

/// Whether calls can be served right now; the reason if not.
pub trait Readiness: Send + Sync + std::fmt::Debug {
    fn check(&self) -> BoxFuture<'_, Result<(), String>>;
}

impl Service {
    pub fn new(mcp: Mcp, auth: Auth, guard: Guard, readiness: Arc<dyn Readiness>, max_body: usize) -> Self {
        let (gate, in_flight) = (Arc::clone(mcp.gate()), Semaphore::new(MAX_IN_FLIGHT));
        let mcp = Streamable::new(mcp, max_body);
        let servers = ServerReports(Box::new(|| json!({"servers": []})));
        let auth = ArcSwap::from_pointee(auth);
        Self { gate, auth, guard, readiness, max_body, in_flight, mcp, approvals: None, ask: None, servers }
    }

    /// What `/v1/servers` shows.
    #[must_use]
    pub fn with_servers(self, report: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self { servers: ServerReports(Box::new(report)), ..self }
    }

    /// Where approvers find the calls that wait for them.
    #[must_use]
    pub fn with_approvals(self, held: Arc<dyn HeldCalls>) -> Self {
        Self { approvals: Some(held), ..self }
    }

    /// What answers questions.
    #[must_use]
    pub fn with_ask(self, ask: Arc<Ask>) -> Self {
        Self { ask: Some(ask), ..self }
    }

    /// From the next request on.
    pub fn replace_auth(&self, auth: Auth) {
        self.auth.store(Arc::new(auth));
    }
}

/// A request with the one who makes it.
struct Asked {
    head: Parts,
    body: Incoming,
    caller: Arc<Caller>,
}

/// All of this is reached through [`Guarded`] only.
impl Service {
    /// The routes that need no caller.
    async fn answer_anyone(&self, route: Route<'_>, method: &Method) -> Result<Response, Problem> {
        if !route.takes(method) {
            return Err(no_method(route));
        }
        if route == Route::Readyz {
            let unready = |reason| Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, reason);
            self.readiness.check().await.map_err(unready)?;
            return Ok(json_response(StatusCode::OK, r#"{"status":"ready"}"#));
        }
        Ok(json_response(StatusCode::OK, r#"{"status":"ok"}"#))
    }

    async fn answer(&self, route: Option<Route<'_>>, asked: Asked) -> Result<Response, Problem> {
        let Some(route) = route else {
            let error = "There is no such route; GET /openapi.json lists them";
            return Err(Problem::new(StatusCode::NOT_FOUND, Code::NotFound, error));
        };
        if !route.takes(&asked.head.method) {
            return Err(no_method(route));
        }
        match route {
            Route::Tool(tool) if asked.head.method == Method::POST => self.call_enveloped(tool, asked).await,
            Route::Tool(tool) => self.show_tool(tool, &asked.caller),
            // Boxed: a future is moved as a whole, and the SDK's is many times as large as all others together.
            Route::Mcp => Box::pin(self.mcp.handle(asked.head, asked.body, asked.caller)).await,
            Route::BareTool(tool) => self.call_bare(tool, asked).await,
            Route::Tools => Ok(self.list_tools(&asked.caller)),
            Route::Ask => Box::pin(self.ask(asked)).await,
            Route::Approvals => self.list_approvals(&asked.caller).await,
            Route::Approval(id) => self.approval(id, asked).await,
            Route::Servers => self.list_servers(&asked.caller),
            Route::Stats => Ok(self.stats(&asked.caller)),
            Route::OpenApi => Ok(self.show_openapi(&asked.caller)),
            Route::Metrics => self.metrics(&asked.caller),
            Route::Healthz | Route::Readyz => self.answer_anyone(route, &asked.head.method).await,
        }
    }

    async fn call_enveloped(&self, tool: &str, asked: Asked) -> Result<Response, Problem> {
        let body = read_json(&asked.head.headers, asked.body, self.max_body).await?;
        let answer = self.call(tool, open_envelope(body)?, asked.caller).await?;
        let body = envelope(tool, &answer);
        Ok(respond(&answer, body))
    }

    async fn call_bare(&self, tool: &str, asked: Asked) -> Result<Response, Problem> {
        let arguments = read_json(&asked.head.headers, asked.body, self.max_body).await?;
        let mut answer = self.call(tool, arguments, asked.caller).await?;
        let body = Arc::unwrap_or_clone(std::mem::take(&mut answer.reply.text));
        Ok(respond(&answer, body))
    }

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
            client: Client::default(),
        };
        self.gate.call(call).await.map_err(|reason| match reason {
            NoAnswer::UnknownTool => Problem::unknown_tool(tool),
            // Nobody is asked on this wire.
            NoAnswer::InputRequired(_) | NoAnswer::MissingCapability(_) => {
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, reason.to_string())
            }
            NoAnswer::Cancelled => Problem::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, "Cancelled"),
        })
    }

    fn list_tools(&self, caller: &Caller) -> Response {
        let catalog = self.gate.catalog();
        let tools: Vec<_> = catalog.contracts(caller).map(summary).collect();
        json_response(StatusCode::OK, json!({"tools": tools}).to_string())
    }

    fn show_tool(&self, tool: &str, caller: &Caller) -> Result<Response, Problem> {
        let catalog = self.gate.catalog();
        let found = catalog.find(tool, caller).ok_or_else(|| Problem::unknown_tool(tool))?;
        Ok(json_response(StatusCode::OK, description(found.contract()).to_string()))
    }

    fn list_servers(&self, caller: &Caller) -> Result<Response, Problem> {
        if caller.access != Access::All {
            let error = "The servers name every tool, so only a caller who may use them all may see them";
            return Err(Problem::new(StatusCode::FORBIDDEN, Code::AccessDenied, error));
        }
        Ok(json_response(StatusCode::OK, (self.servers.0)().to_string()))
    }

    fn stats(&self, caller: &Caller) -> Response {
        let figures = self.gate.recorder().metrics.figures();
        let visible: Vec<_> = figures.into_iter().filter(|figure| caller.access.allows(&figure.tool)).collect();
        json_response(StatusCode::OK, json!({"tools": visible}).to_string())
    }

    fn show_openapi(&self, caller: &Caller) -> Response {
        json_response(StatusCode::OK, openapi(self.gate.catalog().contracts(caller)).to_string())
    }

    fn metrics(&self, caller: &Caller) -> Result<Response, Problem> {
        if caller.access != Access::All {
            let error = "The metrics name every tool, so only a caller who may use them all may read them";
            return Err(Problem::new(StatusCode::FORBIDDEN, Code::AccessDenied, error));
        }
        let text = self
            .gate
            .recorder()
            .metrics
            .exposition()
            .map_err(|_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, Code::InternalError, "Internal error"))?;
        Ok(response(StatusCode::OK, "application/openmetrics-text; version=1.0.0; charset=utf-8", text))
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
    // Whoever waits for a person finds out where, under a name of its own.
    let waits = reply.failure.is_some_and(|failure| failure.code == Code::ApprovalRequired);
    let details = if waits { "approval" } else { "details" };
    for (key, name) in [("error", "error"), ("code", "code"), ("details", details)] {
        if let Some(value) = reply.structured.get(key) {
            failure[name] = value.clone();
        }
    }
    failure.to_string()
}

fn respond(answer: &Answer, body: String) -> Response {
    let status = answer.reply.failure.map_or(StatusCode::OK, http_status);
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

fn no_method(route: Route<'_>) -> Problem {
    let error = "This route does not take that method";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, Code::ValidationError, error)
        .with_header(ALLOW, HeaderValue::from_static(route.methods()))
}
