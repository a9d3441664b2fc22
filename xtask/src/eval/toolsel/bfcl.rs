//! Questions with their candidates and answers, as the Berkeley Function Calling Leaderboard keeps them, and its rules for
//! what an argument may be.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use countersign_ask::{Candidate, Offer};
use countersign_contract::Effect;
use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Set {
    SimplePython,
    LiveSimple,
    Multiple,
    LiveMultiple,
    /// No candidate fits.
    Irrelevance,
}

impl Set {
    pub(super) const ALL: [Self; 5] =
        [Self::SimplePython, Self::LiveSimple, Self::Multiple, Self::LiveMultiple, Self::Irrelevance];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SimplePython => "simple_python",
            Self::LiveSimple => "live_simple",
            Self::Multiple => "multiple",
            Self::LiveMultiple => "live_multiple",
            Self::Irrelevance => "irrelevance",
        }
    }
}

#[derive(Debug)]
pub(super) struct Row {
    /// What the user said last.
    pub(super) question: String,
    pub(super) tools: Vec<Offer>,
    answer: Option<Answer>,
}

#[derive(Debug)]
struct Answer {
    tool: String,
    /// For each argument what it may be; `""` among it: it may be left out.
    arguments: Map<String, Value>,
}

pub(super) fn read(folder: &Path, set: Set) -> anyhow::Result<Vec<Row>> {
    let file = format!("BFCL_v4_{}.json", set.name());
    let mut answers = HashMap::new();
    if set != Set::Irrelevance {
        for line in lines(&folder.join("possible_answer").join(&file))? {
            answers.insert(line["id"].to_string(), Answer::read(&line).context("an answer without a tool")?);
        }
    }
    let row = |line: Value| {
        let mut said = line["question"].as_array().into_iter().flatten().filter_map(Value::as_array).flatten();
        let question = said.rfind(|message| message["role"] == "user").and_then(|message| message["content"].as_str());
        Ok(Row {
            question: question.context("a row without a question")?.to_owned(),
            tools: line["function"].as_array().into_iter().flatten().filter_map(offer).collect(),
            answer: answers.remove(&line["id"].to_string()),
        })
    };
    lines(&folder.join(file))?.into_iter().map(row).collect()
}

fn lines(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).with_context(|| format!("in `{}`", path.display()))).collect()
}

fn offer(function: &Value) -> Option<Offer> {
    Some(Offer {
        name: function["name"].as_str()?.to_owned(),
        description: function["description"].as_str().unwrap_or_default().to_owned(),
        input_schema: function["parameters"].clone(),
        // Nothing is said about it.
        effect: Effect::Destroys,
        examples: Vec::new(),
    })
}

impl Answer {
    /// The first call, which is the only one in these sets.
    fn read(line: &Value) -> Option<Self> {
        let (tool, arguments) = line["ground_truth"][0].as_object()?.iter().next()?;
        Some(Self { tool: tool.clone(), arguments: arguments.as_object()?.clone() })
    }
}

impl Row {
    pub(super) fn is_right(&self, candidate: Option<&Candidate>) -> bool {
        self.answer.as_ref().zip(candidate).is_some_and(|(answer, candidate)| answer.tool == candidate.tool)
    }

    pub(super) fn is_exact(&self, candidate: Option<&Candidate>) -> bool {
        self.is_right(candidate)
            && self
                .answer
                .as_ref()
                .zip(candidate)
                .is_some_and(|(answer, candidate)| are_allowed(&candidate.arguments, &answer.arguments))
    }
}

/// Every argument is one of what it may be, and none is missing that must be there.
fn are_allowed(arguments: &Map<String, Value>, allowed: &Map<String, Value>) -> bool {
    let options = |of: &Value| of.as_array().cloned().unwrap_or_else(|| vec![of.clone()]);
    let left_out = |name: &String| !arguments.contains_key(name);
    arguments.iter().all(|(name, value)| {
        allowed.get(name).is_some_and(|of| options(of).iter().any(|option| is_same(value, option)))
    }) && allowed.iter().filter(|(name, _)| left_out(name)).all(|(_, of)| options(of).contains(&"".into()))
}

/// Texts without the signs that the leaderboard's own checker leaves out.
fn is_same(value: &Value, option: &Value) -> bool {
    match (value, option) {
        (Value::String(value), Value::String(option)) => plain(value) == plain(option),
        (Value::Number(value), Value::Number(option)) => value.as_f64() == option.as_f64(),
        (Value::Array(values), Value::Array(options)) => {
            values.len() == options.len() && values.iter().zip(options).all(|(value, option)| is_same(value, option))
        }
        (Value::Object(values), Value::Object(options)) => are_allowed(values, options),
        (value, option) => value == option,
    }
}

fn plain(text: &str) -> String {
    let kept = text.chars().filter(|c| !matches!(c, ' ' | ',' | '.' | '/' | '-' | '_' | '*' | '^'));
    kept.map(|c| if c == '\'' { '"' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::are_allowed;

    #[test]
    fn arguments_are_compared_as_the_leaderboard_does() {
        let allowed =
            json!({"city": ["New York, NY", "NYC"], "days": [3, ""], "tags": [["a", "b"]], "at": [{"x": [1]}]});
        for (given, expected) in [
            (json!({"city": "new york ny", "tags": ["A", "b"], "at": {"x": 1.0}}), true),
            (json!({"city": "NYC", "days": 3, "tags": ["a", "b"], "at": {"x": 1}}), true),
            (json!({"city": "NYC", "days": 4, "tags": ["a", "b"], "at": {"x": 1}}), false),
            (json!({"city": "NYC", "tags": ["a"], "at": {"x": 1}}), false),
            (json!({"city": "NYC", "tags": ["a", "b"], "at": {"x": 1}, "more": true}), false),
            (json!({"city": "NYC", "at": {"x": 1}}), false),
        ] {
            let (Value::Object(given), Value::Object(allowed)) = (&given, &allowed) else { panic!("no objects") };
            assert_eq!(are_allowed(given, allowed), expected, "{given:?}");
        }
    }
}
