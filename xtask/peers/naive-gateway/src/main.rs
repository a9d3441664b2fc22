//! The floor of `cargo xtask bench gateway`: a gateway made of the SDK's client and server and nothing else. It checks
//! nothing, keeps nothing, and passes tools and calls on as they are.
//!
//! `naive-gateway PORT http URL` or `naive-gateway PORT program COMMAND …`.

use std::error::Error;

use axum::serve::ListenerExt as _;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{Peer, RequestContext, RoleClient, RoleServer, RunningService, ServiceExt as _};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use tokio::process::Command;

#[derive(Clone)]
struct Gateway(Peer<RoleClient>);

impl ServerHandler for Gateway {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.0.list_tools(request).await.map_err(failed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.0.call_tool_once(request).await.map_err(failed)
    }
}

fn failed(error: impl Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, kind, rest @ ..] = arguments.as_slice() else { return Err("PORT http|program …".into()) };
    let upstream: RunningService<RoleClient, ()> = match (kind.as_str(), rest) {
        ("http", [url]) => ().serve(StreamableHttpClientTransport::from_uri(url.as_str())).await?,
        ("program", [program, arguments @ ..]) => {
            let mut command = Command::new(program);
            command.args(arguments);
            ().serve(TokioChildProcess::new(command)?).await?
        }
        _ => return Err("http URL, or program COMMAND …".into()),
    };
    let gateway = Gateway(upstream.peer().clone());
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    let service = StreamableHttpService::new(move || Ok(gateway.clone()), LocalSessionManager::default().into(), config);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
