//! Which value belongs to which parameter: each pair has a worth, the best pairs come first, and two are exchanged where
//! that is worth more.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::chunks::chunks;
use super::render::render;
use super::serve::serves;
use super::{Evidence, Filler};
use crate::planner::bm25::to_f64;
use crate::planner::lexicon::NEGATIONS;
use crate::planner::parameter::{Kind, Parameter};
use crate::planner::pattern::Pattern;
use crate::planner::question::{Context, Question, Values};
use crate::planner::span::{Found, Span};
use crate::planner::words::{StopWords, overlap, overlaps_any, stem, stems};

/// What an optional parameter wants of the words around a value, or of the value itself.
const OPTIONAL_CONTEXT: f64 = 0.55;
const OPTIONAL_CHUNK_CONTEXT: f64 = 1.0;
const OPTIONAL_WORTH: f64 = 2.9;
const OPTIONAL_TYPED_WORTH: f64 = 2.5;
/// What a run of words loses where there is an identifier.
const CHUNK_BESIDE_BETTER: f64 = 0.8;
/// What a number gains in the clause that asks.
const WITHIN_REQUEST: f64 = 1.0;
/// Rounds of exchanging.
const EXCHANGES: usize = 3;

/// What somebody says who wants to go on from somewhere; "task 2" alone is no place to go on after.
static GOING_ON: Pattern = Pattern::new(r"\b(?:after|since|past|beyond|behind|continue|next|following|from|above)\b");

/// Words in front of a value among which a denial is looked for.
const DENIED_WITHIN: u32 = 6;
/// Denials in the name of a parameter.
const DENIAL: [&str; 4] = ["not", "no", "without", "exclud"];
/// Verbs that deny.
const LACKING: [&str; 8] = ["lack", "lacks", "lacking", "miss", "misses", "missing", "cannot", "isn't"];

/// They describe something without a name: "another branch", "the newest commit".
const NAMELESS: [&str; 15] = [
    "current",
    "existing",
    "whole",
    "entire",
    "given",
    "particular",
    "specific",
    "certain",
    "another",
    "other",
    "different",
    "newest",
    "latest",
    "previous",
    "same",
];

/// A value that may become an argument.
struct Candidate<'a> {
    span: Cow<'a, Span>,
    context: Context<'a>,
}

/// A parameter among the open ones.
struct Wanted<'a> {
    number: usize,
    parameter: &'a Parameter,
    /// There is something that is written as a name of its kind is.
    has_better: bool,
}

/// What is to be assigned.
struct Table<'a> {
    question: &'a Question,
    open: Vec<&'a Parameter>,
    candidates: Vec<Candidate<'a>>,
    /// There are digits for each required number, so that "one" is hardly one.
    enough_digits: bool,
}

impl<'a> Filler<'a> {
    pub(super) fn assign(&mut self) {
        let table = self.table();
        self.parts_of_times(&table);
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for (number, parameter) in table.open.iter().enumerate().filter(|(_, parameter)| !self.has(parameter)) {
            let wanted = Wanted { number, parameter, has_better: table.has_better(parameter) };
            for at in 0..table.candidates.len() {
                pairs.extend(table.worth(&wanted, at).map(|worth| (worth, number, at)));
            }
        }
        pairs.sort_by(|one, other| other.0.total_cmp(&one.0));
        for (number, at) in exchanged(&pairs, table.greedy(&pairs)) {
            let Candidate { span, context } = &table.candidates[at];
            let is_named = context.speaks_of(table.open[number], span) >= OPTIONAL_CHUNK_CONTEXT;
            self.accept(table.open[number], span, is_named);
        }
    }

