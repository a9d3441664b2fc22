//! Objects that are a name and a type: "Ada (person)", "a person called Ada"; and relations between two names: "Ada knows
//! Bob", "from Ada to Bob, type knows".

use std::ops::Range;

use serde_json::{Map, Value};

use super::lists::says_none_of;
use super::{Evidence, Filler};
use crate::planner::lexicon::{ADJECTIVES, STOP};
use crate::planner::parameter::{Parameter, Type};
use crate::planner::pattern::Pattern;
use crate::planner::span::{Found, Span};
use crate::planner::words::{overlap, overlaps_any, stem};

/// How the three fields of a relation may be called.
const FROM: [&str; 5] = ["from", "source", "subject", "start", "parent"];
const TO: [&str; 6] = ["to", "target", "destination", "object", "end", "child"];
const TYPE: [&str; 8] = ["type", "kind", "category", "class", "relation", "label", "predicate", "relationship"];

impl Filler<'_> {
    /// An object for each name that has a type.
    pub(super) fn typed(&self, parameter: &Parameter) -> Option<(Value, Evidence)> {
        let texts = required_texts(parameter);
        let [name, kind] = texts[..] else { return None };
        if !kind.is_called(&TYPE) {
            return None;
        }
        let names = self.names();
        let mut typed: Vec<(&Span, String)> =
            names.iter().filter_map(|span| Some((*span, self.type_of(span)?))).collect();
        if let Some(of) = self.common_type().filter(|_| typed.is_empty()) {
            let written = names.iter().filter(|span| span.found == Found::Name);
            typed = written.map(|span| (*span, of.clone())).collect();
        }
        if typed.is_empty() {
            return None;
        }
        let object = |(span, of): &(&Span, String)| {
            let mut object = Map::new();
            object.insert(name.name.clone(), span.text.as_str().into());
            object.insert(kind.name.clone(), of.as_str().into());
            for list in parameter.fields.parameters.iter().filter(|each| each.required && each.of == Type::Array) {
                let others = |quoted: &&Span| {
                    typed.iter().all(|(span, of)| quoted.text != span.text && quoted.text != *of) && typed.len() == 1
                };
                let none = says_none_of(&self.question.lower, &list.spoken);
                let items = self.question.quoted.iter().filter(others).map(|quoted| Value::from(quoted.text.as_str()));
                object.insert(list.name.clone(), if none { Value::Array(Vec::new()) } else { items.collect() });
            }
            Value::from(object)
        };
        Some((typed.iter().map(object).collect(), Evidence::TYPED))
    }

    /// "Ada (person)", "Ada of type person", "Ada, a person", "a person called Ada".
    fn type_of(&self, name: &Span) -> Option<String> {
        static BEHIND: Pattern = Pattern::new(concat!(
            r#"(?i)^\s*(?:\(\s*(?:an? |of type |type:? )?([^()]+?)\s*\)|"#,
            r#",?\s*(?:\b(?:of|with|and|whose|has)\s+)*(?:the\s+|its\s+)?"#,
            r#"(?:[\w-]+\s+)?type\s*(?:is|of|=|:)?\s*"?'?([\w-]+(?: [\w-]+)?)"?'?\s*"#,
            r#"(?:[,.;]|\b(?:in|with|into|to|and|from|without|having|no)\b|$)|"#,
            r#",\s+(?:which is |is |that's )?(?:an?|the)\s+([\w-]+(?: [\w-]+)?)\s*"#,
            r#"(?:[,.;]|\b(?:in|with|into|to|and|from|without|having|no)\b|$))"#
        ));
        static BEFORE: Pattern = Pattern::new(concat!(
            r"(?i)\b(?:an?|the|new)\s+(?:new\s+)?([a-z][\w-]*)(?:\s+(?:entity|node|object))?",
            r"(?:\s+(?:named|called))?\s*:?\s*$"
        ));
        let text = &self.question.text;
        let found =
            BEHIND.captures(&text[name.range.end..]).and_then(|found| (1..=3).find_map(|group| found.get(group)));
        let behind = found.map(|found| found.as_str().trim().to_owned());
        let before = || BEFORE.captures(&text[..name.range.start]).map(|found| found[1].to_owned());
        let tells = |of: &String| {
            let stem = stem(&of.to_lowercase());
            !self.tool.objects.contains(&stem)
                && !ADJECTIVES.contains(of.to_lowercase().as_str())
                && !STOP.contains(of.to_lowercase().as_str())
                && !["entity", "node", "observation", "name", "new"].contains(&of.to_lowercase().as_str())
        };
        behind.filter(tells).or_else(|| before().filter(tells))
    }

    /// "both of type team", "create him as a person": of all names.
    fn common_type(&self) -> Option<String> {
        static TYPE_OF_ALL: Pattern = Pattern::new(concat!(
            r"(?i)\b(?:both|all|each|every one|him|her|it|them|these|this)\b[^.;:\x22]*?",
            r"\b(?:of (?:the )?type|as (?:an?|the)|as)\s+([a-z][\w-]*)"
        ));
        TYPE_OF_ALL.captures(&self.question.text).map(|found| found[1].to_owned())
    }

    /// Two names and what is between them.
    pub(super) fn edges(&self, parameter: &Parameter) -> Option<(Value, Evidence)> {
        let [from, to, of] = edge(parameter)?;
        let object = |from_name: &str, to_name: &str, relation: &str| {
            let mut edge = Map::new();
            edge.insert(from.name.clone(), from_name.into());
            edge.insert(to.name.clone(), to_name.into());
            edge.insert(of.name.clone(), relation.into());
            Value::from(edge)
        };
        let arrows = self.labelled_arrows();
        if !arrows.is_empty() {
            let objects = arrows.iter().map(|[one, other, relation]| object(one, other, relation));
            return Some((objects.collect(), Evidence::TYPED));
        }
        let triples = triples(&self.question.text);
        let names = self.names();
        let is_name = |end: &String| names.iter().any(|name| name.text == *end);
        // One alone may be chance, unless its ends are names.
        if triples.len() > 1 || triples.iter().any(|[one, other, _]| is_name(one) && is_name(other)) {
            let objects = triples.iter().map(|[one, other, relation]| object(one, other, relation));
            return Some((objects.collect(), Evidence::TYPED));
        }
        let (relation, place) = self.relation()?;
        let pairs = self.pairs();
        if pairs.len() > 1 {
            let objects = pairs.iter().map(|[one, other]| object(&one.text, &other.text, &relation));
            return Some((objects.collect(), Evidence::TYPED));
        }
        let ends: Vec<&Span> = self.names().into_iter().filter(|span| !overlap(&span.range, &place)).collect();
        let [one, other] = ends[..] else { return None };
        let behind = |span: &Span, word: &str| {
            let before = self.question.lower[..span.range.start].trim_end();
            before.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
        };
        let turned = behind(one, "to") && behind(other, "from");
        let (first, second) = if turned { (other, one) } else { (one, other) };
        Some((vec![object(&first.text, &second.text, &relation)].into(), Evidence::STRUCTURED))
    }

    /// "from Ada to Bob, and from Eve to Zoe".
    fn pairs(&self) -> Vec<[&Span; 2]> {
        let names = self.names();
        let pair = |pair: &[&Span]| -> Option<bool> {
            let [one, other] = pair else { return None };
            let before = self.question.lower[..one.range.start].ends_with("from ");
            Some(before && self.question.lower[one.range.end..other.range.start].trim() == "to")
        };
        names.windows(2).filter(|each| pair(each) == Some(true)).map(|each| [each[0], each[1]]).collect()
    }

    /// `A -> knows -> B`, `A --knows--> B`, `A -[knows]-> B`.
    fn labelled_arrows(&self) -> Vec<[String; 3]> {
        static LABELLED: Pattern = Pattern::new(concat!(
            r"(?<one>[\w.]+(?:-[\w.]+)*)\s*(?:-+>|=+>|-{2,}|-\[:?|\u{2192})\s*(?<of>[a-z]\w*)\s*\]?\s*",
            r"(?:-+>|=+>|\u{2192})\s*(?<other>[\w.]*\w(?:-\w+)*)"
        ));
        let names = self.names();
        let triple = |found: regex::Captures<'_>| {
            let [one, other, of] = ["one", "other", "of"].map(|name| found.name(name).map_or(0..0, |end| end.range()));
            let whole = |end: &Range<usize>| {
                let name = names.iter().find(|name| name.found == Found::Name && overlap(&name.range, end));
                name.map_or(end.clone(), |name| name.range.clone())
            };
            [whole(&one), whole(&other), of].map(|range| self.question.text[range].to_owned())
        };
        LABELLED.captures_iter(&self.question.text).map(triple).collect()
    }

    /// What a relation is called, and where that stands: `works_at`, "of type knows", "the manages relation", or a single
    /// word between two names.
    fn relation(&self) -> Option<(String, Range<usize>)> {
        static NAMED: Pattern = Pattern::new(concat!(
            r#"(?i)\b(?:type|relation(?:ship)?|edge|link|labell?ed|with|via)\s*"#,
            r#"(?:(?:of|the|type|relation(?:ship)?|called|named|is)\s+|[:=]\s*)*"#,
            r#"["'`]?([a-z][\w-]*)\b"#
        ));
        static BEFORE: Pattern = Pattern::new(r#"(?i)["'`]?\b([a-z][\w-]*)["'`]?\s+(?:relation(?:ship)?|link|edge)\b"#);
        static BETWEEN: Pattern =
            Pattern::new(r"(?i)^\s*(?:(?:is|was|are|were|isn't|not|no longer|now|also|still)\s+)*([a-z][\w-]*)\s*$");
        let text = &self.question.text;
        let names = self.names();
        let written = self.question.spans.iter().find(|span| {
            span.found == Found::Identifier
                && span.text.contains('_')
                && !names.iter().any(|name| overlap(&name.range, &span.range))
        });
        if let Some(span) = written {
            return Some((span.text.clone(), span.range.clone()));
        }
        let tells = |word: &regex::Match<'_>| {
            let lower = word.as_str().to_lowercase();
            let small = STOP.contains(lower.as_str()) || ADJECTIVES.contains(lower.as_str()) && lower.len() < 5;
            !small
                && !["relation", "relationship", "type", "delete", "remove", "create", "add", "new", "between"]
                    .contains(&lower.as_str())
        };
        let places: Vec<Range<usize>> =
            names.iter().filter(|name| name.found == Found::Name).map(|name| name.range.clone()).collect();
        let free = |word: &regex::Match<'_>| tells(word) && !overlaps_any(&word.range(), &places);
        let found = |pattern: &Pattern| {
            pattern
                .captures_iter(text)
                .filter_map(|found| found.get(1))
                .find(free)
                .map(|word| (word.as_str().to_owned(), word.range()))
        };
        let between = || {
            names.windows(2).find_map(|pair| {
                let [one, other] = pair else { return None };
                let word = BETWEEN.captures(&text[one.range.end..other.range.start])?.get(1).filter(tells)?;
                let start = one.range.end;
                Some((word.as_str().to_owned(), start + word.start()..start + word.end()))
            })
        };
        between().or_else(|| found(&NAMED)).or_else(|| found(&BEFORE))
    }

    /// What is quoted or has capitals, but for what the tool is about.
    fn names(&self) -> Vec<&Span> {
        let is_own =
            |span: &Span| !span.text.contains(' ') && self.tool.vocabulary.contains(&stem(&span.text.to_lowercase()));
        let is_name = |span: &&Span| matches!(span.found, Found::Name | Found::Quoted) && !is_own(span);
        let mut names: Vec<&Span> = Vec::new();
        for span in self.question.spans.iter().filter(is_name) {
            if !names.iter().any(|name| name.text == span.text) {
                names.push(span);
            }
        }
        names
    }
}

