//! What a question asks to be done: the verb of its request, wherever in the sentence that stands.
//!
//! Values are no verbs, and neither is what only describes: "the finished tasks" are not to be finished.

use std::ops::Range;

use super::deed::{Deed, Deeds};
use super::lexicon::{self, ADJECTIVES, ASKING, COMPOUNDS, POLITE, STOP};
use super::pattern::Pattern;
use super::question::Word;
use super::span::{Found, Span};
use super::words::{is_participle, overlap, stem};

/// Verbs that are things where a name follows.
const NAMED: [&str; 3] = ["commit", "branch", "tag"];

/// "go" is a verb in front of them, and politeness elsewhere.
const GOING: [&str; 4] = ["back", "to", "onto", "over"];

/// What is run to find something.
const EXPRESSIONS: [&str; 5] = ["regex", "regexp", "pattern", "expression", "grep"];

/// Words of an object that are looked at.
const OBJECT_MAX: usize = 4;

/// Stands for a word of a value.
const VALUE: &str = "\0";

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Request {
    pub(super) deeds: Deeds,
    pub(super) certainty: Certainty,
    /// Its stem.
    pub(super) verb: Option<String>,
    /// Stems of what it is to be done to, the most important last: "commit message".
    pub(super) object: Vec<String>,
    /// Where the clause is that asks.
    pub(super) place: Range<usize>,
}

#[derive(Debug, Default)]
struct Clause<'q> {
    words: Vec<&'q str>,
    place: Range<usize>,
    /// A colon follows.
    is_label: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// There is a verb somewhere, or none.
    #[default]
    Guessed,
    /// A question, or something that is said to be so.
    Stated,
    Asked,
}

impl Request {
    pub(super) fn of(text: &str, words: &[Word], spans: &[Span]) -> Self {
        if let Some(label) = label(text) {
            return Self { object: vec![stem(label)], ..Self::new(Deed::Create.into(), Certainty::Asked, None) };
        }
        let clauses = clauses(words, spans);
        let mut best: Option<Self> = None;
        let mut is_duty = false;
        let notes = |found: &Self| found.certainty == Certainty::Asked && found.deeds.has(Deed::Create);
        for (number, Clause { words, place, is_label }) in clauses.iter().enumerate() {
            let noted = || if *is_label { noted(words) } else { None };
            if let Some(found) = of_clause(words, number == 0).or_else(noted)
                && (best.as_ref().is_none_or(|best| found.certainty > best.certainty)
                    || is_duty && notes(&found) && !words.contains(&VALUE))
            {
                is_duty = found.certainty == Certainty::Asked && has_duty(words);
                best = Some(Self { place: place.clone(), ..found });
            }
            // "new best practice: …": what follows is what is to be written, whatever it asks for.
            if *is_label && best.as_ref().is_some_and(|best| best.deeds.has(Deed::Create)) {
                break;
            }
        }
        best.unwrap_or_else(|| anywhere(&clauses))
    }

    fn new(deeds: Deeds, certainty: Certainty, verb: Option<&str>) -> Self {
        Self { deeds, certainty, verb: verb.map(stem), object: Vec::new(), place: 0..0 }
    }

    /// With what stands behind the verb.
    fn upon(self, words: &[&str]) -> Self {
        Self { object: object(words), ..self }
    }

    pub(super) fn is_sure(&self) -> bool {
        self.certainty == Certainty::Asked
    }
}

/// "a task: …", whatever the verb in front of it is.
fn noted(words: &[&str]) -> Option<Request> {
    let (object, before) = words.split_last()?;
    // "for the log: …".
    if words.len() < 6 && ["for", "to", "into"].contains(words.first()?) {
        return Some(Request::new(Deed::Create.into(), Certainty::Stated, None).upon(words));
    }
    let is_one = before.last().is_some_and(|word| ["a", "an", "another", "new"].contains(word));
    is_one.then(|| Request::new(Deed::Create.into(), Certainty::Asked, None).upon(&[object]))
}

/// "I must call Bob, make a task of it": what is to be done by whoever asks.
fn has_duty(words: &[&str]) -> bool {
    let (mine, must) = (["i", "we"], ["must", "have", "should", "gotta", "need"]);
    words.first().is_some_and(|word| mine.contains(word)) && words.get(1).is_some_and(|word| must.contains(word))
}

