//! Our own questions, about our own tools and those of three reference servers (`xtask/data/ask`).
//!
//! The planner was developed on `tune`, `final` and `third`. Nothing is ever tuned on `unseen`, and there is no target for it:
//! whoever changes the planner counts them and does not read them.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use anyhow::Context as _;
use countersign_ask::{Choice, Example, Offer, Planner};
use countersign_contract::{Contract, Effect};
use countersign_index::Embedder;
use jiff::civil::{Date, date};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Figure, Target};
use crate::codegen;
use crate::workspace::Workspace;

const QUESTIONS: &str = "xtask/data/ask/questions.jsonl";
const UPSTREAMS: &str = "xtask/data/ask/upstreams.json";

/// The day that the questions were written.
const TODAY: Date = date(2026, 11, 16);

/// Tool and arguments right, or nothing called where nothing can be.
const RIGHT_MIN: f64 = 0.90;

#[derive(Debug, Deserialize)]
struct Question {
    #[serde(rename = "question")]
    text: String,
    /// Absent where no tool fits, or the question does not say what it requires.
    tool: Option<String>,
    /// Any of these will do.
    arguments: Vec<Map<String, Value>>,
    set: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Part {
    Tune,
    Final,
    Third,
    Unseen,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::Final => "final",
            Self::Third => "third",
            Self::Unseen => "unseen",
        }
    }

    fn target(self) -> Target {
        match self {
            Self::Tune | Self::Final | Self::Third => Target::AtLeast(RIGHT_MIN),
            Self::Unseen => Target::None,
        }
    }
}

#[derive(Debug, Deserialize)]
struct Upstreams {
    servers: Vec<Server>,
}

#[derive(Debug, Deserialize)]
struct Server {
    name: String,
    tools: Vec<Listed>,
}

/// As `tools/list` shows it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    description: String,
    input_schema: Value,
}

/// One for each part that has questions.
pub(super) async fn figures(workspace: &Workspace, embedder: &Arc<dyn Embedder>) -> anyhow::Result<Vec<Figure>> {
    let offers = offers(workspace)?;
    let planner = Planner::new(offers.clone(), Arc::clone(embedder)).await?;
    let text = fs::read_to_string(workspace.root().join(QUESTIONS)).context("cannot read our questions")?;
    let mut right: BTreeMap<Part, Vec<bool>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let question: Question = serde_json::from_str(line).context("a question of ours is not as it should be")?;
        let choice = planner.plan(&question.text, TODAY).await?.choice;
        right.entry(question.set).or_default().push(question.is_answered_by(&choice, &offers));
    }
    let figure = |(part, right): (&Part, &Vec<bool>)| {
        Figure::new(format!("own questions, {}: all right", part.name()), right, part.target())
    };
    Ok(right.iter().map(figure).collect())
}

fn offers(workspace: &Workspace) -> anyhow::Result<Vec<Offer>> {
    let mut offers: Vec<Offer> =
        codegen::tools(workspace.root())?.iter().map(|tool| of_contract(tool.contract())).collect();
    let text = fs::read_to_string(workspace.root().join(UPSTREAMS)).context("cannot read the upstreams")?;
    let upstreams: Upstreams = serde_json::from_str(&text).context("the upstreams are not as they should be")?;
    for Server { name: server, tools } in upstreams.servers {
        offers.extend(tools.into_iter().map(|Listed { name, description, input_schema }| Offer {
            name: format!("{server}__{name}"),
            description,
            input_schema,
            // As for a server that says nothing about it.
            effect: Effect::Destroys,
            examples: Vec::new(),
        }));
    }
    Ok(offers)
}

fn of_contract(contract: &Contract) -> Offer {
    let examples = contract.terms.examples.iter();
    Offer {
        name: contract.name.to_string(),
        description: contract.description.clone(),
        input_schema: contract.input.raw().clone(),
        effect: contract.effect,
        examples: examples.map(|each| Example { arguments: each.input.clone(), output: each.output.clone() }).collect(),
    }
}

impl Question {
    fn is_answered_by(&self, choice: &Choice, offers: &[Offer]) -> bool {
        match (choice, &self.tool) {
            (Choice::Call { tool, arguments, .. }, Some(wanted)) if tool == wanted => {
                let schema = offers.iter().find(|offer| offer.name == *tool).map(|offer| &offer.input_schema);
                let said = |arguments| without_defaults(arguments, schema);
                self.arguments.iter().any(|wanted| said(wanted) == said(arguments))
            }
            (Choice::Call { .. }, _) => false,
            (Choice::Missing { .. } | Choice::Nothing { .. }, wanted) => wanted.is_none(),
        }
    }
}

/// What is not the default anyway, texts without case, leading article and final sign.
fn without_defaults(arguments: &Map<String, Value>, schema: Option<&Value>) -> Map<String, Value> {
    let is_default = |name: &String, value: &Value| {
        schema.is_some_and(|schema| schema["properties"][name].get("default") == Some(value))
    };
    let kept = arguments.iter().filter(|(name, value)| !is_default(name, value));
    kept.map(|(name, value)| (name.clone(), plain(value))).collect()
}

fn plain(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let text = text.trim().trim_end_matches(['.', '!', '?']).to_lowercase();
            let bare = ["the ", "a ", "an "].iter().find_map(|article| text.strip_prefix(article));
            bare.unwrap_or(&text).into()
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), plain(value))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