    fn table(&self) -> Table<'a> {
        let question = self.question;
        let candidate =
            |span: Cow<'a, Span>| Candidate { context: question.context(&span.range, Values::Skipped), span };
        let chunks = chunks(question, &self.tool.vocabulary).into_iter();
        let chunks = chunks.filter(|chunk| !overlaps_any(&chunk.range, &self.switched));
        // `git diff` in quotation marks is the tool.
        let is_command = |span: &Span| {
            let stems = stems(&span.text, StopWords::Kept);
            span.found == Found::Quoted
                && stems.len() > 1
                && stems.iter().all(|stem| self.tool.name_stems.contains(stem))
        };
        let values = self.free.iter().filter(|span| !is_command(span)).map(|span| Cow::Borrowed(*span));
        let candidates: Vec<Candidate<'a>> = values.chain(chunks.map(Cow::Owned)).map(candidate).collect();
        let is_open =
            |each: &&Parameter| each.is_number() || each.is_text() && each.choices.is_empty() && !each.is_closed;
        let open: Vec<&Parameter> = self.open().into_iter().filter(is_open).collect();
        let digits = candidates.iter().filter(|each| matches!(each.span.found, Found::Number(_))).count();
        let numbers = open.iter().filter(|each| each.is_number() && each.required).count();
        Table { question, open, candidates, enough_digits: numbers > 0 && digits >= numbers }
    }

    /// "at 4:30 pm" for `hour` and `minute`: one value for several.
    fn parts_of_times(&mut self, table: &Table<'_>) {
        let times = table.candidates.iter().filter(|each| matches!(each.span.found, Found::Time(_)));
        for time in times {
            for parameter in table.open.iter().filter(|each| each.is_number() && each.required) {
                if parameter.is_called(&["hour", "minute"]) {
                    let value = render(parameter, &time.span, self.question, self.today);
                    self.set(parameter, value, Evidence::LISTED);
                }
            }
        }
    }

    /// `is_named`: the words around the value speak of the parameter.
    fn accept(&mut self, parameter: &Parameter, span: &Span, is_named: bool) {
        if let Found::Chunk { fresh } = span.found {
            // The rest of the question is better, and nothing but the tool's own words is no term.
            static EXPLAIN: Pattern = Pattern::new(r"\b(?:how (?:do|does|did|is|are|the|our|we)|why)\b");
            let asks = || EXPLAIN.is_match(&self.question.lower);
            // "the last commits" name none of them.
            let own = stem(&span.text.to_lowercase());
            let are_several = span.text.ends_with('s') && fresh == 0.0 && self.tool.objects.contains(&own);
            if are_several && parameter.kind == Kind::Any {
                return;
            }
            // "the knowledge graph" is what the tool is about, and no name in it.
            if fresh == 0.0 && parameter.kind == Kind::Name && span.text.contains(' ') {
                return;
            }
            if parameter.kind == Kind::Text || parameter.kind == Kind::Term && (fresh == 0.0 || asks()) {
                return;
            }
        }
        let is_bare = span.found == Found::Quoted && !span.text.contains(['/', '.', '~', '\\']);
        let is_weak = parameter.kind == Kind::Path && (is_bare || matches!(span.found, Found::Url | Found::Identifier));
        // A name such as `LICENSE-MIT` may be a file's, one such as `MAX_RETRIES` is that of something in a program.
        let is_weak = is_weak && !(span.found == Found::Identifier && span.text.contains('-'));
        let is_chunk = matches!(span.found, Found::Chunk { .. });
        let evidence = match (is_weak, is_chunk && is_named) {
            (true, _) => Evidence::WEAK,
            (false, _) if parameter.kind == Kind::Text && is_symbol(span) => Evidence::GUESSED,
            (false, _) if is_folder_for_file(parameter, span) || is_file_for_name(parameter, span) => Evidence::GUESSED,
            (false, true) => Evidence::BESIDE_NAME,
            (false, false) if is_quoted_file(parameter, span) => Evidence::of(&Found::Path),
            (false, false) => Evidence::of(&span.found),
        };
        self.set(parameter, render(parameter, span, self.question, self.today), evidence);
        self.used.push(span.range.clone());
        self.named.push(super::rest::with_names(self.question, span, parameter));
    }
}