/// What a note begins with: "todo: …" is to be written down, whatever it says.
pub(super) fn label(text: &str) -> Option<&str> {
    static NOTE: Pattern =
        Pattern::new(r"(?i)^\s*(?:(?:new|another)\s+)?(to-?do|task|note|reminder|memo)(?:\s*:|\s+-\s)");
    static BEHIND: Pattern = Pattern::new(concat!(
        r#"(?i)^\s*["\u{201c}][^"\u{201d}]+["\u{201d}]\s*(?:-|\u{2013}|\u{2014}|<-|:|,|as)\s*(?:an?\s+|my\s+)?(?:new\s+)?"#,
        r"(to-?do|task|note|reminder|memo)\b[^:]*$"
    ));
    NOTE.captures(text).or_else(|| BEHIND.captures(text))?.get(1).map(|label| label.as_str())
}

/// The words between signs, and what begins with "could you"; [`VALUE`] for each word of a value.
fn clauses<'q>(words: &'q [Word], spans: &[Span]) -> Vec<Clause<'q>> {
    let mut clauses: Vec<Clause<'q>> = vec![Clause::default()];
    for (at, word) in words.iter().enumerate() {
        let is_value = is_value(word, spans);
        let next = words.get(at + 1).map_or("", |next| next.lower.as_str());
        let begins = match word.lower.as_str() {
            "can" | "could" | "would" | "will" => ["you", "u", "we", "i"].contains(&next),
            "please" | "pls" | "so" | "then" => true,
            "and" => is_verb(next),
            _ => false,
        };
        let is_border = !is_value && is_border(word);
        if !is_value && begins || is_border {
            if let Some(clause) = clauses.last_mut() {
                clause.is_label = word.text == ":";
            }
            clauses.push(Clause { place: word.range.start..word.range.start, ..Clause::default() });
        }
        if !is_border && let Some(clause) = clauses.last_mut() {
            clause.words.push(if is_value { VALUE } else { &word.lower });
            clause.place.end = word.range.end;
        }
    }
    clauses.retain(|clause| !clause.words.is_empty());
    clauses
}

fn is_border(word: &Word) -> bool {
    matches!(
        word.text.as_str(),
        "," | ";" | ":" | "." | "!" | "?" | "-" | "\u{2013}" | "\u{2014}" | "(" | ")" | "\u{2026}"
    )
}

/// What is written in a way that no verb is.
fn is_value(word: &Word, spans: &[Span]) -> bool {
    let holds = |found: &Found| {
        matches!(
            found,
            Found::Json(_) | Found::Quoted | Found::Url | Found::Email | Found::Path | Found::Code | Found::Name
        ) || *found == Found::Identifier && Deed::of(&word.lower.replace('-', "")).is_empty()
    };
    spans.iter().any(|span| overlap(&span.range, &word.range) && holds(&span.found))
}

fn of_clause(words: &[&str], is_first: bool) -> Option<Request> {
    let goes = |at: usize| words[at] == "go" && words.get(at + 1).is_some_and(|next| GOING.contains(next));
    let polite = (0..words.len()).take_while(|at| POLITE.contains(words[*at]) && !goes(*at)).count();
    let rest = &words[polite..];
    let first = *rest.first()?;
    let bare = first.split(['\'', '\u{2019}']).next().unwrap_or(first);
    if is_first && is_question(words) || ASKING.contains(bare) {
        return Some(Request::new(asked(bare, &rest[1..]), Certainty::Stated, None).upon(&rest[1..]));
    }
    // "run the tests", but not "run a search".
    let is_run = words[..polite].contains(&"run") && !words[..polite].contains(&"git");
    let does_else = |word: &&str| is_verb(word) && !Deed::of(word).is_only(Deed::Operate);
    if is_run && rest.iter().take(4).any(|word| EXPRESSIONS.contains(word)) {
        return Some(Request::new(Deed::Search.into(), Certainty::Asked, Some("search")).upon(rest));
    }
    if is_run && !rest.iter().take(4).any(does_else) {
        return Some(Request::new(Deed::Operate.into(), Certainty::Asked, Some("run")).upon(rest));
    }
    // "git log" shows it, whatever logging is otherwise.
    if words[..polite].contains(&"git") && COMPOUNDS.contains(first) {
        return Some(Request::new(Deed::Read.into(), Certainty::Asked, Some(first)).upon(rest));
    }
    let verb = spelled(&first.replace('-', ""));
    let deeds = Deed::of_phrase(&verb, rest[1..].iter().copied());
    // "commit history", "patch included".
    // "commit HEAD~2" is the name of one.
    let is_named = NAMED.contains(&first) && rest.get(1) == Some(&VALUE);
    let is_noun = is_named || rest.get(1).is_some_and(|next| COMPOUNDS.contains(*next) || is_participle(next));
    if !deeds.is_empty() && is_verb(&verb) && !is_noun {
        return Some(Request::new(deeds, Certainty::Asked, Some(&verb)).upon(&rest[1..]));
    }
    let mine = words[..polite].iter().any(|word| word.starts_with('i') || word.starts_with("we"));
    if deeds.has(Deed::Complete) && (is_participle(first) && mine || rest.get(1) == Some(&"with")) {
        return Some(Request::new(Deed::Complete.into(), Certainty::Asked, Some("complete")).upon(&rest[1..]));
    }
    passive(words).or_else(|| stated(words)).or_else(|| gets(words)).or_else(|| wanted(words, polite))
}

