//! What the gate holds the reading of a resource and the filling in of a prompt to: what it would hold a tool of that
//! server to that reads. The names can be used in the configuration like those of tools.

use std::collections::BTreeSet;

use countersign_contract::{Approval, Contract, Effect, Schema, SchemaRejected, ToolName, UpstreamTerms, Wanted};
use serde_json::{Map, Value, json};

use crate::spec::ServerSpec;

pub(super) fn terms(spec: &ServerSpec, wanted: Wanted<'_>) -> Option<Contract> {
    let text = json!({"type": "string"});
    let (name, title, input, output) = match wanted {
        Wanted::Resource(_) => ("resources.read", "Read a resource", json!({"uri": text}), json!({"contents": list()})),
        Wanted::Prompt(_) => (
            "prompts.get",
            "Get a prompt",
            json!({"name": text, "arguments": {"type": "object"}}),
            json!({"description": text, "messages": list()}),
        ),
    };
    let name: ToolName = format!("{}__{name}", spec.name).parse().ok()?;
    let terms = UpstreamTerms {
        name,
        title: title.to_owned(),
        description: format!("{title} of the server `{}`", spec.name),
        effect: Effect::ReadsNetwork,
        approval: spec.approval.unwrap_or(Approval::Never),
        timeout: spec.timeout,
        arguments: names(&input),
        input: object(&input).ok()?,
        output: Some(object(&output).ok()?),
        annotations: None,
        icons: Vec::new(),
        meta: Map::new(),
    };
    Contract::upstream(terms).ok()
}

fn list() -> Value {
    json!({"type": "array", "items": {"type": "object"}})
}

fn names(properties: &Value) -> BTreeSet<String> {
    properties.as_object().into_iter().flat_map(Map::keys).cloned().collect()
}

/// With all of these, and nothing else.
fn object(properties: &Value) -> Result<Schema, SchemaRejected> {
    Schema::compile(json!({
        "type": "object",
        "properties": properties,
        "required": names(properties),
        "additionalProperties": false,
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use countersign_contract::{Approval, Wanted};

    use super::terms;
    use crate::spec::{Reach, ServerSpec};

    #[test]
    fn they_are_named_like_tools_and_end_when_those_end() {
        let reach = Reach::Http { url: "http://127.0.0.1/".to_owned(), headers: [].into() };
        let mut spec = ServerSpec::new("x".repeat(24).parse().unwrap(), reach);
        spec.timeout = Some(Duration::from_secs(7));
        for (wanted, name) in [(Wanted::Resource("a:b"), "resources.read"), (Wanted::Prompt("p"), "prompts.get")] {
            let terms = terms(&spec, wanted).unwrap();
            assert_eq!(terms.name.as_str(), format!("{}__{name}", spec.name));
            assert!(spec.may_have(terms.name.as_str()), "so that the configuration can name it");
            assert_eq!(terms.terms.limits.timeout, spec.timeout);
        }
    }

    #[test]
    fn they_need_a_person_where_the_servers_tools_do() {
        let reach = Reach::Http { url: "http://127.0.0.1/".to_owned(), headers: [].into() };
        let mut spec = ServerSpec::new("s".parse().unwrap(), reach);
        for (asked, approval) in [
            (None, Approval::Never),
            (Some(Approval::Never), Approval::Never),
            (Some(Approval::Client), Approval::Client),
            (Some(Approval::OutOfBand), Approval::OutOfBand),
        ] {
            spec.approval = asked;
            for wanted in [Wanted::Resource("a:b"), Wanted::Prompt("p")] {
                assert_eq!(terms(&spec, wanted).unwrap().terms.approval, approval, "{wanted:?}");
            }
        }
    }
}
