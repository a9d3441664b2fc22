//! `countersign tools`: the catalog.

use std::time::Duration;

use countersign_contract::Contract;
use countersign_upstream::Condition;
use serde_json::json;

use crate::args::Common;
use crate::failure::CommandResult;
use crate::output::{self, Format};
use crate::upstreams::Upstreams;
use crate::wiring::{self, Kept};

/// A server that has to be fetched first takes its time.
const UPSTREAMS_PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(common: &Common) -> CommandResult {
    let config = wiring::load(common, None)?;
    let own = wiring::own_tools(&config, Kept::nowhere())?;
    let catalog = wiring::runtime()?.block_on(async {
        let upstreams = Upstreams::start(&config, own);
        upstreams.settle(UPSTREAMS_PATIENCE).await;
        let catalog = upstreams.catalog();
        for report in upstreams.reports().iter().filter(|report| report.condition != Condition::Ready) {
            let error = report.error.as_deref().unwrap_or("no answer yet");
            output::say(&format!("warning: the server `{}` is not there: {error}\n", report.name));
        }
        upstreams.close().await;
        catalog
    });
    let caller = wiring::owner();
    // What is not in force is not in the catalog.
    let state = "in force";
    let source = |contract: &Contract| {
        let server = config.servers.iter().find(|server| server.may_have(contract.name.as_str()));
        match server {
            Some(server) if contract.from_server.is_some() => server.name.to_string(),
            _ => "built-in".to_owned(),
        }
    };
    if wiring::format(common) == Format::Json {
        let tools = catalog.contracts(&caller).map(|contract| {
            json!({
                "name": contract.name,
                "title": contract.title,
                "description": contract.description,
                "source": source(contract),
                "effect": contract.effect,
                "contract": {"state": state, "digest": contract.digest},
            })
        });
        let tools: Vec<_> = tools.collect();
        return Ok(output::print_json(Format::Json, &json!({"tools": tools}))?);
    }
    let rows = catalog.contracts(&caller).map(|contract| {
        let effect = contract.effect.as_str().to_owned();
        vec![contract.name.to_string(), source(contract), effect, state.to_owned(), contract.description.clone()]
    });
    Ok(output::print(&output::table(&["NAME", "SOURCE", "EFFECT", "CONTRACT", "DESCRIPTION"], rows))?)
}
