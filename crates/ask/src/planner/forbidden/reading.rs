//! A question in the few words that its rules are about: `DO`, `DONE`, `DOES` and `DOING` for what the tool does, `OTHER` for what else changes something, `THING` for
//! what it does that to, `VALUE` for values, a comma between clauses. What is only to be written down is left out.

use std::ops::Range;

use serde_json::Value;

use crate::planner::Ranked;
use crate::planner::deed::Deed;
use crate::planner::lexicon::{ASKING, STOP};
use crate::planner::pattern::Pattern;
use crate::planner::question::{Question, Word};
use crate::planner::span::{Found, Span};
use crate::planner::tool::Tool;
use crate::planner::wording::payload;
use crate::planner::words::{is_participle, overlap, overlaps_any, stem};

/// In front of a word that is no verb then.
const DETERMINERS: [&str; 16] = [
    "a", "an", "another", "any", "each", "every", "her", "his", "my", "our", "the", "their", "these", "this", "those",
    "your",
];

/// A verb that is none of theirs is a thing: "a hundred shares".
const SUBJECTS: [&str; 8] = ["anybody", "anyone", "he", "it", "she", "somebody", "what", "who"];

/// In front of a word that is no verb in its first form.
const PREPOSITIONS: [&str; 8] = ["at", "by", "for", "from", "in", "of", "per", "with"];

pub(super) struct Reading<'r> {
    tool: &'r Tool,
    /// With a space around each word.
    pub(super) sentences: Vec<String>,
    /// Where texts are that are only to be written down.
    pub(super) content: Vec<Range<usize>>,
}

impl<'r> Reading<'r> {
    pub(super) fn new(question: &Question, ranked: &Ranked<'r>) -> Self {
        let mut reading = Self { tool: ranked.tool, sentences: Vec::new(), content: Vec::new() };
        reading.content = reading.content(question, &ranked.filling.arguments);
        reading.sentences = reading.sentences(question);
        reading
    }

    /// Arguments behind the verb or a colon: in front of them a denial would be part of the request.
    fn content(&self, question: &Question, arguments: &serde_json::Map<String, Value>) -> Vec<Range<usize>> {
        let words: Vec<&Word> = question.words.iter().collect();
        let is_deed = |at: &usize| !is_value(question, words[*at]) && self.deed(&words, *at).is_some();
        let verb = (0..words.len()).find(is_deed).map_or(usize::MAX, |at| words[at].range.end);
        let mut texts = Vec::new();
        arguments.values().for_each(|value| collect_texts(value, &mut texts));
        let place = |text: &String| {
            let from = question.text.len().min(verb);
            let at = question.lower.get(from..).and_then(|behind| behind.find(text)).map(|at| from + at);
            let labelled = || question.lower.find(&format!(": {text}")).map(|at| at + 2);
            at.or_else(labelled).map(|start| start..start + text.len())
        };
        let noted = payload(question).map(|text| question.text.len() - text.len()..question.text.len());
        texts.iter().filter_map(place).chain(noted).collect()
    }

    fn sentences(&self, question: &Question) -> Vec<String> {
        let (mut sentences, mut sentence) = (Vec::new(), Vec::new());
        let mut value = 0;
        for word in &question.words {
            if overlaps_any(&word.range, &self.content) {
                continue;
            }
            if let Some(span) = value_at(question, word) {
                if span.range.end > value {
                    value = span.range.end;
                    sentence.push(if matches!(span.found, Found::Identifier | Found::Code) {
                        Piece::Name
                    } else {
                        Piece::Value
                    });
                }
                continue;
            }
            match word.text.as_str() {
                "." | "!" | "?" | ";" | "\u{2026}" => sentences.push(std::mem::take(&mut sentence)),
                "," | ":" | "-" | "\u{2013}" | "\u{2014}" | "(" | ")" => sentence.push(Piece::Border),
                _ if word.is_sign() => {}
                _ => sentence.push(Piece::Word(word)),
            }
        }
        sentences.push(sentence);
        sentences.iter().filter(|pieces| !pieces.is_empty()).map(|pieces| self.written(pieces)).collect()
    }