/// Relations that are written as such, each with its two ends: `a depends_on b`, `a -> b depends_on`.
fn triples(text: &str) -> Vec<[String; 3]> {
    static IN_A_ROW: Pattern = Pattern::new(concat!(
        r"(?<one>[A-Z][\w.]*(?: [A-Z][\w.]*)*|[\w.-]+) (?<of>[a-z]+(?:_[a-z]+)+) ",
        r"(?<other>[A-Z][\w.]*(?: [A-Z][\w.]*)*|[\w-]+)"
    ));
    static ARROW: Pattern = Pattern::new(concat!(
        r"(?<one>[A-Z][\w.]*(?: [A-Z][\w.]*)*|[\w.-]+) ?(?:-+|=+|\u{2192})>? ?",
        r"(?<other>[A-Z][\w.]*(?: [A-Z][\w.]*)*|[\w.-]+?)[ ,:(]+(?<of>[a-z]+(?:_[a-z]+)+)"
    ));
    let of = |pattern: &Pattern| -> Vec<[String; 3]> {
        let triple = |found: regex::Captures<'_>| ["one", "other", "of"].map(|name| found[name].to_owned());
        pattern.captures_iter(text).map(triple).collect()
    };
    let by_arrow = of(&ARROW);
    if by_arrow.is_empty() { of(&IN_A_ROW) } else { by_arrow }
}

/// Whether its objects are relations.
pub(super) fn is_edge(parameter: &Parameter) -> bool {
    edge(parameter).is_some()
}

/// From, to and type.
fn edge(parameter: &Parameter) -> Option<[&Parameter; 3]> {
    let texts = required_texts(parameter);
    let field = |names: &[&str]| texts.iter().copied().find(|each| each.is_called(names) && texts.len() == 3);
    let (from, to, of) = (field(&FROM)?, field(&TO)?, field(&TYPE)?);
    let differ = from.name != to.name && from.name != of.name && to.name != of.name;
    differ.then_some([from, to, of])
}

fn required_texts(parameter: &Parameter) -> Vec<&Parameter> {
    parameter.fields.parameters.iter().filter(|each| each.required && each.is_text()).collect()
}