impl Table<'_> {
    /// `None` if the value cannot be the parameter's.
    fn worth(&self, wanted: &Wanted<'_>, at: usize) -> Option<f64> {
        let &Wanted { number, parameter, has_better } = wanted;
        let Candidate { span, context } = &self.candidates[at];
        let mut worth = serves(parameter, span)?;
        if !parameter.required && parameter.is_called(&["after"]) && !GOING_ON.is_match(&self.question.lower) {
            return None;
        }
        let nearby = context.speaks_of(parameter, span);
        let is_chunk = if let Found::Chunk { fresh } = span.found {
            // An id is not just any word.
            let chance = parameter.kind == Kind::Id && nearby < OPTIONAL_CONTEXT;
            let names_other = || {
                let stems = stems(&span.text, StopWords::Kept);
                let is_name = |stem: &String| {
                    self.open.iter().any(|each| each.name != parameter.name && each.name_set.contains(stem))
                };
                parameter.kind == Kind::Any && stems.iter().all(is_name)
            };
            if chance
                || self.is_verb(span)
                || names_none(parameter, &span.text)
                || only_names(parameter, &span.text)
                || names_other()
            {
                return None;
            }
            worth += 0.8 * fresh - 0.5 - if self.names_next_value(span) { 1.2 } else { 0.0 };
            worth -= if has_better { CHUNK_BESIDE_BETTER } else { 0.0 };
            true
        } else {
            false
        };
        if matches!(span.found, Found::NumberWord(_)) && self.enough_digits && nearby < 2.0 {
            worth -= 1.2;
        }
        worth += self.denial(parameter, context);
        let is_asked = span.number().is_some() && overlap(&span.range, &self.question.request.place);
        if !parameter.required {
            let typed = matches!(span.found, Found::Date(_) | Found::Url | Found::Email | Found::Time(_));
            let strong = worth >= OPTIONAL_WORTH || typed && worth >= OPTIONAL_TYPED_WORTH;
            if nearby < OPTIONAL_CONTEXT && !strong || is_chunk && nearby < OPTIONAL_CHUNK_CONTEXT {
                return None;
            }
        }
        let asked = if is_asked { WITHIN_REQUEST } else { 0.0 };
        Some(worth + nearby + asked - self.disorder(number, parameter, at) + if parameter.required { 1.0 } else { 0.0 })
    }

    /// What is to be done is no value.
    fn is_verb(&self, chunk: &Span) -> bool {
        let request = &self.question.request;
        let is_verb = request.verb.as_ref().is_some_and(|verb| *verb == stem(&chunk.text.to_lowercase()));
        is_verb && overlap(&chunk.range, &request.place)
    }

    /// `not_contains` beside `contains`: what is denied is the one's, and nothing else is.
    fn denial(&self, parameter: &Parameter, context: &Context<'_>) -> f64 {
        let denies = |each: &Parameter| each.is_called(&["not", "no", "without", "exclude"]);
        let is_twin = |each: &&Parameter| {
            let mut telling = parameter.name_set.iter().filter(|stem| !DENIAL.contains(&stem.as_str()));
            denies(each) != denies(parameter) && telling.all(|stem| each.name_set.contains(stem))
        };
        if !self.open.iter().any(is_twin) {
            return 0.0;
        }
        let near = context.left.iter().filter(|(distance, _)| *distance <= DENIED_WITHIN);
        let is_denied = near
            .map(|(_, word)| word.lower.as_str())
            .any(|word| NEGATIONS.contains(word) || word.ends_with("n't") || LACKING.contains(&word));
        if is_denied == denies(parameter) { 1.5 } else { -3.0 }
    }

    /// Something that is written as a name of its kind is.
    fn has_better(&self, parameter: &Parameter) -> bool {
        let is_name = |each: &&Candidate<'_>| {
            let Span { found, text, .. } = &*each.span;
            let from_root = || text.starts_with(['/', '~', '.']) || text.contains(':');
            *found == Found::Identifier || *found == Found::Path && !from_root()
        };
        matches!(parameter.kind, Kind::Name | Kind::Any | Kind::Id)
            && self.candidates.iter().filter(is_name).any(|each| serves(parameter, &each.span).is_some())
    }

    /// "the city code MUC": words in front of a value are its name.
    fn names_next_value(&self, chunk: &Span) -> bool {
        static NAMING: Pattern = Pattern::new(r"^\s+(?:is |no\.? |number |id )?$");
        let is_value = |span: &&Span| {
            let found = &span.found;
            matches!(found, Found::Identifier | Found::Path | Found::Quoted | Found::Url | Found::Name)
        };
        let behind = self.question.spans.iter().filter(|span| span.range.start >= chunk.range.end).find(is_value);
        behind.is_some_and(|next| NAMING.is_match(&self.question.text[chunk.range.end..next.range.start]))
    }

    /// Values tend to come in the order of the parameters.
    fn disorder(&self, number: usize, parameter: &Parameter, at: usize) -> f64 {
        let is_number = |span: &Span| matches!(span.found, Found::Number(_) | Found::NumberWord(_));
        let span = &self.candidates[at].span;
        let parameters_before =
            |same: &dyn Fn(&Parameter) -> bool| self.open[..number].iter().filter(|each| same(each)).count();
        let values_before =
            |same: &dyn Fn(&Span) -> bool| self.candidates[..at].iter().filter(|each| same(&each.span)).count();
        if is_number(span) && parameter.is_number() {
            return 0.12 * to_f64(parameters_before(&Parameter::is_number).abs_diff(values_before(&is_number)));
        }
        let dated =
            matches!(span.found, Found::Date(_) | Found::Time(_)) && matches!(parameter.kind, Kind::Date | Kind::Time);
        if dated {
            let parameters = parameters_before(&|each| each.kind == parameter.kind);
            let values =
                values_before(&|each| std::mem::discriminant(&each.found) == std::mem::discriminant(&span.found));
            return 0.4 * to_f64(parameters.abs_diff(values));
        }
        0.04 * to_f64(number.abs_diff(at))
    }

    /// The best pairs first, each parameter and each value once.
    fn greedy(&self, pairs: &[(f64, usize, usize)]) -> BTreeMap<usize, usize> {
        let mut assigned: BTreeMap<usize, usize> = BTreeMap::new();
        for &(_, number, at) in pairs {
            let span = &self.candidates[at].span;
            let taken = |other: &usize| {
                let other = &self.candidates[*other].span;
                overlap(&span.range, &other.range)
                    || is_text(&span.found) && is_text(&other.found) && span.text == other.text
            };
            if !assigned.contains_key(&number) && !assigned.values().any(taken) {
                assigned.insert(number, at);
            }
        }
        assigned
    }
}

