//! File, environment and flags, laid over each other into one JSON value that remembers where each part came from.

use countersign_contract::closest;
use serde_json::{Map, Value};

use super::Overrides;
use super::environment::{Environment, Lookup};
use super::mistakes::{ConfigMistake, Place};
use super::pointer;
use super::shape::Shape;
use super::typing;
use super::yaml::{self, Content, Node, Quoting};

const PREFIX: &str = "COUNTERSIGN_";

/// Ours, but not keys: which file to read, the token that clients show, and a switch of the test suite.
const RESERVED: [&str; 3] = ["COUNTERSIGN_CONFIG", "COUNTERSIGN_TOKEN", "COUNTERSIGN_LONG"];

/// Kubernetes sets these in every pod beside a service that is called `countersign`.
const SERVICE_LINKS: [&str; 2] = ["COUNTERSIGN_SERVICE_", "COUNTERSIGN_PORT"];

/// Everything that was written, merged. What was laid on later wins.
#[derive(Debug)]
pub(super) struct Layers {
    pub(super) value: Value,
    /// The file's name as people know it, and what is in it.
    file: Option<(String, Option<Node>)>,
    /// What was laid over the file, in that order.
    over: Vec<Over>,
}

#[derive(Debug)]
struct Over {
    steps: Vec<String>,
    place: Place,
}

/// Which line of an entry a mistake is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
    Key,
    Value,
}

impl Layers {
    /// Reads all layers. Mistakes are added; what is wrong is left out, so that the rest can still be checked.
    pub(super) fn read(
        file: Option<(String, &str)>,
        environment: &Environment,
        overrides: &Overrides,
        schema: Shape<'_>,
        mistakes: &mut Vec<ConfigMistake>,
    ) -> Self {
        let mut layers = Self { value: Value::Object(Map::new()), file: None, over: Vec::new() };
        if let Some((name, text)) = file {
            let (tree, faults) = yaml::parse(text);
            let at = |line| Place::File { file: name.clone(), line: Some(line) };
            mistakes.extend(faults.into_iter().map(|fault| mistake(at(fault.line), &fault.steps, fault.message)));
            if let Some(tree) = &tree {
                let (value, faults) = typing::value_of(tree, schema, Some(environment));
                mistakes.extend(faults.into_iter().map(|fault| mistake(at(fault.line), &fault.steps, fault.message)));
                // An empty document is a file without keys.
                if !value.is_null() {
                    layers.value = value;
                }
            }
            layers.file = Some((name, tree));
        }
        layers.add_environment(environment, schema, mistakes);
        layers.add_flags(overrides);
        layers
    }

    /// Where the value with these steps was written; for what is missing, where its parent was.
    pub(super) fn place<S: AsRef<str>>(&self, steps: &[S], aim: Aim) -> Place {
        let covers = |over: &&Over| {
            over.steps.len() <= steps.len() && over.steps.iter().zip(steps).all(|(own, step)| own == step.as_ref())
        };
        if let Some(over) = self.over.iter().rev().find(covers) {
            return over.place.clone();
        }
        let Some((file, tree)) = &self.file else { return Place::Nowhere {} };
        let line = tree.as_ref().map_or(1, |tree| line_of(tree, steps, aim));
        Place::File { file: file.clone(), line: Some(line) }
    }

    /// The variables and flags that were laid over the file.
    pub(super) fn laid_over(&self) -> impl Iterator<Item = &Place> {
        self.over.iter().map(|over| &over.place)
    }

    fn add_environment(&mut self, environment: &Environment, schema: Shape<'_>, mistakes: &mut Vec<ConfigMistake>) {
        for (variable, value) in environment.starting_with(PREFIX) {
            let is_service_link = SERVICE_LINKS.iter().any(|prefix| variable.starts_with(prefix));
            if RESERVED.contains(&variable) || is_service_link {
                continue;
            }
            let place = Place::Variable { variable: variable.to_owned() };
            let steps = match steps_of(variable, schema) {
                Ok(steps) => steps,
                Err(message) => {
                    mistakes.push(mistake::<&str>(place, &[], message));
                    continue;
                }
            };
            let text = match value {
                Lookup::Text(text) => text,
                Lookup::Unset => continue,
                Lookup::NotText => {
                    mistakes.push(mistake(place, &steps, "is not UTF-8 text".to_owned()));
                    continue;
                }
            };
            match value_of_variable(text, schema.at(&steps)) {
                Ok(Value::Null) => {}
                Ok(value) => self.lay_over(steps, value, place),
                Err(message) => mistakes.push(mistake(place, &steps, message)),
            }
        }
    }

