//! How a question is put: its verb, its first telling word, and what it is for the index of words.

use super::deed::{Deed, Deeds};
use super::fill::POLITE;
use super::lexicon::{ASKING, OPENERS, STOP, has_synonym, plain_words_for, synonyms};
use super::pattern::Pattern;
use super::question::{Question, Word};
use super::request::{Certainty, Request};
use super::span::{Found, Span};
use super::tool::Tool;
use super::words::{
    Stems, StopWords, char_at, char_before, is_misspelt, is_word_char, parts, plain_words, stem, stems,
};
use super::{HEAD, OBJECT, PLACE, SAID, SPELLED, VERBS_AGREE, VERBS_DIFFER, VERBS_GUESSED};

/// Stems of verbs that any tool may have.
const GENERAL: [&str; 12] =
    ["add", "creat", "mak", "put", "delet", "remov", "updat", "set", "list", "read", "writ", "open"];

/// First words that may be a tool's name.
const OPENING_MAX: usize = 6;

/// A quoted value this long is the question itself.
const QUOTED_SHARE_MAX: f64 = 0.6;

#[derive(Debug)]
pub(super) struct Wording {
    text: String,
    /// "our" and "we" are the project that we are in.
    pub(super) of_project: String,
    pub(super) speaks_of_project: bool,
    /// Without quoted values, and without the verb of the request.
    pub(super) lexical: String,
    pub(super) request: Request,
    /// Stem of the first telling word, unless it only asks to see something.
    head: Option<String>,
    /// Stems without function words and numbers.
    stems: Stems,
    /// The same without general verbs, in their order.
    telling: Vec<String>,
    /// Of those the ones outside of values, and in front of a text that follows a request: "add a task: …".
    asking: Vec<String>,
    /// Stems of where the request is to be done: "in the project", "from the sandbox".
    places: Vec<String>,
    /// The first words, without politeness.
    opening: Vec<String>,
    pub(super) is_question: bool,
    /// Mostly in a script that the embedded model does not know.
    pub(super) is_foreign: bool,
    pub(super) length: usize,
}

impl Wording {
    pub(super) fn new(text: &str, question: &Question) -> Self {
        static OURS: Pattern = Pattern::new(
            r"(?i)\b(?:our|we|this project|this repo|this codebase|the code ?base|the (?:source )?code|the sources?)\b",
        );
        let asked = &question.lower[..question.text.len() - payload(question).map_or(0, str::len)];
        let symbol = names_symbol(question).then_some("text search across codebase for exact matches");
        let commit = names_commit(question).then_some("commit");
        let plain: Vec<&str> = plain_words_for(asked).chain(symbol).chain(commit).collect();
        let with_plain = |text: String| if plain.is_empty() { text } else { format!("{text} ({})", plain.join(", ")) };
        let of_project = with_plain(of_project(without_denied(text)));
        let words: Vec<String> = parts(&question.text)
            .into_iter()
            .filter(|word| !STOP.contains(word.as_str()) && !word.chars().all(|c| c.is_ascii_digit()))
            .collect();
        let request = question.request.clone();
        let foreign = text.chars().filter(|c| *c > '\u{24f}').count();
        Self {
            lexical: with_plain(lexical(question)),
            speaks_of_project: OURS.is_match(text) || names_symbol(question),
            of_project,
            head: if request.deeds.is_empty() { head(text) } else { request.verb.clone() },
            request,
            stems: words
                .iter()
                .map(|word| stem(word))
                .chain(plain.iter().flat_map(|text| telling_stems(text)))
                .collect(),
            telling: words.iter().filter(|word| !OPENERS.contains(word.as_str())).map(|word| stem(word)).collect(),
            asking: asking(question),
            opening: opening(text),
            places: places(question),
            is_question: is_question(text),
            is_foreign: foreign * 5 > text.chars().count(),
            length: text.split_whitespace().count(),
            text: text.to_owned(),
        }
    }