    fn written(&self, pieces: &[Piece<'_>]) -> String {
        let words: Vec<&Word> = pieces.iter().filter_map(Piece::word).collect();
        let (mut text, mut at) = (" ".to_owned(), 0);
        for piece in pieces {
            match piece {
                Piece::Border => text.push_str(", "),
                Piece::Name => text.push_str("NAME "),
                Piece::Value => text.push_str("VALUE "),
                Piece::Word(word) => {
                    text.push_str(&self.said(&words, at, word));
                    text.push(' ');
                    at += 1;
                }
            }
        }
        plain(&text)
    }

    fn said(&self, words: &[&Word], at: usize, word: &Word) -> String {
        if is_called_off(words, at) {
            return "call off".to_owned();
        }
        if let Some(deed) = self.deed(words, at) {
            return deed.to_owned();
        }
        let other = Deed::of(&word.lower);
        if is_changing_verb(words, at) {
            return "OTHER".to_owned();
        }
        if self.tool.objects.contains(&word.stem) && other.is_empty() {
            return "THING".to_owned();
        }
        let plain = without_contraction(&word.lower.replace('\u{2019}', "'"));
        // What follows is another clause.
        if ["so", "then"].contains(&plain.as_str()) { format!(", {plain}") } else { plain }
    }

    /// What the tool does, in which form.
    fn deed(&self, words: &[&Word], at: usize) -> Option<&'static str> {
        let lower = words[at].bare();
        if ASKING.contains(lower) || STOP.contains(lower) || is_denial(words[at]) || is_kept_in_mind(words, at) {
            return None;
        }
        let misspelt = if Deed::is_verb(lower) || lower.len() < 5 { None } else { Deed::misspelt(lower) };
        let noun = ["ion", "al"].iter().find_map(|ending| lower.strip_suffix(ending));
        let noun = noun.filter(|root| root.len() > 4 && Deed::of(lower).is_empty());
        let verb = misspelt.or(noun).unwrap_or(lower);
        if noun.is_some() && self.tool.objects.contains(&words[at].stem) {
            return None;
        }
        if is_named(words, at) && noun.is_none() || !self.does(verb, &words[at + 1..]) {
            return None;
        }
        Some(if noun.is_some() || verb.ends_with("ing") {
            "DOING"
        } else if is_participle(verb) || verb == "done" {
            "DONE"
        } else if Deed::is_verb(verb) || verb.ends_with('e') || !verb.ends_with('s') {
            "DO"
        } else if at > 0 && SUBJECTS.contains(&words[at - 1].lower.as_str()) {
            "DOES"
        } else {
            return None;
        })
    }

    fn does(&self, verb: &str, behind: &[&Word]) -> bool {
        let deeds =
            Deed::of_phrase(verb, behind.iter().take_while(|word| !word.is_sign()).map(|word| word.lower.as_str()));
        // Much is sent or run that a tool has nothing to do with.
        let is_broad = deeds.is_only(Deed::Operate) || deeds.is_only(Deed::Transfer);
        let own = stem(verb);
        let first = self.tool.own_words.first().is_some_and(|word| stem(word) == own);
        let is_own = first && (self.tool.deeds.is_empty() || !deeds.changing().is_empty());
        is_own || deeds.changing().meets(self.tool.deeds.changing()) && (!is_broad || self.tool.texts.contains(&own))
    }
}

/// "don't forget it" deletes nothing.
fn is_kept_in_mind(words: &[&Word], at: usize) -> bool {
    words[at].lower == "forget" && words[..at].iter().rev().take(3).any(|word| is_denial(word))
}

/// "don't" is neither "done" nor any other verb.
fn is_denial(word: &Word) -> bool {
    let said = without_contraction(&word.lower.replace('\u{2019}', "'"));
    said == "never" || said.ends_with("not")
}

/// "cancel the deletion".
fn is_called_off(words: &[&Word], at: usize) -> bool {
    let mut behind = words[at + 1..].iter().skip_while(|word| DETERMINERS.contains(&word.lower.as_str()));
    let is_noun = |word: &&Word| ["ion", "ing", "al"].iter().any(|ending| word.lower.ends_with(ending));
    words[at].lower == "cancel" && behind.next().is_some_and(is_noun)
}

/// In front of a word that is no verb then.
fn is_named(words: &[&Word], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| words[before].lower.as_str()) else { return false };
    let lower = words[at].bare();
    let is_first_form = !lower.ends_with("ing") && !is_participle(lower);
    DETERMINERS.contains(&before) || is_first_form && (PREPOSITIONS.contains(&before) || is_participle(before))
}

