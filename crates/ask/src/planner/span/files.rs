//! Paths, patterns of files, versions and identifiers.

use std::ops::Range;

use super::{Finder, Found};
use crate::planner::lexicon::is_known_word;
use crate::planner::pattern::Pattern;
use crate::planner::words::{char_at, char_before, is_in_capitals, is_participle, is_word_char};

static PATH: Pattern = Pattern::new(concat!(
    r"(?:~|\.{1,2})?(?:[A-Za-z]:)?[\w.@*?{}~+-]*(?:[/\\][\w.@*?{},\[\]~+-]*)+",
    r"|(?<hidden>\.[a-z]\w{2,}(?:\.\w+)*\b)",
    r"|[\w*-]*\.?[\w*-]+\.(?:[A-Za-z][A-Za-z0-9]{0,5})\b|\*\.\w+|\b[A-Za-z][\w.-]+\*",
    r"|\b(?:Makefile|Dockerfile|LICENSE|LICENCE|README|CHANGELOG|Gemfile|Rakefile|Procfile|Jenkinsfile|Vagrantfile|",
    r"CODEOWNERS|VERSION|AUTHORS|CONTRIBUTORS|CONTRIBUTING|NOTICE|COPYING|SECURITY|Justfile|Brewfile|Pipfile|Containerfile)",
    r"(?:[-.][\w-]+)*\b"
));
/// "python files", ".yaml files".
static LANGUAGE: Pattern = Pattern::new(concat!(
    r"(?i)\b(python|rust|javascript|typescript|java|golang|go|ruby|markdown|yaml|json|html|css|toml|sql|shell|kotlin|",
    r"swift|php|tsx|jsx|ts|js|py|rs|rb|md|yml|kt|cpp|hpp|scss|vue|svelte|proto|tf) (?:source )?files?\b"
));
static ENDING: Pattern = Pattern::new(r"(\.[a-z][a-z0-9]{0,5}) files?\b");
static VERSION: Pattern = Pattern::new(r"\bv?\d+(?:\.\d+){2,}\b|\bv\d+\.\d+\b|\bHEAD(?:[~^]\d*)+");
/// Written as a number, and still a name.
static NAMED_VERSION: Pattern = Pattern::new(r"(?i)\b(?:tag|release|version|revision|branch)\s+(\d+\.\d+)\b");
/// A season, a range of years.
static YEARS: Pattern = Pattern::new(r"\d{4}[-–]\d{2,4}");
static IDENTIFIER: Pattern = Pattern::new(r"\bHEAD\b|#\w+|\b[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+\b|\b\w+(?:-\w+)*\b");

/// "git add ." and "in the current directory".
static HERE: Pattern = Pattern::new(concat!(
    r"(?:^|\s)(?<dot>\.{1,2})(?:\s|$)|",
    r"(?i)\b(?<words>(?:the|my|this|our) (?:(?:current|present) (?:working )?|working )?(?:directory|folder|dir)|",
    r"(?:the|my) cwd|where (?:i am|we are))(?:\s*(?:[,.;:!?]|$)|\s+(?:right now|now|please|and|with)\b)"
));

static HERE_WORDS: Pattern = Pattern::new(r"^this |current|present|working|cwd|where");

impl Finder<'_> {
    pub(super) fn files(&mut self) {
        for captures in PATH.captures_iter(self.text) {
            let Some(found) = captures.get(0) else { continue };
            let path = found.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?']);
            let range = found.start()..found.start() + path.len();
            let hidden = captures.name("hidden").is_none_or(|_| is_hidden(self.text, &found.range()));
            if hidden && self.is_free(&range) && is_path(self.text, &range) {
                self.take(range, Found::Path);
            }
        }
        for captures in HERE.captures_iter(self.text) {
            let Some(found) = captures.name("dot").or(captures.name("words")) else { continue };
            let is_folder = captures.name("dot").is_some() || HERE_WORDS.is_match(&found.as_str().to_lowercase());
            if is_folder && self.is_free(&found.range()) {
                let text = if found.as_str() == ".." { ".." } else { "." };
                self.take_as(found.range(), Found::Path, text.to_owned());
            }
        }
        for captures in LANGUAGE.captures_iter(self.text) {
            if let Some(language) = captures.get(1).filter(|language| self.is_free(&language.range())) {
                let pattern = format!("**/*.{}", ending(&language.as_str().to_lowercase()));
                self.take_as(language.range(), Found::Path, pattern);
            }
        }
        for captures in ENDING.captures_iter(self.text) {
            let Some(ending) = captures.get(1).filter(|ending| self.is_free(&ending.range())) else { continue };
            if !char_before(self.text, ending.start()).is_some_and(|c| is_word_char(c) || matches!(c, '*' | '/')) {
                self.take_as(ending.range(), Found::Path, format!("**/*{}", ending.as_str()));
            }
        }
    }

    pub(super) fn versions(&mut self) {
        for found in VERSION.find_iter(self.text) {
            if self.is_free(&found.range()) {
                self.take(found.range(), Found::Identifier);
            }
        }
        for captures in NAMED_VERSION.captures_iter(self.text) {
            if let Some(found) = captures.get(1).filter(|found| self.is_free(&found.range())) {
                self.take(found.range(), Found::Identifier);
            }
        }
        for found in YEARS.find_iter(self.text) {
            let joined = |c: char| is_word_char(c) || matches!(c, '/' | '-');
            let alone = !char_before(self.text, found.start()).is_some_and(|c| joined(c) || c == '.')
                && !char_at(self.text, found.end()).is_some_and(joined);
            if alone && self.is_free(&found.range()) {
                self.take(found.range(), Found::Identifier);
            }
        }
    }

    pub(super) fn identifiers(&mut self) {
        for found in IDENTIFIER.find_iter(self.text) {
            let text = found.as_str().trim_start_matches('#');
            if self.is_free(&found.range()) && is_identifier(found.as_str()) {
                self.take_as(found.range(), Found::Identifier, text.to_owned());
            }
        }
    }
}

