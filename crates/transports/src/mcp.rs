//! MCP: one endpoint in front of the gate, for every wire and both protocol eras.
//!
//! The SDK speaks the protocol and tells the eras apart; what is said comes from the gate and the provider. Only what
//! is offered answers: everything else is an unknown method.

mod asking;
mod direct;
mod lending;
mod listed;
mod message;
mod serving;
mod stdio;
mod streamable;
mod translate;
mod watching;

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use countersign_contract::{Access, Caller, Provider, Severity};
use countersign_host::{Gate, Wire};
use http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use self::asking::SealKey;
use self::asking::Seals;
use self::listed::Listed;
pub use self::stdio::{StdioEnd, StdioStop};
pub(crate) use self::streamable::Streamable;
use self::watching::Watches;

/// What a client reads before anything else.
const INSTRUCTIONS: &str = "Every call is checked against its tool's contract: arguments before the tool runs, results \
    before you see them. A refused call says what was wrong with each argument; correct them and call again. The \
    resource contract://<tool> has a tool's constraints and executed examples.";

/// All that MCP needs, whatever it is spoken over.
#[derive(Clone)]
pub struct Mcp {
    shared: Arc<Shared>,
}

struct Shared {
    gate: Arc<Gate>,
    provider: Arc<dyn Provider>,
    /// The tools as clients see them, made anew when the catalog is another one.
    listed: ArcSwap<Listed>,
    seals: Seals,
    /// Ends what would otherwise never end: subscriptions.
    stopping: CancellationToken,
}

/// The endpoint as one session sees it; without sessions, as one request does.
#[derive(Clone)]
struct Endpoint {
    shared: Arc<Shared>,
    session: Arc<Session>,
}

struct Session {
    wire: Wire,
    /// Who is on the other side, where the wire has only one such.
    caller: Option<Arc<Caller>>,
    /// How much it wants to be told.
    level: Mutex<Option<Severity>>,
    /// The resources whose changes it wants to hear of.
    watches: Watches,
    /// Whether somebody tells it of changes already.
    is_told: AtomicBool,
    /// Pulled when the last request of the session has let go of it.
    over: CancellationToken,
    _over: DropGuard,
}

impl Mcp {
    pub fn new(gate: Arc<Gate>, provider: Arc<dyn Provider>, key: &SealKey) -> Self {
        let listed = ArcSwap::from_pointee(Listed::of(gate.catalog()));
        let shared = Shared { gate, provider, listed, seals: Seals::new(key), stopping: CancellationToken::new() };
        Self { shared: Arc::new(shared) }
    }

    pub fn gate(&self) -> &Arc<Gate> {
        &self.shared.gate
    }

    /// Subscriptions end; calls go on.
    pub(crate) fn stop(&self) {
        self.shared.stopping.cancel();
    }

    fn endpoint(&self, wire: Wire, caller: Option<Arc<Caller>>) -> Endpoint {
        let over = CancellationToken::new();
        let session = Session {
            wire,
            caller,
            level: Mutex::default(),
            watches: Watches::default(),
            is_told: AtomicBool::new(false),
            _over: over.clone().drop_guard(),
            over,
        };
        Endpoint { shared: Arc::clone(&self.shared), session: Arc::new(session) }
    }
}

impl Shared {
    fn listed(&self) -> Arc<Listed> {
        let (listed, catalog) = (self.listed.load_full(), self.gate.catalog());
        if listed.is_of(&catalog) {
            return listed;
        }
        let listed = Arc::new(Listed::of(catalog));
        self.listed.store(Arc::clone(&listed));
        listed
    }
}

impl Endpoint {
    /// The one who makes this request. Without one, nothing exists.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Arc<Caller> {
        let established = || context.extensions.get::<Parts>()?.extensions.get::<Arc<Caller>>().cloned();
        let nobody = || {
            Arc::new(Caller {
                name: "nobody".into(),
                access: Access::Only(std::collections::BTreeSet::new()),
                approver: false,
            })
        };
        self.session.caller.clone().or_else(established).unwrap_or_else(nobody)
    }

    /// The session that this request belongs to, for the records.
    fn session_id(context: &RequestContext<RoleServer>) -> Option<String> {
        let parts = context.extensions.get::<Parts>()?;
        parts.headers.get("mcp-session-id")?.to_str().ok().map(ToOwned::to_owned)
    }
}

impl fmt::Debug for Mcp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Mcp").field("gate", &self.shared.gate).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
