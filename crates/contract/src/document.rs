//! Documents generated from contracts: one JSON file per tool in the Task documents' format, and two pages for people.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{Approval, Contract, Example};

const GENERATED: &str = "<!-- Generated from the contracts by `cargo xtask codegen`; do not edit. -->\n";

/// `contracts/<tool>.json`: itself a JSON Schema for `{input, output}`, with the examples as instances of it.
pub fn contract_file(contract: &Contract) -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": contract.name,
        "description": contract.description,
        "type": "object",
        "properties": {
            "input": contract.input.raw(),
            "output": {"oneOf": [contract.success.raw(), contract.error.raw()]},
        },
        "examples": contract.terms.examples.iter().map(example_value).collect::<Vec<_>>(),
        "x-effect": contract.effect,
        "x-constraints": contract.terms.constraints,
        "x-approval": contract.terms.approval,
        "x-digest": contract.digest,
    })
}

/// `docs/contracts.md`: what every tool takes, gives and promises.
pub fn contracts_markdown<'a>(contracts: impl Iterator<Item = &'a Contract>) -> String {
    let mut page = format!(
        "{GENERATED}# Tool contracts\n\nEvery tool is listed with its name, description, input schema, output schema, \
         constraints and examples. Arguments are checked against the input schema before a tool runs, results against \
         the output schema before anyone sees them. The same contracts as files: [`contracts/`](../contracts).\n"
    );
    for contract in contracts {
        write_contract(&mut page, contract);
    }
    page
}

/// `docs/examples.md`: every example of every contract; a test runs them all.
pub fn examples_markdown<'a>(contracts: impl Iterator<Item = &'a Contract>) -> String {
    let mut page = format!(
        "{GENERATED}# Examples\n\nEach example is executed by the test suite. Values marked as varying differ from run \
         to run; everything else is compared.\n"
    );
    for contract in contracts {
        push(&mut page, format_args!("\n## {}\n\n{}\n", contract.name, contract.description));
        for example in &contract.terms.examples {
            push(&mut page, format_args!("\n### {}\n\n", example.title));
            write_example(&mut page, contract, example);
        }
    }
    page
}

fn write_contract(page: &mut String, contract: &Contract) {
    push(page, format_args!("\n---\n\n## {}\n\n{}\n\n", contract.name, contract.description));
    push(page, format_args!("- **Title**: {}\n", contract.title));
    push(page, format_args!("- **Effect**: `{}`\n", contract.effect.as_str()));
    let approval = match contract.terms.approval {
        Approval::Never => "not needed",
        Approval::Client => "a person's, in the client or outside it",
        Approval::OutOfBand => "a person's, outside the client",
    };
    push(page, format_args!("- **Approval**: {approval}\n"));
    if let Some(rate) = contract.terms.limits.rate_per_minute {
        push(page, format_args!("- **Rate limit**: {rate} calls a minute for each caller\n"));
    }
    push(page, format_args!("- **Digest**: `{}`\n", contract.digest));
    push(page, format_args!("\n### Input schema\n\n{}", fenced(contract.input.raw())));
    push(page, format_args!("\n### Output schema\n\n{}", fenced(&contract.output_schema())));
    page.push_str("\n### Constraints\n\n");
    for constraint in &contract.terms.constraints {
        push(page, format_args!("- {constraint}\n"));
    }
    if !contract.terms.examples.is_empty() {
        push(page, format_args!("\n### Examples\n\nSee [examples.md](examples.md#{}).\n", contract.name));
    }
}

fn write_example(page: &mut String, contract: &Contract, example: &Example) {
    for (file, contents) in &example.files {
        push(page, format_args!("Given the file `{file}`:\n\n```text\n{}\n```\n\n", contents.trim_end()));
    }
    for (url, contents) in &example.pages {
        push(page, format_args!("Given the page `{url}`:\n\n```text\n{}\n```\n\n", contents.trim_end()));
    }
    push(page, format_args!("```console\n$ countersign call {} --args '{}'\n", contract.name, example.input));
    push(page, format_args!("{:#}\n```\n", example.output));
    if !example.varies.is_empty() {
        push(page, format_args!("\nVaries: `{}`.\n", example.varies.join("`, `")));
    }
}

fn example_value(example: &Example) -> Value {
    json!({"input": example.input, "output": example.output})
}

fn fenced(schema: &Value) -> String {
    format!("```json\n{schema:#}\n```\n")
}

fn push(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = page.write_fmt(text);
}
