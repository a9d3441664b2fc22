//! `countersign mcp`: MCP on stdin and stdout, until the client closes its side or somebody asks to stop.

use std::pin::pin;
use std::time::Duration;

use countersign_transports::{ExitCode, StdioEnd, StdioStop};

use crate::args::Common;
use crate::failure::CommandError;
use crate::logging::Stderr;
use crate::signals::{Stop, StopSignals};
use crate::wiring;

/// Clients give a server some seconds to start; whoever comes later is announced.
const UPSTREAMS_PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(common: &Common) -> Result<ExitCode, CommandError> {
    let config = wiring::load(common, None)?;
    wiring::runtime()?.block_on(async {
        let mut signals = StopSignals::listen().map_err(anyhow::Error::new)?;
        let host = wiring::Host::start(&config, Stderr::Warnings, None).await?;
        // Many clients ask for the list once, and at once.
        host.await_upstreams(UPSTREAMS_PATIENCE).await;
        let (mcp, stop) = (host.mcp(), StdioStop::default());
        let mut served = pin!(mcp.serve_stdio(wiring::owner(), &stop));
        let mut first = None;
        let served = loop {
            tokio::select! {
                served = &mut served => break served,
                signal = signals.next() => {
                    if first.is_some() {
                        stop.at_once.cancel();
                    } else {
                        tracing::info!("stopping; a second signal ends what is under way");
                        first = Some(signal);
                        stop.asked.cancel();
                    }
                }
            }
        };
        host.stop().await;
        match served.map_err(anyhow::Error::new)? {
            StdioEnd::Stopped if first == Some(Stop::Interrupted) => Ok(ExitCode::Interrupted),
            StdioEnd::Stopped | StdioEnd::Closed => Ok(ExitCode::Ok),
        }
    })
}
