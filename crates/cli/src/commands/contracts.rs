//! `countersign contracts`: show one, export all, or check a folder of them against the ones in force.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use countersign_contract::{AnyTool, contract_file};
use countersign_host::Catalog;
use countersign_transports::{ExitCode, openapi};
use serde_json::{Value, json};

use super::call::UPSTREAMS_PATIENCE;
use crate::args::{Common, ContractsCommand};
use crate::config::Config;
use crate::failure::{CommandError, CommandResult};
use crate::output::{self, Format};
use crate::upstreams::Upstreams;
use crate::wiring::{self, Kept};

pub(super) fn run(common: &Common, command: ContractsCommand) -> CommandResult {
    let config = wiring::load(common, None)?;
    let own = wiring::own_tools(&config, Kept::nowhere())?;
    let catalog = Catalog::new(own.clone()).context("two built-in tools have the same name")?;
    match command {
        ContractsCommand::Show { tool } => {
            let contract = match catalog.find(&tool, &wiring::owner()) {
                Some(found) => contract_file(found.contract()),
                None if config.servers.is_empty() => return Err(wiring::unknown_tool(&tool, &catalog)),
                None => wiring::runtime()?.block_on(of_server(&tool, &config, own))?,
            };
            Ok(output::print_json(wiring::format(common), &contract)?)
        }
        ContractsCommand::Export { folder } => export(wiring::format(common), &config, &catalog, &folder),
        ContractsCommand::Check { folder } => check(wiring::format(common), &catalog, &folder),
    }
}

/// What a server's tool promises is known once the server is there.
async fn of_server(tool: &str, config: &Config, own: Vec<Arc<dyn AnyTool>>) -> Result<Value, CommandError> {
    let upstreams = Upstreams::start(config, own);
    upstreams.settle(UPSTREAMS_PATIENCE).await;
    let catalog = upstreams.catalog();
    let found = match catalog.find(tool, &wiring::owner()) {
        Some(found) => Ok(contract_file(found.contract())),
        None => Err(upstreams.absent(tool, config)),
    };
    upstreams.close().await;
    found
}

/// Every file that belongs into a folder of contracts, by name.
fn files(catalog: &Catalog) -> BTreeMap<String, Value> {
    let caller = wiring::owner();
    let contracts = catalog.contracts(&caller);
    let mut files: BTreeMap<_, _> =
        contracts.map(|contract| (format!("{}.json", contract.name), contract_file(contract))).collect();
    files.insert("openapi.json".to_owned(), openapi(catalog.contracts(&caller)));
    files
}

fn export(format: Format, config: &Config, catalog: &Catalog, folder: &Path) -> CommandResult {
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder `{}`", folder.display()))?;
    let mut written = Vec::new();
    for (name, content) in files(catalog) {
        let path = folder.join(name);
        fs::write(&path, format!("{content:#}\n")).with_context(|| format!("cannot write `{}`", path.display()))?;
        written.push(path.display().to_string());
    }
    let servers: Vec<_> = config.servers.iter().map(|server| server.name.as_str()).collect();
    if format == Format::Json {
        let done = json!({"folder": folder.display().to_string(), "written": written, "servers_left_out": servers});
        return Ok(output::print_json(format, &done)?);
    }
    for path in written {
        output::say(&format!("wrote {path}\n"));
    }
    if !servers.is_empty() {
        let servers = servers.join("`, `");
        output::say(&format!("the tools of `{servers}` are not exported: those contracts are their servers' own\n"));
    }
    Ok(())
}

fn check(format: Format, catalog: &Catalog, folder: &Path) -> CommandResult {
    let mut findings = Vec::new();
    let files = files(catalog);
    for (name, content) in &files {
        let path = folder.join(name);
        match fs::read(&path).map(|bytes| serde_json::from_slice::<Value>(&bytes)) {
            Ok(Ok(found)) if found == *content => {}
            Ok(Ok(_)) => findings.push(format!("{}: differs from the contract in force", path.display())),
            Ok(Err(error)) => findings.push(format!("{}: is not JSON: {error}", path.display())),
            Err(error) => findings.push(format!("{}: {error}", path.display())),
        }
    }
    if !findings.is_empty() {
        let hint = format!("`countersign contracts export {}` writes them anew", folder.display());
        let error = CommandError::message(ExitCode::Contract, findings.join("\n"));
        return Err(error.hint(hint).details(json!(findings)));
    }
    match format {
        Format::Json => output::print_json(format, &json!({"valid": true, "files": files.len()}))?,
        Format::Text => output::say(&format!("{} files are as the contracts in force say\n", files.len())),
    }
    Ok(())
}
