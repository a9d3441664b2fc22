//! Values that a question gives by the parameter's own name: `key=value`, `--key value`, `key: value`, "called X".

use std::ops::Range;

use serde_json::Value;

use super::choices::best_choice;
use super::{Evidence, Filler};
use crate::planner::deed::Deed;
use crate::planner::lexicon::{self, LIMITING, STOP};
use crate::planner::parameter::{Kind, Parameter, Type};
use crate::planner::pattern::Pattern;
use crate::planner::question::Question;
use crate::planner::span::{QUOTES, Span, bracketed, literal, number_in, quoted, to_json, whole};
use crate::planner::words::{StopWords, as_key, find_whole, split_identifier, stems};

/// A parameter's name in the question, and where its value begins.
struct Mention<'a> {
    start: usize,
    value: usize,
    parameter: &'a Parameter,
    style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// The value goes on until the line or the next key ends it.
    Colon,
    /// One word.
    Other,
}

impl Filler<'_> {
    pub(super) fn by_name(&mut self) {
        for (parameter, text, range) in mentioned(self.question, &self.shape.parameters) {
            if let Some(value) = coerce(parameter, &text) {
                self.set(parameter, value, Evidence::NAMED);
                self.take(range);
            }
        }
        let named = ["title", "name", "description", "text", "content", "message"];
        for parameter in self.open() {
            if parameter.kind != Kind::Text
                || !parameter.is_text()
                || !parameter.choices.is_empty()
                || !parameter.is_called(&named)
            {
                continue;
            }
            if let Some(range) = called(self.question, parameter).or_else(|| changed_to(self.question, parameter)) {
                let text = self.question.text[range.clone()].trim_end_matches('.');
                self.set(parameter, text.into(), Evidence::NAMED);
                self.take(range);
            }
        }
    }
}

/// "called Weekly Report", "rename task 3 to Call the bank", for a title or a name.
fn called(question: &Question, parameter: &Parameter) -> Option<Range<usize>> {
    static CALLED: Pattern = Pattern::new(concat!(
        r"\b(?:called|named|titled|renamed? (?:it )?(?:to|as))\s+",
        r#"([A-Z][^,.;?!\n"']*?)(?:\s+instead)?"#,
        r"(?:[,.;?!\n]|$|\s+(?:with|and|whose|having)\s+(?:the\s+|an?\s+|its\s+)?",
        r"(?:description|details?|text|content|message|body|notes?)\b)"
    ));
    static RENAMED: Pattern = Pattern::new(concat!(
        r"(?i)\b(?:re-?name|re-?title)\b[^:]*?(?:\s(?:to|as|into)(?::\s*|\s+(?:be\s+)?)|:\s+)(\S.*?)",
        r"(?:,?\s+(?:instead|from now on|please|thanks))*[.!]?$"
    ));
    if !parameter.is_called(&["title", "name"]) {
        return None;
    }
    let renamed = || RENAMED.captures(&question.text).filter(|_| question.quoted.is_empty());
    let captures = CALLED.captures(&question.text).or_else(renamed)?;
    captures.get(1).map(|name| name.range())
}

/// "change the title of task 2 to X", "its description should read: X".
fn changed_to(question: &Question, parameter: &Parameter) -> Option<Range<usize>> {
    static TO: Pattern = Pattern::new(concat!(
        r"(?i)^[^:]*?(?:\b(?:to (?:be|read|say)|(?:should|must|shall|ought to|has to|needs to) ",
        r"(?:now )?(?:be|read|say|become)|",
        r"reads|says|becomes|is now|is|to|as)\b:?\s+|:\s+)(\S.*?)(?:,?\s+(?:instead|from now on|please))*$"
    ));
    static IS: Pattern = Pattern::new(r"(?i)^[^:]*?(?:\b(?:reads|says|is)\b:?\s+|:\s+)(\S.*)$");
    let deeds = question.request.deeds;
    let pattern = match (deeds.has(Deed::Update), deeds.has(Deed::Create)) {
        (true, _) => &TO,
        // "a note with the text go to sleep" has nothing to do with what goes to something.
        (false, true) => &IS,
        (false, false) => return None,
    };
    if !question.quoted.is_empty() {
        return None;
    }
    let names = find_whole(&question.lower, &parameter.spoken);
    let names = names.filter(|name| !question.text[..name.start].contains(':'));
    let behind = |name: Range<usize>| {
        let value = pattern.captures(&question.text[name.end..])?.get(1)?;
        Some(name.end + value.start()..name.end + value.end())
    };
    names.filter_map(behind).last()
}

/// Parameters that are named, each once, with the text of their values and the place of both.
fn mentioned<'a>(question: &Question, parameters: &'a [Parameter]) -> Vec<(&'a Parameter, String, Range<usize>)> {
    let mentions = mentions(&question.text, parameters);
    let mut found: Vec<(&Parameter, String, Range<usize>)> = Vec::new();
    for mention in &mentions {
        let again = |(parameter, _, range): &(&Parameter, String, Range<usize>)| {
            parameter.name == mention.parameter.name || range.contains(&mention.start)
        };
        if found.iter().any(again) {
            continue;
        }
        let next = mentions.iter().map(|other| other.start).filter(|&start| start > mention.value).min();
        let end = end_of_value(question, mention, next.unwrap_or(question.text.len()));
        let text = question.text[mention.value..end].trim().to_owned();
        found.push((mention.parameter, text, mention.start..end));
    }
    found
}

