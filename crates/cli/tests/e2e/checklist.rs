//! The contributor's checklist, run over every tool of the catalog: listed, allowed, valid input accepted, each kind of
//! invalid input refused, a malformed output caught, the result parsed. A new tool is covered by being in the list.

use std::collections::BTreeSet;
use std::sync::Arc;

use countersign_contract::{
    Access, AnyTool, Approval, ApprovalId, BoxFuture, CallContext, Caller, Client, Contract, Example, Output, Progress,
    ToolError, contract_file,
};
use countersign_host::{ApprovalRequest, Approvals, Call, Catalog, Gate, Metrics, Policy, Recorder, Wire};
use countersign_index::Index;
use countersign_repo::{AppendOnly, Places, Root, Sandbox};
use countersign_store::{Accesses, Tasks};
use countersign_tools::{Materials, SystemAudit, Web, WebSettings};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::env::{Server, TestEnv};
use crate::invalid::invalid_inputs;
use crate::origin::Pages;

#[test]
fn every_tool_is_listed_with_its_contract() {
    let env = TestEnv::new();
    let server = env.serve();
    let listed: BTreeSet<_> = names(&server.get("/v1/tools").json()["tools"]);
    let on_the_command_line = names(&env.json(&["tools", "--json"])["tools"]);
    let built_in: BTreeSet<_> = tools().iter().map(|tool| tool.contract().name.to_string()).collect();
    assert_eq!((&listed, &on_the_command_line), (&built_in, &built_in));
    for tool in tools() {
        let contract = tool.contract();
        let shown = server.get(&format!("/v1/tools/{}", contract.name)).json();
        assert_eq!(shown["inputSchema"], *contract.input.raw());
        assert_eq!(shown["outputSchema"], contract.output_schema());
        for key in ["name", "description", "effect", "constraints", "examples", "digest"] {
            assert!(!shown[key].is_null(), "{}: {key}", contract.name);
        }
        assert_eq!(env.json(&["contracts", "show", contract.name.as_str(), "--json"]), contract_file(contract));
    }
}

#[test]
fn every_tool_can_be_allowed_and_forbidden() {
    for tool in tools() {
        let name = &tool.contract().name;
        let env = TestEnv::with_config(&format!(
            "auth: {{tokens: [{{name: one, token: token-one, tools: [{name}]}}, {{name: none, token: token-none, tools: []}}]}}\n\
             web_fetch: {{allowed_domains: [nowhere.invalid]}}\n"
        ));
        let server = env.serve();
        let ask = |token: &str, path: &str| {
            let bearer = format!("Bearer {token}");
            crate::http::request(server.address, "GET", path, &[("authorization", &bearer)], b"")
        };
        assert_eq!(names(&ask("token-one", "/v1/tools").json()["tools"]), [name.to_string()].into());
        assert_eq!(ask("token-none", "/v1/tools").json(), json!({"tools": []}));
        assert_eq!(ask("token-none", &format!("/v1/tools/{name}")).status, 404);
        let call = |token: &str| {
            let (bearer, path) = (format!("Bearer {token}"), format!("/mcp/tool/{name}"));
            let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
            let input = tool.contract().terms.examples[0].input.to_string();
            let answer = crate::http::request(server.address, "POST", &path, &headers, input.as_bytes()).json();
            answer["error"].as_str().unwrap_or_default().to_owned()
        };
        // What the tool then says of things that are not there is its own affair.
        assert!(!call("token-one").starts_with("Unknown tool"), "{name}");
        assert!(call("token-none").starts_with("Unknown tool"), "{name}");
    }
}

#[test]
fn every_example_of_every_tool_runs_on_every_wire() {
    for tool in tools() {
        let contract = tool.contract();
        assert!(!contract.terms.examples.is_empty(), "{} has no example", contract.name);
        for example in &contract.terms.examples {
            for wire in Wires::ALL {
                // Each on a fresh installation: an example says what must have been there, and nothing else is.
                let env = TestEnv::with_config("web_fetch: {allow_private_hosts: [127.0.0.1]}\n");
                let (server, web) = (env.serve(), Pages::serve(&example.pages));
                prepare(&env, &server, example);
                let example = &Example { input: web.instead_of_the_web(&example.input), ..example.clone() };
                if contract.terms.approval != Approval::Never {
                    approve(&env, &server, wire, contract, example);
                }
                let result = match wire {
                    Wires::Enveloped => enveloped(&server, contract, example),
                    Wires::Bare => bare(&server, contract, example),
                    Wires::Mcp => over_mcp(&server, contract, example),
                    Wires::CommandLine => cli(&env, contract, example),
                };
                assert!(contract.success.is_valid(&result), "{result}");
                tool.parse(&result).unwrap();
                assert_eq!(steady(&result, example), steady(&example.output, example), "{}", example.title);
            }
        }
    }
}

