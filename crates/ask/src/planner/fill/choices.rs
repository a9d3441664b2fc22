//! Values that schema or description enumerate, as a question names them.

use std::collections::HashMap;

use serde_json::Value;

use super::{Evidence, Filler};
use crate::planner::bm25::to_f64;
use crate::planner::lexicon::{STOP, has_synonym};
use crate::planner::parameter::{Kind, OneOf, Parameter, Type, text_of};
use crate::planner::words::{Stems, find_whole};

/// From here on the words of a value are all said.
const ALL_WORDS: f64 = 2.0;
/// From here on it is said literally.
const LITERALLY: f64 = 3.0;

/// A value of an enumeration that a text names.
pub(super) struct Hit<'p> {
    /// 3 and more: literally; 2: all its words; 1: synonyms, or words of the contract's examples; below: a part.
    pub(super) strength: f64,
    pub(super) choice: &'p OneOf,
    /// Where it stands, if it stands there literally.
    pub(super) at: usize,
}

impl Filler<'_> {
    pub(super) fn choices(&mut self) {
        for parameter in self.open() {
            if parameter.choices.is_empty() || parameter.is_switch_in_words() {
                continue;
            }
            match parameter.of {
                Type::String => self.choose_one(parameter),
                Type::Array => self.choose_several(parameter),
                Type::Integer | Type::Number | Type::Boolean | Type::Object | Type::Other => {}
            }
        }
    }

    fn choose_one(&mut self, parameter: &Parameter) {
        let question = self.question;
        let examples = Some(&parameter.example_words);
        let hit = best_choice(&parameter.choices, &question.lower, &question.stems, examples)
            .filter(|hit| hit.strength >= 1.0 || parameter.required);
        if let Some(hit) = hit {
            let by_example = parameter
                .example_words
                .get(&text_of(&hit.choice.value))
                .is_some_and(|words| words.iter().any(|word| question.stems.contains(word)));
            let sure = hit.strength >= ALL_WORDS || by_example;
            self.set(parameter, hit.choice.value.clone(), if sure { Evidence::LISTED } else { Evidence::GUESSED });
            if hit.strength >= LITERALLY {
                self.used.push(hit.at..hit.at + hit.choice.lower.len());
            }
            self.free.retain(|span| span.text.to_lowercase() != hit.choice.lower);
        } else if let ([only], true) = (parameter.choices.as_slice(), parameter.required) {
            self.set(parameter, only.value.clone(), Evidence::LISTED);
        }
    }

    fn choose_several(&mut self, parameter: &Parameter) {
        let hit = |choice| {
            best_choice(std::slice::from_ref(choice), &self.question.lower, &self.question.stems, None)
                .filter(|hit| hit.strength >= 1.0)
        };
        let mut hits: Vec<Hit<'_>> = parameter.choices.iter().filter_map(hit).collect();
        hits.sort_by_key(|hit| hit.at);
        if !hits.is_empty() {
            let values = hits.iter().map(|hit| hit.choice.value.clone()).collect();
            self.set(parameter, values, Evidence::LISTED);
        }
    }

    /// Numbers that a description explains: "1 represents cleaning, 2 for ironing".
    pub(super) fn explained_numbers(&mut self) {
        for parameter in self.open() {
            let is_code = parameter.is_text() && parameter.is_called(&["id", "code"]);
            if parameter.of != Type::Integer && !is_code {
                continue;
            }
            let said = |(number, words): &(String, Vec<String>)| {
                let only_here = |word: &&String| {
                    parameter.explained.iter().filter(|(_, others)| others.contains(word)).count() == 1
                };
                let own: Vec<&String> = words.iter().filter(only_here).collect();
                let own = if own.is_empty() { words.iter().collect() } else { own };
                let all = !own.is_empty() && own.iter().all(|word| self.question.stems.contains(*word));
                all.then(|| (own.len(), number.clone()))
            };
            let best = parameter.explained.iter().filter_map(said).max();
            let value = best.and_then(|(_, number)| match parameter.of {
                Type::Integer => number.parse::<i64>().ok().map(Value::from),
                Type::String | Type::Number | Type::Boolean | Type::Array | Type::Object | Type::Other => {
                    Some(number.into())
                }
            });
            if let Some(value) = value {
                self.set(parameter, value, Evidence::LISTED);
            }
        }
    }

    /// Values that the description names in quotation marks.
    pub(super) fn named_values(&mut self) {
        for parameter in self.open() {
            let is_category = matches!(parameter.kind, Kind::Category | Kind::Any | Kind::Id | Kind::Currency);
            if !parameter.is_text() || !is_category || parameter.named_values.len() < 2 {
                continue;
            }
            let long = parameter.named_values.iter().filter(|value| value.chars().count() > 1);
            let choices: Vec<OneOf> = long.map(|value| OneOf::named(value.as_str().into(), value)).collect();
            let hit = best_choice(&choices, &self.question.lower, &self.question.stems, None);
            if let Some(hit) = hit.filter(|hit| hit.strength >= ALL_WORDS) {
                self.set(parameter, hit.choice.value.clone(), Evidence::LISTED);
            }
        }
    }
}

/// The value that a text (in lower case) names best, the first of equals.
pub(super) fn best_choice<'p>(
    choices: &'p [OneOf],
    lower: &str,
    stems: &Stems,
    examples: Option<&HashMap<String, Stems>>,
) -> Option<Hit<'p>> {
    let mut best: Option<Hit<'p>> = None;
    for choice in choices.iter().filter(|choice| !choice.stems.is_empty()) {
        let words = to_f64(choice.stems.len());
        let place = find_whole(lower, &choice.lower).next();
        let strength = if place.is_some() {
            LITERALLY + 0.1 * words
        } else if says_all(choice, stems) {
            ALL_WORDS + 0.1 * words
        } else {
            in_part(choice, choices, stems, examples)
        };
        if strength > best.as_ref().map_or(0.0, |best| best.strength) {
            best = Some(Hit { strength, choice, at: place.map_or(0, |place| place.start) });
        }
    }
    best
}

fn says_all(choice: &OneOf, stems: &Stems) -> bool {
    let tells = |stem: &String| !STOP.contains(stem.as_str()) && (stem.len() > 2 || choice.stems.len() == 1);
    choice.stems.iter().all(|stem| stems.contains(stem)) && choice.stems.iter().any(tells)
}

/// Words that all values share say little.
fn in_part(choice: &OneOf, choices: &[OneOf], stems: &Stems, examples: Option<&HashMap<String, Stems>>) -> f64 {
    let (mut all, mut said) = (0.0, 0.0);
    for stem in &choice.stems {
        let common = choices.iter().filter(|other| other.stems.contains(stem)).count() > 1;
        let weight = if common { 0.3 } else { 1.0 };
        all += weight;
        if stems.contains(stem) {
            said += weight;
        } else if has_synonym(stem, stems) {
            said += 0.8 * weight;
        }
    }
    if let Some(words) = examples.and_then(|examples| examples.get(&text_of(&choice.value))) {
        said += 0.6 * to_f64(words.intersection(stems).count());
    }
    match said / all {
        share if share >= 0.6 => 1.0 + 0.5 * share.min(1.5),
        share if choice.stems.len() > 1 => 0.5 * share,
        _ => 0.0,
    }
}
