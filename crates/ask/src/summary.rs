//! Summaries: what a result says, in bullets that each quote it. Without a model, the quotations are the claims.

use std::collections::BTreeSet;

use countersign_index::stem;
use serde::Serialize;
use serde_json::{Value, json};

use crate::grounding::{Bullet, Grounded, quoted};

/// More is no summary.
const BULLETS_MAX: usize = 5;

/// A sentence that is longer is cut at a word.
const QUOTATION_BYTES_MAX: usize = 300;

/// Values that are looked at; a long list says the same again and again.
const VALUES_MAX: usize = 400;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "summary")]
pub struct Summary {
    pub author: Author,
    pub bullets: Vec<Grounded>,
    /// Bullets that were not carried by the result and are not shown.
    pub dropped: usize,
    /// Why nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Who wrote the claims. Of the embedded one, they are the quotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    Embedded,
    Model,
}

impl Summary {
    /// The values and sentences that have most to do with the query, in the order in which the result has them.
    pub fn extract(query: &str, result: &Value) -> Self {
        let wanted: BTreeSet<String> = words(query).collect();
        let mut found = Vec::new();
        collect(result, None, &mut found);
        let mut ranked: Vec<(usize, usize)> = found
            .iter()
            .enumerate()
            .map(|(at, bullet)| (words(&bullet.claim).filter(|word| wanted.contains(word)).count(), at))
            .collect();
        ranked.sort_by_key(|&(shared, at)| (std::cmp::Reverse(shared), at));
        let mut chosen: Vec<usize> = ranked.into_iter().map(|(_, at)| at).take(BULLETS_MAX).collect();
        chosen.sort_unstable();
        let checked: Vec<_> = chosen.iter().map(|&at| quoted(result, &found[at])).collect();
        let dropped = checked.iter().filter(|checked| checked.is_err()).count();
        Self { author: Author::Embedded, bullets: checked.into_iter().flatten().collect(), dropped, failed: None }
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 2)
        .map(|word| stem(&word.to_lowercase()).to_owned())
}

/// Sentences of texts, and other values with their keys.
fn collect(value: &Value, key: Option<&str>, found: &mut Vec<Bullet>) {
    if found.len() >= VALUES_MAX {
        return;
    }
    match (value, key) {
        (Value::Object(fields), _) => fields.iter().for_each(|(key, field)| collect(field, Some(key), found)),
        (Value::Array(items), _) => items.iter().for_each(|item| collect(item, None, found)),
        (Value::String(text), None) => found.extend(sentences(text)),
        (Value::String(text), Some(_)) if text.contains(char::is_whitespace) => found.extend(sentences(text)),
        (Value::String(text), Some(_)) if text.is_empty() || text.len() > QUOTATION_BYTES_MAX => {}
        (Value::String(_) | Value::Number(_) | Value::Bool(_), Some(key)) => {
            let claim = value.as_str().map_or_else(|| format!("{key}: {value}"), |text| format!("{key}: {text}"));
            found.push(Bullet { claim, evidence: format!("{}:{value}", json!(key)) });
        }
        (Value::Number(_) | Value::Bool(_), None) | (Value::Null, _) => {}
    }
}

fn sentences(text: &str) -> impl Iterator<Item = Bullet> {
    text.split_inclusive(['\n', '!', '?']).flat_map(|line| line.split_inclusive(". ")).filter_map(|sentence| {
        let sentence = sentence.trim();
        let cut = if sentence.len() <= QUOTATION_BYTES_MAX {
            sentence
        } else {
            let end = sentence.floor_char_boundary(QUOTATION_BYTES_MAX);
            sentence[..end].rsplit_once(char::is_whitespace).map_or(&sentence[..end], |(whole, _)| whole)
        };
        cut.contains(char::is_alphanumeric).then(|| Bullet { claim: cut.to_owned(), evidence: cut.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_the_query_is_quoted_in_order() {
        let result = json!({
            "status": 200,
            "title": "Release notes",
            "content": "Version 2.0 is out. It was a long way.\nThe parser is twice as fast. Thanks to all! Nothing else changed.",
        });
        let summary = Summary::extract("how fast is the parser of version 2.0", &result);
        assert_eq!(summary.dropped, 0, "{summary:?}");
        let claims: Vec<&str> = summary.bullets.iter().map(|bullet| bullet.claim.as_str()).collect();
        assert!(
            claims.contains(&"The parser is twice as fast.") && claims.contains(&"Version 2.0 is out."),
            "{claims:?}"
        );
        assert!(summary.bullets.len() <= BULLETS_MAX);
        for Grounded { evidence, pointer, .. } in &summary.bullets {
            assert!(result.pointer(pointer).is_some(), "{evidence}: {pointer}");
        }
    }

    #[test]
    fn odd_results_give_what_they_have() {
        for (result, bullets) in [
            (json!({}), 0),
            (json!({"matches": [], "total": 0}), 1),
            (json!({"a": null, "b": "", "c": ["x", "y"]}), 2),
            (json!({"text": "é".repeat(1000)}), 0),
            (json!({"text": "word ".repeat(200)}), 1),
        ] {
            let summary = Summary::extract("total", &result);
            assert_eq!((summary.bullets.len(), summary.dropped), (bullets, 0), "{result}: {summary:?}");
        }
    }
}
