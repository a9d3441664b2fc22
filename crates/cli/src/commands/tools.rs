//! `countersign tools`: the catalog.

use serde_json::json;

use crate::args::Common;
use crate::failure::CommandResult;
use crate::output::{self, Format};
use crate::wiring;
use countersign_store::Tasks;

pub(super) fn run(common: &Common) -> CommandResult {
    let config = wiring::load(common, None)?;
    let catalog = wiring::catalog(&config, Tasks::nowhere())?;
    let caller = wiring::owner();
    // Until upstream servers come, every tool is built in and every contract was checked when the catalog was made.
    let (source, state) = ("built-in", "in force");
    if wiring::format(common) == Format::Json {
        let tools = catalog.contracts(&caller).map(|contract| {
            json!({
                "name": contract.name,
                "title": contract.title,
                "description": contract.description,
                "source": source,
                "effect": contract.effect,
                "contract": {"state": state, "digest": contract.digest},
            })
        });
        let tools: Vec<_> = tools.collect();
        return Ok(output::print_json(Format::Json, &json!({"tools": tools}))?);
    }
    let rows = catalog.contracts(&caller).map(|contract| {
        let effect = contract.effect.as_str().to_owned();
        vec![contract.name.to_string(), source.to_owned(), effect, state.to_owned(), contract.description.clone()]
    });
    Ok(output::print(&output::table(&["NAME", "SOURCE", "EFFECT", "CONTRACT", "DESCRIPTION"], rows))?)
}