/// Of any tool.
fn is_changing_verb(words: &[&Word], at: usize) -> bool {
    let lower = words[at].bare();
    let behind = words[at + 1..].iter().map(|word| word.lower.as_str());
    let deeds = Deed::of_phrase(lower, behind);
    let is_word = ASKING.contains(lower) || STOP.contains(lower) || is_kept_in_mind(words, at) || is_named(words, at);
    // What undoes something has rules of its own.
    !is_word && !is_denial(words[at]) && !deeds.has(Deed::Undo) && !deeds.is_empty() && deeds.changing() == deeds
}

/// A part of a sentence.
enum Piece<'q> {
    Word(&'q Word),
    /// A value that a word may look like: `member_of`.
    Name,
    Value,
    Border,
}

impl<'q> Piece<'q> {
    fn word(&self) -> Option<&'q Word> {
        match self {
            Self::Word(word) => Some(word),
            Self::Name | Self::Value | Self::Border => None,
        }
    }
}

fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() > 1 => texts.push(text.to_lowercase()),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect_texts(field, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_value(question: &Question, word: &Word) -> bool {
    value_at(question, word).is_some()
}

/// What is written as no word of a request is. "NOT" may look like a name.
fn value_at<'q>(question: &'q Question, word: &Word) -> Option<&'q Span> {
    let is_value = |span: &&Span| match &span.found {
        Found::Json(_) | Found::Quoted | Found::Url | Found::Email | Found::Path | Found::Code | Found::Number(_) => {
            true
        }
        Found::NumberWord(_) => word.lower != "one",
        Found::Identifier => Deed::of(&word.lower.replace('-', "")).is_empty(),
        Found::Date(_)
        | Found::Month { .. }
        | Found::Time(_)
        | Found::RelativeDate
        | Found::Currency
        | Found::Unit
        | Found::Zone
        | Found::Name
        | Found::Chunk { .. } => false,
    };
    question.spans.iter().filter(|span| overlap(&span.range, &word.range)).find(is_value)
}

/// "don't" is "do not".
fn without_contraction(word: &str) -> String {
    static BARE: Pattern = Pattern::new(r"^(do|does|did|should|would|could|must|is|are|was|were|has|have|had|need)nt$");
    match word {
        "can't" | "cant" | "cannot" => return "can not".to_owned(),
        "won't" | "wont" => return "will not".to_owned(),
        _ => {}
    }
    if let Some(verb) = word.strip_suffix("n't").or_else(|| Some(BARE.captures(word)?.get(1)?.as_str())) {
        return format!("{verb} not");
    }
    let Some((subject, ending)) = word.rsplit_once('\'') else { return word.to_owned() };
    let verb = match ending {
        "s" if ASKING.contains(subject) => " is",
        "d" => " would",
        "ll" => " will",
        "ve" => " have",
        "re" => " are",
        "m" => " am",
        _ => "",
    };
    format!("{subject}{verb}")
}

/// Without what sounds like a denial or a question and is neither.
fn plain(text: &str) -> String {
    static REMINDER: Pattern = Pattern::new(concat!(
        r" (?:(?:do|must|should|can|may|will) )?(?:not|never) (?:even )?(?:let (?:me|us) )?",
        r"(?:forget|hesitate|fail|neglect) (?:(?:to|that|about) )?"
    ));
    static LAST: Pattern = Pattern::new(r" or not | not only ");
    static ENDED: Pattern = Pattern::new(r" (?:any more|anymore|any longer) ");
    static POLITE: Pattern = Pattern::new(concat!(
        r" (?:do you mind|are you able to|do you think you (?:could|can|would)|(?:how|what) about|",
        r"(?:is|would) it (?:be )?(?:ok|okay|possible|great|nice)(?: for you to| if you)|would it be possible to|",
        r"what (?:i|we) (?:want|need|would like)(?: you)?(?: is)?) "
    ));
    let text = REMINDER.replace_all(text, " please ");
    let text = LAST.replace_all(&text, " ");
    let text = ENDED.replace_all(&text, " , ");
    POLITE.replace_all(&text, " could you ").into_owned()
}
