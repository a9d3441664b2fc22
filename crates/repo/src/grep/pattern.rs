//! A regular expression that can be searched for: compiled as ripgrep compiles it, with bounds of our own. Its engine
//! takes time in proportion to the text, at worst times the places that a match can be at; so those are bounded, too.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::hir::{Hir, HirKind};

/// Bytes that a compiled pattern may take; ripgrep allows a hundred megabytes. `\w{1,100}` takes eight.
const COMPILED_MAX: usize = 10 * 1024 * 1024;

/// Bytes for what the engine remembers while it searches, for each thread.
const CACHE_MAX: usize = 8 * 1024 * 1024;

/// How deep groups may be nested; parsing recurses.
const NESTING_MAX: u32 = 100;

/// Places that a match can be at. `.{0,500}` has 500, `(.{0,99}){0,99}` nearly ten thousand: in the worst case, 64 KB of
/// text then take a minute, and nobody can stop the engine in the middle. With a thousand it is a second or two.
const PLACES_MAX: u64 = 1000;

/// A pattern that can be searched for.
#[derive(Debug, Clone)]
pub struct Pattern(RegexMatcher);

/// Whether capital and small letters are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Sensitive,
    Insensitive,
}

/// Why a pattern is none, in the words of the engine.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPattern(String);

impl Pattern {
    pub fn new(pattern: &str, case: Case) -> Result<Self, InvalidPattern> {
        let parsed = regex_syntax::ParserBuilder::new().utf8(false).nest_limit(NESTING_MAX).build().parse(pattern);
        // What cannot be parsed is refused below, in the same words.
        if parsed.is_ok_and(|parsed| places(&parsed) > PLACES_MAX) {
            let reason = format!("the repetitions multiply to more than {PLACES_MAX}");
            return Err(InvalidPattern(reason));
        }
        RegexMatcherBuilder::new()
            .multi_line(true)
            .case_insensitive(case == Case::Insensitive)
            .line_terminator(Some(b'\n'))
            // Files with one are not searched.
            .ban_byte(Some(b'\0'))
            .size_limit(COMPILED_MAX)
            .dfa_size_limit(CACHE_MAX)
            .nest_limit(NESTING_MAX)
            .build(pattern)
            .map(Self)
            .map_err(|error| InvalidPattern(error.to_string()))
    }

    /// One for each thread: they share no memory to search with.
    pub(super) fn matcher(&self) -> RegexMatcher {
        self.0.clone()
    }
}

/// How often a character is written in the pattern once its counted repetitions are written out.
fn places(pattern: &Hir) -> u64 {
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min.max(1));
            places(&repetition.sub).saturating_mul(times.into())
        }
        HirKind::Capture(capture) => places(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(places).fold(0, u64::saturating_add),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn what_is_no_pattern_is_refused_with_a_reason() {
        for pattern in ["[invalid(", "[z-a]", "(?<n", "(", "a{2,1}", "a\nb", "a\0b", r"\p{Nonsense}", r"(a)\1", "(?=a)"]
        {
            let refused = Pattern::new(pattern, Case::Insensitive).unwrap_err();
            assert!(!refused.to_string().is_empty(), "{pattern}");
        }
    }

    #[test]
    fn what_people_search_for_is_not_too_large() {
        for pattern in [
            r"\w+@\w+\.\w{2,4}",
            r"\b\w{3,30}\s+\w{3,30}\b",
            "[a-zA-Z_][a-zA-Z0-9_]{0,62}",
            ".{0,200}x.{0,500}",
            "ß|ſ|K",
            r"\w{1,100}",
        ] {
            assert!(Pattern::new(pattern, Case::Insensitive).is_ok(), "{pattern}");
        }
    }

    #[test]
    fn hostile_patterns_are_refused_soon() {
        let classes = format!("[{}]{{900}}", r"\pL".repeat(60));
        let deep = format!("{}a{}", "(".repeat(101), ")".repeat(101));
        for pattern in
            [r"(?:[\pL\pN\pS]{1,999}){999}", &classes, "((a{0,100}){0,100}){0,100}", "(.{0,99}){0,99}", &deep]
        {
            let start = Instant::now();
            assert!(Pattern::new(pattern, Case::Insensitive).is_err(), "{pattern}");
            assert!(start.elapsed() < Duration::from_secs(5), "{pattern}: {:?}", start.elapsed());
        }
    }
}
