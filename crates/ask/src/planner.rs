//! stub
use countersign_index::{EmbedError, Embedder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
#[derive(Debug, Clone)]
pub struct Offer {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    pub examples: Vec<Example>,
}
#[derive(Debug, Clone)]
pub struct Example {
    pub arguments: Value,
    pub output: Value,
}
#[derive(Debug)]
pub struct Planner {
    offers: Vec<Offer>,
}
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct Plan {
    pub choice: Choice,
    pub candidates: Vec<Candidate>,
}
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Choice {
    Call { tool: String, arguments: Map<String, Value>, why: String },
    Missing { tool: String, arguments: Map<String, Value>, parameters: Vec<String>, why: String },
    Nothing { why: String },
}
#[derive(Serialize, Clone, Debug, PartialEq)]
pub struct Candidate {
    pub tool: String,
    pub score: f64,
    pub parts: Value,
    pub arguments: Map<String, Value>,
    pub missing: Vec<String>,
}
impl Planner {
    pub async fn new(offers: Vec<Offer>, _embedder: Arc<dyn Embedder>) -> Result<Self, EmbedError> {
        Ok(Self { offers })
    }
    pub async fn plan(&self, query: &str, _today: jiff::civil::Date) -> Result<Plan, EmbedError> {
        let found = self.offers.iter().find(|offer| query.contains(&offer.name));
        Ok(Plan {
            candidates: Vec::new(),
            choice: match found {
                Some(offer) => Choice::Call { tool: offer.name.clone(), arguments: Map::new(), why: "named".into() },
                None => Choice::Nothing { why: "nothing fits".into() },
            },
        })
    }
    pub async fn nearest(&self, _query: &str, count: usize) -> Result<Vec<String>, EmbedError> {
        Ok(self.offers.iter().take(count).map(|offer| offer.name.clone()).collect())
    }
}
