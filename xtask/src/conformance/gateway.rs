//! `countersign serve` with the fixture as its upstream server: what the suite asks goes through both.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::http;
use crate::process::Server;

/// For the fixture to be found.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Gateway {
    program: Server,
    /// Ends after the program.
    _fixture: Server,
}

impl Gateway {
    /// The fixture's tools have no output schema, and the suite calls them by their own names.
    pub(super) fn start(fixture: &Path, program: &Path, folder: &Path) -> anyhow::Result<Self> {
        let fixture = Server::start(fixture, &["127.0.0.1:0"], folder)?;
        let config = format!(
            "tools: []\ncontracts: {{level: standard}}\nservers:\n  fixture: {{url: \"http://{}/mcp\", prefix: none}}\n",
            fixture.address()
        );
        fs::write(folder.join("countersign.yaml"), config).context("cannot write the configuration")?;
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--config", "countersign.yaml"];
        let program = Server::start(program, &arguments, folder)?;
        let begun = Instant::now();
        while !http::get(program.address(), "/v1/tools")?.contains("test_simple_text") {
            if begun.elapsed() > PATIENCE {
                bail!("the fixture's tools are not there after {} s", PATIENCE.as_secs());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(Self { program, _fixture: fixture })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.program.address()
    }
}
