//! A parameter of a tool, read from its JSON Schema: what it is called, what it takes and which words speak of it.

mod kind;
mod refs;

use std::collections::HashMap;

use serde_json::{Map, Value};

pub(super) use self::kind::Kind;
pub(super) use self::refs::followed;
use super::pattern::Pattern;
use super::words::{Stems, StopWords, any_stem, split_identifier, spoken, stem, stems};
use super::{Example, lexicon, tool};

/// Objects within objects beyond this are not filled.
const DEPTH_MAX: usize = 3;

/// The parameters of a tool or the fields of an object: required ones in the order of the schema, then the others.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    pub(super) parameters: Vec<Parameter>,
    pub(super) properties_min: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) of: Type,
    pub(super) kind: Kind,
    pub(super) description: String,
    /// Name and description in lower case.
    pub(super) said: String,
    /// The name as a person would write it.
    pub(super) spoken: String,
    /// Stems of the name in their order.
    pub(super) name_stems: Vec<String>,
    pub(super) name_set: Stems,
    /// Stems that only the description has, without its examples.
    pub(super) description_set: Stems,
    pub(super) units: Stems,
    /// Values that are allowed; of each item for a list.
    pub(super) choices: Vec<OneOf>,
    /// Values that the description names in quotation marks.
    pub(super) named_values: Vec<String>,
    /// They are all there are.
    pub(super) is_closed: bool,
    /// Values of other parameters with which it is required.
    pub(super) needed_by: Vec<String>,
    /// "1 represents cleaning": numbers and stems of what they stand for.
    pub(super) explained: Vec<(String, Vec<String>)>,
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) format: Option<String>,
    /// Of a list.
    pub(super) items: Type,
    /// Of an object, or of each object in a list.
    pub(super) fields: Shape,
    /// By value: words in the results of the contract's examples that only this value has.
    pub(super) example_words: HashMap<String, Stems>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Integer,
    Number,
    String,
    Boolean,
    Array,
    Object,
    /// None that we could fill.
    Other,
}

/// A value of an enumeration.
#[derive(Debug, Clone)]
pub(super) struct OneOf {
    pub(super) value: Value,
    pub(super) lower: String,
    pub(super) stems: Vec<String>,
}

impl Shape {
    pub(super) fn of_tool(schema: &Value, examples: &[Example]) -> Self {
        let mut shape = Self::read(schema, 0);
        let names: Stems = shape.parameters.iter().flat_map(|each| stems(&each.name, StopWords::Dropped)).collect();
        for parameter in shape.parameters.iter_mut().filter(|each| each.required && !each.choices.is_empty()) {
            parameter.example_words = example_words(&parameter.name, examples, &names);
        }
        shape
    }

    fn read(schema: &Value, depth: usize) -> Self {
        let properties = schema["properties"].as_object().filter(|_| depth <= DEPTH_MAX);
        let required: Vec<&str> = strings(&schema["required"]).collect();
        let Some(properties) = properties else { return Self::default() };
        let first = required.iter().filter_map(|name| properties.get_key_value(*name));
        let others = properties.iter().filter(|(name, _)| !required.contains(&name.as_str()));
        let parameter =
            |(name, schema): (&String, &Value)| Parameter::read(name, schema, required.contains(&name.as_str()), depth);
        Self {
            parameters: first.chain(others).map(parameter).collect(),
            properties_min: schema["minProperties"].as_u64().and_then(|count| count.try_into().ok()).unwrap_or(0),
        }
    }
}

