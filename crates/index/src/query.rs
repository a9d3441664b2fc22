//! What a question is: the name of something, or words about it.

use std::collections::BTreeMap;

use crate::terms::terms_of;

/// A name in prose has to be at least this long: `e.g` is none.
const MIN_NAME_BYTES: usize = 3;

/// What may stand before a name in code.
const KEYWORDS: &[&str] = &[
    "class",
    "const",
    "def",
    "enum",
    "fn",
    "func",
    "function",
    "impl",
    "interface",
    "macro",
    "method",
    "module",
    "package",
    "struct",
    "trait",
    "type",
    "var",
];

/// What qualifies a name, in one language or another: `::`, `->`, `.`, `#`, `/`.
const QUALIFYING: [char; 6] = [':', '-', '>', '.', '#', '/'];

/// A question, taken apart once.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub(crate) manner: Manner,
    /// Each term once, with how often it occurs.
    pub(crate) terms: Vec<(String, f32)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Manner {
    /// `FromRequest`, `Foo::bar`, `fn parse_url`, `a.b.c`, one word.
    Symbol(Name),
    /// Words; some of them may be names.
    Prose(Vec<Name>),
}

/// What something is called, and what that is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) last: String,
    /// What stands before it: `Foo` of `Foo::bar`.
    pub(crate) part_of: Option<String>,
}

/// How well a definition's name fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// But for upper and lower case, or for what it is part of.
    Loose,
    Exact,
}

impl Query {
    pub fn new(text: &str) -> Self {
        let mut counts = BTreeMap::new();
        for term in terms_of(text) {
            *counts.entry(term).or_insert(0.0) += 1.0;
        }
        Self { manner: Manner::of(text), terms: counts.into_iter().collect() }
    }

    /// Those that could be defined somewhere.
    pub(crate) fn names(&self) -> &[Name] {
        match &self.manner {
            Manner::Symbol(name) => std::slice::from_ref(name),
            Manner::Prose(names) => names,
        }
    }
}

impl Manner {
    fn of(text: &str) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        let symbol = match words[..] {
            [word] => Name::parse(word),
            [keyword, word] if KEYWORDS.contains(&keyword) => Name::parse(word),
            _ => None,
        };
        symbol.map_or_else(|| Self::Prose(names_in(&words)), Self::Symbol)
    }
}

fn names_in(words: &[&str]) -> Vec<Name> {
    let is_outside = |c: char| !c.is_alphanumeric() && c != '_';
    let mut names = Vec::new();
    for word in words {
        let name = Name::parse(word.trim_matches(is_outside)).filter(|name| {
            name.last.len() >= MIN_NAME_BYTES && (name.part_of.is_some() || is_written_as_code(&name.last))
        });
        if let Some(name) = name.filter(|name| !names.contains(name)) {
            names.push(name);
        }
    }
    names
}

/// Words of a sentence have no underscores and no capitals inside.
fn is_written_as_code(word: &str) -> bool {
    let inner = word.trim_matches('_');
    let mut letters = inner.chars();
    let starts_upper = letters.next().is_some_and(char::is_uppercase);
    let has_lower = inner.chars().any(char::is_lowercase);
    inner.contains('_') || (has_lower && letters.any(char::is_uppercase)) || (!starts_upper && inner.len() < word.len())
}

impl Name {
    /// `None` for what is no identifier, qualified or not. Ours are ASCII: languages without spaces would be names.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end_matches("()");
        let is_name = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        // A kebab is no name; what points at a member is.
        let text = text.replace("->", ".");
        let mut parts: Vec<&str> = text.split("::").flat_map(|part| part.split(['.', '#', '/'])).collect();
        if !parts.iter().all(|part| is_name(part)) {
            return None;
        }
        let last = parts.pop()?.to_owned();
        Some(Self { last, part_of: parts.pop().map(str::to_owned) })
    }

    /// `symbol` is what a chunk defines, several of them with commas between: `Router::route, Router::nest`.
    pub(crate) fn fit(&self, symbol: &str) -> Option<Fit> {
        symbol.split(',').filter_map(|defined| self.fit_one(defined.trim())).max()
    }

    fn fit_one(&self, defined: &str) -> Option<Fit> {
        let (before, last) = split_last(defined);
        if !last.eq_ignore_ascii_case(&self.last) {
            return None;
        }
        let is_part = self.part_of.as_ref().is_none_or(|part_of| split_last(before).1.eq_ignore_ascii_case(part_of));
        Some(if is_part && last == self.last { Fit::Exact } else { Fit::Loose })
    }
}

/// The last name of a qualified one, and what stands before it.
fn split_last(text: &str) -> (&str, &str) {
    // Each definition of a common name is asked, so it allocates nothing.
    match text.rfind(QUALIFYING) {
        Some(at) => (text[..at].trim_end_matches(QUALIFYING), &text[at + 1..]),
        None => ("", text),
    }
}

#[cfg(test)]
mod tests {
    use super::{Fit, Manner, Name, Query};

    #[test]
    fn names_and_prose() {
        for (text, manner) in [
            ("FromRequest", "symbol FromRequest"),
            ("parse_url()", "symbol parse_url"),
            ("Foo::bar", "symbol Foo bar"),
            ("a.b.c", "symbol b c"),
            ("request->headers", "symbol request headers"),
            ("from-fn", "prose"),
            ("router", "symbol router"),
            ("fn parse_url", "symbol parse_url"),
            ("src/routing/mod", "symbol routing mod"),
            ("how are routes registered", "prose"),
            ("how does FromRequest work, e.g. in axum?", "prose FromRequest"),
            ("what calls `Router::route` in parse_url", "prose Router route, parse_url"),
            ("since 3.11", "prose"),
            ("JSON over HTTP", "prose"),
            ("検索", "prose"),
            ("", "prose"),
        ] {
            assert_eq!(shown(text), manner, "{text}");
        }
    }

    #[test]
    fn terms_are_counted() {
        let terms = Query::new("route of routes").terms;
        assert_eq!(terms, [("of".to_owned(), 1.0), ("rout".to_owned(), 2.0)]);
    }

    #[test]
    fn definitions_fit() {
        for (name, symbol, fit) in [
            ("Router", "Router", Some(Fit::Exact)),
            ("router", "Router", Some(Fit::Loose)),
            ("route", "Router::route, Router::nest", Some(Fit::Exact)),
            ("Router::nest", "Router::route, Router::nest", Some(Fit::Exact)),
            ("Other::nest", "Router::nest", Some(Fit::Loose)),
            ("Router", "Router::nest", None),
            ("Rout", "Router", None),
        ] {
            assert_eq!(Name::parse(name).unwrap().fit(symbol), fit, "{name} {symbol}");
        }
    }

    fn shown(text: &str) -> String {
        let name = |name: &Name| {
            format!("{}{}", name.part_of.as_ref().map_or(String::new(), |of| of.clone() + " "), name.last)
        };
        match Query::new(text).manner {
            Manner::Symbol(symbol) => format!("symbol {}", name(&symbol)),
            Manner::Prose(names) => {
                format!("prose {}", names.iter().map(name).collect::<Vec<_>>().join(", ")).trim_end().to_owned()
            }
        }
    }
}
