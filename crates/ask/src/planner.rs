//! The embedded planner: which tool a question is for, with which arguments, or that none fits. No model, no network.
//!
//! Tools are ranked by meaning (vectors) and words (BM25); the best get their arguments filled, and how well that goes
//! counts, too. Nothing is called here, and no argument is made up.

mod bm25;
mod deed;
mod fill;
mod forbidden;
mod lexicon;
mod parameter;
mod pattern;
mod question;
mod refusal;
mod request;
mod span;
mod tool;
mod unused;
mod wording;
mod words;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use countersign_contract::Effect;
use countersign_index::{EmbedError, Embedder};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::bm25::{WordIndex, to_f64};
use self::fill::{Filling, fill};
use self::forbidden::forbidden;
use self::lexicon::ORDINARY_REQUESTS;
use self::question::Question;
use self::refusal::Usual;
use self::tool::{Texts, Tool};
use self::wording::Wording;

/// So many tools get their arguments filled.
const FILLED: usize = 20;
/// So many are shown.
const SHOWN: usize = 5;

/// What each text of a tool counts: what it is, what it takes, what that means.
const MEANING: [f64; 3] = [0.5, 0.2, 0.2];
const WORDS: f64 = 0.3;
/// The question spells the tool's name.
const SPELLED: f64 = 1.0;
/// The question begins with the tool's name, for each word of it.
const SAID: f64 = 0.08;
/// The question asks for what the tool does, or for something else.
const VERBS_AGREE: f64 = 0.1;
const VERBS_DIFFER: f64 = -0.14;
/// Of both, where the question does not ask in so many words.
const VERBS_GUESSED: f64 = 0.5;
/// The first telling word is in the tool's name.
const HEAD: f64 = 0.08;
/// The tool speaks of where it is to be done.
const PLACE: f64 = 0.04;
/// What the request is about is in the tool's name.
const OBJECT: f64 = 0.08;
const FIT: f64 = 0.1;
const MISSING: f64 = -0.1;
/// Missing arguments beyond this make nothing worse.
const MISSING_MAX: usize = 2;
/// Values stand together as only this tool wants them.
const STRUCTURED: f64 = 0.08;
const UNUSED: f64 = -0.2;

/// A tool that may be chosen.
#[derive(Debug, Clone)]
pub struct Offer {
    pub name: String,
    pub description: String,
    pub input_schema: Value,
    pub effect: Effect,
    pub examples: Vec<Example>,
}

/// A call of a tool and its answer, from its contract.
#[derive(Debug, Clone)]
pub struct Example {
    pub arguments: Value,
    pub output: Value,
}

/// Tools with everything that does not depend on a question.
#[derive(Debug)]
pub struct Planner {
    embedder: Arc<dyn Embedder>,
    tools: Vec<Tool>,
    /// For each tool, in the order of [`MEANING`].
    vectors: Vec<[Vec<f32>; 3]>,
    /// For each tool.
    usual: Vec<Usual>,
    words: WordIndex,
}

/// What to do about a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    pub choice: Choice,
    /// The best first.
    pub candidates: Vec<Candidate>,
}

/// `why` is a sentence for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Choice {
    Call {
        tool: String,
        arguments: Map<String, Value>,
        why: String,
    },
    /// The tool fits, and the question does not say what it requires.
    Missing {
        tool: String,
        arguments: Map<String, Value>,
        parameters: Vec<String>,
        why: String,
    },
    /// No tool fits.
    Nothing {
        why: String,
    },
}

/// A tool that was considered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    pub tool: String,
    pub score: f64,
    pub parts: Parts,
    pub arguments: Map<String, Value>,
    /// Required parameters that the question does not give.
    pub missing: Vec<String>,
}

/// What the score is the sum of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Parts {
    /// Likeness of question and texts, by their vectors.
    pub meaning: f64,
    /// Words in common, the rarer the better.
    pub words: f64,
    /// The question spells the tool's name.
    pub name: f64,
    /// What question and tool do: read, create, update, complete, delete.
    pub verb: f64,
    /// The question gives what the tool requires.
    pub arguments: f64,
    /// Values in the question that the tool has no use for.
    pub unused: f64,
}

/// A tool with what a question gives for it.
struct Ranked<'p> {
    tool: &'p Tool,
    usual: &'p Usual,
    parts: Parts,
    /// Likeness of the question and what the tool is.
    likeness: f64,
    filling: Filling,
}

