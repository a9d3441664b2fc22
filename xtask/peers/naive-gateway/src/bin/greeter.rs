//! The upstream of `cargo xtask bench gateway`: a bare SDK server whose one tool says that it only reads and what it
//! gives, as a tool has to before Countersign calls it without further ado.
//!
//! `greeter` on stdio, `greeter PORT` over HTTP.

use std::error::Error;

use axum::serve::ListenerExt as _;
use rmcp::handler::server::ServerHandler;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{ServerCapabilities, ServerConfig};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServiceExt as _, schemars, tool, tool_handler, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    /// Who to greet
    name: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Greeting {
    message: String,
}

#[derive(Clone)]
struct Greeter;

#[tool_router]
impl Greeter {
    #[tool(description = "Say hello", annotations(read_only_hint = true))]
    fn hello(&self, Parameters(Name { name }): Parameters<Name>) -> Json<Greeting> {
        Json(Greeting { message: format!("Hello, {name}!") })
    }
}

#[tool_handler]
impl ServerHandler for Greeter {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let Some(port) = std::env::args().nth(1) else {
        Greeter.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    };
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    let service = StreamableHttpService::new(|| Ok(Greeter), LocalSessionManager::default().into(), config);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
