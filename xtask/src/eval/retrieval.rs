//! `cargo xtask eval retrieval`: the search of the context index as it is shipped, with the embedded model.
//!
//! A question about a repository is answered by a file: it counts at the rank of its first chunk, or of the first one
//! that overlaps its lines.

mod collection;

use std::collections::{BTreeMap, HashMap};

use countersign_index::{Accesses, Circumstances, Filter, Query, Search, Weights};
use jiff::Timestamp;
use serde::Serialize;

use self::collection::{Collection, Question};
use super::Options;
use super::metrics::{CUTOFF, Mean, ndcg};
use super::vectors::Vectors;
use crate::workspace::Workspace;
use crate::{Verdict, talk};

/// For `--json`.
#[derive(Debug, Serialize)]
struct Results {
    eval: &'static str,
    cutoff: usize,
    collections: Vec<Measured>,
    /// The mean over all annotated repositories, each counted once.
    repositories: Option<f64>,
    rules: Vec<Rule>,
}

#[derive(Debug, Serialize)]
struct Measured {
    collection: String,
    chunks: usize,
    ndcg: Mean,
    /// By kind of question, where there are kinds.
    categories: BTreeMap<String, Mean>,
}

/// What is left without one rule.
#[derive(Debug, Serialize)]
struct Rule {
    without: &'static str,
    /// By collection.
    ndcg: Vec<f64>,
    repositories: Option<f64>,
}

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    let mut vectors = Vectors::open(workspace)?;
    let collections = collection::all(&options.data(workspace), options, &mut vectors)?;
    let shipped: Vec<Vec<f64>> = collections.iter().map(|collection| gains(collection, &Weights::default())).collect();
    let mut weights = vec![("all rules", Weights::without_rules())];
    weights.extend(Weights::each_without());
    let rule = |(without, weights): (&'static str, Weights)| {
        let ndcg: Vec<f64> = collections.iter().map(|each| Mean::of(&gains(each, &weights)).value).collect();
        Rule { without, repositories: of_repositories(&collections, &ndcg), ndcg }
    };
    let rules = weights.into_iter().map(rule).collect();
    let means: Vec<f64> = shipped.iter().map(|gains| Mean::of(gains).value).collect();
    let results = Results {
        eval: "retrieval",
        cutoff: CUTOFF,
        repositories: of_repositories(&collections, &means),
        collections: collections.iter().zip(&shipped).map(|(each, gains)| Measured::new(each, gains)).collect(),
        rules,
    };
    results.print(options)?;
    Ok(Verdict::Good)
}

/// One for each question.
fn gains(collection: &Collection, weights: &Weights) -> Vec<f64> {
    collection.questions.iter().map(|question| gain(collection, question, weights)).collect()
}

fn gain(collection: &Collection, question: &Question, weights: &Weights) -> f64 {
    let (query, filter, accesses) = (Query::new(&question.text), Filter::default(), Accesses::default());
    let search = Search { query: &query, vector: Some(&question.vector), filter: &filter, weights };
    let found = collection.generation.find(&search);
    let exact: HashMap<usize, Vec<f32>> =
        found.rescore.iter().filter_map(|&chunk| Some((chunk, collection.vector(chunk)?.clone()))).collect();
    // No date is looked at: neither questions nor files have one that means something.
    let circumstances = Circumstances { exact: &exact, accesses: &accesses, now: Timestamp::UNIX_EPOCH };
    let hits = found.rank(&collection.generation, &search, &circumstances, CUTOFF);
    let rank = |answer| hits.iter().position(|hit| collection.is_answer(hit.id, answer));
    ndcg(&question.answers.iter().map(|answer| (rank(answer), answer.gain)).collect::<Vec<_>>())
}

fn of_repositories(collections: &[Collection], means: &[f64]) -> Option<f64> {
    let of: Vec<f64> =
        collections.iter().zip(means).filter(|(each, _)| each.is_repository).map(|(_, mean)| *mean).collect();
    (!of.is_empty()).then(|| Mean::of(&of).value)
}

impl Measured {
    fn new(collection: &Collection, gains: &[f64]) -> Self {
        let mut by_category: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (question, gain) in collection.questions.iter().zip(gains) {
            if let Some(category) = &question.category {
                by_category.entry(category.clone()).or_default().push(*gain);
            }
        }
        Self {
            collection: collection.name.clone(),
            chunks: collection.generation.len(),
            ndcg: Mean::of(gains),
            categories: by_category.into_iter().map(|(category, gains)| (category, Mean::of(&gains))).collect(),
        }
    }
}

impl Results {
    fn print(&self, options: &Options) -> anyhow::Result<()> {
        if options.json {
            talk::say(serde_json::to_string(self)?);
            return Ok(());
        }
        talk::say("collection                    chunks  questions   NDCG@10        ±");
        for Measured { collection, chunks, ndcg, categories } in &self.collections {
            let Mean { value, standard_error, of } = ndcg;
            talk::say(format_args!("{collection:<28}{chunks:>8}{of:>11}{value:>10.3}{standard_error:>9.3}"));
            for (category, Mean { value, standard_error, of }) in categories {
                talk::say(format_args!("  {category:<34}{of:>11}{value:>10.3}{standard_error:>9.3}"));
            }
        }
        if let Some(mean) = self.repositories {
            talk::say(format_args!("{:<47}{mean:>10.3}", "all repositories"));
        }
        self.print_rules();
        Ok(())
    }

    fn print_rules(&self) {
        let names: String = self.collections.iter().map(|each| format!("{:>11.10}", each.collection)).collect();
        talk::say(format_args!("\n{:<34}{names}{:>14}", "without", "repositories"));
        for Rule { without, ndcg, repositories } in &self.rules {
            let means: String = ndcg.iter().map(|mean| format!("{mean:>11.3}")).collect();
            let mean = repositories.map_or_else(String::new, |mean| format!("{mean:>14.3}"));
            talk::say(format_args!("{without:<34}{means}{mean}"));
        }
    }
}
