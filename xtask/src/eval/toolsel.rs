//! `cargo xtask eval toolsel`: the embedded planner as it is shipped, with the embedded model.
//!
//! Choosing and refusing are measured on the Berkeley Function Calling Leaderboard (version 4), and on questions of our
//! own about our tools and three reference servers. Missed targets fail.

mod bfcl;
mod own;
mod time;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use countersign_ask::{Choice, Offer, Plan, Planner};
use countersign_index::Embedder;
use jiff::civil::{Date, date};
use serde::Serialize;

use self::bfcl::{Row, Set};
use self::time::Times;
use super::metrics::Mean;
use super::vectors::{Kept, Vectors};
use crate::workspace::Workspace;
use crate::{Verdict, talk};

/// The day of the questions: they say "tomorrow", and dates without a year.
const TODAY: Date = date(2023, 6, 1);

/// Tools of one planner, for its time.
const TOOLS: usize = 1_000;
/// Of planning over so many, the question's embedding included.
const P50_MS_MAX: f64 = 20.0;

const FALSE_REFUSALS_MAX: f64 = 0.05;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Folder with `toolsel/bfcl` in it [default: ../shared/eval beside the checkout]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// For `--json`.
#[derive(Debug, Serialize)]
struct Results {
    eval: &'static str,
    figures: Vec<Figure>,
    times: Times,
    missed: Vec<String>,
}

/// A share of questions.
#[derive(Debug, Serialize)]
struct Figure {
    of: String,
    share: Mean,
    target: Target,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// Only reported.
    None,
}

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().context("cannot start a runtime")?;
    let results = runtime.block_on(measure(workspace, options))?;
    results.print(options)?;
    Ok(if results.missed.is_empty() { Verdict::Good } else { Verdict::Bad })
}

async fn measure(workspace: &Workspace, options: &Options) -> anyhow::Result<Results> {
    let folder = super::folder(workspace, options.data.as_ref()).join("toolsel/bfcl");
    let kept: Arc<dyn Embedder> = Arc::new(Kept::new(Vectors::open(workspace)?));
    let mut figures = Vec::new();
    let mut sets = BTreeMap::new();
    for set in Set::ALL {
        talk::note(format_args!("choosing among the tools of {}", set.name()));
        let rows = bfcl::read(&folder, set)?;
        let plans = each_with_its_tools(&rows, &kept).await?;
        figures.extend(figures_of(set, &rows, &plans));
        sets.insert(set, rows);
    }
    talk::note("choosing among all tools of live_multiple");
    figures.extend(pooled(&sets[&Set::LiveMultiple], &kept).await?);
    talk::note("our own questions");
    figures.extend(own::figures(workspace, &kept).await?);
    talk::note("timing");
    let mut tools = distinct(sets.values().flatten());
    tools.truncate(TOOLS);
    let questions: Vec<&str> = sets.values().flatten().map(|row| row.question.as_str()).collect();
    let times = Times::measure(tools, &questions, &kept).await?;
    let mut missed: Vec<String> =
        figures.iter().filter(|figure| !figure.is_met()).map(|figure| figure.of.clone()).collect();
    if times.p50_ms > P50_MS_MAX {
        missed.push("planning time".to_owned());
    }
    Ok(Results { eval: "toolsel", figures, times, missed })
}

async fn each_with_its_tools(rows: &[Row], embedder: &Arc<dyn Embedder>) -> anyhow::Result<Vec<Plan>> {
    let mut plans = Vec::new();
    for row in rows {
        let planner = Planner::new(row.tools.clone(), Arc::clone(embedder)).await?;
        plans.push(planner.plan(&row.question, TODAY).await?);
    }
    Ok(plans)
}