    /// What name and verb of a tool are worth.
    pub(super) fn speaks_of(&self, tool: &Tool) -> (f64, f64) {
        let name = if self.spells(tool) { SPELLED } else { SAID * super::to_f64(self.begins_with_name(tool)) };
        let mut verb = if self.request.deeds.is_empty() || tool.deeds.is_empty() {
            0.0
        } else if self.request.deeds.meets(tool.deeds) {
            VERBS_AGREE
        } else if are_near(self.request.deeds, tool.deeds) {
            0.0
        } else {
            VERBS_DIFFER
        };
        if self.request.certainty == Certainty::Guessed {
            verb *= VERBS_GUESSED;
        }
        // Nothing is deleted unless that was asked for, and nothing else than what was asked for.
        let names_other = !self.request.object.is_empty() && self.concerns(tool) == 0.0;
        if tool.deeds.is_only(Deed::Delete) && (!self.request.deeds.has(Deed::Delete) || names_other) {
            verb += VERBS_DIFFER * VERBS_GUESSED;
        }
        // Many tools add something; only this one converts.
        let head_worth = if self.request.is_sure() { HEAD / 2.0 } else { HEAD };
        let says_much = |head: &&String| !GENERAL.contains(&head.as_str()) || !self.request.is_sure();
        let head = self.head.as_ref().filter(says_much).is_some_and(|head| tool.heads.contains(head));
        let place = if self.places.iter().any(|place| tool.texts.contains(place)) { PLACE } else { 0.0 };
        (name + place + if head { head_worth } else { 0.0 } + OBJECT * self.concerns(tool), verb)
    }

    /// How much of what the request is about the tool is about, the last word for one half.
    pub(super) fn concerns(&self, tool: &Tool) -> f64 {
        let is_object = |word: &String| {
            tool.objects.contains(word)
                || has_synonym(word, &tool.objects)
                || tool.objects.iter().any(|object| is_misspelt(word, object))
        };
        let Some((last, others)) = self.request.object.split_last() else { return 0.0 };
        let last = if is_object(last) { 1.0 } else { 0.0 };
        let others = others.iter().any(is_object);
        if others { f64::max(last, 0.5) } else { last }
    }

    /// How many words of the tool's name the question begins with, if that is all of them: "git diff --cached".
    fn begins_with_name(&self, tool: &Tool) -> usize {
        // "completed tasks" is not `complete_task`.
        let is_verb = self.opening.first() == tool.own_words.first();
        let names = |word: &str, part: &str| {
            let (word, part) = (stem(word), stem(part));
            is_verb && (word == part || synonyms(&word).any(|other| *other == part))
        };
        let said = self.opening.iter().zip(&tool.own_words).filter(|(word, part)| names(word, part)).count();
        if tool.own_words.len() > 1 && said == tool.own_words.len() { said } else { 0 }
    }

    /// Whether the tool's name stands there, and cannot be an ordinary word.
    pub(super) fn spells(&self, tool: &Tool) -> bool {
        static CAMEL: Pattern = Pattern::new("[a-z][A-Z]");
        let joined = |c: char| is_word_char(c) || c == '-';
        let stands = |name: &str| {
            self.text.match_indices(name).any(|(at, _)| {
                !char_before(&self.text, at).is_some_and(joined)
                    && !char_at(&self.text, at + name.len()).is_some_and(joined)
            })
        };
        let is_name = |name: &&&String| name.contains(['_', '.', '-']) || CAMEL.is_match(name);
        [&tool.name, &tool.own_name].iter().filter(is_name).any(|name| stands(name))
    }

    /// Share of the name's telling words that the question says, up to their endings.
    pub(super) fn covers_name(&self, tool: &Tool) -> f64 {
        let said = |word: &&String| self.says(word) || has_synonym(word, &self.stems);
        share(tool.telling.iter().filter(said).count(), tool.telling.len())
    }

    /// Share of the question's telling words that the tool's texts say.
    pub(super) fn covered_by(&self, tool: &Tool) -> f64 {
        let says = |word: &&String| {
            tool.texts.contains(*word)
                || has_synonym(word, &tool.texts)
                || tool.heads.iter().any(|head| alike(word, head))
        };
        // Nothing but a verb and values.
        if self.asking.is_empty() && self.request.is_sure() {
            return 1.0;
        }
        share(self.asking.iter().filter(says).count(), self.asking.len())
    }

