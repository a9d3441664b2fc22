//! Whether a claim says no more than its evidence, and the evidence is in the result.
//!
//! Numbers, dates and names are carried to the letter or the claim falls, whatever else speaks for it. The rest is
//! weighed: signs in the words, and how far the sentence model finds that the claim follows. No language model is asked.

mod carried;
mod entailment;
mod evidence;
mod facts;
mod lexicon;
mod order;
mod overlap;
mod signs;
mod support;
#[cfg(test)]
mod tests;
mod weights;
mod words;

use std::collections::BTreeMap;

use countersign_index::Local;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::evidence::locate;
use self::facts::Facts;
use self::signs::Sign;

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
    #[error("the sentence model could not be run: {0}")]
    Unjudged(String),
}

/// Checks bullets, with the sentence model in the binary.
#[derive(Debug, Clone)]
pub struct Grounding {
    local: Local,
}

impl Grounding {
    pub fn new(local: Local) -> Self {
        Self { local }
    }

    pub async fn check(&self, result: &Value, bullet: &Bullet) -> Result<Grounded, Flaw> {
        let read = Read::of(result, bullet)?.carried()?;
        let (local, bullet) = (self.local.clone(), bullet.clone());
        let work = tokio::task::spawn_blocking(move || read.judge(&local, &bullet));
        work.await.unwrap_or_else(|error| Err(Flaw::Unjudged(error.to_string())))
    }

    /// What `check` does, for those who have a thread to spare.
    pub fn check_now(&self, result: &Value, bullet: &Bullet) -> Result<Grounded, Flaw> {
        Read::of(result, bullet)?.carried()?.judge(&self.local, bullet)
    }
}

/// Whether a quotation is there and has the claim's numbers, dates and names: enough for one that is its own claim.
pub(crate) fn quoted(result: &Value, bullet: &Bullet) -> Result<Grounded, Flaw> {
    Read::of(result, bullet)?.carried().map(|read| read.grounded(bullet))
}

/// What the trainer sees of a bullet whose evidence is there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Described {
    /// As the model is given it.
    pub claim: String,
    /// What of its numbers, dates and names is not in the evidence.
    pub missing: Option<String>,
    /// Whether it is said in the evidence in so many words.
    pub quoted: bool,
    pub signs: BTreeMap<String, f32>,
}

pub fn described(result: &Value, bullet: &Bullet) -> Result<Described, Flaw> {
    let Read { claim, missing, quoted, signs, .. } = Read::of(result, bullet)?;
    let signs = signs.into_iter().map(|sign| (format!("{:?}", sign.kind), sign.value)).collect();
    Ok(Described { claim, missing: missing.map(|flaw| flaw.to_string()), quoted, signs })
}

/// A bullet whose evidence is there.
struct Read {
    pointer: String,
    /// What the evidence would have to the letter.
    missing: Option<Flaw>,
    /// With numbers and dates as the evidence writes them.
    claim: String,
    quoted: bool,
    signs: Vec<Sign>,
}

impl Read {
    fn of(result: &Value, Bullet { claim, evidence }: &Bullet) -> Result<Self, Flaw> {
        if claim.trim().is_empty() || evidence.trim().is_empty() {
            return Err(Flaw::Empty);
        }
        let pointer = locate(result, evidence).ok_or(Flaw::NotThere)?;
        let plain = evidence::plain(evidence);
        let claimed = Facts::of(claim);
        let mut shown = Facts::of_evidence(&plain, evidence::has_keys(evidence));
        shown.count(&evidence::lengths(evidence));
        let missing = carried::check(&claimed, &shown).err();
        let signs = signs::signs(&claimed, &shown, evidence, &pointer);
        let quoted = overlap::is_quoted(&claimed, &shown);
        Ok(Self { pointer, missing, claim: carried::respelled(claim, &plain.replace('_', " ")), quoted, signs })
    }

    fn carried(mut self) -> Result<Self, Flaw> {
        self.missing.take().map_or(Ok(self), Err)
    }

    fn judge(mut self, local: &Local, bullet: &Bullet) -> Result<Grounded, Flaw> {
        if self.quoted {
            return Ok(self.grounded(bullet));
        }
        let score = entailment::score(local, &self.claim, &bullet.evidence);
        let score = score.map_err(|error| Flaw::Unjudged(error.to_string()))?;
        if weights::enough(score, &self.signs) {
            return Ok(self.grounded(bullet));
        }
        Err(self.signs.iter_mut().find_map(|sign| sign.flaw.take()).unwrap_or(Flaw::Unsupported))
    }

    fn grounded(self, Bullet { claim, evidence }: &Bullet) -> Grounded {
        Grounded { claim: claim.clone(), evidence: evidence.clone(), pointer: self.pointer }
    }
}