/// The verb that is meant, where a letter is wrong.
fn spelled(word: &str) -> String {
    let known = if Deed::is_verb(word) || word.len() < 5 { None } else { Deed::misspelt(word) };
    known.unwrap_or(word).to_owned()
}

/// "Ada gets another observation", "the graph needs two new nodes": something is to be made.
fn gets(words: &[&str]) -> Option<Request> {
    let at = words.iter().position(|word| ["gets", "get", "needs", "deserves", "receives"].contains(word))?;
    let behind = &words[at + 1..];
    let adds = |word: &&str| ["new", "another", "further", "additional", "extra", "more"].contains(word);
    let is_new = at > 0 && behind.iter().take(3).any(adds);
    is_new.then(|| Request::new(Deed::Create.into(), Certainty::Asked, None).upon(behind))
}

/// A question wants to be shown something, or to have it found.
fn asked(first: &str, rest: &[&str]) -> Deeds {
    let about =
        ["about", "around", "mention", "mentions", "contain", "contains", "reference", "references", "concerning"];
    let looks = ["any", "anything", "where", "wheres"].contains(&first) || rest.first() == Some(&"there");
    let inner = rest.split_last().map_or(rest, |(_, inner)| inner);
    let mut deeds =
        Deeds::from(if looks || inner.iter().any(|word| about.contains(word)) { Deed::Search } else { Deed::Read });
    if ["how", "why"].contains(&first) {
        deeds.add(Deed::Search.into());
    }
    deeds
}

/// In the form of a request.
fn is_verb(word: &str) -> bool {
    !["new", "done"].contains(&word) && Deed::is_verb(word)
}

const PREPOSITIONS: [&str; 9] = ["to", "from", "in", "into", "on", "onto", "at", "with", "for"];

/// The first run of words that say something.
pub(super) fn object(words: &[&str]) -> Vec<String> {
    let is_empty = |word: &&&str| {
        STOP.contains(**word)
            || POLITE.contains(**word)
            || ADJECTIVES.contains(**word)
            || **word == VALUE
            || word.chars().all(|c| c.is_ascii_digit())
            || lexicon::number(word).is_some()
    };
    let start = words.iter().take_while(is_empty).count();
    // "drop Vault from the graph": what is behind the preposition is not dropped.
    let value = words[..start].iter().position(|word| *word == VALUE);
    if value.is_some_and(|at| words[at..start].iter().any(|word| PREPOSITIONS.contains(word))) {
        return Vec::new();
    }
    let run = words[start..].iter().take_while(|word| !is_empty(word));
    run.take(OBJECT_MAX).map(|word| stem(word.split(['\'', '\u{2019}']).next().unwrap_or(word))).collect()
}

/// "is", "did" and their like at the beginning; "whats" without its apostrophe.
fn is_question(words: &[&str]) -> bool {
    let asks = |word: &str| {
        ["do", "does", "did", "any", "anything", "has", "whats", "wheres", "hows", "whos", "isn't", "aren't"]
            .contains(&word)
    };
    words.first().is_some_and(|first| asks(first))
}

/// "should be removed", "has to have main checked out".
fn passive(words: &[&str]) -> Option<Request> {
    let modal = words.iter().position(|word| {
        ["should", "must", "needs", "need", "has", "have", "can", "could", "ought", "shall", "may"].contains(word)
    })?;
    let behind = &words[modal + 1..];
    let denied = words.iter().any(|word| ["nothing", "not", "no", "never", "shouldn't", "mustn't"].contains(word));
    let to_be = behind.iter().take(3).position(|word| ["be", "have", "get", "read", "say"].contains(word))?;
    if denied {
        return None;
    }
    let participle = behind[to_be + 1..].iter().enumerate().find(|(_, word)| is_participle(word));
    let of_participle = participle.and_then(|(at, word)| {
        let deeds = Deed::of_phrase(word, behind[to_be + at + 2..].iter().copied());
        (!deeds.is_empty()).then(|| Request::new(deeds, Certainty::Asked, Some(word)).upon(words))
    });
    let update = || Some(Request::new(Deed::Update.into(), Certainty::Asked, None).upon(words));
    of_participle.or_else(|| if behind[to_be] == "have" { None } else { update() })
}

