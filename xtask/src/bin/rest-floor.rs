//! The floor that `cargo xtask bench hello` compares with: the same route on bare axum, with nothing checked, limited,
//! logged or recorded. What Countersign costs beyond this is the price of its promises.

use std::process::ExitCode;

use axum::serve::ListenerExt as _;
use axum::{Json, Router, routing::post};
use jiff::{Timestamp, Unit};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

#[derive(Debug, Deserialize)]
struct Request {
    args: Arguments,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    name: String,
}

#[derive(Debug, Serialize)]
struct Answer {
    tool: &'static str,
    ok: bool,
    result: Greeting,
}

#[derive(Debug, Serialize)]
struct Greeting {
    message: String,
    timestamp: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Some(address) = std::env::args().nth(1) else { return ExitCode::FAILURE };
    let Ok(listener) = TcpListener::bind(&address).await else { return ExitCode::FAILURE };
    let listener = listener.tap_io(|stream| {
        // Only speed is lost where it fails, and then the measurement shows it.
        let _ = stream.set_nodelay(true);
    });
    let routes = Router::new().route("/v1/tools/hello", post(hello));
    match axum::serve(listener, routes).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

async fn hello(Json(request): Json<Request>) -> Json<Answer> {
    let now = Timestamp::now();
    let timestamp = now.round(Unit::Second).unwrap_or(now).to_string();
    let message = format!("Hello, {}!", request.args.name);
    Json(Answer { tool: "hello", ok: true, result: Greeting { message, timestamp } })
}
