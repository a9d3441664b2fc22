//! A tool as the planner looks at it: everything that does not depend on the question, made once.

use std::collections::BTreeSet;

use countersign_contract::Effect;
use serde_json::Value;

use super::deed::{Deed, Deeds};
use super::lexicon::{OPENERS, STOP};
use super::parameter::{Shape, strings, text_of, walk};
use super::request::object;
use super::words::{Stems, StopWords, is_participle, parts, plain_words, spoken, stem, stems};
use super::{Example, Offer};

/// Items of a list in an example's result that are looked at.
const ITEMS_MAX: usize = 3;

/// How much a word counts in each field: name, description, names of parameters, their descriptions, enumerated values
/// and keys of the examples' results.
const FIELD_WEIGHTS: [f64; 5] = [3.0, 1.0, 1.0, 0.5, 0.5];

#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    /// Behind the prefix of an upstream server.
    pub(super) own_name: String,
    /// Words of that name.
    pub(super) own_words: Vec<String>,
    pub(super) shape: Shape,
    pub(super) effect: Effect,
    /// Names of required parameters.
    pub(super) required: Vec<String>,
    /// What it does, as far as its texts begin with it.
    pub(super) deeds: Deeds,
    pub(super) name_stems: Stems,
    /// Stems of what it does something to: those of its name that are no verbs, and the first words of its description.
    pub(super) objects: Stems,
    /// Stems that a request for it may begin with: of its name, and of the verb that describes it.
    pub(super) heads: Stems,
    /// Stems of name and description.
    pub(super) vocabulary: Stems,
    /// Stems of the name that tell this tool from others, in their order.
    pub(super) telling: Vec<String>,
    /// Stems of all texts.
    pub(super) texts: Stems,
    /// Stems of the keys in its examples' results.
    pub(super) results: Stems,
    /// Speaks of the project that we are in.
    pub(super) about_project: bool,
}

/// What is put into words, for the index of words and for the embedder.
#[derive(Debug)]
pub(super) struct Texts {
    fields: [String; 5],
    pub(super) embedded: [String; 3],
}

impl Tool {
    pub(super) fn new(offer: &Offer, texts: &Texts) -> Self {
        let set = |text: &str| stems(text, StopWords::Dropped).into_iter().collect::<Stems>();
        let name_stems = set(&offer.name);
        let words = plain_words(&offer.description);
        let shape = Shape::of_tool(&offer.input_schema, &offer.examples);
        let about_project = ["project", "codebase", "repo", "repository"];
        Self {
            name: offer.name.clone(),
            own_name: offer.name.rsplit("__").next().unwrap_or(&offer.name).to_owned(),
            own_words: parts(offer.name.rsplit("__").next().unwrap_or(&offer.name)),
            objects: objects(&offer.name, &words),
            effect: offer.effect,
            deeds: deeds(&offer.name, &words, &shape),
            shape,
            required: strings(&offer.input_schema["required"]).map(str::to_owned).collect(),
            heads: active(&offer.name).iter().chain(words.first()).map(|word| stem(word)).collect(),
            vocabulary: &name_stems | &set(&offer.description),
            name_stems,
            telling: telling(&offer.name),
            texts: texts.fields.iter().flat_map(|field| set(field)).collect(),
            results: offer.examples.iter().flat_map(|example| key_stems(&example.output)).collect(),
            about_project: words.iter().any(|word| about_project.contains(&word.as_str())),
        }
    }
}

