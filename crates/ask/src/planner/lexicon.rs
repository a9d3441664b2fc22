//! General knowledge in tables: words by what they do, synonyms, units, currencies, cities, time zones.
//!
//! The tables are text files, read once. Nothing in them names a tool; the phrases are those of version control, lists of
//! tasks, machines and projects.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::deed::Deed;
use super::words::{Stems, stem};

type Words = LazyLock<HashSet<&'static str>>;
type StemsOf = LazyLock<Stems>;
type Table = LazyLock<HashMap<&'static str, &'static str>>;

pub(super) static STOP: Words = LazyLock::new(|| list("stop").collect());
/// Words that begin a sentence with a capital and are no names.
pub(super) static OPENERS: Words =
    LazyLock::new(|| list("opener").chain(list("abbreviation")).chain(months()).collect());
pub(super) static ABBREVIATIONS: Words = LazyLock::new(|| list("abbreviation").collect());
pub(super) static NEGATIONS: Words = LazyLock::new(|| list("negation").collect());
/// Words between which values in lower case stand.
pub(super) static BORDERS: Words =
    LazyLock::new(|| list("border").chain(STOP.iter().copied()).chain(OPENERS.iter().copied()).collect());
pub(super) static GLUE: Words = LazyLock::new(|| list("glue").collect());
/// They stand for what is not said.
pub(super) static VAGUE: Words = LazyLock::new(|| list("vague").collect());
/// Written in capitals for their weight, and no names.
pub(super) static EMPHASIS: Words = LazyLock::new(|| list("emphasis").collect());
pub(super) static LIMITS: Words = LazyLock::new(|| list("limit").collect());
pub(super) static LIMITED: Words = LazyLock::new(|| list("limited").collect());
pub(super) static ASKING: Words = LazyLock::new(|| list("asking").collect());
/// In front of a noun, and no part of its name.
pub(super) static ADJECTIVES: Words = LazyLock::new(|| list("adjective").collect());
/// Behind a word that is no verb then.
pub(super) static COMPOUNDS: Words = LazyLock::new(|| list("compound").collect());
/// In front of a request, and no part of it.
pub(super) static POLITE: Words = LazyLock::new(|| list("polite").collect());
pub(super) static LIMITING: StemsOf = LazyLock::new(|| list("limiting").map(stem).collect());
pub(super) static SWITCHING: StemsOf = LazyLock::new(|| list("switch").map(stem).collect());
static UNIT_NAMES: StemsOf = LazyLock::new(|| list("unit").map(stem).collect());

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

static LISTS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| keyed(include_str!("../../data/words.txt")).collect());
static SYNONYMS: LazyLock<Vec<Stems>> = LazyLock::new(|| {
    let group = |line: &str| line.split_whitespace().map(stem).collect();
    lines(include_str!("../../data/synonyms.txt")).map(group).collect()
});
/// The groups that a stem is in.
static GROUPS: LazyLock<HashMap<&str, Vec<&Stems>>> = LazyLock::new(|| {
    let mut groups: HashMap<&str, Vec<&Stems>> = HashMap::new();
    for (stem, group) in SYNONYMS.iter().flat_map(|group| group.iter().map(move |stem| (stem, group))) {
        groups.entry(stem).or_default().push(group);
    }
    groups
});
static ROLES: LazyLock<HashMap<&str, Stems>> = LazyLock::new(|| {
    let of = |(word, roles): (&'static str, &str)| (word, roles.split_whitespace().map(stem).collect());
    keyed(include_str!("../../data/roles.txt")).map(of).collect()
});
static UNITS: Table = LazyLock::new(|| {
    let of = |(unit, signs): (&'static str, &'static str)| signs.split_whitespace().map(move |sign| (sign, unit));
    keyed(include_str!("../../data/units.txt")).flat_map(of).collect()
});
static UNITS_WRITTEN: Words = LazyLock::new(|| UNITS.values().copied().collect());
static CITIES: Table = LazyLock::new(|| by_alias(include_str!("../../data/cities.txt")).collect());
static CURRENCIES: Table = LazyLock::new(|| {
    let text = include_str!("../../data/currencies.txt");
    by_alias(text).chain(keyed(text).map(|(code, _)| (code, code))).collect()
});
static ZONES: Table = LazyLock::new(|| {
    let text = include_str!("../../data/zones.txt");
    by_alias(text).collect()
});
/// By the last part of a zone's name.
static ZONES_BY_PLACE: LazyLock<HashMap<String, &str>> = LazyLock::new(|| {
    let mut places = HashMap::new();
    for (zone, _) in keyed(include_str!("../../data/zones.txt")) {
        let place = zone.rsplit('/').next().unwrap_or(zone).replace('_', " ").to_lowercase();
        let direction = ["east", "west", "north", "south", "central", "eastern", "pacific"].contains(&place.as_str());
        if zone.contains('/') && !direction {
            places.entry(place).or_insert(zone);
        }
    }
    places
});
pub(super) static ORDINARY_REQUESTS: LazyLock<Vec<String>> =
    LazyLock::new(|| lines(include_str!("../../data/requests.txt")).map(str::to_owned).collect());

#[expect(clippy::expect_used, reason = "the phrases are constants, and the tests of the planner compile them")]
static PHRASES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let split = |line: &'static str| line.split_once(" => ");
    let pairs = lines(include_str!("../../data/phrases.txt")).filter_map(split);
    pairs.map(|(phrase, plain)| (Regex::new(phrase).expect("a valid pattern"), plain)).collect()
});