impl Parameter {
    fn read(name: &str, schema: &Value, required: bool, depth: usize) -> Self {
        let schema = &without_null(schema);
        let of = Type::read(&schema["type"]);
        let description = schema["description"].as_str().unwrap_or_default().to_owned();
        let items = if of == Type::Array { &schema["items"] } else { &Value::Null };
        let enumeration = [&schema["enum"], &items["enum"]].into_iter().find_map(Value::as_array);
        let choices: Vec<OneOf> = enumeration.into_iter().flatten().filter_map(OneOf::new).collect();
        let name_stems = stems(name, StopWords::Kept);
        let name_set: Stems = name_stems.iter().cloned().collect();
        let name_words = split_identifier(name).replace(['_', '-', '.'], " ").to_lowercase();
        let said = format!("{name_words} | {}", description.to_lowercase());
        let format = schema["format"].as_str().map(str::to_owned);
        let is_text = matches!(of, Type::String | Type::Array);
        let kind = if is_text { Kind::of(&name_words, &description, format.as_deref()) } else { Kind::Any };
        let named_values = if choices.is_empty() && is_text { quoted_values(&description) } else { Vec::new() };
        Self {
            is_closed: kind == Kind::Category && named_values.len() > 1 && !gives_examples(&description),
            needed_by: needed_by(&description),
            kind,
            description_set: description_stems(&description).difference(&name_set).cloned().collect(),
            units: units(&said, &description),
            named_values,
            explained: explained(&description),
            minimum: schema["minimum"].as_f64(),
            maximum: schema["maximum"].as_f64(),
            items: Type::read(&items["type"]),
            fields: Shape::read(if of == Type::Array { items } else { schema }, depth + 1),
            example_words: HashMap::new(),
            spoken: spoken(name),
            name: name.to_owned(),
            required,
            of,
            description,
            said,
            name_stems,
            name_set,
            choices,
            format,
        }
    }

    /// Whether one of these words is in its name.
    pub(super) fn is_called(&self, words: &[&str]) -> bool {
        any_stem(&self.name_set, words)
    }

    pub(super) fn is_number(&self) -> bool {
        matches!(self.of, Type::Integer | Type::Number)
    }

    pub(super) fn is_text(&self) -> bool {
        self.of == Type::String
    }

    /// A boolean in words: `"true"` and `"false"`.
    pub(super) fn is_switch_in_words(&self) -> bool {
        let has = |word: &str| self.choices.iter().any(|choice| choice.lower == word);
        self.is_text() && has("true") && has("false")
    }

    pub(super) fn names_value(&self, text: &str) -> bool {
        self.named_values.iter().any(|value| value.to_lowercase() == text.to_lowercase())
    }
}

impl Type {
    fn read(name: &Value) -> Self {
        let first = name.as_array().and_then(|names| names.iter().find(|name| *name != "null"));
        let name = first.unwrap_or(name).as_str();
        match name {
            None | Some("string" | "String" | "any") => Self::String,
            Some("integer") => Self::Integer,
            Some("number" | "float" | "double") => Self::Number,
            Some("boolean") => Self::Boolean,
            Some("array" | "tuple") => Self::Array,
            Some("object" | "dict") => Self::Object,
            Some(_) => Self::Other,
        }
    }
}

impl OneOf {
    fn new(value: &Value) -> Option<Self> {
        (!value.is_null()).then(|| Self::named(value.clone(), &text_of(value)))
    }

    pub(super) fn named(value: Value, text: &str) -> Self {
        // Nobody says the ending of a file's name.
        static ENDING: Pattern = Pattern::new(r"\.[a-z]{1,5}$");
        let stems = stems(&ENDING.replace(text, ""), StopWords::Kept);
        Self { value, lower: text.to_lowercase(), stems }
    }
}

/// The first that is not null of several forms, with what is said of all of them.
fn without_null(schema: &Value) -> Value {
    let of_any = schema["anyOf"].as_array().filter(|_| schema.get("type").is_none());
    let Some(form) = of_any.and_then(|forms| forms.iter().find(|form| form["type"] != "null")) else {
        return schema.clone();
    };
    let mut joined = form.as_object().cloned().unwrap_or_default();
    let others = schema.as_object().into_iter().flatten().filter(|(key, _)| *key != "anyOf");
    joined.extend(others.map(|(key, value)| (key.clone(), value.clone())));
    Value::Object(joined)
}

