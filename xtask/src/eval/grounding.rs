//! `cargo xtask eval grounding`: of hand-labelled bullets, how many that are carried by their evidence are kept, and how
//! many that are not are caught. What is in `final` was never looked at while the rules were made.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use countersign_ask::{Bullet, Described, Grounding, described};
use countersign_index::Local;
use serde::Deserialize;
use serde_json::{Value, json};

use super::metrics::Mean;
use crate::workspace::Workspace;
use crate::{Verdict, talk};

const DATA: &str = "xtask/data/ask";

/// What is promised, for `final`.
const KEPT_MIN: f64 = 0.90;
const CAUGHT_MIN: f64 = 0.95;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Measure the set that is kept for the final figure, too, and fail if it misses its targets
    #[arg(long = "final")]
    with_final: bool,
    /// Write what the trainer needs (claims as the model sees them, and their signs) instead, without `final`
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
}

/// One line of a file.
#[derive(Debug, Deserialize)]
struct Labelled {
    id: String,
    set: Set,
    result: Value,
    #[serde(flatten)]
    bullet: Bullet,
    supported: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Set {
    Tune,
    Final,
}

pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Verdict> {
    let folder = workspace.root().join(DATA);
    let mut sets = Vec::new();
    for (name, file) in [("tune", "claims.jsonl"), ("a", "claims_a.jsonl"), ("b", "claims_b.jsonl")] {
        sets.push((name, read(&folder.join(file), Set::Tune)?));
    }
    if let Some(path) = &options.pairs {
        return write(path, &sets).map(|()| Verdict::Good);
    }
    if options.with_final {
        sets.push(("final", read(&folder.join("claims.jsonl"), Set::Final)?));
    }
    let grounding = Grounding::new(Local::on_all_cores());
    let mut verdict = Verdict::Good;
    talk::say("set       supported      kept        ±  unsupported    caught        ±");
    for (name, bullets) in &sets {
        let (kept, caught) = (share(&grounding, bullets, Want::Kept), share(&grounding, bullets, Want::Caught));
        talk::say(format_args!(
            "{name:<10}{:>9}{:>10.3}{:>9.3}{:>13}{:>10.3}{:>9.3}",
            kept.of, kept.value, kept.standard_error, caught.of, caught.value, caught.standard_error
        ));
        if *name == "final" && (kept.value < KEPT_MIN || caught.value < CAUGHT_MIN) {
            talk::note(format_args!("final has to reach {KEPT_MIN} kept and {CAUGHT_MIN} caught"));
            verdict = Verdict::Bad;
        }
    }
    Ok(verdict)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Kept,
    Caught,
}

fn share(grounding: &Grounding, bullets: &[Labelled], want: Want) -> Mean {
    let asked = bullets.iter().filter(|each| each.supported == (want == Want::Kept));
    let right = |each: &Labelled| grounding.check_now(&each.result, &each.bullet).is_ok() == each.supported;
    Mean::of(&asked.map(|each| f64::from(u8::from(right(each)))).collect::<Vec<_>>())
}

fn read(path: &Path, set: Set) -> anyhow::Result<Vec<Labelled>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let parse =
        |line: &str| serde_json::from_str(line).with_context(|| format!("`{}` has another form", path.display()));
    let all: Vec<Labelled> = text.lines().map(parse).collect::<anyhow::Result<_>>()?;
    Ok(all.into_iter().filter(|each| each.set == set).collect())
}

fn write(path: &Path, sets: &[(&str, Vec<Labelled>)]) -> anyhow::Result<()> {
    let mut lines = String::new();
    for (name, bullets) in sets {
        for Labelled { id, result, bullet, supported, .. } in bullets {
            let Ok(Described { claim, carried, quoted, signs }) = described(result, bullet) else { continue };
            let line = json!({
                "id": id, "from": name, "group": result.to_string(), "claim": claim, "evidence": bullet.evidence,
                "supported": supported, "carried": carried, "quoted": quoted, "signs": signs,
            });
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
    }
    fs::write(path, lines).with_context(|| format!("cannot write `{}`", path.display()))
}