impl Texts {
    pub(super) fn of(offer: &Offer) -> Self {
        let (mut names, mut descriptions, mut values) = (Vec::new(), Vec::new(), Vec::new());
        walk(&offer.input_schema, 0, &mut |name, schema| {
            names.push(name.to_owned());
            descriptions.extend(schema["description"].as_str().map(str::to_owned));
            let enumerated = [&schema["enum"], &schema["items"]["enum"]];
            values.extend(enumerated.into_iter().filter_map(Value::as_array).flatten().map(text_of));
        });
        values.extend(result_keys(&offer.examples));
        let name = spoken(&offer.name);
        let taken = names.iter().map(|name| spoken(name)).collect::<Vec<_>>().join(", ");
        let meant = if descriptions.is_empty() { name.clone() } else { descriptions.join(" ") };
        let description = offer.description.clone();
        Self {
            embedded: [format!("{name}: {}", description.trim()), format!("{name}: {taken}"), meant],
            fields: [offer.name.clone(), description, names.join(" "), descriptions.join(" "), values.join(" ")],
        }
    }

    /// Stems with what each counts, as often as they occur.
    pub(super) fn weighted(&self) -> impl Iterator<Item = (String, f64)> {
        let of_field = |(field, weight): (&String, f64)| {
            stems(field, StopWords::Dropped).into_iter().map(move |stem| (stem, weight))
        };
        self.fields.iter().zip(FIELD_WEIGHTS).flat_map(of_field)
    }
}

/// The verb of its description, of its name, and of the commands that it takes.
fn deeds(name: &str, description: &[String], shape: &Shape) -> Deeds {
    let behind = |at: usize| description.iter().skip(at + 1).map(String::as_str);
    let described = |at: usize| description.get(at).map(|verb| Deed::of_phrase(verb, behind(at))).unwrap_or_default();
    let named = active(name).iter().map(|word| Deed::of(word)).find(|deeds| !deeds.is_empty());
    let mut deeds = [described(0), named.unwrap_or_default(), described(1)]
        .into_iter()
        .find(|deeds| !deeds.is_empty())
        .unwrap_or_default();
    for choice in shape.parameters.iter().filter(|each| each.required).flat_map(|each| &each.choices) {
        let verb = choice.stems.first().filter(|_| choice.stems.len() > 1);
        deeds.add(verb.map(|verb| Deed::of(verb)).unwrap_or_default());
    }
    deeds
}

fn objects(name: &str, description: &[String]) -> Stems {
    let own = name.rsplit("__").next().unwrap_or(name);
    // "commit" is a thing, too, where it does not come first.
    let is_thing = |(at, word): &(usize, String)| (*at > 0 || !Deed::is_verb(word)) && !STOP.contains(word.as_str());
    let named = parts(own).into_iter().enumerate().filter(is_thing).map(|(_, word)| word);
    let described: Vec<&str> = description.iter().skip(1).map(String::as_str).collect();
    named.map(|word| stem(&word)).chain(object(&described)).collect()
}

/// Words of the name that may be verbs.
fn active(name: &str) -> Vec<String> {
    parts(name).into_iter().filter(|word| !STOP.contains(word.as_str()) && !is_participle(word)).collect()
}

/// Words of the name without general verbs, as long as there are others.
fn telling(name: &str) -> Vec<String> {
    let words: Vec<String> = parts(name).into_iter().filter(|word| !STOP.contains(word.as_str())).collect();
    let rare: Vec<&String> = words.iter().filter(|word| !OPENERS.contains(word.as_str())).collect();
    let chosen = if rare.is_empty() { words.iter().collect() } else { rare };
    chosen.into_iter().map(|word| stem(word)).collect()
}

fn result_keys(examples: &[Example]) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for example in examples {
        collect_keys(&example.output, &mut keys);
    }
    keys
}

/// Stems of all keys in a result.
pub(super) fn key_stems(output: &Value) -> Stems {
    let mut keys = BTreeSet::new();
    collect_keys(output, &mut keys);
    keys.iter().flat_map(|key| stems(key, StopWords::Dropped)).collect()
}

fn collect_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                keys.insert(key.clone());
                collect_keys(value, keys);
            }
        }
        Value::Array(items) => items.iter().take(ITEMS_MAX).for_each(|item| collect_keys(item, keys)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
