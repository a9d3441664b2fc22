//! Which of a server's tools are taken. Each is judged on its own: a bad one never hides the others.

pub(crate) mod beside;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use countersign_contract::{Approval, Contract, Digest, Effect, Schema, ToolName, UpstreamTerms};
use serde_json::{Map, Value, json};

use crate::lookalike::skeleton;
use crate::reasons::{Reason, shortened};
use crate::spec::{Reach, ServerSpec};
use crate::{header_args, texts};

/// How much is asked of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Everything.
    #[default]
    Strict,
    /// What it gives need not be described: it goes out as text.
    Standard,
    /// Only what is needed to call it; the rest is reported.
    Observe,
}

/// One tool of a server, as it was found.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The server's own name for it, as far as it has one; shortened where it is refused.
    pub name: String,
    /// Over all that the server said about it.
    pub digest: Digest,
    pub verdict: Verdict,
}

#[derive(Debug, Clone)]
pub enum Verdict {
    /// With what was let pass.
    Admitted {
        contract: Arc<Contract>,
        noted: Vec<Reason>,
    },
    Refused(Vec<Reason>),
    /// The operator does not want it.
    LeftOut,
}

/// In the server's order.
pub fn judge(spec: &ServerSpec, level: Level, tools: &[Value]) -> Vec<Judged> {
    let names = Names::of(spec, tools);
    let judge_one = |tool: &Value| {
        let name = name_of(tool);
        let verdict = if spec.tools.takes(name) {
            judge_tool(spec, level, tool, names.reasons(offered_as(spec, name)))
        } else {
            Verdict::LeftOut
        };
        // The name of a tool that is called is needed as it is.
        let name = if matches!(verdict, Verdict::Refused(_)) { shortened(name) } else { name.to_owned() };
        Judged { name, digest: Digest::of_json(tool), verdict }
    };
    tools.iter().map(judge_one).collect()
}

/// The names under which a server's tools are offered, but for what all of them begin with: only these can be taken for
/// each other.
struct Names<'a> {
    times: BTreeMap<&'a str, usize>,
    alike: BTreeMap<String, BTreeSet<&'a str>>,
}

impl<'a> Names<'a> {
    fn of(spec: &'a ServerSpec, tools: &'a [Value]) -> Self {
        let mut names = Self { times: BTreeMap::new(), alike: BTreeMap::new() };
        // One that is left out takes no other's name away, and one without a name has none to take.
        for own_name in tools.iter().map(name_of).filter(|name| !name.is_empty() && spec.tools.takes(name)) {
            let name = offered_as(spec, own_name);
            *names.times.entry(name).or_default() += 1;
            names.alike.entry(skeleton(name)).or_default().insert(name);
        }
        names
    }

    fn reasons(&self, name: &str) -> Vec<Reason> {
        let mut reasons = Vec::new();
        // All of them: which one was meant is not for us to guess.
        if self.times.get(name).is_some_and(|times| *times > 1) {
            reasons.push(Reason::DuplicateName);
        }
        // The first of them in the alphabet keeps its name: which that is must not depend on the server's order.
        let first = self.alike.get(&skeleton(name)).and_then(BTreeSet::first);
        if let Some(first) = first.filter(|first| **first != name) {
            reasons.push(Reason::LookAlike(shortened(first)));
        }
        reasons
    }
}

fn name_of(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn offered_as<'a>(spec: &'a ServerSpec, own_name: &'a str) -> &'a str {
    spec.tools.rename.get(own_name).map_or(own_name, String::as_str)
}

fn judge_tool(spec: &ServerSpec, level: Level, tool: &Value, mut reasons: Vec<Reason>) -> Verdict {
    let nothing = Map::new();
    let members = tool.as_object().unwrap_or(&nothing);
    let own_name = name_of(tool);
    let name = match own_name {
        "" => Err(Reason::NoName),
        own_name => spec.name_here(own_name).parse::<ToolName>().map_err(|error| Reason::Name(error.to_string())),
    };
    let text = |key: &str| members.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("description").trim().is_empty() {
        reasons.push(Reason::NoDescription);
    }
    let input = input_schema(members, &mut reasons);
    if let (Reach::Http { .. }, Some(input)) = (&spec.reach, &input)
        && let Err(wrong) = header_args::find(input.raw())
    {
        reasons.push(Reason::HeaderArgument(wrong));
    }
    let output = output_schema(members, &mut reasons);
    let mut meta = beside::meta(spec, members);
    reasons.extend(texts::reasons(members, &meta));
    let (mut counted, noted): (Vec<_>, Vec<_>) = reasons.into_iter().partition(|reason| {
        let waived = spec.tools.waive.get(own_name).is_some_and(|kinds| kinds.contains(&reason.kind().to_string()));
        !(waived && reason.can_be_waived()) && counts(reason, level)
    });
    let (name, input) = match (name, input) {
        (Ok(name), Some(input)) if counted.is_empty() => (name, input),
        (name, _) => {
            counted.extend(name.err());
            return Verdict::Refused(counted);
        }
    };
    let effect = effect(members.get("annotations"));
    let title = members.get("title").or_else(|| members.get("annotations").and_then(|hints| hints.get("title")));
    meta.values_mut().for_each(texts::clean);
    let terms = UpstreamTerms {
        name,
        title: texts::cleaned(title.and_then(Value::as_str).unwrap_or(own_name)),
        description: texts::cleaned(text("description")),
        effect,
        approval: spec.approval.unwrap_or(if effect.changes_something() { Approval::Client } else { Approval::Never }),
        timeout: spec.timeout,
        arguments: declared(input.raw()),
        input,
        output,
        annotations: members.get("annotations").cloned().map(cleaned),
        icons: beside::icons(members),
        meta,
    };
    match Contract::upstream(terms) {
        Ok(contract) => Verdict::Admitted { contract: Arc::new(contract), noted },
        Err(rejected) => Verdict::Refused(vec![Reason::OutputSchema(rejected)]),
    }
}

/// Without these nothing can be called, or nobody knows what is.
fn is_fatal(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::NoInputSchema
            | Reason::InputSchema(_)
            | Reason::HeaderArgument(_)
            | Reason::DuplicateName
            | Reason::Name(_)
            | Reason::NoName
    )
}