fn description_stems(description: &str) -> Stems {
    static ASIDE: Pattern = Pattern::new(r#"\(.*?\)|'[^']*'|"[^"]*""#);
    stems(&ASIDE.replace_all(description, " "), StopWords::Dropped).into_iter().collect()
}

fn units(said: &str, description: &str) -> Stems {
    static WORD: Pattern = Pattern::new(r"[a-z°%$]+");
    static IN_BRACKETS: Pattern = Pattern::new(r"\(([a-z%]{1,3})\)");
    let named =
        WORD.find_iter(said).map(|found| found.as_str()).filter(|word| word.len() > 1 || ["%", "$"].contains(word));
    let mut units: Stems = named.map(|word| lexicon::unit(word).map_or_else(|| stem(word), str::to_owned)).collect();
    let lower = description.to_lowercase();
    units.extend(IN_BRACKETS.captures_iter(&lower).filter_map(|found| lexicon::unit(&found[1])).map(str::to_owned));
    units
}

fn quoted_values(description: &str) -> Vec<String> {
    static VALUE: Pattern = Pattern::new(r#"'([^']{1,40})'|"([^"]{1,40})"|`([^`]{1,40})`"#);
    let value =
        |found: regex::Captures<'_>| (1..=3).find_map(|group| found.get(group)).map(|group| group.as_str().to_owned());
    VALUE.captures_iter(description).filter_map(value).collect()
}

fn gives_examples(description: &str) -> bool {
    static EXAMPLE: Pattern =
        Pattern::new(r"(?i)\be\.?g\b|\bexamples?\b|\bsuch as\b|\blike\b|\betc\b|\binstance\b|\.\.\.");
    EXAMPLE.is_match(description)
}

/// "`write_file` only, and needed there".
fn needed_by(description: &str) -> Vec<String> {
    static NEEDED: Pattern = Pattern::new(r"(?i)\b(?:needed|required|mandatory)\b");
    static BEHIND: Pattern = Pattern::new(r"(?i)^\s+(?:there|then|by|for|if|when|with|in)\b[^.;]*");
    static FREELY: Pattern = Pattern::new(r"(?i)\b(?:not|un|isn't|never)\s*$");
    let Some(needed) = NEEDED.find(description).filter(|found| !FREELY.is_match(&description[..found.start()])) else {
        return Vec::new();
    };
    let Some(behind) = BEHIND.find(&description[needed.end()..]) else { return Vec::new() };
    let before = quoted_values(&description[..needed.start()]);
    if before.is_empty() { quoted_values(behind.as_str()) } else { before }
}

fn explained(description: &str) -> Vec<(String, Vec<String>)> {
    static EXPLAINED: Pattern = Pattern::new(concat!(
        r"'?\b(\d+)\b'?\s*(?:represents?|corresponds to|for|is|means|refers to|=|:|->|-)\s*(?:an? |the )?",
        r#"['"]?([A-Za-z][A-Za-z ]{2,30}?)['"]?(?:[,.;()]|\s(?:and|or)\b|$)"#
    ));
    let pair = |found: &regex::Captures<'_>| (found[1].to_owned(), stems(&found[2], StopWords::Dropped));
    EXPLAINED.captures_up_to(description, 2).iter().map(pair).collect()
}

/// For each value in the examples of a contract: words of its result's keys that neither the others' have nor the names
/// of parameters.
fn example_words(name: &str, examples: &[Example], names: &Stems) -> HashMap<String, Stems> {
    let mut words: HashMap<String, Stems> = HashMap::new();
    for example in examples {
        if let Some(value) = example.arguments[name].as_str() {
            words.entry(value.to_owned()).or_default().extend(tool::key_stems(&example.output));
        }
    }
    let mut common = names.clone();
    if words.len() > 1
        && let Some(one) = words.values().next()
    {
        common.extend(one.iter().filter(|stem| words.values().all(|others| others.contains(*stem))).cloned());
    }
    for of_value in words.values_mut() {
        of_value.retain(|stem| !common.contains(stem));
    }
    words
}

/// A value as it is said: a text without quotation marks.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Every property, with those of nested objects behind it.
pub(super) fn walk(schema: &Value, depth: usize, visit: &mut impl FnMut(&str, &Value)) {
    let properties = schema["properties"].as_object().filter(|_| depth <= DEPTH_MAX);
    for (name, property) in properties.into_iter().flat_map(|properties| in_order(properties, schema)) {
        visit(name, property);
        walk(property, depth + 1, visit);
        walk(&property["items"], depth + 1, visit);
    }
}

/// Required ones first.
fn in_order<'s>(properties: &'s Map<String, Value>, schema: &'s Value) -> Vec<(&'s String, &'s Value)> {
    let required: Vec<&str> = strings(&schema["required"]).collect();
    let first = required.iter().filter_map(|name| properties.get_key_value(*name));
    first.chain(properties.iter().filter(|(name, _)| !required.contains(&name.as_str()))).collect()
}