/// What the phrases in a text (in lower case) mean in plain words.
pub(super) fn plain_words_for(lower: &str) -> impl Iterator<Item = &'static str> {
    PHRASES.iter().filter(move |(phrase, _)| phrase.is_match(lower)).map(|(_, plain)| *plain)
}

/// Other words for it, itself among them.
pub(super) fn synonyms(stem: &str) -> impl Iterator<Item = &'static String> {
    GROUPS.get(stem).into_iter().flatten().copied().flatten()
}

/// Whether another word for it is among these.
pub(super) fn has_synonym(stem: &str, among: &Stems) -> bool {
    synonyms(stem).any(|synonym| among.contains(synonym))
}

/// In lower case.
pub(super) fn is_known_word(word: &str) -> bool {
    GROUPS.contains_key(stem(word).as_str()) || OPENERS.contains(word) || Deed::is_verb(word)
}

/// Stems of parameter names that a value behind this word belongs to.
pub(super) fn role(word: &str) -> Option<&'static Stems> {
    ROLES.get(word)
}

/// The unit that is written so, in lower case.
pub(super) fn unit(sign: &str) -> Option<&'static str> {
    UNITS.get(sign).copied()
}

pub(super) fn is_unit(word: &str) -> bool {
    UNITS.contains_key(word) || UNIT_NAMES.contains(&stem(word))
}

/// Whether this is what [`unit`] or a stemmed name of one gives.
pub(super) fn is_unit_stem(unit: &str) -> bool {
    UNITS_WRITTEN.contains(unit) || UNIT_NAMES.contains(unit)
}

/// The state or country that is written behind a city.
pub(super) fn land_of(city: &str) -> Option<&'static str> {
    CITIES.get(city.to_lowercase().as_str()).copied()
}

pub(super) fn currency(name: &str) -> Option<&'static str> {
    CURRENCIES.get(name).copied()
}

pub(super) fn zone(place: &str) -> Option<&'static str> {
    ZONES.get(place).or_else(|| ZONES_BY_PLACE.get(place)).copied()
}

/// From 1, by its first three letters.
pub(super) fn month(name: &str) -> Option<i8> {
    let start = name.get(..3)?.to_ascii_lowercase();
    (1..).zip(MONTHS).find_map(|(number, month)| month.starts_with(&start).then_some(number))
}

fn months() -> impl Iterator<Item = &'static str> {
    MONTHS.iter().flat_map(|month| [*month, &month[..3]]).chain(["sept"])
}

/// `zero` to `nineteen`, tens, and words for a few.
pub(super) fn number(word: &str) -> Option<f64> {
    static NUMBERS: LazyLock<HashMap<&str, f64>> = LazyLock::new(|| {
        let small = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen \
                     seventeen eighteen nineteen";
        let tens = "twenty thirty forty fifty sixty seventy eighty ninety";
        let counted = (0..20).map(f64::from).zip(small.split_whitespace());
        let others =
            [(12.0, "dozen"), (100.0, "hundred"), (2.0, "twice"), (2.0, "couple"), (2.0, "pair"), (0.5, "half")];
        let by_ten = (2..10).map(|ten| f64::from(ten * 10)).zip(tens.split_whitespace());
        counted.chain(by_ten).chain(others).map(|(value, word)| (word, value)).collect()
    });
    NUMBERS.get(word).copied()
}

/// What a word behind a number multiplies it with.
pub(super) fn scale(word: &str) -> Option<f64> {
    Some(match word {
        "dozen" => 12.0,
        "hundred" => 1e2,
        "k" | "thousand" => 1e3,
        "mn" | "million" => 1e6,
        "bn" | "billion" => 1e9,
        "trillion" => 1e12,
        _ => return None,
    })
}

fn list(name: &'static str) -> impl Iterator<Item = &'static str> {
    LISTS.iter().filter(move |(key, _)| *key == name).flat_map(|(_, words)| words.split_whitespace())
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Lines `key: value`.
pub(super) fn keyed(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    lines(text).filter_map(|line| line.split_once(':')).map(|(key, value)| (key.trim(), value.trim()))
}

/// Lines `key: alias | alias`, as aliases to keys.
fn by_alias(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    keyed(text).flat_map(|(key, aliases)| {
        aliases.split('|').map(str::trim).filter(|alias| !alias.is_empty()).map(move |alias| (alias, key))
    })
}
