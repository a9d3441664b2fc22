//! The real program, as a process, over its real wires.

mod auth;
mod checklist;
mod cli;
mod corpus;
mod crash;
mod env;
mod hostile;
mod http;
mod invalid;
mod log;
mod reload;
mod rest;
mod shutdown;
