//! Whether the best tool fits at all. The weights are those of a logistic regression, rounded; see `cargo xtask eval toolsel`.

use super::bm25::to_f64;
use super::deed::Deed;
use super::parameter::Kind;
use super::wording::Wording;
use super::{MISSING_MAX, Ranked};

/// Below 0 the tool does not fit.
mod sure {
    pub(super) const UNUSUAL: f64 = 0.315;
    pub(super) const COVER: f64 = 3.15;
    pub(super) const FIT: f64 = 2.0;
    pub(super) const MISSING: f64 = -1.1;
    pub(super) const FOREIGN: f64 = 6.0;
    pub(super) const LENGTH: f64 = 1.0;
    pub(super) const QUESTION: f64 = -2.94;
    pub(super) const HARD: f64 = 2.5;
    pub(super) const MIN: f64 = 3.2;
}

/// Below 0 question and tool speak of different things: a second test, where there are several tools to choose from.
mod topic {
    pub(super) const COVER: f64 = 0.15;
    pub(super) const TEXT: f64 = 0.37;
    pub(super) const FOREIGN: f64 = 0.2;
    pub(super) const HARD: f64 = 0.25;
    pub(super) const MIN: f64 = 0.21;
}

/// What likeness between a tool and requests of all sorts is usual: some tools are near to anything.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usual {
    mean: f64,
    deviation: f64,
}

/// Why the best tool is not the right one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It does not do what was asked for.
    Opposite,
    Unlike,
}

/// What the decision depends on.
#[derive(Debug)]
struct Features {
    unusual: f64,
    cover: f64,
    fit: f64,
    missing: f64,
    foreign: f64,
    length: f64,
    question: f64,
    hard: f64,
}

impl Usual {
    pub(super) fn of(tool: &[f32], requests: &[Vec<f32>]) -> Self {
        let likeness: Vec<f64> = requests.iter().map(|request| dot(tool, request)).collect();
        let count = to_f64(likeness.len().max(1));
        let mean = likeness.iter().sum::<f64>() / count;
        let variance = likeness.iter().map(|each| (each - mean).powi(2)).sum::<f64>() / count;
        Self { mean, deviation: variance.sqrt() + 0.02 }
    }

    fn exceeded_by(&self, likeness: f64) -> f64 {
        ((likeness - self.mean) / self.deviation).clamp(-1.0, 6.0)
    }
}

impl Unfit {
    pub(super) fn sentence(self, nearest: &str) -> String {
        match self {
            Self::Opposite => {
                format!("The nearest tool, `{nearest}`, does not do what the question asks for.")
            }
            Self::Unlike => format!("No tool fits the question; the nearest is `{nearest}`."),
        }
    }
}