    /// Whether it asks for what the tool's answers hold.
    pub(super) fn asks_for_results_of(&self, tool: &Tool) -> bool {
        self.telling.iter().any(|word| tool.results.contains(word))
    }

    /// The verb of the request is in the tool's name, and hardly in another's.
    pub(super) fn says_verb_of(&self, tool: &Tool) -> bool {
        self.request
            .verb
            .as_ref()
            .is_some_and(|verb| !GENERAL.contains(&verb.as_str()) && tool.name_stems.contains(verb))
    }

    pub(super) fn names(&self, stem: &str) -> bool {
        self.asking.iter().any(|word| word == stem)
    }

    /// Nothing but general verbs and function words: "read it".
    pub(super) fn says_nothing(&self) -> bool {
        self.telling.is_empty()
    }

    fn says(&self, stem: &str) -> bool {
        self.stems.contains(stem) || self.stems.iter().any(|other| alike(stem, other) || is_misspelt(stem, other))
    }
}

fn telling_stems(text: &str) -> Vec<String> {
    stems(text, StopWords::Dropped)
}

/// `discover` and `discovery`: long words that begin alike.
fn alike(one: &str, other: &str) -> bool {
    let (one_length, other_length) = (one.chars().count(), other.chars().count());
    let common = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    one_length >= 5 && other_length >= 5 && common >= 5 && common * 20 >= one_length.max(other_length) * 11
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { super::to_f64(part) / super::to_f64(whole) }
}

/// "where is `MAX_RETRIES` used?" asks about a program, and that is the project's.
fn names_symbol(question: &Question) -> bool {
    static CAMEL: Pattern = Pattern::new("[a-z][A-Z]");
    static USED: Pattern = Pattern::new(concat!(
        r"^(?:used?|uses|usages?|defin(?:e|es|ed|itions?)|referenc\w*|declar(?:e|es|ed)|calls?|called|calling|callers?|",
        r"occurrences?|mention\w*|imported|thrown|raised|grep|sources?|code|codebase|",
        r"identifiers?|symbols?|appears?|anywhere|exists?)$"
    ));
    let is_symbol = |span: &Span| {
        matches!(span.found, Found::Identifier | Found::Name)
            && (span.text.contains('_') || CAMEL.is_match(&span.text))
            && !span.text.contains(['-', ' '])
    };
    let words = || question.words.iter().filter(|word| !word.in_value);
    let looks = [Deed::Read, Deed::Search].iter().any(|deed| question.request.deeds.has(*deed));
    looks && question.spans.iter().any(is_symbol) && words().any(|word| USED.is_match(&word.lower))
}

/// `9c1b2ee`, `HEAD~2`.
fn names_commit(question: &Question) -> bool {
    static COMMIT: Pattern = Pattern::new(r"^(?:[0-9a-f]{7,40}|HEAD(?:[~^]\d*)*)$");
    let is_commit = |span: &Span| span.found == Found::Identifier && COMMIT.is_match(&span.text);
    question.spans.iter().any(is_commit)
}

fn asking(question: &Question) -> Vec<String> {
    let end = question.text.len() - payload(question).map_or(0, str::len);
    let is_telling = |word: &&Word| {
        !word.is_sign()
            && !word.in_value
            && word.range.start < end
            && !STOP.contains(word.lower.as_str())
            && !OPENERS.contains(word.lower.as_str())
    };
    let words = question.words.iter().filter(is_telling);
    words
        .flat_map(|word| parts(&word.lower))
        .filter(|word| !STOP.contains(word.as_str()))
        .map(|word| stem(&word))
        .collect()
}

/// What is to be written, from its first word: "add a task: …", "a note saying …".
pub(super) fn payload(question: &Question) -> Option<&str> {
    let Request { certainty, place, deeds, .. } = &question.request;
    let writes = deeds.has(Deed::Create) || deeds.has(Deed::Update);
    let label = question.text.find(": ").filter(|colon| place.end <= *colon);
    let start = question.text.find(" saying ").map(|at| at + 8).or(label.map(|at| at + 2));
    start.filter(|_| writes && *certainty != Certainty::Guessed).map(|start| &question.text[start..])
}

