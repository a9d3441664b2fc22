//! Values that schema or description enumerate, as a question names them.

use std::collections::HashMap;

use serde_json::Value;

use super::{Evidence, Filler};
use crate::planner::bm25::to_f64;
use crate::planner::deed::Deed;
use crate::planner::lexicon::{STOP, has_synonym};
use crate::planner::parameter::{Kind, OneOf, Parameter, Type, text_of};
use crate::planner::pattern::Pattern;
use crate::planner::words::{Stems, find_whole, stem};

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
        static EITHER: Pattern = Pattern::new(r"\b(?:or not|regardless|irrespective|no matter)\b");
        let question = self.question;
        if EITHER.is_match(&question.lower) && !parameter.required {
            return;
        }
        let examples = Some(&parameter.example_words);
        let hit = best_choice(&parameter.choices, &question.lower, &question.stems, examples)
            .filter(|hit| hit.strength >= 1.0 || parameter.required);
        if hit.as_ref().is_none_or(|hit| hit.strength < ALL_WORDS)
            && let Some(choice) = self.choice_by_deed(parameter)
        {
            return self.set(parameter, choice.value.clone(), Evidence::LISTED);
        }
        if let Some(hit) = hit {
            let by_example = parameter
                .example_words
                .get(&text_of(&hit.choice.value))
                .is_some_and(|words| words.iter().any(|word| question.stems.contains(word)));
            let sure = hit.strength >= ALL_WORDS || by_example;
            let evidence = match &hit {
                // Several words are hardly there by chance.
                _ if hit.strength >= ALL_WORDS && hit.choice.stems.len() > 1 => Evidence::LISTED_IN_WORDS,
                _ if is_only_part(hit.choice, parameter, &question.stems) => Evidence::LISTED_IN_PART,
                _ if sure => Evidence::LISTED,
                _ => Evidence::GUESSED,
            };
            let value = self.instead_of_denied(parameter, hit.choice).unwrap_or(hit.choice);
            self.set(parameter, value.value.clone(), evidence);
            if hit.strength >= LITERALLY {
                self.used.push(hit.at..hit.at + hit.choice.lower.len());
            }
            self.free.retain(|span| span.text.to_lowercase() != hit.choice.lower);
        } else if let ([only], true) = (parameter.choices.as_slice(), parameter.required) {
            self.set(parameter, only.value.clone(), Evidence::LISTED);
        }
    }

    /// "tasks that are not completed": of two values the other one.
    fn instead_of_denied<'p>(&self, parameter: &'p Parameter, choice: &OneOf) -> Option<&'p OneOf> {
        static DENIED: Pattern =
            Pattern::new(r"(?:\bnot|n['\u{2019}]t)\s+(?:(?:yet|been|marked|as|already|set|to)\s+)*([a-z]+)");
        let denied = |word: &str| {
            let own = stem(word);
            choice.stems == [own.as_str()]
                || choice.stems.len() == 1 && has_synonym(&own, &choice.stems.iter().cloned().collect())
        };
        let is_denied = DENIED.captures_iter(&self.question.lower).any(|found| denied(&found[1]));
        let mut others = parameter
            .choices
            .iter()
            .filter(|other| other.value != choice.value && !["all", "any"].contains(&other.lower.as_str()));
        others.next().filter(|_| is_denied && others.next().is_none())
    }

    /// Of commands such as `read_file` and `write_file` the only one that does what is asked for.
    fn choice_by_deed<'p>(&self, parameter: &'p Parameter) -> Option<&'p OneOf> {
        let asked = self.question.request.deeds;
        let deeds = |choice: &OneOf| choice.stems.first().map(|verb| Deed::of(verb)).unwrap_or_default();
        let is_command = parameter.required && parameter.choices.iter().all(|choice| !deeds(choice).is_empty());
        let mut fitting = parameter.choices.iter().filter(|choice| is_command && deeds(choice).meets(asked));
        fitting.next().filter(|_| fitting.next().is_none())
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

    /// What only one command takes is given, so that one is meant.
    pub(super) fn commands_of_given(&mut self) {
        let shape = self.shape;
        let given = shape.parameters.iter().filter(|each| self.has(each) && !each.required);
        let needed: Vec<&String> = given.flat_map(|each| &each.needed_by).collect();
        for parameter in shape.parameters.iter().filter(|each| each.required && !each.choices.is_empty()) {
            let meant =
                parameter.choices.iter().find(|choice| needed.iter().any(|value| choice.value == value.as_str()));
            if let Some(choice) = meant {
                self.set(parameter, choice.value.clone(), Evidence::LISTED);
            }
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
            let hit = hit.filter(|hit| hit.strength >= ALL_WORDS).map(|hit| hit.choice);
            if let Some(choice) = hit.or_else(|| by_letter(&self.question.text, &choices)) {
                self.set(parameter, choice.value.clone(), Evidence::LISTED);
            }
        }
    }
}

/// `-r` for the only value that begins so.
fn by_letter<'c>(text: &str, choices: &'c [OneOf]) -> Option<&'c OneOf> {
    static OPTION: Pattern = Pattern::new(r"(?:^|\s)-([a-z])(?:\s|$)");
    let letter = OPTION.captures(text)?.get(1)?.as_str();
    let mut fitting = choices.iter().filter(|choice| choice.lower.starts_with(letter));
    fitting.next().filter(|_| fitting.next().is_none())
}

/// Whether a word is said that only this one of several commands has: `list_hardware`.
fn is_only_part(choice: &OneOf, parameter: &Parameter, said: &Stems) -> bool {
    let is_own = |stem: &&String| {
        !parameter.choices.iter().any(|other| other.lower != choice.lower && other.stems.contains(stem))
    };
    choice.stems.len() > 1
        && choice.stems.iter().filter(is_own).any(|stem| said.contains(stem) || has_synonym(stem, said))
}

/// The value that a text (in lower case) names best, the first of equals.
pub(super) fn best_choice<'p>(
    choices: &'p [OneOf],
    lower: &str,
    stems: &Stems,
    examples: Option<&HashMap<String, Stems>>,
) -> Option<Hit<'p>> {
    let mut best: Option<Hit<'p>> = None;
    let mut said = 0;
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
        said += usize::from(strength >= ALL_WORDS);
        if strength > best.as_ref().map_or(0.0, |best| best.strength) {
            best = Some(Hit { strength, choice, at: place.map_or(0, |place| place.start) });
        }
    }
    // "local ones and remote ones" are all of them.
    let both = choices.iter().find(|choice| ["all", "both", "any"].contains(&choice.lower.as_str()));
    match both {
        Some(choice) if said > 1 && said + 1 >= choices.len() => Some(Hit { strength: ALL_WORDS, choice, at: 0 }),
        Some(_) | None => best,
    }
}

fn says_all(choice: &OneOf, stems: &Stems) -> bool {
    let tells = |stem: &String| !STOP.contains(stem.as_str()) && (stem.len() > 2 || choice.stems.len() == 1);
    // "locally" for `local`.
    let begins = |stem: &String| {
        stem.len() > 4 && stems.iter().any(|said| said.starts_with(stem.as_str()) && said.len() < stem.len() + 3)
    };
    choice.stems.iter().all(|stem| stems.contains(stem) || begins(stem)) && choice.stems.iter().any(tells)
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
