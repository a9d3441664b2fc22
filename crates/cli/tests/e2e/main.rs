//! The real program, as a process, over its real wires.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on ends")]

mod adam;
mod approvals;
mod ask;
mod ask_model;
mod auth;
mod checklist;
mod cli;
mod client;
mod context;
mod corpus;
mod crash;
mod env;
mod examples;
mod file_io;
mod grep;
mod hostile;
mod http;
mod invalid;
mod log;
mod mcp_http;
mod mcp_stdio;
mod memory;
mod model;
mod origin;
mod paths;
mod postgres;
mod read_file;
mod reload;
mod rest;
mod rows;
mod shutdown;
mod tasks;
mod tls;
mod upstreams;
mod web;