/// "our" and "we" are the project that we are in.
fn of_project(text: &str) -> String {
    static OUR: Pattern = Pattern::new(r"(?i)\bour\b");
    static DO_WE: Pattern = Pattern::new(r"(?i)\b(?:do|did) we\b");
    DO_WE.replace_all(&OUR.replace_all(text, "the project's"), "does the project").into_owned()
}

fn lexical(question: &Question) -> String {
    static REQUEST: Pattern =
        Pattern::new(r"(?i)^(?:(?:please|kindly|can you|could you)\s+)*(show|tell|give|get|see)\b");
    let end = question.text.len() - payload(question).map_or(0, str::len);
    let mut kept = question.text[..end].to_owned();
    let is_short =
        |span: &Span| super::to_f64(span.range.len()) < QUOTED_SHARE_MAX * super::to_f64(question.text.len());
    let paths = question.spans.iter().filter(|span| span.found == Found::Path && span.text.contains(['/', '\\', '~']));
    let mut values: Vec<&Span> = question.quoted.iter().filter(|span| is_short(span)).chain(paths).collect();
    values.sort_by_key(|span| span.range.start);
    let mut start = end;
    for span in values.iter().rev() {
        if span.range.end <= start {
            kept.replace_range(span.range.clone(), " ");
            start = span.range.start;
        }
    }
    let verb = REQUEST.captures(&kept).and_then(|captures| captures.get(1)).map(|verb| verb.range());
    if let Some(verb) = verb {
        kept.replace_range(verb, "");
    }
    of_project(without_denied(&kept))
}

/// Without an end that says what is not wanted: "… Names only, no diff."
fn without_denied(text: &str) -> &str {
    static DENIED: Pattern = Pattern::new(
        r"(?i)[,.;?!(]\s*(?:but )?(?:no|without) (?:any |the )?[\w-]+(?: (?:stuff|please|needed|required))?[.!)]*$",
    );
    DENIED.find(text).map_or(text, |denied| &text[..denied.start()])
}

/// What is added to a thing or taken from it changes it.
fn are_near(asked: Deeds, done: Deeds) -> bool {
    let changes = [Deed::Create, Deed::Delete, Deed::Complete, Deed::Undo];
    let near = |one: Deeds, other: Deeds| one.has(Deed::Update) && changes.iter().any(|deed| other.has(*deed));
    // What is found is shown.
    let looks = |one: Deeds, other: Deeds| one.has(Deed::Read) && other.has(Deed::Search);
    near(asked, done) || near(done, asked) || looks(asked, done) || looks(done, asked)
}

fn head(text: &str) -> Option<String> {
    let words = words_of_request(text);
    let first = words.iter().find(|word| !STOP.contains(word.as_str()))?;
    (!Deed::of(first).has(Deed::Read)).then(|| stem(first))
}

fn places(question: &Question) -> Vec<String> {
    static PLACE: Pattern =
        Pattern::new(r"\b(?:in|from|of|inside|within|out of|into|to)\s+(?:the|this|our|my|your)\s+([a-z]+)\b");
    let asked = &question.lower[..question.text.len() - payload(question).map_or(0, str::len)];
    PLACE.captures_iter(asked).map(|found| stem(&found[1])).collect()
}

fn opening(text: &str) -> Vec<String> {
    static ARTICLE: Pattern = Pattern::new(r"(?i)^(?:run|do|execute|use|call|the|an?)\b\s*");
    let text = POLITE.replace(text.trim(), "");
    let small = |word: &String| !["a", "an", "the", "my", "all"].contains(&word.as_str());
    plain_words(&ARTICLE.replace(&text, "")).into_iter().filter(small).take(OPENING_MAX).collect()
}

fn words_of_request(text: &str) -> Vec<String> {
    plain_words(&POLITE.replace(text.trim(), ""))
}

fn is_question(text: &str) -> bool {
    let lower = text.to_lowercase();
    let first = lower.split(|c: char| !c.is_ascii_lowercase() && c != '\'').find(|word| !word.is_empty());
    first.is_some_and(|word| ASKING.contains(word.split('\'').next().unwrap_or(word)))
}
