//! The first line of a commit: which part of the project it is about, and what kind of thing it tells.

use crate::chunk::{Kind, says, words};

/// What is before the colon when it is not a part of the project: conventional commits, and what is said in passing.
const TYPES: [&str; 17] = [
    "build", "bugfix", "chore", "ci", "doc", "docs", "feat", "feature", "fix", "hotfix", "perf", "refactor", "revert",
    "style", "test", "tests", "wip",
];

/// A name of a part of the project has no more.
const MODULE_BYTES_MAX: usize = 64;

/// By the first word.
const FIRST: &[(&str, Kind)] = &[
    ("fix", Kind::Issue),
    ("fixes", Kind::Issue),
    ("fixed", Kind::Issue),
    ("bugfix", Kind::Issue),
    ("hotfix", Kind::Issue),
    ("revert", Kind::Issue),
    ("reverts", Kind::Issue),
    ("choose", Kind::Decision),
    ("decide", Kind::Decision),
    ("adopt", Kind::Decision),
    ("switch", Kind::Decision),
    ("migrate", Kind::Decision),
];

/// By words anywhere; the first that is there decides.
const ANYWHERE: &[(&str, Kind)] = &[
    ("bug", Kind::Issue),
    ("regression", Kind::Issue),
    ("decision", Kind::Decision),
    ("chosen", Kind::Decision),
    ("instead of", Kind::Decision),
    ("in favor of", Kind::Decision),
    ("in favour of", Kind::Decision),
    ("rule", Kind::Rule),
    ("rules", Kind::Rule),
    ("convention", Kind::Rule),
    ("conventions", Kind::Rule),
    ("guidelines", Kind::Rule),
    ("pattern", Kind::Pattern),
    ("patterns", Kind::Pattern),
];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Subject<'s> {
    /// The type of a conventional commit, as it is written.
    kind_word: Option<&'s str>,
    pub(super) module: Option<&'s str>,
    rest: &'s str,
}

impl<'s> Subject<'s> {
    /// `fix(auth)!: lock`, `auth: lock`, or just a sentence.
    pub(super) fn read(line: &'s str) -> Self {
        let sentence = Self { kind_word: None, module: None, rest: line };
        let Some((before, rest)) = line.split_once(": ") else { return sentence };
        let before = before.strip_suffix('!').unwrap_or(before);
        let (word, scope) = match before.strip_suffix(')').and_then(|before| before.split_once('(')) {
            Some((word, scope)) => (word, Some(scope)),
            None => (before, None),
        };
        let is_type = TYPES.iter().any(|known| word.eq_ignore_ascii_case(known));
        match scope.filter(|scope| is_module(scope)) {
            Some(scope) if is_type => Self { kind_word: Some(word), module: Some(scope), rest },
            None if is_type => Self { kind_word: Some(word), module: None, rest },
            None if scope.is_none() && is_module(word) => Self { kind_word: None, module: Some(word), rest },
            Some(_) | None => sentence,
        }
    }

    pub(super) fn kind(&self) -> Kind {
        let words = words(self.rest);
        // To write a word right is nothing to remember.
        if says(&words, "typo") || says(&words, "typos") {
            return Kind::Note;
        }
        let first =
            |word: &str| FIRST.iter().find(|(known, _)| word.eq_ignore_ascii_case(known)).map(|(_, kind)| *kind);
        let by_type = || self.kind_word.and_then(first);
        let by_first = || words.split_whitespace().next().and_then(first);
        // `drop MongoDB for PostgreSQL`, `replace one with another`.
        let exchanged = [(" drop ", " for "), (" replace ", " with "), (" move from ", " to ")];
        let exchange = || {
            let is_one = exchanged.iter().any(|(verb, other)| words.starts_with(verb) && words.contains(other));
            is_one.then_some(Kind::Decision)
        };
        let anywhere = || ANYWHERE.iter().find(|(phrase, _)| says(&words, phrase)).map(|(_, kind)| *kind);
        let refactored = || {
            let is_one = self.kind_word.is_some_and(|word| word.eq_ignore_ascii_case("refactor"));
            is_one.then_some(Kind::Pattern)
        };
        by_type().or_else(by_first).or_else(exchange).or_else(anywhere).or_else(refactored).unwrap_or(Kind::Note)
    }
}

/// One word such as `auth`, `net/http` or `web-fetch`.
fn is_module(name: &str) -> bool {
    let is_good = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '@');
    !name.is_empty() && name.len() <= MODULE_BYTES_MAX && name.chars().all(is_good)
}

#[cfg(test)]
mod tests {
    use super::Subject;

    #[test]
    fn subjects_say_what_they_are_about() {
        for (line, module, kind) in [
            ("Choose PostgreSQL for the task store", None, "decision"),
            ("Fix token refresh race with a mutex in the auth module", None, "issue"),
            ("Document the nightly invoice import", None, "note"),
            ("feat(auth): sign people in", Some("auth"), "note"),
            ("fix(auth)!: lock the refresh", Some("auth"), "issue"),
            ("fix: lock the refresh", None, "issue"),
            ("auth: fix the refresh", Some("auth"), "issue"),
            ("net/http: adopt the new client", Some("net/http"), "decision"),
            ("refactor(store): one transaction", Some("store"), "pattern"),
            ("refactor: fix the layering", None, "issue"),
            ("docs: fix typo", None, "note"),
            ("Fix typos", None, "note"),
            ("Drop MongoDB for PostgreSQL", None, "decision"),
            ("Drop unused code", None, "note"),
            ("Use rten instead of ort", None, "decision"),
            ("Add a rule for names", None, "rule"),
            ("Extract the retry pattern", None, "pattern"),
            ("Revert \"Add it\"", None, "issue"),
            ("Add debugging output", None, "note"),
            ("Note to self: never again", None, "note"),
            ("WIP: more", None, "note"),
            ("", None, "note"),
        ] {
            let subject = Subject::read(line);
            assert_eq!((subject.module, subject.kind().as_str()), (module, kind), "{line}");
        }
    }
}