/// Two parameters exchange their values as long as that is worth more.
fn exchanged(pairs: &[(f64, usize, usize)], mut assigned: BTreeMap<usize, usize>) -> BTreeMap<usize, usize> {
    let worth: BTreeMap<(usize, usize), f64> = pairs.iter().map(|&(worth, number, at)| ((number, at), worth)).collect();
    let gain = |one: (usize, usize), other: (usize, usize)| {
        let after = worth.get(&(one.0, other.1))? + worth.get(&(other.0, one.1))?;
        Some(after - worth.get(&one)? - worth.get(&other)?)
    };
    for _ in 0..EXCHANGES {
        let numbers: Vec<usize> = assigned.keys().copied().collect();
        let mut changed = false;
        for (first, &one) in numbers.iter().enumerate() {
            for &other in &numbers[first + 1..] {
                let (one_has, other_has) = (assigned[&one], assigned[&other]);
                if gain((one, one_has), (other, other_has)).is_some_and(|gain| gain > 1e-9) {
                    assigned.insert(one, other_has);
                    assigned.insert(other, one_has);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    assigned
}

/// `~/code/site` is hardly a file.
fn is_folder_for_file(parameter: &Parameter, span: &Span) -> bool {
    static FILE: Pattern = Pattern::new(r"\.\w+$|[A-Z]\w*$|/\.\w");
    let wants_file = parameter.kind == Kind::Path && parameter.said.contains("file");
    let from_root = span.text.starts_with(['/', '~'])
        || span.text.contains(":/")
        || span.text.starts_with("./")
        || span.text.starts_with("../");
    span.found == Found::Path && wants_file && from_root && !FILE.is_match(&span.text)
}

/// `"trip plans/oslo.txt"`.
fn is_quoted_file(parameter: &Parameter, span: &Span) -> bool {
    static FILE: Pattern = Pattern::new(r"\w\.[A-Za-z]\w{0,5}$");
    span.found == Found::Quoted && parameter.kind == Kind::Path && FILE.is_match(&span.text)
}

/// `data.csv` is hardly anybody's name.
fn is_file_for_name(parameter: &Parameter, span: &Span) -> bool {
    static FILE: Pattern = Pattern::new(r"\w\.[A-Za-z]\w{0,5}$|^(?:Makefile|Dockerfile|[A-Z]{4,})$");
    let is_name = matches!(parameter.kind, Kind::Name | Kind::Text | Kind::Any);
    span.found == Found::Path && is_name && FILE.is_match(&span.text)
}

/// `sk_live_` is looked for by its letters, and is no text.
fn is_symbol(span: &Span) -> bool {
    let is_written = matches!(span.found, Found::Quoted | Found::Identifier | Found::Code);
    is_written && span.text.contains(['_', '\\', '(', '[', '^', '$', '|']) && !span.text.contains(' ')
}

/// "a branch" for `branch_name`: nothing but the name.
fn only_names(parameter: &Parameter, text: &str) -> bool {
    stems(text, StopWords::Kept).iter().all(|stem| parameter.name_set.contains(stem))
}

/// "the current one" names none, and neither does "another branch" for `branch`.
fn names_none(parameter: &Parameter, text: &str) -> bool {
    let is_own = |word: &str| word == "one" || parameter.name_set.contains(&stem(word));
    let mut words = text.split(' ').filter(|word| !is_own(word)).peekable();
    words.peek().is_some() && words.all(|word| NAMELESS.contains(&word))
}

/// Not a number, a date or a structure: the same text twice is the same value.
fn is_text(found: &Found) -> bool {
    let has_meaning = matches!(
        found,
        Found::Json(_)
            | Found::Date(_)
            | Found::Month { .. }
            | Found::Time(_)
            | Found::Number(_)
            | Found::NumberWord(_)
    );
    !has_meaning
}
