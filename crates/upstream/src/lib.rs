//! Other people's MCP servers: connecting them, judging what they offer, and calling it.
//!
//! Nothing an upstream says is trusted: lines and bodies are bounded, every tool is judged on its own
//! ([`judge`]), and what a call gives back is checked by the gate like any other tool's. Each server is kept by a task
//! of its own ([`Fleet`]), so that one that is dead, slow or garbled concerns nobody else.

mod admission;
mod aside;
mod asking;
mod confine;
mod fleet;
mod header_args;
mod keeper;
mod link;
mod lookalike;
mod offered;
mod provider;
mod reasons;
mod session;
mod spec;
mod supervise;
mod texts;
mod tool;

pub use admission::{Judged, Level, Verdict, judge};
pub use confine::{ENTER, Sandbox, enter};
pub use fleet::Fleet;
pub use keeper::{Condition, Event, ServerReport};
pub use link::LinkError;
pub use reasons::{Reason, ReasonKind};
pub use session::{CallFailure, Era, Errand, Session};
pub use spec::{InvalidServerName, Prefix, Reach, ServerName, ServerSpec, ToolRules};
pub use supervise::{SUPERVISE, supervise};