fn counts(reason: &Reason, level: Level) -> bool {
    match level {
        Level::Strict => true,
        Level::Standard => !matches!(reason, Reason::NoOutputSchema | Reason::OutputSaysNothing),
        Level::Observe => is_fatal(reason),
    }
}

fn input_schema(tool: &Map<String, Value>, reasons: &mut Vec<Reason>) -> Option<Schema> {
    let Some(schema) = tool.get("inputSchema").filter(|schema| describes_object(schema)) else {
        reasons.push(Reason::NoInputSchema);
        return None;
    };
    let mut text = cleaned(schema.clone());
    // Names are left as they are, and so is what repeats them.
    if let (Some(members), Some(required)) = (text.as_object_mut(), schema.get("required")) {
        members.insert("required".to_owned(), required.clone());
    }
    // First of all: what is looked at below is bounded then.
    let compiled = match Schema::compile(text) {
        Ok(compiled) => compiled,
        Err(rejected) => {
            reasons.push(Reason::InputSchema(rejected));
            return None;
        }
    };
    let (schema, arguments) = (compiled.raw(), declared(compiled.raw()));
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let undeclared: Vec<&str> = required.filter(|name| !arguments.contains(*name)).collect();
    if !undeclared.is_empty() {
        reasons.push(Reason::undeclared(&undeclared));
    }
    Some(compiled)
}

fn output_schema(tool: &Map<String, Value>, reasons: &mut Vec<Reason>) -> Option<Schema> {
    let schema = match tool.get("outputSchema") {
        None | Some(Value::Null) => {
            reasons.push(Reason::NoOutputSchema);
            return None;
        }
        Some(schema) if !describes_object(schema) => {
            reasons.push(Reason::OutputNotObject);
            return None;
        }
        Some(schema) => schema,
    };
    let compiled = match Schema::compile(cleaned(schema.clone())) {
        Ok(compiled) => compiled,
        Err(rejected) => {
            reasons.push(Reason::OutputSchema(rejected));
            return None;
        }
    };
    if says_nothing(&compiled) {
        reasons.push(Reason::OutputSaysNothing);
        return None;
    }
    Some(compiled)
}

fn describes_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

/// Whether objects that have nothing in common all fit.
fn says_nothing(schema: &Schema) -> bool {
    const ABOUT_THE_WHOLE: [&str; 5] =
        ["maxProperties", "minProperties", "patternProperties", "propertyNames", "required"];
    // Probes would have to guess the names and numbers in these.
    let says = |keyword| schema.raw().get(keyword).is_some_and(|said| ![json!([]), json!({}), json!(0)].contains(said));
    if ABOUT_THE_WHOLE.into_iter().any(says) {
        return false;
    }
    let of_every_type = [
        Value::Null,
        json!(true),
        json!(7),
        json!(-0.5),
        json!("\u{1}"),
        json!([]),
        json!([{"\u{1}": 0}]),
        json!({}),
        json!({"\u{1}": [null]}),
    ];
    let names = declared(schema.raw());
    let all_of_them = |value: &Value| names.iter().map(|name| (name.clone(), value.clone())).collect::<Map<_, _>>();
    let strange = json!({"\u{1}": 1, "a": [null], "0": {"b": "c"}});
    let mut probes = [json!({}), strange].into_iter().chain(of_every_type.iter().map(all_of_them).map(Value::Object));
    probes.all(|object| schema.is_valid(&object))
}

/// The names that an accepted schema gives to members, wherever at its root it does so.
fn declared(root: &Value) -> BTreeSet<String> {
    let (mut names, mut waiting, mut seen) = (BTreeSet::new(), vec![root], HashSet::new());
    while let Some(schema) = waiting.pop() {
        // Many references may lead to the same part, and each part to many others.
        if !seen.insert(std::ptr::from_ref(schema)) {
            continue;
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            names.extend(properties.keys().cloned());
        }
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
        waiting.extend(target.and_then(|pointer| root.pointer(pointer)));
        for key in ["allOf", "anyOf", "oneOf"] {
            waiting.extend(schema.get(key).and_then(Value::as_array).into_iter().flatten());
        }
        waiting.extend(["then", "else"].iter().filter_map(|key| schema.get(key)));
    }
    names
}

/// What the server says it does; whoever says nothing may do anything.
fn effect(annotations: Option<&Value>) -> Effect {
    let hint = |name: &str| annotations.and_then(|hints| hints.get(name)).and_then(Value::as_bool);
    match (hint("readOnlyHint"), hint("destructiveHint"), hint("openWorldHint")) {
        (Some(true), _, Some(false)) => Effect::ReadsLocal,
        (Some(true), _, _) => Effect::ReadsNetwork,
        (_, Some(false), _) => Effect::Writes,
        _ => Effect::Destroys,
    }
}

fn cleaned(mut value: Value) -> Value {
    texts::clean(&mut value);
    value
}

#[cfg(test)]
mod tests;
