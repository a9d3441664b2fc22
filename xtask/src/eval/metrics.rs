//! Discounted gain of a list of results, and means with their standard errors.

use serde::Serialize;

/// Results that count.
pub(super) const CUTOFF: usize = 10;

/// A mean, and how far it may be off by chance.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Mean {
    pub(super) value: f64,
    pub(super) standard_error: f64,
    pub(super) of: usize,
}

impl Mean {
    pub(super) fn of(values: &[f64]) -> Self {
        let count = to_f64(values.len());
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let standard_error = if values.len() > 1 { (variance / count).sqrt() } else { f64::NAN };
        Self { value: mean, standard_error, of: values.len() }
    }
}

/// What was reached of what could be: each answer's gain at its rank (from 0, `None` if it is not among the results),
/// against all answers in the best order.
pub(super) fn ndcg(answers: &[(Option<usize>, f64)]) -> f64 {
    let reached: f64 = answers
        .iter()
        .filter_map(|(rank, gain)| rank.filter(|&rank| rank < CUTOFF).map(|rank| gain * discount(rank)))
        .sum();
    let mut gains: Vec<f64> = answers.iter().map(|(_, gain)| *gain).collect();
    gains.sort_by(|one, other| other.total_cmp(one));
    let best: f64 = gains.iter().take(CUTOFF).enumerate().map(|(rank, gain)| gain * discount(rank)).sum();
    if best > 0.0 { reached / best } else { 0.0 }
}

fn discount(rank: usize) -> f64 {
    1.0 / (to_f64(rank) + 2.0).log2()
}

#[expect(clippy::cast_precision_loss, reason = "a count of questions or results")]
fn to_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::{Mean, ndcg};

    #[test]
    fn gain_shrinks_with_rank() {
        for (answers, expected) in [
            (&[(Some(0), 1.0)][..], 1.0),
            (&[(Some(1), 1.0)], 1.0 / 3.0_f64.log2()),
            (&[(Some(10), 1.0)], 0.0),
            (&[(None, 1.0)], 0.0),
            (&[(Some(1), 1.0), (Some(0), 1.0)], 1.0),
            (&[(Some(0), 2.0), (None, 0.0)], 1.0),
            (&[], 0.0),
        ] {
            assert!((ndcg(answers) - expected).abs() < 1e-9, "{answers:?}");
        }
    }

    #[test]
    fn a_mean_has_an_error() {
        let Mean { value, standard_error, of } = Mean::of(&[0.0, 1.0, 0.0, 1.0]);
        assert_eq!((value, of), (0.5, 4));
        assert!((standard_error - 0.288_675).abs() < 1e-5, "{standard_error}");
    }
}
