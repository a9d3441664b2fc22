//! Text for a parameter that takes a regular expression: escaped where it is meant literally, tied to where it stands in
//! a line where the question says so.

use regex::Regex;

use crate::planner::parameter::{Kind, Parameter};
use crate::planner::pattern::Pattern;
use crate::planner::question::Question;
use crate::planner::span::Span;

/// As the parameter wants it.
pub(super) fn as_regex(parameter: &Parameter, span: &Span, question: &Question) -> String {
    static BEGINS: Pattern = Pattern::new(
        r"\blines?\b[^.;:]*\b(?:begi|star)\w*\s+(?:with|by)\s+(?:the\s+)?(?:(?:words?|text|string|literal)\s+)?$",
    );
    static ENDS: Pattern = Pattern::new(
        r"\blines?\b[^.;:]*\b(?:ends?|ending)\s+(?:with|in|on|by)\s+(?:the\s+)?(?:(?:words?|text|string|literal)\s+)?$",
    );
    let text = &span.text;
    if parameter.kind != Kind::Term || !parameter.said.contains("regex") && !parameter.said.contains("regular expr") {
        return text.clone();
    }
    let before = &question.lower[..span.range.start];
    let text = if is_literal(text, question) { escaped(text) } else { text.clone() };
    if BEGINS.is_match(before) && !text.starts_with('^') {
        format!("^{text}")
    } else if ENDS.is_match(before) && !text.ends_with('$') {
        format!("{text}$")
    } else {
        text
    }
}

/// The question says so, or it is no regular expression: `set_timeout(`.
fn is_literal(text: &str, question: &Question) -> bool {
    static LITERAL: Pattern = Pattern::new(concat!(
        r"\bliteral(?:ly)?\b|\bverbatim\b|\bplain text\b|\bfixed[- ]string\b|\b(?:no|not an?|without) reg(?:ex|ular)|",
        r"\bexact (?:text|string|phrase|characters)\b|\b(?:text|string) exactly\b|\bas (?:a )?plain (?:text|string)\b"
    ));
    text.contains(SIGNS) && (LITERAL.is_match(&question.lower) || Regex::new(text).is_err())
}

/// What has a meaning in a regular expression.
const SIGNS: [char; 14] = ['\\', '.', '+', '*', '?', '(', ')', '[', ']', '{', '}', '|', '^', '$'];

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 4);
    for c in text.chars() {
        if SIGNS.contains(&c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