fn mentions<'a>(text: &str, parameters: &'a [Parameter]) -> Vec<Mention<'a>> {
    static EQUALS: Pattern = Pattern::new(r"(?:^|[\s,(;])((?:--?)?([A-Za-z][\w.-]*)\s*=\s*)\S");
    static COLON: Pattern = Pattern::new(r"(([A-Za-z][\w-]*(?: [A-Za-z][\w-]*)?)\s*:\s+)\S");
    static OPTION: Pattern = Pattern::new(r"(?:^|\s)(--?([A-Za-z][\w-]*)\s+)\S");
    let keys = keys(parameters);
    let of_key = |key: &str| keys.iter().find(|(each, _)| *each == key).map(|(_, parameter)| *parameter);
    let mut mentions = clauses(text, &keys);
    for captures in EQUALS.captures_up_to(text, 1) {
        if let (Some(whole), Some(parameter)) = (captures.get(1), of_key(&as_key(&captures[2]))) {
            mentions.push(Mention { start: whole.start(), value: whole.end(), parameter, style: Style::Other });
        }
    }
    for captures in COLON.captures_up_to(text, 1) {
        let (Some(whole), Some(name)) = (captures.get(1), captures.get(2)) else { continue };
        // "new title: X" has the name in its last word, "task id: 5" in both.
        let last = name.as_str().rfind(' ').map_or(0, |space| space + 1);
        let found = [0, last].into_iter().find_map(|from| Some((from, of_key(&as_key(&name.as_str()[from..]))?)));
        if let Some((from, parameter)) = found {
            let start = name.start() + from;
            mentions.push(Mention { start, value: whole.end(), parameter, style: Style::Colon });
        }
    }
    for captures in OPTION.captures_up_to(text, 1) {
        let key = as_key(&captures[2]);
        // `-m` is the message, and `-n` how many.
        let fits = |(name, parameter): &&(String, &Parameter)| {
            let begins = name.starts_with(&key) && parameter.is_text();
            let counts = key == "n" && parameter.is_number() && !parameter.name_set.is_disjoint(&LIMITING);
            *name == key || key.len() == 1 && (begins || counts)
        };
        let value =
            captures.get(1).map_or("", |whole| text[whole.end()..].split_whitespace().next().unwrap_or_default());
        if let (Some(whole), Some((_, parameter))) = (captures.get(1), keys.iter().find(fits))
            && !STOP.contains(value)
        {
            mentions.push(Mention { start: whole.start(), value: whole.end(), parameter, style: Style::Other });
        }
    }
    mentions.sort_by_key(|mention| mention.start);
    mentions
}

/// ", branch main": a clause that is nothing but a name and a word.
fn clauses<'a>(text: &str, keys: &[(String, &'a Parameter)]) -> Vec<Mention<'a>> {
    static CLAUSE: Pattern = Pattern::new(concat!(
        r"(?:^|[,;]\s*|\s(?:in|from|of|for|with)\s+)(?:(?:and|with|in|the)\s+)*([A-Za-z][\w-]*(?: [A-Za-z][\w-]*)?)\s+",
        r#"([\w./*-]+|"[^"]*")\s*(?:[,;]|[.?!]?$)"#
    ));
    let mut mentions = Vec::new();
    for captures in CLAUSE.captures_up_to(text, 2) {
        let (Some(name), Some(value)) = (captures.get(1), captures.get(2)) else { continue };
        let key = as_key(name.as_str());
        let whole = keys.iter().find(|(each, parameter)| *each == key && as_key(&parameter.name) == key);
        if let Some((_, parameter)) = whole
            && parameter.is_text()
            && !STOP.contains(value.as_str().to_lowercase().as_str())
        {
            mentions.push(Mention { start: name.start(), value: value.start(), parameter, style: Style::Other });
        }
    }
    mentions
}

/// How parameters may be called: by their names, and by the last word of it where only one ends so.
fn keys(parameters: &[Parameter]) -> Vec<(String, &Parameter)> {
    let mut keys: Vec<(String, &Parameter)> = parameters.iter().map(|each| (as_key(&each.name), each)).collect();
    for parameter in parameters {
        let words = split_identifier(&parameter.name).replace(['_', '-'], " ").to_lowercase();
        let Some(last) = words.split_whitespace().next_back() else { continue };
        let alone = parameters.iter().filter(|each| as_key(&each.name).ends_with(last)).count() == 1;
        if alone && !keys.iter().any(|(key, _)| key == last) {
            keys.push((last.to_owned(), parameter));
        }
    }
    // "details: …" is the description.
    for (word, name) in [("details", "description"), ("detail", "description"), ("notes", "description")] {
        let described = parameters.iter().find(|each| each.name.eq_ignore_ascii_case(name));
        keys.extend(described.filter(|_| !keys.iter().any(|(key, _)| key == word)).map(|each| (word.to_owned(), each)));
    }
    keys
}