    fn add_flags(&mut self, overrides: &Overrides) {
        let Overrides { config: _, listen, log_level } = overrides;
        let flags = [("--listen", ["http", "listen"], listen), ("--log-level", ["log", "level"], log_level)];
        for (flag, steps, text) in flags {
            if let Some(text) = text {
                self.lay_over(steps.map(str::to_owned).into(), Value::String(text.clone()), Place::Flag { flag });
            }
        }
    }

    fn lay_over(&mut self, steps: Vec<String>, new: Value, place: Place) {
        let mut value = &mut self.value;
        for step in &steps {
            if !value.is_object() {
                *value = Value::Object(Map::new());
            }
            let Value::Object(members) = value else { return };
            value = members.entry(step.clone()).or_insert(Value::Null);
        }
        *value = new;
        self.over.push(Over { steps, place });
    }
}

pub(super) fn mistake<S: AsRef<str>>(place: Place, steps: &[S], message: String) -> ConfigMistake {
    ConfigMistake { place, key: pointer::shown(steps), message }
}

fn line_of<S: AsRef<str>>(tree: &Node, steps: &[S], aim: Aim) -> usize {
    let (mut node, mut line) = (tree, 1);
    for step in steps {
        let step = step.as_ref();
        match &node.content {
            Content::Map(entries) => match entries.iter().find(|entry| entry.key == step) {
                Some(entry) => (node, line) = (&entry.value, entry.key_line),
                None => return line,
            },
            Content::List(items) => match step.parse().ok().and_then(|index: usize| items.get(index)) {
                Some(item) => (node, line) = (item, item.line),
                None => return line,
            },
            Content::Scalar { .. } => return line,
        }
    }
    match (&node.content, aim) {
        // A value may begin on the line below its key; a map or list is best found by its key.
        (Content::Scalar { text, .. }, Aim::Value) if !text.is_empty() => node.line,
        (Content::Scalar { .. } | Content::List(_) | Content::Map(_), _) => line,
    }
}

/// The key that a variable names: `COUNTERSIGN_HTTP__LISTEN` → `http`, `listen`.
fn steps_of(variable: &str, schema: Shape<'_>) -> Result<Vec<String>, String> {
    let mut shape = schema;
    let mut steps: Vec<String> = Vec::new();
    let parts: Vec<&str> = variable.strip_prefix(PREFIX).unwrap_or_default().split("__").collect();
    for (index, part) in parts.iter().enumerate() {
        let names = shape.names();
        let declared = names.iter().find(|name| name.eq_ignore_ascii_case(part));
        let step = match declared {
            Some(name) => (*name).to_owned(),
            None if shape.is_open() && !part.is_empty() => part.to_lowercase(),
            None => return Err(unknown_variable(&steps, part, &parts[index + 1..], &names)),
        };
        shape = shape.member(&step);
        steps.push(step);
    }
    Ok(steps)
}

fn unknown_variable(before: &[String], part: &str, after: &[&str], names: &[&str]) -> String {
    match closest(part, names.iter().copied()) {
        Some(name) => {
            let parts: Vec<&str> =
                before.iter().map(String::as_str).chain([name]).chain(after.iter().copied()).collect();
            format!("names no key of the configuration; did you mean `{PREFIX}{}`?", parts.join("__").to_uppercase())
        }
        None => format!(
            "names no key of the configuration; variables that begin with `{PREFIX}` are settings, with `__` between \
             levels: `{PREFIX}HTTP__LISTEN`"
        ),
    }
}

/// Brackets and quotes are read as YAML; anything else is a scalar as it stands, so that `*` or `#` need no care.
fn value_of_variable(text: &str, shape: Shape<'_>) -> Result<Value, String> {
    if !text.trim_start().starts_with(['[', '{', '"', '\'']) {
        return Ok(typing::typed(text.trim(), Quoting::Plain, shape));
    }
    let (tree, faults) = yaml::parse(text);
    if let Some(fault) = faults.into_iter().next() {
        return Err(fault.message);
    }
    // `${…}` in a variable's own value is left alone: whoever set the variable has expanded what was to be expanded.
    Ok(tree.map_or(Value::Null, |tree| typing::value_of(&tree, shape, None).0))
}
