//! `cargo xtask eval grounding`: of hand-labelled bullets, how many that are carried by their evidence are kept, and how
//! many that are not are caught. What is in `final` was never looked at while the rules were made, and that of `c` was
//! counted once, when everything else was done.

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

/// What may be looked at, by file.
const TUNED: [(&str, &str); 4] =
    [("tune", "claims.jsonl"), ("a", "claims_a.jsonl"), ("b", "claims_b.jsonl"), ("c", "claims_c.jsonl")];

/// What is kept for the final figures.
const KEPT: [(&str, &str); 2] = [("final", "claims.jsonl"), ("final c", "claims_c.jsonl")];

/// Pairs that were written for training, as data/grounding/README.md says.
const WRITTEN: &str = "crates/ask/data/grounding/written";

/// What is promised, for each of [`KEPT`].
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
    for (name, file) in TUNED {
        sets.push((name, read(&folder.join(file), Set::Tune)?));
    }
    if let Some(path) = &options.pairs {
        sets.push(("written", written(&workspace.root().join(WRITTEN))?));
        return write(path, &sets).map(|()| Verdict::Good);
    }
    if options.with_final {
        for (name, file) in KEPT {
            sets.push((name, read(&folder.join(file), Set::Final)?));
        }
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
        let is_final = KEPT.iter().any(|(kept, _)| kept == name);
        if is_final && (kept.value < KEPT_MIN || caught.value < CAUGHT_MIN) {
            talk::note(format_args!("{name} has to reach {KEPT_MIN} kept and {CAUGHT_MIN} caught"));
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

/// After a line with `@`, the evidence, those with `+` follow from it and those with `-` do not.
fn written(folder: &Path) -> anyhow::Result<Vec<Labelled>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .with_context(|| format!("cannot list `{}`", folder.display()))?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "txt"));
    files.sort();
    let mut bullets = Vec::new();
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let mut evidence = "";
        for (number, line) in (1..).zip(text.lines()) {
            let supported = match line.split_at_checked(2) {
                Some(("@ ", shown)) => {
                    evidence = shown;
                    continue;
                }
                Some(("+ ", _)) => true,
                Some(("- ", _)) => false,
                Some(_) | None => continue,
            };
            let bullet = Bullet { claim: line[2..].to_owned(), evidence: evidence.to_owned() };
            let id = format!("{name}:{number}");
            bullets.push(Labelled { id, set: Set::Tune, result: result_with(evidence), bullet, supported });
        }
    }
    Ok(bullets)
}

/// A result that the evidence may be from: what it says as JSON if that has its members in order, as our results do, or
/// a text.
fn result_with(evidence: &str) -> Value {
    let readings = [evidence.to_owned(), format!("{{{evidence}}}"), format!("[{evidence}]")];
    let whole = readings.iter().filter_map(|text| serde_json::from_str::<Value>(text).ok()).find(Value::is_object);
    let bullet = Bullet { claim: evidence.to_owned(), evidence: evidence.to_owned() };
    whole.filter(|value| described(value, &bullet).is_ok()).unwrap_or_else(|| json!({ "content": evidence }))
}

fn write(path: &Path, sets: &[(&str, Vec<Labelled>)]) -> anyhow::Result<()> {
    let mut lines = String::new();
    for (name, bullets) in sets {
        for Labelled { id, result, bullet, supported, .. } in bullets {
            let Ok(Described { claim, missing, quoted, signs }) = described(result, bullet) else { continue };
            let line = json!({
                "id": id, "from": name, "group": result.to_string(), "claim": claim, "evidence": bullet.evidence,
                "supported": supported, "carried": missing.is_none(), "missing": missing, "quoted": quoted, "signs": signs,
            });
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
    }
    fs::write(path, lines).with_context(|| format!("cannot write `{}`", path.display()))
}