#[test]
fn every_tool_refuses_every_kind_of_invalid_input() {
    let env = TestEnv::with_config("limits: {rate_per_minute: {context_search: 0, read_file: 0, grep_codebase: 0}}\n");
    let server = env.serve();
    let mut refused = 0;
    for tool in tools() {
        let contract = tool.contract();
        let valid = &contract.terms.examples[0].input;
        for (what, arguments) in invalid_inputs(contract.input.raw(), valid) {
            let answer = server.post(&format!("/mcp/tool/{}", contract.name), &arguments.to_string());
            let result = answer.json();
            assert_eq!((answer.status, &result["code"]), (400, &json!("VALIDATION_ERROR")), "{what}: {result}");
            assert!(contract.error.is_valid(&result), "{what}: {result}");
            assert!(!contract.success.is_valid(&result), "{what}: {result}");
            refused += 1;
        }
    }
    assert!(refused >= 10, "the generator made only {refused} inputs");
}

#[tokio::test]
async fn every_malformed_output_is_caught_by_the_gate() {
    for tool in tools() {
        let example = &tool.contract().terms.examples[0];
        for (what, output) in malformed(tool.contract(), &example.output) {
            let lying: Arc<dyn AnyTool> = Arc::new(Lying { promise: Arc::clone(&tool), output: output.clone() });
            let reply = gate(lying).call(call(tool.contract(), example)).await.unwrap().reply;
            assert_eq!(reply.structured["code"], "CONTRACT_VIOLATION", "{what}: {output}");
            assert!(tool.contract().error.is_valid(&reply.structured), "{what}");
        }
        let honest: Arc<dyn AnyTool> = Arc::new(Lying { promise: Arc::clone(&tool), output: example.output.clone() });
        let reply = gate(honest).call(call(tool.contract(), example)).await.unwrap().reply;
        assert!(!reply.is_error(), "what was promised passes: {}", reply.text);
    }
}