/// `.env`, but neither the end of something nor "all .yaml files".
fn is_hidden(text: &str, range: &Range<usize>) -> bool {
    let continues = char_before(text, range.start).is_some_and(|c| is_word_char(c) || c == '.');
    !continues && !text[range.end..].starts_with(" file")
}

fn is_path(text: &str, range: &Range<usize>) -> bool {
    static NUMBERS: Pattern = Pattern::new(r"^[\d./]+$");
    static REGEX: Pattern = Pattern::new(r"\\[bdswBDSW](?:[+*?{\\)\]]|$)|^\\[bdswBDSW.(\[]");
    static INITIALS: Pattern = Pattern::new(r"^(?:[A-Za-z]\.)+[A-Za-z]?$");
    static EITHER_OR: Pattern = Pattern::new(r"^[A-Za-z]+/[A-Za-z]+$");
    let path = &text[range.clone()];
    let before = char_before(text, range.start);
    if path.chars().count() < 2 || before.is_some_and(|c| c.is_alphanumeric() || c == '$') {
        return false;
    }
    // "w/ two eggs".
    if path.len() == 2 && path.ends_with('/') && path.starts_with(char::is_alphabetic) {
        return false;
    }
    if REGEX.is_match(path) || path.ends_with('\\') || NUMBERS.is_match(path) || INITIALS.is_match(path) {
        return false;
    }
    let is_name = !path.contains(['/', '\\', '*']) && path.contains('.');
    if is_name {
        return has_ending(path);
    }
    !EITHER_OR.is_match(path) || before.is_none_or(|c| matches!(c, ' ' | '"' | '\'' | '(' | '='))
}

/// Whether what is behind the last period looks like the ending of a file's name.
fn has_ending(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default();
    let one_case =
        is_in_capitals(ending) || ending.chars().any(char::is_lowercase) && !ending.chars().any(char::is_uppercase);
    let mut start = name.chars();
    let is_initial = start.next().is_some_and(char::is_uppercase) && start.next() == Some('.');
    (name.starts_with('.') || (1..=5).contains(&ending.len())) && one_case && !is_initial
}

fn ending(language: &str) -> &str {
    match language {
        "python" => "py",
        "rust" => "rs",
        "javascript" => "js",
        "typescript" => "ts",
        "golang" => "go",
        "ruby" => "rb",
        "markdown" => "md",
        "shell" => "sh",
        "kotlin" => "kt",
        other => other,
    }
}

/// "git-added", "case-sensitively": words that were joined to say how something is.
fn describes(text: &str) -> bool {
    let last = text.rsplit('-').next().unwrap_or(text);
    let in_words = text.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    in_words && last != text && (is_participle(last) || last.len() > 4 && last.ends_with("ly") || last == "wise")
}

/// Letters with digits, or several parts; a name such as `Jean-Luc` is none, and neither is a word such as `to-do`.
fn is_identifier(text: &str) -> bool {
    static NAME: Pattern = Pattern::new(r"^[A-Z][a-z]+(?:-[A-Z][a-z]+)+$");
    static CAMEL: Pattern = Pattern::new(r"^[a-z]{2,}[A-Z]\w*$");
    static HEX: Pattern = Pattern::new(r"^[0-9a-f]{7,40}$");
    let mixed = text.chars().any(|c| c.is_ascii_digit()) && text.chars().any(|c| c.is_ascii_alphabetic());
    let in_parts = text.trim_matches('_').contains(['_', '-'])
        && !is_known_word(&text.to_lowercase().replace('-', ""))
        && !describes(text);
    let is_one = text.contains('.')
        || HEX.is_match(text) && !text.chars().all(|c| c.is_ascii_digit())
        || mixed
        || in_parts
        || text.starts_with('#')
        || text == "HEAD"
        || CAMEL.is_match(text);
    text.chars().count() > 1 && is_one && !NAME.is_match(text)
}
