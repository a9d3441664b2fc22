//! The REST interface as an OpenAPI 3.1 document, written from the contracts.

use countersign_contract::{Code, Contract};
use serde_json::{Map, Value, json};

/// What a call may come to beside a result.
const FAILURES: [(&str, &str); 15] = [
    ("202", "A person has to approve the call first"),
    ("400", "The arguments or the request are not valid"),
    ("401", "A token is needed"),
    ("403", "Access denied"),
    ("404", "Not found"),
    ("408", "The body did not arrive in time"),
    ("413", "Too large"),
    ("415", "The body or the content is of a type that is not taken"),
    ("421", "Another host was asked for"),
    ("429", "Too many calls; `Retry-After` says when to try again"),
    ("500", "We failed; `details.request_id` names the call in the log"),
    ("502", "Something further away failed or broke its contract"),
    ("503", "Not available right now"),
    ("504", "The call took too long"),
    ("507", "No space is left"),
];

/// What `GET /v1/tools` says of each tool.
pub(crate) fn summary(contract: &Contract) -> Value {
    json!({
        "name": contract.name,
        "title": contract.title,
        "description": contract.description,
        "effect": contract.effect,
        "digest": contract.digest,
    })
}

/// What `GET /v1/tools/{tool}` says: the whole contract.
pub(crate) fn description(contract: &Contract) -> Value {
    let mut value = contract.definition();
    let examples = contract.terms.examples.iter();
    value["constraints"] = json!(contract.terms.constraints);
    value["examples"] = examples
        .map(|example| json!({"title": example.title, "input": example.input, "output": example.output}))
        .collect();
    value["approval"] = json!(contract.terms.approval);
    value["ratePerMinute"] = json!(contract.terms.limits.rate_per_minute);
    value["digest"] = json!(contract.digest);
    value
}

pub fn openapi<'a>(contracts: impl Iterator<Item = &'a Contract>) -> Value {
    let mut paths = fixed_paths();
    for contract in contracts {
        let name = &contract.name;
        paths.insert(format!("/v1/tools/{name}"), json!({"get": show(contract), "post": enveloped(contract)}));
        paths.insert(format!("/mcp/tool/{name}"), json!({"post": bare(contract)}));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Countersign",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A contract-enforcing host for AI tools",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": problem_schema(), "Summary": summary_schema(), "Figures": figures_schema(), "HeldCall": held_schema()},
            "responses": {"Problem": {"description": "The request was not taken", "content": json_content(&json!({"$ref": "#/components/schemas/Problem"}))}},
        },
    })
}

fn fixed_paths() -> Map<String, Value> {
    let status =
        |word: &str| json!({"type": "object", "properties": {"status": {"const": word}}, "required": ["status"]});
    let list = |schema: &str| {
        let items = json!({"type": "array", "items": {"$ref": format!("#/components/schemas/{schema}")}});
        json!({"type": "object", "properties": {"tools": items}, "required": ["tools"]})
    };
    let any = json!({"type": "object"});
    let figures = json!({"application/openmetrics-text": {"schema": {"type": "string"}}});
    let servers = json!({
        "type": "object",
        "properties": {"servers": {"type": "array", "items": {"type": "object"}}},
        "required": ["servers"],
    });
    let paths = [
        (
            "/v1/servers",
            read("listServers", "Upstream servers and what was made of their tools", &json_content(&servers)),
        ),
        ("/v1/tools", read("listTools", "The tools this caller may use", &json_content(&list("Summary")))),
        ("/v1/stats", read("stats", "Figures per tool since the start", &json_content(&list("Figures")))),
        ("/openapi.json", read("openapi", "This document", &json_content(&any))),
        ("/healthz", read("healthz", "Whether the process is alive", &json_content(&status("ok")))),
        ("/readyz", read("readyz", "Whether calls can be served", &json_content(&status("ready")))),
        ("/metrics", read("metrics", "Figures for Prometheus", &figures)),
    ];
    let mut paths: Map<_, _> =
        paths.into_iter().map(|(path, operation)| (path.to_owned(), json!({"get": operation}))).collect();
    let held = json!({"$ref": "#/components/schemas/HeldCall"});
    let list = json!({
        "type": "object",
        "properties": {"approvals": {"type": "array", "items": held}},
        "required": ["approvals"],
    });
    let listed = read("listApprovals", "The calls that wait for a person; for approvers", &json_content(&list));
    paths.insert("/v1/ask".to_owned(), json!({"post": ask()}));
    paths.insert("/v1/approvals".to_owned(), json!({"get": listed}));
    paths.insert("/v1/approvals/{id}".to_owned(), approval(&json_content(&held)));
    paths
}

/// A question in words.
fn ask() -> Value {
    let text = json!({"type": "string"});
    let question = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "The question, in words"},
            "summary": {"type": "boolean", "description": "Whether the answer is summed up in bullets that quote it"},
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    let answer = json!({
        "type": "object",
        "properties": {
            "query_id": text, "query": text, "ok": {"type": "boolean"}, "request_id": text, "receipt": text,
            "plan": {"type": "object"},
            "refusal": {"type": "object", "description": "Why nothing was called"},
            "result": {"type": "object"},
            "failure": {"type": "object"},
            "summary": {"type": "object"},
        },
        "required": ["query_id", "query", "ok", "plan"],
        "additionalProperties": false,
    });
    let summary = "Plans, calls at most one tool and answers; a refusal is an answer too";
    let mut operation = read("ask", summary, &json_content(&answer));
    operation["requestBody"] = json!({"required": true, "content": json_content(&question)});
    for (status, meaning) in FAILURES {
        let either = json!({"anyOf": [answer, {"$ref": "#/components/schemas/Problem"}]});
        operation["responses"][status] = json!({"description": meaning, "content": json_content(&either)});
    }
    operation
}