fn end_of_value(question: &Question, mention: &Mention<'_>, limit: usize) -> usize {
    static LINE: Pattern = Pattern::new(r"\n");
    static CLAUSE: Pattern = Pattern::new(r"[,;]|\s(?:and|with)\s|\.\s");
    static WORD: Pattern = Pattern::new(r"\s|[,;)](?:\s|$)");
    let (text, start) = (&question.text, mention.value);
    let limit = limit.max(start);
    if text[start..].starts_with(['{', '['])
        && let Some(end) = bracketed(text, start)
    {
        return end;
    }
    if let Some(at) = question.quoted.iter().position(|quoted| quoted.range.start == start) {
        let several = if mention.parameter.of == Type::Array { question.quoted.len() } else { at + 1 };
        return end_of_run(question, &question.quoted[at..several]);
    }
    let value = &text[start..limit];
    let until = |pattern: &Pattern| pattern.find(value).map(|found| start + found.start());
    let parameter = mention.parameter;
    match mention.style {
        Style::Other => until(&WORD).unwrap_or(limit),
        Style::Colon => {
            let short =
                matches!(parameter.of, Type::Integer | Type::Number | Type::Boolean) || !parameter.choices.is_empty();
            let clause = if short || limit < text.len() { until(&CLAUSE) } else { None };
            clause.or_else(|| until(&LINE)).unwrap_or(limit)
        }
    }
}

/// Of the first quoted value and those that are joined to it.
fn end_of_run(question: &Question, quoted: &[Span]) -> usize {
    static JOINED: Pattern = Pattern::new(r"^\s*(?:,\s*and|,|and|&)\s*$");
    let mut end = quoted.first().map_or(0, |first| first.range.end);
    for next in quoted.iter().skip(1) {
        if !JOINED.is_match(&question.text[end..next.range.start]) {
            break;
        }
        end = next.range.end;
    }
    end
}

/// The text as the parameter's type wants it.
fn coerce(parameter: &Parameter, text: &str) -> Option<Value> {
    let inner = QUOTES.iter().find_map(|&(open, close)| text.strip_prefix(open)?.strip_suffix(close));
    let bare = inner.unwrap_or(text);
    match parameter.of {
        Type::Object => literal(text).filter(Value::is_object),
        Type::Array => literal(text).filter(Value::is_array).or_else(|| Some(list(parameter, text))),
        Type::Boolean => match bare.to_lowercase().trim_end_matches(['.', ',']) {
            "true" | "yes" | "on" | "1" | "y" => Some(true.into()),
            "false" | "no" | "off" | "0" | "n" => Some(false.into()),
            _ => None,
        },
        Type::Integer | Type::Number => number(parameter.of, bare),
        // "to the log file: {…}" is no file.
        Type::String if !parameter.choices.is_empty() && bare.starts_with(['{', '[']) => None,
        Type::String if !parameter.choices.is_empty() => {
            let stems = stems(bare, StopWords::Kept).into_iter().collect();
            best_choice(&parameter.choices, &bare.to_lowercase(), &stems, None).map(|hit| hit.choice.value.clone())
        }
        Type::String if inner.is_some() => Some(bare.into()),
        Type::String => Some(without_sentence_end(bare).into()),
        Type::Other => None,
    }
}

fn number(of: Type, text: &str) -> Option<Value> {
    let value = number_in(text).or_else(|| lexicon::number(&text.to_lowercase()))?;
    if of == Type::Integer { whole(value).map(Value::from) } else { Some(to_json(value)) }
}

fn list(parameter: &Parameter, text: &str) -> Value {
    static BETWEEN: Pattern = Pattern::new(r",\s*(?:and\s+)?|\s+and\s+");
    let item = |item: &str| match parameter.items {
        Type::Integer | Type::Number => number(parameter.items, item).unwrap_or_else(|| item.into()),
        Type::String | Type::Boolean | Type::Array | Type::Object | Type::Other => item.into(),
    };
    let marked = quoted(text);
    if text.starts_with(|c| QUOTES.iter().any(|(open, _)| *open == c)) && !marked.is_empty() {
        return marked.iter().map(|span| item(&span.text)).collect();
    }
    let items = BETWEEN.split(text).map(|item| item.trim().trim_matches(['"', '\''])).filter(|item| !item.is_empty());
    items.map(item).collect()
}

/// A period ends the sentence, unless it is part of a pattern or a name.
fn without_sentence_end(text: &str) -> &str {
    let is_pattern = !text.contains(char::is_whitespace) && text.contains(['*', '.']);
    if is_pattern && (text.contains('/') || !text.ends_with(['.', ','])) {
        return text;
    }
    text.trim_end_matches(['.', ',', ';', '?', '!'])
}
