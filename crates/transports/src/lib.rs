//! The wires on which calls arrive: REST and MCP over HTTP/1.1, MCP over stdio.
//!
//! The only place with status codes. It never sees a tool or a database; everything goes through the host's gate.

mod auth;
mod body;
mod guard;
mod http;
mod mcp;
mod openapi;
mod problem;
mod response;
mod rest;
mod wire;

pub use self::http::{BindError, HttpLimits, HttpServer, Unfinished};
pub use auth::{Auth, Token, TokenHash};
pub use guard::Guard;
pub use mcp::{Mcp, SealKey, StdioEnd, StdioStop};
pub use openapi::openapi;
pub use rest::{Guarded, Readiness, Service};
pub use wire::{ExitCode, exit_code, http_status};