impl Planner {
    pub async fn new(offers: Vec<Offer>, embedder: Arc<dyn Embedder>) -> Result<Self, EmbedError> {
        Self::with_known(offers, &*Arc::clone(&embedder), embedder).await
    }

    /// What the tools say of themselves is embedded by `known`, which may have done so before; questions by `embedder`.
    pub async fn with_known(
        offers: Vec<Offer>,
        known: &dyn Embedder,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, EmbedError> {
        let followed = |offer: Offer| Offer { input_schema: parameter::followed(&offer.input_schema), ..offer };
        let offers: Vec<Offer> = offers.into_iter().map(followed).collect();
        let texts: Vec<Texts> = offers.iter().map(Texts::of).collect();
        let ordinary = known.embed(&ORDINARY_REQUESTS).await?;
        let embedded: Vec<String> = texts.iter().flat_map(|texts| texts.embedded.iter().cloned()).collect();
        let mut vectors = known.embed(&embedded).await?.into_iter();
        let mut next = || vectors.next().ok_or_else(|| EmbedError::Local("a text has no vector".to_owned()));
        let vectors: Vec<[Vec<f32>; 3]> =
            texts.iter().map(|_| Ok([next()?, next()?, next()?])).collect::<Result<_, EmbedError>>()?;
        Ok(Self {
            usual: vectors.iter().map(|[what, ..]| Usual::of(what, &ordinary)).collect(),
            words: WordIndex::new(&texts),
            tools: offers.iter().zip(&texts).map(|(offer, texts)| Tool::new(offer, texts)).collect(),
            vectors,
            embedder,
        })
    }

    /// `today` is for dates that do not say their year, and for "tomorrow".
    pub async fn plan(&self, query: &str, today: Date) -> Result<Plan, EmbedError> {
        let question = Question::new(query);
        let wording = Wording::new(query, &question);
        let embedded = self.embedder.embed(std::slice::from_ref(&wording.of_project)).await?;
        let vector = embedded.into_iter().next().unwrap_or_default();
        let ranked = self.rank(&question, &wording, &vector, today);
        let choice = self.choose(&question, &wording, &ranked);
        Ok(Plan { choice, candidates: ranked.into_iter().take(SHOWN).map(Ranked::shown).collect() })
    }

    /// The names of so many tools, the nearest first.
    pub async fn nearest(&self, query: &str, count: usize) -> Result<Vec<String>, EmbedError> {
        let question = Question::new(query);
        let wording = Wording::new(query, &question);
        let embedded = self.embedder.embed(std::slice::from_ref(&wording.of_project)).await?;
        let vector = embedded.into_iter().next().unwrap_or_default();
        let near = self.by_texts(&wording, &vector).into_iter().take(count);
        Ok(near.map(|(at, ..)| self.tools[at].name.clone()).collect())
    }

    /// All of them by what they say of themselves, the nearest first.
    fn by_texts(&self, wording: &Wording, vector: &[f32]) -> Vec<(usize, Parts, f64)> {
        let words = self.words.scores(&wording.lexical);
        // What is asked for is what some tool is about, and so the others are not the right ones.
        let is_known = wording.request.is_sure() && self.tools.iter().any(|tool| wording.concerns(tool) >= 1.0);
        let mut best: Vec<(usize, Parts, f64)> = (0..self.tools.len())
            .map(|at| {
                let (meaning, likeness) = self.meaning(at, vector);
                let (name, verb) = wording.speaks_of(&self.tools[at]);
                let name = if is_known && wording.concerns(&self.tools[at]) == 0.0 { name - OBJECT } else { name };
                (at, Parts { meaning, words: WORDS * words[at], name, verb, ..Parts::default() }, likeness)
            })
            .collect();
        best.sort_by(|one, other| other.1.sum().total_cmp(&one.1.sum()));
        best
    }

    /// The best, with their arguments.
    fn rank(&self, question: &Question, wording: &Wording, vector: &[f32], today: Date) -> Vec<Ranked<'_>> {
        let best = self.by_texts(wording, vector);
        let filled = |(at, parts, likeness): (usize, Parts, f64)| {
            let tool = &self.tools[at];
            let filling = fill(question, tool, today);
            let missing = MISSING * to_f64(filling.missing.len().min(MISSING_MAX));
            let arguments = FIT * filling.fit(tool) + missing + if filling.is_structured() { STRUCTURED } else { 0.0 };
            let unused = UNUSED * unused::share(question, tool, &filling);
            // What is emptied is deleted, if only a part of something.
            let empties = filling.empties();
            let verb = if empties { parts.verb.max(VERBS_AGREE) } else { parts.verb };
            let name = parts.name + if empties { OBJECT } else { 0.0 };
            let mut ranked = Ranked {
                parts: Parts { name, verb, arguments, unused, ..parts },
                tool,
                usual: &self.usual[at],
                likeness,
                filling,
            };
            if wording.concerns(tool) == 0.0 && ranked.names_choice(wording) {
                ranked.parts.name += OBJECT;
            }
            ranked
        };
        let mut ranked: Vec<Ranked<'_>> = best.into_iter().take(FILLED).map(filled).collect();
        ranked.sort_by(|one, other| other.parts.sum().total_cmp(&one.parts.sum()));
        ranked
    }

