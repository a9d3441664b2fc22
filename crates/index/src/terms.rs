//! Text to terms: lower-cased words, identifiers both in parts and whole, lightly stemmed; and the numbers that stand
//! for terms in everything that is kept.
//!
//! There is no list of stop words: measured, it gained nothing that the weight of rare words does not already give.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Longer runs are encoded data, not something anybody asks for.
const MAX_TERM_BYTES: usize = 64;

/// Shorter words lose their meaning with their ending: `is`, `bus`, `red`.
const MIN_STEM_BYTES: usize = 3;

/// The number of each term, the same in all generations of a process. It only grows: a term that no chunk has any more
/// costs a few bytes until the process ends.
#[derive(Debug, Default)]
pub struct Vocabulary {
    /// Written for every document that is taken in, read for every query.
    numbers: Mutex<HashMap<Box<str>, u32>>,
}

impl Vocabulary {
    /// Numbers of what is known; what is not cannot be found either.
    pub(crate) fn known<'t>(&self, terms: impl IntoIterator<Item = &'t str>) -> Vec<Option<u32>> {
        let numbers = self.lock();
        terms.into_iter().map(|term| numbers.get(term).copied()).collect()
    }

    /// Numbers of all terms of a text, in their order.
    pub(crate) fn numbered(&self, text: &str, identifiers: Identifiers) -> Vec<u32> {
        let mut numbers = self.lock();
        let mut found = Vec::new();
        each_term(text, identifiers, |term| found.push(number_of(&mut numbers, term)));
        found
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, u32>> {
        // Nothing is left half done in a map that is only added to.
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What to take of an identifier that has several parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identifiers {
    WholeAndParts,
    Parts,
}

fn number_of(numbers: &mut HashMap<Box<str>, u32>, term: &str) -> u32 {
    if let Some(&number) = numbers.get(term) {
        return number;
    }
    // Four thousand million different terms do not fit into memory; the last number would be shared.
    let number = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    numbers.insert(term.into(), number);
    number
}

/// All terms of a text, repeated as often as they occur; the whole of an identifier comes before its parts.
pub(crate) fn terms_of(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    each_term(text, Identifiers::WholeAndParts, |term| terms.push(term.to_owned()));
    terms
}

/// `HTTPServer2` gives `httpserver2`, `http`, `server` and `2`.
fn each_term(text: &str, identifiers: Identifiers, mut take: impl FnMut(&str)) {
    // Both serve all words: a text has thousands.
    let (mut parts, mut lower) = (Vec::new(), String::new());
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()) {
        divide(word, &mut parts);
        if parts.len() > 1 && identifiers == Identifiers::WholeAndParts {
            lower_case(word.trim_matches('_'), &mut lower);
            if !lower.is_empty() {
                take(&lower);
            }
        }
        for part in &parts {
            lower_case(part, &mut lower);
            if !lower.is_empty() {
                take(stem(&lower));
            }
        }
    }
}

/// Leaves it empty for what is too long.
fn lower_case(word: &str, lower: &mut String) {
    lower.clear();
    if word.len() > MAX_TERM_BYTES {
        return;
    }
    if word.is_ascii() {
        lower.push_str(word);
        lower.make_ascii_lowercase();
    } else {
        lower.extend(word.chars().flat_map(char::to_lowercase));
    }
}

/// Where case, digits or underscores divide an identifier.
fn divide<'t>(word: &'t str, parts: &mut Vec<&'t str>) {
    parts.clear();
    let mut start = 0;
    let mut before = None;
    let mut rest = word.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let after = rest.peek().map(|&(_, c)| c);
        if before.is_some_and(|before| divides(before, c, after)) {
            parts.push(&word[start..at]);
            start = at;
        }
        before = Some(c);
    }
    parts.push(&word[start..]);
    parts.retain(|part| !part.starts_with('_'));
}

fn divides(before: char, c: char, after: Option<char>) -> bool {
    let starts_word = c.is_uppercase() && (before.is_lowercase() || after.is_some_and(char::is_lowercase));
    let changes_kind = before.is_numeric() != c.is_numeric();
    starts_word || changes_kind || before == '_' || c == '_' || is_ideograph(before) || is_ideograph(c)
}

/// Written without spaces: each stands for itself.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// English endings, as far as they can be taken off without a dictionary: `parse`, `parsing`, `parsed` → `pars`,
/// `queries` and `query` → `quer`. It is enough that question and text meet, what is left need not be a word.
pub fn stem(word: &str) -> &str {
    if word.len() <= MIN_STEM_BYTES || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    let word = without_tense(without_plural(word));
    if word.len() > MIN_STEM_BYTES { word.strip_suffix(['e', 'y']).unwrap_or(word) } else { word }
}

fn without_plural(word: &str) -> &str {
    if let Some(rest) = word.strip_suffix("ies").filter(|rest| rest.len() >= MIN_STEM_BYTES) {
        return rest;
    }
    if word.ends_with("sses") {
        return &word[..word.len() - "es".len()];
    }
    if ["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) {
        return word;
    }
    word.strip_suffix('s').unwrap_or(word)
}

fn without_tense(word: &str) -> &str {
    let Some(rest) = ["ing", "ied", "ed"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.len() >= MIN_STEM_BYTES))
    else {
        return word;
    };
    // `mapping` → `map`, but `calling` → `call`.
    let mut ends = rest.bytes().rev();
    match (ends.next(), ends.next()) {
        (Some(last), Some(before)) if last == before && !matches!(last, b'l' | b's' | b'z') => &rest[..rest.len() - 1],
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::{Identifiers, Vocabulary, terms_of};

    #[test]
    fn words_and_identifiers() {
        for (text, terms) in [
            ("", ""),
            ("HTTPServer", "httpserver http server"),
            ("parse_url(x)", "parse_url pars url x"),
            ("__init__", "init"),
            ("Foo::barBaz", "foo barbaz bar baz"),
            ("from-fn", "from fn"),
            ("OAuth2Token", "oauth2token o auth 2 token"),
            ("int8", "int8 int 8"),
            ("Größe ÜberTragung", "größe übertragung über tragung"),
            ("検索する", "検索する 検 索 す る"),
            ("_ - ...", ""),
        ] {
            assert_eq!(terms_of(text).join(" "), terms, "{text}");
        }
    }

    #[test]
    fn endings() {
        for (words, stem) in [
            ("parse parses parsed parsing", "pars"),
            ("query queries", "quer"),
            ("map maps mapped mapping", "map"),
            ("call calls called calling", "call"),
            ("copy copies copied copying", "cop"),
            ("class classes", "class"),
            ("code coding coded", "cod"),
            ("status", "status"),
            ("this", "this"),
            ("red", "red"),
            ("use", "use"),
        ] {
            for term in terms_of(words) {
                assert_eq!(term, stem, "{words}");
            }
        }
    }

    #[test]
    fn encoded_data_is_no_term() {
        assert_eq!(terms_of(&"x".repeat(65)), Vec::<String>::new());
    }

    #[test]
    fn a_term_keeps_its_number() {
        let vocabulary = Vocabulary::default();
        assert_eq!(vocabulary.numbered("router routes router", Identifiers::Parts), [0, 1, 0]);
        assert_eq!(vocabulary.known(["router", "nothing"]), [Some(0), None]);
        assert_eq!(vocabulary.len(), 2);
    }
}
