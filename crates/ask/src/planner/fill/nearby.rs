//! Whether the words around a value speak of a parameter.

use crate::planner::lexicon::{self, ADJECTIVES, LIMITED, LIMITING, LIMITS, STOP, role};
use crate::planner::parameter::Parameter;
use crate::planner::question::{Context, Word};
use crate::planner::span::{Measure, Span};
use crate::planner::words::stem;

/// Words in front of a value that say more than others.
const RENAMING: [&str; 9] = ["rename", "retitle", "renamed", "call", "called", "named", "titled", "name", "title"];

impl Context<'_> {
    /// Nearer words say more, and those in front more than those behind.
    pub(super) fn speaks_of(&self, parameter: &Parameter, span: &Span) -> f64 {
        let mut score = self.limit(parameter, span);
        for (side, weight) in [(&self.left, 1.0), (&self.right, 0.7)] {
            for (distance, word) in side.iter().filter(|(_, word)| !word.is_sign()) {
                score += weight / (0.6 + 0.4 * f64::from(*distance)) * likeness(parameter, word);
            }
        }
        let renaming = || self.left.iter().any(|(_, word)| RENAMING.contains(&word.lower.as_str()));
        if parameter.is_called(&["title", "name"]) && renaming() {
            score += 1.0;
        }
        score + self.role(parameter) + unit(parameter, span)
    }

    /// "the first 5", "5 results".
    fn limit(&self, parameter: &Parameter, span: &Span) -> f64 {
        if span.number().is_none() || parameter.name_set.is_disjoint(&LIMITING) {
            return 0.0;
        }
        let within = |side: &[(u32, &Word)], reach, words: &[&str]| {
            side.iter().any(|(distance, word)| *distance <= reach && words.contains(&word.lower.as_str()))
        };
        let limits: Vec<&str> = LIMITS.iter().copied().collect();
        let limited: Vec<&str> = LIMITED.iter().copied().collect();
        if !parameter.is_called(&["min", "minimum"])
            && (within(&self.left, 2, &limits) || within(&self.right, 2, &limits) || self.is_per_page())
        {
            2.0
        } else if within(&self.right, 1, &limited) || self.counts() && !parameter.is_called(&["min", "minimum"]) {
            1.5
        } else {
            0.0
        }
    }

    /// "50 per page", "20 at a time".
    fn is_per_page(&self) -> bool {
        let mut behind = self.right.iter().map(|(_, word)| word.lower.as_str());
        match behind.next() {
            Some("per" | "a" | "each") => behind.next().is_some_and(|word| ["page", "request", "call"].contains(&word)),
            Some("at") => behind.next() == Some("a") && behind.next() == Some("time"),
            Some(_) | None => false,
        }
    }

    /// "5 open todos": a number in front of things.
    fn counts(&self) -> bool {
        let mut behind = self.right.iter().skip_while(|(_, word)| ADJECTIVES.contains(word.lower.as_str()));
        let thing = behind.next().filter(|(distance, _)| *distance <= 3);
        // "task 5", "id 5" name something, they do not count.
        let names = self.left.first().is_some_and(|(_, word)| {
            matches!(word.lower.as_str(), "#" | "task" | "todo" | "id" | "number" | "no" | "no." | "item" | "after")
        });
        thing.is_some_and(|(_, word)| {
            word.lower.len() > 3 && word.lower.ends_with('s') && !lexicon::is_unit(&word.lower)
        }) && !names
    }

    /// What the preposition in front says.
    fn role(&self, parameter: &Parameter) -> f64 {
        let mut near = self.left.iter().take(3);
        let Some((distance, role)) = near.find_map(|(distance, word)| Some((distance, role(&word.lower)?))) else {
            return 0.0;
        };
        if !role.is_disjoint(&parameter.name_set) {
            1.5 / f64::from(*distance)
        } else if !role.is_disjoint(&parameter.description_set) {
            0.6 / f64::from(*distance)
        } else {
            0.0
        }
    }
}

fn likeness(parameter: &Parameter, word: &Word) -> f64 {
    let is_stop = STOP.contains(word.lower.as_str());
    if parameter.name_set.contains(&word.stem) && (!is_stop || parameter.name_stems.len() == 1) {
        2.0
    } else if is_stop {
        0.0
    } else if parameter.description_set.contains(&word.stem) {
        0.8
    } else if parameter.name_set.iter().any(|other| alike(&word.stem, other)) {
        1.0
    } else {
        0.0
    }
}

/// The same up to their fourth letter.
fn alike(one: &str, other: &str) -> bool {
    let start = |text: &str| text.get(..4).map(str::to_owned);
    start(one).is_some_and(|one| start(other) == Some(one))
}

fn unit(parameter: &Parameter, span: &Span) -> f64 {
    let Some(number) = span.number() else { return 0.0 };
    let unit = match &number.measure {
        Measure::Of(unit) => unit.as_str(),
        Measure::Percent => "percent",
        Measure::None | Measure::Ordinal => return 0.0,
    };
    let stem = stem(unit);
    if parameter.name_set.contains(&stem) {
        2.0
    } else if parameter.units.contains(unit) || parameter.units.contains(&stem) {
        1.0
    } else {
        0.0
    }
}
