//! What each sign weighs beside the score of the sentence model, as data/grounding/weigh.py has found it.

use super::signs::{Kind, Sign};

const SCORE: f32 = 0.55;
/// How far a score may move the balance: alone it does not outweigh two signs to the contrary.
const SCORE_MAX: f32 = 4.0;
const BIAS: f32 = -0.15;
/// Where, in cross-validation, 94 of 100 claims that are not carried are caught.
const ENOUGH: f32 = 0.4;

pub(super) fn enough(score: f32, signs: &[Sign]) -> bool {
    let signs: f32 = signs.iter().map(|sign| weight(sign.kind) * sign.value).sum();
    BIAS + SCORE * score.clamp(-SCORE_MAX, SCORE_MAX) + signs > ENOUGH
}

fn weight(kind: Kind) -> f32 {
    match kind {
        // Alone they mean little: two turn the meaning back.
        Kind::Denied => 0.47,
        Kind::Contrary => -0.18,
        Kind::Turned => -1.35,
        Kind::Swapped => -1.03,
        Kind::Certain => -1.49,
        Kind::Stronger => -1.60,
        Kind::Reported => -0.71,
        Kind::Scope => -0.50,
        Kind::Clause => -0.40,
        Kind::Units => -0.36,
        Kind::Substituted => -0.30,
        Kind::Replaced => -0.22,
        Kind::Unknown => -0.10,
        Kind::Keyed => 0.13,
        Kind::Words => 0.22,
        Kind::Denials => 0.55,
        Kind::NamedByKey => 0.77,
    }
}
