//! What the question does not say, and somebody at the terminal does.

use serde_json::{Map, Value};

use super::Planned;
use crate::planner::Choice;

impl Planned {
    /// With these, the call can be made; the gate checks them like any others.
    pub fn supply(&mut self, said: Vec<(String, Value)>) {
        if matches!(self.plan.choice, Choice::Missing { .. }) {
            self.supplied.extend(said);
            self.plan.choice = self.plan.choice.clone().supplied(&self.supplied);
        }
    }
}

impl Choice {
    /// The same with what was missing, as far as it was said.
    pub(crate) fn supplied(self, said: &Map<String, Value>) -> Self {
        let Self::Missing { tool, mut arguments, parameters, why } = self else { return self };
        let (given, missing): (Vec<_>, Vec<_>) = parameters.into_iter().partition(|name| said.contains_key(name));
        if given.is_empty() {
            return Self::Missing { tool, arguments, parameters: missing, why };
        }
        arguments.extend(given.iter().filter_map(|name| Some((name.clone(), said.get(name)?.clone()))));
        let were = if given.len() == 1 { "was" } else { "were" };
        let fits = format!("`{tool}` fits; {} {were} asked for", listed(&given));
        if missing.is_empty() {
            return Self::Call { tool, arguments, why: format!("{fits}.") };
        }
        let why = format!("{fits}, and nobody said {}.", listed(&missing));
        Self::Missing { tool, arguments, parameters: missing, why }
    }
}

fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(" and ")
}
