//! What is to be written into a file, without quotation marks around it: "put X into notes.txt", "replace it with X".

use std::ops::Range;

use super::{Evidence, Filler};
use crate::planner::deed::Deed;
use crate::planner::lexicon::GLUE;
use crate::planner::parameter::{Kind, Parameter};
use crate::planner::pattern::Pattern;
use crate::planner::span::{Found, Span};
use crate::planner::words::{overlap, plain_words};

impl Filler<'_> {
    /// Only where a path says into what.
    pub(super) fn written(&mut self) {
        let deeds = self.question.request.deeds;
        let is_content = |each: &&Parameter| {
            each.kind == Kind::Text && each.is_text() && each.is_called(&["content", "text", "body"])
        };
        let Some(parameter) = self.open().into_iter().find(is_content) else { return };
        let takes_path = self.shape.parameters.iter().any(|each| each.kind == Kind::Path && each.is_text());
        let path = self.question.spans.iter().find(|span| span.found == Found::Path);
        let Some(path) = path.filter(|_| takes_path && (deeds.has(Deed::Create) || deeds.has(Deed::Update))) else {
            return;
        };
        let (text, ranges) = match self.lines() {
            Some(lines) => lines,
            None => match self.unquoted(path) {
                Some(range) => (self.question.text[range.clone()].to_owned(), vec![range]),
                None => return,
            },
        };
        self.set(parameter, text.into(), Evidence::NAMED);
        for range in ranges {
            self.take(range);
        }
    }

    /// "two lines: "a" and "b"".
    fn lines(&self) -> Option<(String, Vec<Range<usize>>)> {
        static LINES: Pattern = Pattern::new(r"\blines\b");
        let quoted = &self.question.quoted;
        (quoted.len() > 1 && LINES.is_match(&self.question.lower)).then(|| {
            let lines: Vec<&str> = quoted.iter().map(|span| span.text.as_str()).collect();
            (lines.join("\n"), quoted.iter().map(|span| span.range.clone()).collect())
        })
    }

    /// Between verb and path, or behind the path.
    fn unquoted(&self, path: &Span) -> Option<Range<usize>> {
        static BEFORE: Pattern = Pattern::new(concat!(
            r"(?i)\b(?:write|save|put|store|dump|stick|set)\s+(\S.*?)\s+(?:in|into|to|as|under|inside)\s+",
            r"(?:(?:the|a|my|file|sandbox|named|called)\s+)*$"
        ));
        static BEHIND: Pattern = Pattern::new(concat!(
            r"(?i)^[^:]*?\b(?:with|to (?:be|say|read|contain)|(?:should|must) (?:say|read|contain)|",
            r"contains?|containing|saying):?\s+(?:(?:just|only|simply)\s+)?(?:(?:the )?(?:text|contents?|words?|line)\s+)?(\S.*?)[.!]?$"
        ));
        if !self.question.quoted.is_empty() {
            return None;
        }
        let text = &self.question.text;
        let before =
            BEFORE.captures(&text[..path.range.start]).and_then(|found| found.get(1)).map(|found| found.range());
        let behind = || {
            let found = BEHIND.captures(&text[path.range.end..])?.get(1)?;
            Some(path.range.end + found.start()..path.range.end + found.end())
        };
        let says_something = |range: &Range<usize>| {
            !plain_words(&text[range.clone()]).iter().all(|word| GLUE.contains(word.as_str()))
                && !self.used.iter().any(|used| overlap(used, range))
        };
        before.or_else(behind).filter(says_something)
    }
}