/// One held call: shown, and decided about.
fn approval(content: &Value) -> Value {
    let decision = json!({
        "type": "object",
        "properties": {"decision": {"enum": ["approve", "deny"]}},
        "required": ["decision"],
        "additionalProperties": false,
    });
    let mut show = read("showApproval", "One held call; for approvers", content);
    let mut decide = read("decideApproval", "Approve or deny a held call; for approvers, not for the caller", content);
    decide["requestBody"] = json!({"required": true, "content": json_content(&decision)});
    for operation in [&mut show, &mut decide] {
        operation["responses"]["404"] = json!({"$ref": "#/components/responses/Problem"});
    }
    for status in ["408", "413", "415"] {
        decide["responses"][status] = json!({"$ref": "#/components/responses/Problem"});
    }
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
    json!({"parameters": [id], "get": show, "post": decide})
}

fn read(id: &str, summary: &str, content: &Value) -> Value {
    let mut responses = problems();
    responses.insert("200".to_owned(), json!({"description": summary, "content": content}));
    json!({"operationId": id, "summary": summary, "responses": responses})
}

/// What any route may answer before it looks at the request's content.
fn problems() -> Map<String, Value> {
    let statuses = ["400", "401", "403", "421", "503"];
    statuses.into_iter().map(|status| (status.to_owned(), json!({"$ref": "#/components/responses/Problem"}))).collect()
}

fn show(contract: &Contract) -> Value {
    let id = format!("show_{}", contract.name);
    let schema = json!({
        "type": "object",
        "required": ["name", "description", "effect", "inputSchema", "outputSchema", "constraints", "examples", "digest"],
    });
    read(&id, &format!("The contract of `{}`", contract.name), &json_content(&schema))
}

fn enveloped(contract: &Contract) -> Value {
    let arguments = json!({
        "type": "object",
        "properties": {"args": contract.input.raw()},
        "required": if needs_arguments(contract) { json!(["args"]) } else { json!([]) },
        "additionalProperties": false,
    });
    let success = json!({
        "type": "object",
        "properties": {"tool": {"const": contract.name}, "ok": {"const": true}, "result": contract.success.raw()},
        "required": ["tool", "ok", "result"],
        "additionalProperties": false,
    });
    let failure = json!({
        "type": "object",
        "properties": {
            "tool": {"type": "string"},
            "ok": {"const": false},
            "error": {"type": "string"},
            "code": {"enum": Code::ALL},
            "details": {},
            "approval": {
                "type": "object",
                "properties": {
                    "approval_id": {"type": "string"},
                    "expires_at": {"type": "string", "format": "date-time"},
                    "command": {"type": "string"},
                    "url": {"type": "string"},
                },
                "required": ["approval_id", "expires_at", "command", "url"],
            },
        },
        "required": ["tool", "ok", "error", "code"],
        "additionalProperties": false,
    });
    call(contract, &format!("call_{}", contract.name), &arguments, &success, &failure)
}

fn bare(contract: &Contract) -> Value {
    let id = format!("call_bare_{}", contract.name);
    let failure = json!({"anyOf": [contract.error.raw(), {"$ref": "#/components/schemas/Problem"}]});
    call(contract, &id, contract.input.raw(), contract.success.raw(), &failure)
}

fn call(contract: &Contract, id: &str, body: &Value, success: &Value, failure: &Value) -> Value {
    let mut responses = Map::new();
    let mut answer = |status: &str, description: &str, schema: &Value| {
        responses.insert(status.to_owned(), json!({"description": description, "content": json_content(schema)}));
    };
    answer("200", "The result", success);
    for (status, description) in FAILURES {
        answer(status, description, failure);
    }
    json!({
        "operationId": id,
        "summary": contract.title,
        "description": contract.description,
        "requestBody": {"required": true, "content": json_content(body)},
        "responses": responses,
    })
}

fn needs_arguments(contract: &Contract) -> bool {
    contract.input.raw()["required"].as_array().is_some_and(|required| !required.is_empty())
}

fn json_content(schema: &Value) -> Value {
    json!({"application/json": {"schema": schema}})
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "error": {"type": "string", "description": "What went wrong, for a person"},
            "code": {"enum": Code::ALL, "description": "What went wrong, for a program"},
        },
        "required": ["error", "code"],
    })
}

fn summary_schema() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {"name": text, "title": text, "description": text, "effect": text, "digest": text},
        "required": ["name", "title", "description", "effect", "digest"],
    })
}

fn held_schema() -> Value {
    let (text, time) = (json!({"type": "string"}), json!({"type": "string", "format": "date-time"}));
    let properties = json!({
        "id": text,
        "state": {"enum": ["pending", "approved", "denied", "used", "expired"]},
        "tool": text, "caller": text, "scope": text, "request_id": text, "arguments": text, "contract": text,
        "preview": {"type": "string", "description": "What would be done, in full"},
        "requested_at": time, "expires_at": time, "decided_by": text,
    });
    let required = ["id", "state", "tool", "caller", "preview", "requested_at", "expires_at"];
    json!({"type": "object", "properties": properties, "required": required})
}

fn figures_schema() -> Value {
    let (count, time) = (json!({"type": "integer", "minimum": 0}), json!({"type": "number", "minimum": 0}));
    json!({
        "type": "object",
        "properties": {
            "tool": {"type": "string"},
            "calls": count, "ok": count, "rate_limited": count, "slow": count,
            "asked": count,
            "failures": {"type": "object", "additionalProperties": count},
            "p50_ms": time, "p95_ms": time, "p99_ms": time, "max_ms": time,
        },
        "required": ["tool", "calls", "ok", "failures", "p50_ms", "p95_ms", "p99_ms"],
    })
}
