//! The upstream of `cargo xtask bench gateway`: a bare SDK server whose one tool says that it only reads and what it
//! gives, as a tool has to before Countersign calls it without further ado.
//!
//! `greeter` on stdio, `greeter PORT` over HTTP, `greeter PORT TOOLS` with a list of so many.

use std::error::Error;
use std::sync::Arc;

use axum::serve::ListenerExt as _;
use rmcp::handler::server::ServerHandler;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServiceExt as _, schemars, tool, tool_router};

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
struct Greeter {
    router: Arc<ToolRouter<Self>>,
    listed: Arc<Vec<Tool>>,
}

#[tool_router]
impl Greeter {
    /// Lists `tools` tools, of which the first can be called.
    fn new(tools: usize) -> Self {
        let router = Self::tool_router();
        let mut listed = router.list_all();
        if let Some(first) = listed.first().cloned() {
            listed.extend((1..tools).map(|number| {
                let mut tool = first.clone();
                tool.name = format!("hello_{number}").into();
                tool
            }));
        }
        Self { router: Arc::new(router), listed: Arc::new(listed) }
    }

    #[tool(description = "Say hello", annotations(read_only_hint = true))]
    fn hello(&self, Parameters(Name { name }): Parameters<Name>) -> Json<Greeting> {
        Json(Greeting { message: format!("Hello, {name}!") })
    }
}

impl ServerHandler for Greeter {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult { tools: self.listed.to_vec(), ..ListToolsResult::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.router.call(ToolCallContext::new(self, request, context)).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(port) = arguments.next() else {
        Greeter::new(1).serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    };
    let greeter = Greeter::new(arguments.next().map_or(Ok(1), |tools| tools.parse())?);
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    let service = StreamableHttpService::new(move || Ok(greeter.clone()), LocalSessionManager::default().into(), config);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
