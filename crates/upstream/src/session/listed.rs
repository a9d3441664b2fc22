//! Lists of what a server has, page by page.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{CallFailure, Errand, Session};

/// Pages and items of one list; more are not looked at.
const PAGES_MAX: usize = 50;
const ITEMS_MAX: usize = 1000;

/// What all pages together take, about: twice what a single message may have.
const LIST_MAX: usize = 16 * 1024 * 1024;

/// Of a value beside its text.
const VALUE: usize = 64;

impl Session {
    /// Everything of one kind as the server describes it, however badly: `tools` by `tools/list`, say.
    pub async fn list(&self, method: &str, key: &str, within: Duration) -> Result<Vec<Value>, CallFailure> {
        let (mut items, mut cursor) = (Vec::new(), None);
        let mut room = LIST_MAX;
        for _ in 0..PAGES_MAX {
            let mut params = Map::new();
            if let Some(cursor) = cursor.take() {
                params.insert("cursor".to_owned(), cursor);
            }
            let mut page = self.ask(method, params, within, Errand::default()).await?;
            match page.get_mut(key).map(Value::take) {
                Some(Value::Array(more)) => {
                    let weight: usize = more.iter().map(weight).sum();
                    let left = room.checked_sub(weight).filter(|_| items.len() + more.len() <= ITEMS_MAX);
                    room = left.ok_or(CallFailure::Garbled("a longer list than anybody has"))?;
                    items.extend(more);
                }
                _ => return Err(CallFailure::Garbled("a list that is none")),
            }
            match page.get_mut("nextCursor").map(Value::take) {
                Some(Value::String(next)) => cursor = Some(Value::String(next)),
                _ => return Ok(items),
            }
        }
        Err(CallFailure::Garbled("a list without an end"))
    }
}

/// What it takes in memory, about.
fn weight(value: &Value) -> usize {
    VALUE
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(weight).sum(),
            Value::Object(members) => members.iter().map(|(key, member)| key.len() + weight(member)).sum(),
        }
}
