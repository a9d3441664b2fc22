//! `countersign contracts`: show one, export all, or check a folder of them against the ones in force.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use countersign_contract::contract_file;
use countersign_host::Catalog;
use countersign_transports::{ExitCode, openapi};
use serde_json::Value;

use crate::args::{Common, ContractsCommand};
use crate::failure::{CommandError, CommandResult};
use crate::output;
use crate::wiring::{self, Kept};

pub(super) fn run(common: &Common, command: ContractsCommand) -> CommandResult {
    let catalog = wiring::catalog(&wiring::load(common, None)?, Kept::nowhere())?;
    match command {
        ContractsCommand::Show { tool } => {
            let found = catalog.find(&tool, &wiring::owner()).ok_or_else(|| wiring::unknown_tool(&tool, &catalog))?;
            Ok(output::print_json(wiring::format(common), &contract_file(found.contract()))?)
        }
        ContractsCommand::Export { folder } => export(&catalog, &folder),
        ContractsCommand::Check { folder } => check(&catalog, &folder),
    }
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

fn export(catalog: &Catalog, folder: &Path) -> CommandResult {
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder `{}`", folder.display()))?;
    for (name, content) in files(catalog) {
        let path = folder.join(name);
        fs::write(&path, format!("{content:#}\n")).with_context(|| format!("cannot write `{}`", path.display()))?;
        output::say(&format!("wrote {}\n", path.display()));
    }
    Ok(())
}

fn check(catalog: &Catalog, folder: &Path) -> CommandResult {
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
    if findings.is_empty() {
        output::say(&format!("{} files are as the contracts in force say\n", files.len()));
        return Ok(());
    }
    let hint = format!("`countersign contracts export {}` writes them anew", folder.display());
    Err(CommandError::message(ExitCode::Contract, findings.join("\n")).hint(hint))
}