fn figures_of(set: Set, rows: &[Row], plans: &[Plan]) -> Vec<Figure> {
    let name = set.name();
    let refused: Vec<bool> = plans.iter().map(|plan| matches!(plan.choice, Choice::Nothing { .. })).collect();
    if set == Set::Irrelevance {
        return vec![Figure::new(format!("{name}: refused"), &refused, Target::AtLeast(0.80))];
    }
    let both = || rows.iter().zip(plans);
    let chosen: Vec<bool> = both().map(|(row, plan)| row.is_right(plan.candidates.first())).collect();
    let exact: Vec<bool> = both().map(|(row, plan)| row.is_exact(plan.candidates.first())).collect();
    let top = match set {
        Set::Multiple => Some(Target::AtLeast(0.985)),
        Set::LiveMultiple => Some(Target::AtLeast(0.90)),
        Set::SimplePython | Set::LiveSimple | Set::Irrelevance => None,
    };
    let top = top.map(|target| Figure::new(format!("{name}: right tool"), &chosen, target));
    let refused = Figure::new(format!("{name}: refused"), &refused, Target::AtMost(FALSE_REFUSALS_MAX));
    let exact = Figure::new(format!("{name}: tool and all arguments"), &exact, Target::None);
    top.into_iter().chain([refused, exact]).collect()
}

/// Every tool of a set beside every question. A tool counts by its name: many are there several times, in other words.
async fn pooled(rows: &[Row], embedder: &Arc<dyn Embedder>) -> anyhow::Result<[Figure; 2]> {
    let planner = Planner::new(distinct(rows), Arc::clone(embedder)).await?;
    let (mut first, mut among) = (Vec::new(), Vec::new());
    for row in rows {
        let plan = planner.plan(&row.question, TODAY).await?;
        first.push(row.is_right(plan.candidates.first()));
        among.push(plan.candidates.iter().any(|candidate| row.is_right(Some(candidate))));
    }
    Ok([
        Figure::new("pooled: right tool first".to_owned(), &first, Target::AtLeast(0.75)),
        Figure::new("pooled: right tool among five".to_owned(), &among, Target::AtLeast(0.90)),
    ])
}

/// Each pair of name and description once, in the order of the rows.
fn distinct<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<Offer> {
    let mut seen = std::collections::HashSet::new();
    let tools = rows.into_iter().flat_map(|row| &row.tools);
    tools.filter(|tool| seen.insert((tool.name.clone(), tool.description.clone()))).cloned().collect()
}

impl Figure {
    fn new(of: String, right: &[bool], target: Target) -> Self {
        let values: Vec<f64> = right.iter().map(|right| if *right { 1.0 } else { 0.0 }).collect();
        Self { of, share: Mean::of(&values), target }
    }

    fn is_met(&self) -> bool {
        match self.target {
            Target::AtLeast(least) => self.share.value >= least,
            Target::AtMost(most) => self.share.value <= most,
            Target::None => true,
        }
    }
}

impl Results {
    fn print(&self, options: &Options) -> anyhow::Result<()> {
        if options.json {
            talk::say(serde_json::to_string(self)?);
            return Ok(());
        }
        talk::say("                                         questions    share        ±   target");
        for figure in &self.figures {
            let Mean { value, standard_error, of } = figure.share;
            let target = match figure.target {
                Target::AtLeast(least) => format!("{:>9}", format!(">= {least}")),
                Target::AtMost(most) => format!("{:>9}", format!("<= {most}")),
                Target::None => String::new(),
            };
            let missed = if figure.is_met() { "" } else { "  missed" };
            talk::say(format_args!("{:<40}{of:>10}{value:>9.3}{standard_error:>9.3}{target}{missed}", figure.of));
        }
        let Times { tools, questions, p50_ms, p95_ms } = self.times;
        let missed = if p50_ms > P50_MS_MAX { "  missed" } else { "" };
        talk::say(format_args!(
            "{questions} questions to {tools} tools: p50 {p50_ms:.1} ms (<= {P50_MS_MAX}), p95 {p95_ms:.1} ms{missed}"
        ));
        Ok(())
    }
}