impl Ranked<'_> {
    /// A name that is spelled always fits.
    pub(super) fn fits(&self, wording: &Wording, tools: usize) -> Result<(), Unfit> {
        if wording.spells(self.tool) {
            return Ok(());
        }
        if self.does_otherwise(wording) {
            return Err(Unfit::Opposite);
        }
        if wording.says_nothing() && self.filling.evidence.is_empty() {
            return Err(Unfit::Unlike);
        }
        let features = self.features(wording, tools);
        let same_topic = tools < 2 || features.topic(self.parts.meaning, wording.covered_by(self.tool)) >= 0.0;
        if features.sure() >= 0.0 && same_topic { Ok(()) } else { Err(Unfit::Unlike) }
    }

    /// Says the name of a parameter, and its value.
    fn names_parameter(&self, wording: &Wording) -> bool {
        let is_named = |name: &String| self.filling.evidence.get(name).is_some_and(|evidence| evidence.strength >= 1.0);
        let texts = self.tool.shape.parameters.iter().filter(|each| each.kind == Kind::Text && is_named(&each.name));
        wording.request.is_sure() && texts.flat_map(|each| &each.name_set).any(|word| wording.names(word))
    }

    /// The request is for what the tool is about and does, or has its verb, where others do not.
    fn is_asked_for(&self, wording: &Wording, tools: usize) -> bool {
        let does_it = || wording.concerns(self.tool) >= 1.0 && wording.request.deeds.meets(self.tool.deeds);
        wording.request.is_sure() && (does_it() || tools > 1 && wording.says_verb_of(self.tool))
    }

    /// Says which of its commands is wanted.
    fn names_command(&self) -> bool {
        let is_named = |name: &String| self.filling.evidence.get(name).is_some_and(|evidence| evidence.hardness > 0.0);
        let commands = self.tool.shape.parameters.iter().filter(|each| each.required && !each.choices.is_empty());
        commands.map(|each| &each.name).any(is_named)
    }

    /// The request is for something that the tool enumerates: "known issues" where there are rules, decisions and issues.
    pub(super) fn names_choice(&self, wording: &Wording) -> bool {
        let objects = &wording.request.object;
        self.tool.shape.parameters.iter().filter(|each| !each.choices.is_empty()).any(|each| {
            let given = self.filling.arguments.get(&each.name);
            let meant = each.choices.iter().filter(|choice| Some(&choice.value) == given);
            meant.flat_map(|choice| &choice.stems).any(|stem| objects.contains(stem))
        })
    }

    /// Deleting is asked for, or something that only few tools do, and this one does not.
    fn does_otherwise(&self, wording: &Wording) -> bool {
        let (asked, done) = (wording.request.deeds, self.tool.deeds);
        let rare = [Deed::Transfer, Deed::Operate].iter().any(|deed| asked.is_only(*deed)) && wording.request.is_sure();
        let says_verb = wording.request.verb.as_ref().is_some_and(|verb| self.tool.texts.contains(verb));
        if rare {
            // Any tool can be run, by its name.
            let is_run = wording.request.verb.as_deref() == Some("run") && wording.concerns(self.tool) > 0.0;
            return !done.meets(asked) && !says_verb && !is_run;
        }
        // What is there is not renamed by making another one.
        let renames = wording.request.is_sure() && matches!(wording.request.verb.as_deref(), Some("renam" | "retitl"));
        if renames && !done.has(Deed::Update) && !done.is_empty() && !says_verb {
            return true;
        }
        // What is posted somewhere is not fetched from there.
        let posts = wording.request.is_sure() && wording.request.verb.as_deref() == Some("post");
        if posts && !done.is_empty() && done.changing().is_empty() && !says_verb {
            return true;
        }
        let others = [Deed::Read, Deed::Search, Deed::Create, Deed::Update, Deed::Complete];
        asked.has(Deed::Delete)
            && !asked.meets(done)
            && !self.filling.empties()
            && others.iter().any(|deed| done.has(*deed))
    }

    fn features(&self, wording: &Wording, tools: usize) -> Features {
        let ours = wording.speaks_of_project && self.tool.about_project;
        let names_choice = self.names_choice(wording);
        let is_named = self.names_command() || names_choice || self.is_asked_for(wording, tools);
        let expected = ours || wording.asks_for_results_of(self.tool) || is_named;
        let cover = wording.covers_name(self.tool);
        let hardest = self.filling.evidence.values().map(|evidence| evidence.hardness).fold(0.0, f64::max);
        let flag = |flag| if flag { 1.0 } else { 0.0 };
        Features {
            unusual: self.usual.exceeded_by(self.likeness),
            cover: if expected || self.names_parameter(wording) { cover.max(0.5) } else { cover },
            fit: self.filling.fit(self.tool),
            missing: to_f64(self.filling.missing.len().min(MISSING_MAX)),
            foreign: flag(wording.is_foreign),
            length: to_f64(wording.length.clamp(5, 20)).ln_1p(),
            question: flag(wording.is_question && !expected) * if hardest >= 0.5 { 0.5 } else { 1.0 },
            hard: if ours || names_choice { 1.0 } else { hardest },
        }
    }
}

impl Features {
    fn sure(&self) -> f64 {
        sure::UNUSUAL * self.unusual
            + sure::COVER * self.cover
            + sure::FIT * self.fit
            + sure::MISSING * self.missing
            + sure::FOREIGN * self.foreign
            + sure::LENGTH * self.length
            + sure::QUESTION * self.question
            + sure::HARD * self.hard
            - sure::MIN
    }

    fn topic(&self, meaning: f64, text: f64) -> f64 {
        meaning
            + topic::COVER * self.cover
            + topic::TEXT * text
            + topic::FOREIGN * self.foreign
            + topic::HARD * self.hard
            - topic::MIN
    }
}

/// In eight sums at once, which the compiler makes one instruction of.
pub(super) fn dot(one: &[f32], other: &[f32]) -> f64 {
    let ((ones, one_rest), (others, other_rest)) = (one.as_chunks::<8>(), other.as_chunks::<8>());
    let mut sums = [0.0_f32; 8];
    for (one, other) in ones.iter().zip(others) {
        for (sum, (one, other)) in sums.iter_mut().zip(one.iter().zip(other)) {
            *sum += one * other;
        }
    }
    let rest: f32 = one_rest.iter().zip(other_rest).map(|(one, other)| one * other).sum();
    f64::from(sums.iter().sum::<f32>() + rest)
}