/// "task 5 is done", "it is no longer needed".
fn stated(words: &[&str]) -> Option<Request> {
    let is = |word: &&str| ["is", "are", "was", "were", "been", "got"].contains(word);
    let at = words.iter().position(is)?;
    // "tasks that are done" are none that were done just now.
    let describes = at.checked_sub(1).is_some_and(|before| ["that", "which", "who"].contains(&words[before]));
    let denied = words[at + 1..].iter().take(3).any(|word| ["not", "never", "n't"].contains(word));
    let state = Some(&words[at + 1..]).filter(|_| !describes && !denied)?;
    let mut state =
        state.iter().filter(|word| !STOP.contains(**word) && !["now", "already", "finally", "been"].contains(word));
    let deeds = state.next().map(|word| Deed::of(word)).unwrap_or_default();
    deeds.has(Deed::Complete).then(|| Request::new(Deed::Complete.into(), Certainty::Stated, None).upon(words))
}

/// "I need a branch" is to be made, "I need the time" is to be told, and so is "last five commits".
fn wanted(words: &[&str], polite: usize) -> Option<Request> {
    let (before, rest) = words.split_at(polite);
    let wants = before.iter().any(|word| ["want", "need", "like", "wanna", "wants", "needs"].contains(word));
    let article = rest.first().filter(|word| ["a", "an", "another", "one", "some"].contains(word));
    let shows = rest
        .iter()
        .take(3)
        .any(|word| ["overview", "list", "listing", "summary", "look", "view", "report"].contains(word));
    let is_new = rest.iter().take(2).any(|word| ["new", "another", "fresh"].contains(word));
    if is_new || wants && article.is_some() && !shows {
        return Some(Request::new(Deed::Create.into(), Certainty::Stated, None).upon(rest));
    }
    (wants && (shows || rest.first() == Some(&"the")))
        .then(|| Request::new(Deed::Read.into(), Certainty::Stated, None).upon(rest))
}

/// "the finished tasks" are not to be finished.
const DETERMINERS: [&str; 13] =
    ["a", "all", "an", "any", "each", "every", "the", "my", "our", "these", "this", "those", "your"];

/// The first verb that does not describe something.
fn anywhere(clauses: &[Clause<'_>]) -> Request {
    let words: Vec<&str> = clauses.iter().flat_map(|clause| clause.words.iter().copied()).collect();
    let describes = |at: usize| {
        let before = at.checked_sub(1).map(|before| words[before]);
        let follows = |words: &[&str]| before.is_some_and(|word| words.contains(&word));
        let is_noun = follows(&DETERMINERS) || before.is_some_and(|word| ADJECTIVES.contains(word));
        is_participle(words[at]) && before.is_none() || is_noun || follows(&["is", "are", "was", "were", "been", "be"])
    };
    let is_named = |at: usize| NAMED.contains(&words[at]) && words.get(at + 1) == Some(&VALUE);
    // "commit history".
    let is_compound = |at: usize| words.get(at + 1).is_some_and(|next| COMPOUNDS.contains(*next));
    let is_request = |at: &usize| {
        !is_compound(*at) && (is_verb(words[*at]) || is_participle(words[*at])) && !describes(*at) && !is_named(*at)
    };
    let verb = (0..words.len()).filter(is_request).find(|at| !Deed::of(words[*at]).is_empty());
    let deeds = verb.map(|at| Deed::of(words[at]));
    let is_noun = words.first().is_some_and(|first| {
        let is_plural = first.len() > 3 && first.ends_with('s') && !is_verb(first);
        is_plural
            || is_compound(0)
            || ADJECTIVES.contains(*first)
            || DETERMINERS.contains(first)
            || is_participle(first)
            || lexicon::number(first).is_some()
    });
    let deeds = if is_noun { Deed::Read.into() } else { deeds.unwrap_or_default() };
    Request::new(deeds, Certainty::Guessed, None).upon(&words[verb.filter(|_| !is_noun).map_or(0, |at| at + 1)..])
}
