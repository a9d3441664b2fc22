//! Whether a claim says no more than its evidence, and the evidence is in the result. No model decides that: what a
//! program cannot see in the words is refused, and docs/ask.md says what it cannot see.

mod carried;
mod evidence;
mod facts;
mod lexicon;
mod order;
mod support;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::facts::Facts;

/// What a summary consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bullet {
    pub claim: String,
    pub evidence: String,
}

/// A bullet that passed, and where in the result its evidence is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grounded {
    pub claim: String,
    pub evidence: String,
    /// JSON Pointer to the smallest value that contains it.
    pub pointer: String,
}

/// The cosine of the vectors of claim and evidence, where there are some.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness(pub f32);

/// Why a bullet is dropped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("claim or evidence is empty")]
    Empty,
    #[error("the evidence is not in the result")]
    NotThere,
    #[error("the evidence does not have the number {0}")]
    Number(String),
    #[error("the evidence does not have the date {0}")]
    Date(String),
    #[error("the evidence does not name {0}")]
    Name(String),
    #[error("the evidence does not deny what the claim denies, or the other way round")]
    Negation,
    #[error("the evidence says `{0}`, the claim the contrary")]
    Contrary(String),
    #[error("the evidence does not say `{0}`")]
    Stronger(String),
    #[error("the evidence says `{0}`, the claim is more certain")]
    Certain(String),
    #[error("the evidence is limited by `{0}`, the claim is not")]
    Scope(String),
    #[error("the evidence only says that somebody says so (`{0}`)")]
    Reported(String),
    #[error("the claim says `{0}` where the evidence says `{1}`")]
    Replaced(String, String),
    #[error("claim and evidence name `{0}` and `{1}` in another order")]
    Swapped(String, String),
    #[error("the evidence has too little of what the claim says")]
    Unsupported,
}

pub fn check(result: &Value, bullet: &Bullet, likeness: Option<Likeness>) -> Result<Grounded, Flaw> {
    let Bullet { claim, evidence } = bullet;
    if claim.trim().is_empty() || evidence.trim().is_empty() {
        return Err(Flaw::Empty);
    }
    let pointer = evidence::locate(result, evidence).ok_or(Flaw::NotThere)?;
    let claimed = Facts::of(claim);
    let mut shown = Facts::of_evidence(&evidence::plain(evidence), evidence::has_keys(evidence));
    shown.count(&evidence::lengths(evidence));
    carried::check(&claimed, &shown)?;
    support::check(&claimed, &shown, evidence, &pointer, likeness)?;
    Ok(Grounded { claim: claim.clone(), evidence: evidence.clone(), pointer })
}

pub(crate) use evidence::locate;

pub struct Grounding {
    embedder: std::sync::Arc<dyn countersign_index::Embedder>,
}
impl Grounding {
    pub fn new(embedder: std::sync::Arc<dyn countersign_index::Embedder>) -> Self {
        Self { embedder }
    }
    pub async fn check(
        &self,
        result: &Value,
        bullet: &Bullet,
    ) -> Result<Result<Grounded, Flaw>, countersign_index::EmbedError> {
        let vectors = self.embedder.embed(&[bullet.claim.clone(), bullet.evidence.clone()]).await?;
        let likeness = Likeness(vectors[0].iter().zip(&vectors[1]).map(|(a, b)| a * b).sum());
        Ok(check(result, bullet, Some(likeness)))
    }
}
