//! Words whose meaning a check depends on, from data/grounding/lexicon.txt: closed classes of English and pairs of
//! contraries; nothing about any subject.

use std::sync::LazyLock;

static TEXT: &str = include_str!("../../data/grounding/lexicon.txt");

type Words = LazyLock<Vec<&'static str>>;

pub(super) static STOP_WORDS: Words = LazyLock::new(|| words("stop_words"));
pub(super) static NEGATIONS: Words = LazyLock::new(|| words("negations"));
pub(super) static HEDGES: Words = LazyLock::new(|| words("hedges"));
pub(super) static REPORTS: Words = LazyLock::new(|| words("reports"));
pub(super) static LIMITS: Words = LazyLock::new(|| words("limits"));
pub(super) static KEPT_LIMITS: Words = LazyLock::new(|| words("kept_limits"));
pub(super) static DETERMINERS: Words = LazyLock::new(|| words("determiners"));
pub(super) static MONTHS: Words = LazyLock::new(|| words("months"));
pub(super) static WEEKDAYS: Words = LazyLock::new(|| words("weekdays"));
/// Written in capitals, and yet no names.
pub(super) static ACRONYMS: Words = LazyLock::new(|| words("acronyms"));
/// Whoever says one of these judges; only the same word carries it.
pub(super) static JUDGING: Words = LazyLock::new(|| words("judging"));

/// Each is the contrary of the other.
pub(super) static CONTRARIES: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| lines("contraries").filter_map(|line| line.split_once(' ')).collect());

/// What makes a claim larger, and what carries it as well.
pub(super) static STRONG: LazyLock<Vec<(Vec<&str>, Vec<&str>)>> = LazyLock::new(|| {
    let split = |words: &'static str| words.split_whitespace().collect::<Vec<_>>();
    lines("strong").filter_map(|line| line.split_once(':')).map(|(one, other)| (split(one), split(other))).collect()
});

pub(super) static NUMBER_WORDS: LazyLock<Vec<(&str, f64)>> = LazyLock::new(|| values("number_words"));
pub(super) static SCALES: LazyLock<Vec<(&str, f64)>> = LazyLock::new(|| values("scales"));

/// Phrases that mean one thing, and what they become.
pub(super) static PHRASES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    lines("phrases").filter_map(|line| line.split_once('=')).map(|(one, other)| (one.trim(), other.trim())).collect()
});

/// Of each country its code, its name and what is of it.
pub(super) static COUNTRIES: LazyLock<Vec<Vec<&str>>> =
    LazyLock::new(|| lines("countries").map(|line| line.split_whitespace().collect()).collect());

/// What a number counts in. Within one dimension, figures can be converted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub(super) dimension: &'static str,
    pub(super) factor: f64,
}

static UNITS: LazyLock<Vec<(Unit, Vec<&str>)>> = LazyLock::new(|| {
    let read = |line: &'static str| {
        let mut parts = line.split(' ');
        let unit = Unit { dimension: parts.next()?, factor: parts.next()?.parse().ok()? };
        Some((unit, parts.collect()))
    };
    lines("units").filter_map(read).collect()
});

pub(super) fn unit_of(word: &str) -> Option<Unit> {
    UNITS.iter().find(|(_, names)| names.contains(&word)).map(|(unit, _)| *unit)
}

/// What is below a heading, without remarks.
fn lines(heading: &'static str) -> impl Iterator<Item = &'static str> {
    let is_heading = move |line: &&str| line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) == Some(heading);
    let below =
        TEXT.lines().skip_while(move |line| !is_heading(line)).skip(1).take_while(|line| !line.starts_with('['));
    below.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn words(heading: &'static str) -> Vec<&'static str> {
    lines(heading).flat_map(str::split_whitespace).collect()
}

fn values(heading: &'static str) -> Vec<(&'static str, f64)> {
    let read = |line: &'static str| line.split_once(' ').and_then(|(word, value)| Some((word, value.parse().ok()?)));
    lines(heading).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_file_is_read() {
        assert_eq!(lines("contraries").count(), CONTRARIES.len());
        assert_eq!(lines("strong").count(), STRONG.len());
        assert_eq!(lines("units").count(), UNITS.len());
        assert_eq!(lines("phrases").count(), PHRASES.len());
        assert_eq!(lines("number_words").count(), NUMBER_WORDS.len());
        assert_eq!(lines("scales").count(), SCALES.len());
        assert!(COUNTRIES.iter().all(|words| words.len() > 1 && words[0].len() == 2));
        assert_eq!((MONTHS.len(), WEEKDAYS.len()), (12, 7));
        for words in
            [&STOP_WORDS, &NEGATIONS, &HEDGES, &REPORTS, &LIMITS, &KEPT_LIMITS, &DETERMINERS, &JUDGING, &ACRONYMS]
        {
            assert!(words.len() > 5);
        }
        assert_eq!(unit_of("minutes"), Some(Unit { dimension: "time", factor: 60.0 }));
    }
}
