//! The fixture that the official conformance suite is run against: our transport, gate and provider types with the
//! tools, prompts and resources that the suite asks for by name. For tests only.

mod offers;
mod tools;

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use countersign_contract::BoxFuture;
use countersign_host::{Catalog, Changes, Gate, Metrics, NoApprover, Policy, Recorder};
use countersign_transports::{Auth, Guard, Guarded, HttpLimits, HttpServer, Mcp, Readiness, SealKey, Service};
use tokio_util::task::TaskTracker;

/// Where tools announce changes; the gate that they belong to exists only after them.
static CHANGES: OnceLock<Changes> = OnceLock::new();

#[derive(Debug)]
struct Always;

impl Readiness for Always {
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{error}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("usage: conformance ADDRESS")?.parse()?;
    let recorder =
        Recorder { metrics: Arc::new(Metrics::new()), call_log: None, audit: None, tasks: TaskTracker::new() };
    let catalog = Catalog::new(tools::all()?)?;
    let gate = Arc::new(Gate::new(catalog, Policy::default(), Arc::new(NoApprover), recorder));
    CHANGES.set(gate.changes().clone()).map_err(|_| "set twice")?;
    let limits = HttpLimits { max_connections: 256, grace: std::time::Duration::from_secs(1) };
    let server = HttpServer::bind(address, limits).await?;
    let address = server.address()?;
    let mcp = Mcp::new(gate, Arc::new(offers::Fixture), &SealKey::generate());
    let guard = Guard::new(address, &[], &[]);
    let service = Service::new(mcp, Auth::new(Vec::new()), guard, Arc::new(Always), 4 * 1024 * 1024);
    std::io::Write::write_all(&mut std::io::stdout(), format!("listening on http://{address}/mcp\n").as_bytes())?;
    server.run(Guarded::new(Arc::new(service)), std::future::pending(), std::future::pending()).await;
    Ok(())
}
