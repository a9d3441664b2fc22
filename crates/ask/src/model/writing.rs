//! The model as writer of summaries: bullets with evidence, which are believed only as far as the result carries them.

use countersign_contract::{parse_json, to_json};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::chat::{ModelError, Question};
use super::{Marks, Model};
use crate::grounding::Bullet;

/// Of a result, as JSON: a model reads no more with attention. What is cut off cannot be quoted, that is all.
const RESULT_MAX: usize = 60_000;

const TOKENS_MAX: u32 = 2048;

/// More is no summary; whatever comes behind is not looked at.
const BULLETS_MAX: usize = 12;

const RULES: &str = "You summarise the result of a tool for the user's question, in at most five bullets. Each bullet \
    has a `claim`, one short sentence, and its `evidence`: a passage copied from the result character by character. A \
    claim says nothing that its own evidence does not say: same numbers, names, dates, same certainty. Answer with JSON \
    only: {\"bullets\": [{\"claim\": \"…\", \"evidence\": \"…\"}]}.";

#[derive(Deserialize)]
struct Written {
    bullets: Vec<Bullet>,
}

impl Model {
    /// As the model wrote them, unchecked.
    pub(crate) async fn bullets(&self, query: &str, result: &Value) -> Result<Vec<Bullet>, ModelError> {
        let marks = Marks::new();
        let text = to_json(result);
        let text = &text[..text.floor_char_boundary(RESULT_MAX)];
        let messages = [
            json!({"role": "system", "content": format!("{RULES} {}", marks.rule())}),
            json!({"role": "user", "content": format!("Question: {query}\n\nResult:\n{}", marks.around(text))}),
        ];
        let question = Question {
            messages: &messages,
            tokens_max: TOKENS_MAX,
            wishes: Map::from_iter([("response_format".to_owned(), form())]),
            needs: Map::new(),
        };
        let message = self.ask(&question).await?;
        message.content.as_deref().and_then(read).ok_or(ModelError::NoBullets)
    }
}

/// Structured output, where the service has it.
fn form() -> Value {
    let text = json!({"type": "string"});
    let bullet = json!({
        "type": "object",
        "properties": {"claim": text, "evidence": text},
        "required": ["claim", "evidence"],
        "additionalProperties": false,
    });
    let schema = json!({
        "type": "object",
        "properties": {"bullets": {"type": "array", "items": bullet}},
        "required": ["bullets"],
        "additionalProperties": false,
    });
    json!({"type": "json_schema", "json_schema": {"name": "summary", "strict": true, "schema": schema}})
}

/// JSON, alone or in a fence.
fn read(content: &str) -> Option<Vec<Bullet>> {
    let (start, end) = (content.find('{')?, content.rfind('}')?);
    let value = parse_json(content.get(start..=end)?.as_bytes()).ok()?;
    let Written { mut bullets } = serde_json::from_value(value).ok()?;
    bullets.truncate(BULLETS_MAX);
    Some(bullets)
}
