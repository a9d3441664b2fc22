//! Revisions of version control: two of them as the range that a comparison takes, and "the newest commit".

use super::{Evidence, Filler};
use crate::planner::lexicon::{ADJECTIVES, BORDERS};
use crate::planner::parameter::Parameter;
use crate::planner::pattern::Pattern;
use crate::planner::words::any_stem;

impl Filler<'_> {
    /// Before single values are assigned, which would take one end of a range.
    pub(super) fn revisions(&mut self) {
        let of_commits = any_stem(&self.tool.texts, &["commit", "branch", "revision"]);
        if !of_commits || !self.tool.deeds.changing().is_empty() {
            return;
        }
        for parameter in self.open().into_iter().filter(|each| each.is_text() && each.required) {
            if parameter.is_called(&["target", "range", "revision", "revisions"]) {
                self.range(parameter);
            }
            if parameter.is_called(&["revision", "commit", "ref", "rev"]) && !self.has(parameter) {
                self.newest(parameter);
            }
        }
    }

    /// "between A and B", "from A to B", "compare A with B": `A..B`, for a tool that compares.
    fn range(&mut self, parameter: &Parameter) {
        static ENDS: Pattern = Pattern::new(concat!(
            r"(?i)\b(?:(?:between|compare|diff|differences? of)\s+(?:(?:the|branch(?:es)?|commits?|tags?|revisions?|releases?|versions?)\s+)*",
            r"(?<one>[a-z0-9][\w./~^-]*)\s+(?:and|with|to|against|vs\.?|versus)\s+|",
            r"from\s+(?:(?:the|branch|commit|tag|revision|release|version)\s+)*(?<start>[a-z0-9][\w./~^-]*)\s+to\s+)",
            r"(?:(?:the|branch|commit|tag|revision|release|version)\s+)*(?<other>[a-z0-9][\w./~^-]*)"
        ));
        static FILE: Pattern = Pattern::new(r"\w\.[A-Za-z]\w{0,5}$");
        let compares = any_stem(&self.tool.texts, &["diff", "difference", "compare", "comparison"]);
        let Some(found) = ENDS.captures(&self.question.text).filter(|_| compares) else { return };
        let Some((one, other)) = found.name("one").or(found.name("start")).zip(found.name("other")) else { return };
        let revision = |end: &regex::Match<'_>| {
            let name = end.as_str().trim_end_matches(['.', ',', '/']).to_owned();
            let lower = name.to_lowercase();
            let is_word = BORDERS.contains(lower.as_str()) || ADJECTIVES.contains(lower.as_str());
            let is_none = is_word || ["index", "tree", "disk", "here", "head's"].contains(&lower.as_str());
            (!is_none && !FILE.is_match(&name)).then_some(name)
        };
        if let Some((from, to)) = revision(&one).zip(revision(&other)) {
            self.set(parameter, format!("{from}..{to}").into(), Evidence::TYPED);
            self.take(one.range());
            self.take(other.range());
        }
    }

    /// "the newest commit" is `HEAD`, where no other is named.
    fn newest(&mut self, parameter: &Parameter) {
        static NEWEST: Pattern =
            Pattern::new(r"\b(?:newest|latest|last|most recent|current|topmost)\s+(?:commit|revision)\b(?:[^\w']|$)");
        static NAMED: Pattern = Pattern::new(r"\b(?:HEAD|[0-9a-f]{7,40})\b");
        let found = NEWEST.find(&self.question.lower).filter(|_| !NAMED.is_match(&self.question.text));
        if let Some(found) = found {
            self.set(parameter, "HEAD".into(), Evidence::STRUCTURED);
            self.take(found.range());
        }
    }
}