    /// Likeness of all texts, weighted; and of the first alone.
    fn meaning(&self, at: usize, vector: &[f32]) -> (f64, f64) {
        let likeness = [0, 1, 2].map(|text: usize| refusal::dot(&self.vectors[at][text], vector));
        (likeness.iter().zip(MEANING).map(|(likeness, weight)| likeness * weight).sum(), likeness[0])
    }

    fn choose(&self, question: &Question, wording: &Wording, ranked: &[Ranked<'_>]) -> Choice {
        let Some(best) = ranked.first() else {
            return Choice::Nothing { why: "There is no tool to choose from.".to_owned() };
        };
        if let Err(unfit) = best.fits(wording, self.tools.len()) {
            return Choice::Nothing { why: unfit.sentence(&best.tool.name) };
        }
        let Some(forbidden) = forbidden(question, best) else { return self.chosen(best) };
        let answers = |other: &&Ranked<'_>| {
            let reads = !other.tool.effect.changes_something();
            let fits = other.filling.missing.is_empty() && other.fits(wording, self.tools.len()).is_ok();
            reads && fits && other.filling.means_the_same(&best.filling)
        };
        let read = ranked.iter().take(SHOWN).find(answers).filter(|_| forbidden.may_be_looked_up());
        read.map_or_else(|| Choice::Nothing { why: forbidden.sentence(&best.tool.name) }, |read| self.chosen(read))
    }

    fn chosen(&self, best: &Ranked<'_>) -> Choice {
        let (tool, arguments) = (best.tool.name.clone(), best.filling.arguments.clone());
        let parameters = best.filling.missing.clone();
        if parameters.is_empty() {
            let why = format!(
                "`{tool}` fits best of {} tools, and the question says everything it requires.",
                self.tools.len()
            );
            return Choice::Call { why, tool, arguments };
        }
        let names: Vec<String> = parameters.iter().map(|name| format!("`{name}`")).collect();
        let why = format!("`{tool}` fits, but the question does not say {}.", names.join(" and "));
        Choice::Missing { why, tool, arguments, parameters }
    }
}

impl Parts {
    fn sum(&self) -> f64 {
        let Self { meaning, words, name, verb, arguments, unused } = self;
        meaning + words + name + verb + arguments + unused
    }
}

impl Ranked<'_> {
    fn shown(self) -> Candidate {
        let Filling { arguments, missing, .. } = self.filling;
        Candidate { tool: self.tool.name.clone(), score: self.parts.sum(), parts: self.parts, arguments, missing }
    }
}

impl Filling {
    /// A value is what it is for the other tool, too: the id of a task is no page of a list.
    fn means_the_same(&self, other: &Self) -> bool {
        let mut given = other.arguments.iter();
        given.all(|(name, value)| self.arguments.iter().all(|(own, said)| own == name || said != value))
    }

    fn empties(&self) -> bool {
        self.arguments.values().any(|value| value == "")
    }

    /// Share of the required parameters that the question gives, by how sure that is; half for a tool that requires
    /// nothing, unless it took something.
    fn fit(&self, tool: &Tool) -> f64 {
        let strength = |name: &String| self.evidence.get(name).map_or(0.0, |evidence| evidence.strength);
        if tool.required.is_empty() {
            return if self.evidence.values().any(|evidence| evidence.strength >= 1.0) { 1.0 } else { 0.5 };
        }
        tool.required.iter().map(strength).sum::<f64>() / to_f64(tool.required.len())
    }
}