/// For their contracts: what they work on does not matter.
fn tools() -> Vec<Arc<dyn AnyTool>> {
    let here = std::path::Path::new(".");
    let root = Arc::new(Root::open(here, &[]).unwrap());
    let memory = Arc::new(AppendOnly::new(here, here, here));
    let (tasks, accesses) = (Tasks::nowhere(), Accesses::nowhere());
    let nowhere = Places { root: here.into(), guarded: Vec::new(), notes: here.into() };
    let (sandbox, system_audit) = (Arc::new(Sandbox::new(nowhere, &root)), SystemAudit::default());
    let web = Arc::new(Web::new(WebSettings::default()));
    let index = Index::nowhere(Arc::clone(&root));
    countersign_tools::all(&Materials { root, memory, tasks, accesses, sandbox, system_audit, web, index }).unwrap()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wires {
    Enveloped,
    Bare,
    Mcp,
    CommandLine,
}

impl Wires {
    const ALL: [Self; 4] = [Self::Enveloped, Self::Bare, Self::Mcp, Self::CommandLine];
}

/// Puts the files there that an example presupposes, and makes the calls.
fn prepare(env: &TestEnv, server: &Server, example: &Example) {
    for (tool, input) in &example.calls {
        let made = server.post(&format!("/mcp/tool/{tool}"), &input.to_string());
        assert_eq!(made.status, 200, "{tool} {input}");
    }
    for (file, contents) in &example.files {
        std::fs::create_dir_all(env.path(file).parent().unwrap()).unwrap();
        env.write(file, contents);
    }
}

/// The same call is made, held, and approved by the user who owns the data folder.
fn approve(env: &TestEnv, server: &Server, wire: Wires, contract: &Contract, example: &Example) {
    let (name, input) = (contract.name.as_str(), example.input.to_string());
    let held: Value = if wire == Wires::CommandLine {
        let held = env.run(&["call", name, "--json", "--args", &input]);
        assert_eq!(held.status.code(), Some(3), "{name}");
        serde_json::from_slice(&held.stdout).unwrap()
    } else {
        let held = server.post(&format!("/mcp/tool/{name}"), &input);
        assert_eq!(held.status, 202, "{name}");
        held.json()
    };
    assert_eq!(held["code"], "APPROVAL_REQUIRED", "{held}");
    env.json(&["approvals", "approve", held["details"]["approval_id"].as_str().unwrap(), "--json"]);
}

fn over_mcp(server: &Server, contract: &Contract, example: &Example) -> Value {
    let name = contract.name.as_str();
    let params = json!({"name": name, "arguments": example.input});
    let mut answer = crate::mcp_http::modern(server, "tools/call", Some(name), params).json();
    assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
    answer["result"]["structuredContent"].take()
}

fn names(tools: &Value) -> BTreeSet<String> {
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn enveloped(server: &Server, contract: &Contract, example: &Example) -> Value {
    let answer = server.post(&format!("/v1/tools/{}", contract.name), &json!({"args": example.input}).to_string());
    let mut body = answer.json();
    assert_eq!((answer.status, &body["ok"], &body["tool"]), (200, &json!(true), &json!(contract.name)), "{body}");
    body["result"].take()
}

fn bare(server: &Server, contract: &Contract, example: &Example) -> Value {
    server.post(&format!("/mcp/tool/{}", contract.name), &example.input.to_string()).json()
}

fn cli(env: &TestEnv, contract: &Contract, example: &Example) -> Value {
    env.json(&["call", contract.name.as_str(), "--json", "--args", &example.input.to_string()])
}

/// An output without what differs from run to run.
fn steady(output: &Value, example: &Example) -> Value {
    let mut output = output.clone();
    for pointer in &example.varies {
        *output.pointer_mut(pointer).unwrap() = json!("…");
    }
    output
}

/// A good output, spoiled in each way that its schema forbids.
fn malformed(contract: &Contract, good: &Value) -> Vec<(String, Value)> {
    let mut spoiled = vec![
        ("null".to_owned(), Value::Null),
        ("a text".to_owned(), json!("free text")),
        ("the error branch as a success".to_owned(), json!({"error": "x", "code": "NOT_FOUND"})),
    ];
    // Where there are several forms, each has names of its own.
    for name in contract.success.raw()["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        let mut without = good.clone();
        without.as_object_mut().unwrap().remove(name);
        spoiled.push((format!("without `{name}`"), without));
        let mut wrong = good.clone();
        wrong[name] = json!({"unexpected": ["shape"]});
        spoiled.push((format!("`{name}` of another type"), wrong));
    }
    if contract.success.raw()["additionalProperties"] == json!(false) {
        let mut more = good.clone();
        more["smuggled"] = json!("x");
        spoiled.push(("with an undeclared key".to_owned(), more));
    }
    spoiled
}

/// Promises what a tool promises and answers what it is told to.
struct Lying {
    promise: Arc<dyn AnyTool>,
    output: Value,
}

impl AnyTool for Lying {
    fn contract(&self) -> &Arc<Contract> {
        self.promise.contract()
    }

    fn call_json<'a>(&'a self, _ctx: &'a CallContext, _arguments: Value) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async { Ok(Output { structured: self.output.clone(), content: None }) })
    }

    fn parse(&self, result: &Value) -> Result<(), serde_json::Error> {
        self.promise.parse(result)
    }
}

fn gate(tool: Arc<dyn AnyTool>) -> Gate {
    let recorder =
        Recorder { metrics: Arc::new(Metrics::new()), call_log: None, audit: None, tasks: TaskTracker::new() };
    Gate::new(Catalog::new(vec![tool]).unwrap(), Policy::default(), Arc::new(EverybodyAgrees), recorder)
}

/// The gate is asked about outputs here, whether or not a person has to agree first.
#[derive(Debug)]
struct EverybodyAgrees;

impl Approvals for EverybodyAgrees {
    fn decide<'a>(&'a self, _request: ApprovalRequest<'a>) -> BoxFuture<'a, Result<Option<ApprovalId>, ToolError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

fn call(contract: &Contract, example: &Example) -> Call {
    Call {
        tool: contract.name.to_string(),
        arguments: example.input.clone(),
        caller: Arc::new(Caller { name: "test".into(), access: Access::All, approver: false }),
        wire: Wire::Cli,
        session: None,
        cancelled: CancellationToken::new(),
        progress: Progress::default(),
        client: Client::default(),
    }
}
