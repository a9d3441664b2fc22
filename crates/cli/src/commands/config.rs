//! `countersign config`: check it, show it, or print its schema.

use countersign_transports::ExitCode;
use serde_json::json;

use crate::args::{Common, ConfigCommand};
use crate::config::config_schema;
use crate::failure::{CommandError, CommandResult};
use crate::output::{self, Format};
use crate::wiring::{self, Kept};

pub(super) fn run(common: &Common, command: Option<ConfigCommand>) -> CommandResult {
    match command.unwrap_or(ConfigCommand::Show) {
        ConfigCommand::Schema => Ok(output::print(&format!("{:#}\n", config_schema()))?),
        ConfigCommand::Check => check(common),
        ConfigCommand::Show => {
            let config = wiring::load(common, None)?;
            match wiring::format(common) {
                Format::Json => Ok(output::print_json(Format::Json, &config.show())?),
                Format::Text => Ok(output::print(&config.show_yaml())?),
            }
        }
    }
}

fn check(common: &Common) -> CommandResult {
    let config = wiring::load(common, None)?;
    let catalog = wiring::catalog(&config, Kept::nowhere())?;
    let unknown = wiring::unknown_names(&config, &catalog);
    if !unknown.is_empty() {
        let hint = "`countersign tools` lists the tools; what such a key says holds for none of them";
        let message = CommandError::message(ExitCode::Usage, unknown.join("\n"));
        return Err(message.hint(hint).details(json!(unknown)));
    }
    let file = config.sources.file.as_ref().map(|file| file.display().to_string());
    match wiring::format(common) {
        Format::Json => Ok(output::print_json(Format::Json, &json!({"valid": true, "file": file}))?),
        Format::Text => {
            let source = file.unwrap_or_else(|| "embedded defaults".to_owned());
            Ok(output::print(&format!("valid: {source}\n"))?)
        }
    }
}
