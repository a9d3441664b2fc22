//! "Did you mean …?"

/// How alike two names must be for one to be a slip of the hand for the other.
const CLOSE_ENOUGH: f64 = 0.7;

/// Comparing takes the product of both lengths, and nobody mistypes a name that is longer.
const MAX_BYTES: usize = 128;

/// The candidate that was most likely meant, if any is close.
pub fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |candidate: &str| strsim::jaro_winkler(&name.to_lowercase(), &candidate.to_lowercase());
    if name.len() > MAX_BYTES {
        return None;
    }
    let candidates = candidates.into_iter().filter(|candidate| candidate.len() <= MAX_BYTES);
    let best = candidates.map(|candidate| (likeness(candidate), candidate));
    let (likeness, candidate) = best.max_by(|left, right| left.0.total_cmp(&right.0))?;
    (likeness >= CLOSE_ENOUGH).then_some(candidate)
}
