//! What a text is, by the words that people use for it: in headings, in names of files, and where an entry says so
//! itself.

use super::Kind;

/// What an entry or a page calls itself.
const NAMES: &[(&str, Kind)] = &[
    ("pattern", Kind::Pattern),
    ("patterns", Kind::Pattern),
    ("idiom", Kind::Pattern),
    ("rule", Kind::Rule),
    ("rules", Kind::Rule),
    ("convention", Kind::Rule),
    ("guideline", Kind::Rule),
    ("best practice", Kind::Rule),
    ("constraint", Kind::Rule),
    ("decision", Kind::Decision),
    ("decisions", Kind::Decision),
    ("adr", Kind::Decision),
    ("issue", Kind::Issue),
    ("issues", Kind::Issue),
    ("bug", Kind::Issue),
    ("problem", Kind::Issue),
    ("fix", Kind::Issue),
    ("error", Kind::Issue),
    ("failure", Kind::Issue),
    ("incident", Kind::Issue),
    ("blocker", Kind::Issue),
    ("todo", Kind::Issue),
    ("fixme", Kind::Issue),
    ("note", Kind::Note),
    ("notes", Kind::Note),
];

/// What a heading or the name of a file says about the text below. The first that is there decides.
const HEADINGS: &[(&str, Kind)] = &[
    ("decision", Kind::Decision),
    ("decisions", Kind::Decision),
    ("rule", Kind::Rule),
    ("rules", Kind::Rule),
    ("convention", Kind::Rule),
    ("conventions", Kind::Rule),
    ("guideline", Kind::Rule),
    ("guidelines", Kind::Rule),
    ("best practice", Kind::Rule),
    ("best practices", Kind::Rule),
    ("style guide", Kind::Rule),
    ("coding standards", Kind::Rule),
    ("dos and donts", Kind::Rule),
    ("pattern", Kind::Pattern),
    ("patterns", Kind::Pattern),
    ("known issues", Kind::Issue),
    ("issues", Kind::Issue),
    ("bugs", Kind::Issue),
    ("problems", Kind::Issue),
    ("troubleshooting", Kind::Issue),
    ("pitfalls", Kind::Issue),
    ("gotchas", Kind::Issue),
    ("postmortem", Kind::Issue),
    ("postmortems", Kind::Issue),
    ("post mortem", Kind::Issue),
    ("incident", Kind::Issue),
    ("incidents", Kind::Issue),
];

/// "Reporting bugs" is about how to tell somebody, not about bugs.
const ABOUT_REPORTS: &[&str] = &["report", "reporting", "reports", "submit", "submitting", "template", "tracker"];

/// Words that make a sentence a rule.
const NORMATIVE: &[&str] = &["must", "never", "always", "do not", "dont", "shall", "avoid", "only use"];

/// By the word that something uses for itself; `None` for any other word.
pub(super) fn named(name: &str) -> Option<Kind> {
    let words = words(name);
    NAMES.iter().find(|(known, _)| words.trim() == *known).map(|(_, kind)| *kind)
}

pub(super) fn of_heading(heading: &str) -> Option<Kind> {
    let words = words(heading);
    let (_, kind) = HEADINGS.iter().find(|(phrase, _)| says(&words, phrase))?;
    let about_reports = *kind == Kind::Issue && ABOUT_REPORTS.iter().any(|word| says(&words, word));
    (!about_reports).then_some(*kind)
}

/// Whether a sentence says what must be.
pub(super) fn is_normative(sentence: &str) -> bool {
    let words = words(sentence);
    NORMATIVE.iter().any(|phrase| says(&words, phrase))
}

/// Lower case, one space between two words and at either end. An apostrophe is no end of a word.
pub(crate) fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    words.push(' ');
    for character in text.chars().filter(|character| !matches!(character, '\'' | '’')) {
        if character.is_alphanumeric() {
            words.extend(character.to_lowercase());
        } else if !words.ends_with(' ') {
            words.push(' ');
        }
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

/// Whether [`words`] have these in a row.
pub(crate) fn says(words: &str, phrase: &str) -> bool {
    words.match_indices(phrase).any(|(at, _)| words[..at].ends_with(' ') && words[at + phrase.len()..].starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::{Kind, is_normative, named, of_heading, words};

    #[test]
    fn headings_say_what_is_below() {
        for (heading, kind) in [
            ("Decision", Some(Kind::Decision)),
            ("Design decisions", Some(Kind::Decision)),
            ("Coding Conventions", Some(Kind::Rule)),
            ("best_practices", Some(Kind::Rule)),
            ("Do's and don'ts", Some(Kind::Rule)),
            ("Error-handling patterns", Some(Kind::Pattern)),
            ("Known issues", Some(Kind::Issue)),
            ("2024-05-01 Post-mortem: login", Some(Kind::Issue)),
            ("Reporting bugs", None),
            ("Issue templates", None),
            ("Rulers", None),
            ("Installation", None),
            ("", None),
        ] {
            assert_eq!(of_heading(heading), kind, "{heading}");
        }
    }

    #[test]
    fn names_are_words_that_are_known() {
        for (name, kind) in [
            ("Rule", Some(Kind::Rule)),
            ("best-practice", Some(Kind::Rule)),
            ("best_practice", Some(Kind::Rule)),
            ("ADR", Some(Kind::Decision)),
            ("bug", Some(Kind::Issue)),
            ("note", Some(Kind::Note)),
            ("milestone", None),
            ("the rule", None),
        ] {
            assert_eq!(named(name), kind, "{name}");
        }
    }

    #[test]
    fn sentences_that_say_what_must_be() {
        assert!(is_normative("Handlers must validate input"));
        assert!(is_normative("Don't panic"));
        assert!(!is_normative("The mustard is yellow"));
        assert_eq!(words("  Fix: the API-key’s  bug! "), " fix the api keys bug ");
    }
}
