//! How a question is put: its verb, its first telling word, and what it is for the index of words.

use super::fill::POLITE;
use super::lexicon::{ASKING, Deed, OPENERS, STOP, has_synonym};
use super::pattern::Pattern;
use super::span::quoted;
use super::tool::Tool;
use super::words::{Stems, char_at, char_before, is_participle, is_word_char, parts, plain_words, stem};
use super::{HEAD, SPELLED, VERBS_AGREE, VERBS_DIFFER};

/// A quoted value this long is the question itself.
const QUOTED_SHARE_MAX: f64 = 0.6;

#[derive(Debug)]
pub(super) struct Wording {
    text: String,
    /// "our" and "we" are the project that we are in.
    pub(super) of_project: String,
    pub(super) speaks_of_project: bool,
    /// Without quoted values, and without the verb of the request.
    pub(super) lexical: String,
    pub(super) deed: Option<Deed>,
    /// Stem of the first telling word, unless it only asks to see something.
    head: Option<String>,
    /// Stems without function words and numbers.
    stems: Stems,
    /// The same without general verbs, in their order.
    telling: Vec<String>,
    pub(super) is_question: bool,
    /// Mostly in a script that the embedded model does not know.
    pub(super) is_foreign: bool,
    pub(super) length: usize,
}

impl Wording {
    pub(super) fn new(text: &str) -> Self {
        static OUR: Pattern = Pattern::new(r"(?i)\bour\b");
        static DO_WE: Pattern = Pattern::new(r"(?i)\b(?:do|did) we\b");
        static OURS: Pattern = Pattern::new(r"(?i)\b(?:our|we|this project|this repo|this codebase|the codebase)\b");
        let of_project = DO_WE.replace_all(&OUR.replace_all(text, "the project's"), "does the project").into_owned();
        let words: Vec<String> = parts(text)
            .into_iter()
            .filter(|word| !STOP.contains(word.as_str()) && !word.chars().all(|c| c.is_ascii_digit()))
            .collect();
        let foreign = text.chars().filter(|c| *c > '\u{24f}').count();
        Self {
            lexical: lexical(&of_project),
            speaks_of_project: OURS.is_match(text),
            of_project,
            deed: deed(text),
            head: head(text),
            stems: words.iter().map(|word| stem(word)).collect(),
            telling: words.iter().filter(|word| !OPENERS.contains(word.as_str())).map(|word| stem(word)).collect(),
            is_question: is_question(text),
            is_foreign: foreign * 5 > text.chars().count(),
            length: text.split_whitespace().count(),
            text: text.to_owned(),
        }
    }

    /// What name and verb of a tool are worth.
    pub(super) fn speaks_of(&self, tool: &Tool) -> (f64, f64) {
        let name = if self.spells(tool) { SPELLED } else { 0.0 };
        let mut verb = match (self.deed, tool.deed) {
            (Some(asked), Some(done)) if asked == done => VERBS_AGREE,
            (Some(_), Some(_)) => VERBS_DIFFER,
            (None, _) | (_, None) => 0.0,
        };
        // Nothing is deleted unless that was asked for.
        if tool.deed == Some(Deed::Delete) && self.deed != Some(Deed::Delete) {
            verb += VERBS_DIFFER;
        }
        let head = self.head.as_ref().is_some_and(|head| tool.heads.contains(head));
        (name + if head { HEAD } else { 0.0 }, verb)
    }

    /// Whether the tool's name stands there, and cannot be an ordinary word.
    pub(super) fn spells(&self, tool: &Tool) -> bool {
        static CAMEL: Pattern = Pattern::new("[a-z][A-Z]");
        let joined = |c: char| is_word_char(c) || c == '-';
        let stands = |name: &str| {
            self.text.match_indices(name).any(|(at, _)| {
                !char_before(&self.text, at).is_some_and(joined)
                    && !char_at(&self.text, at + name.len()).is_some_and(joined)
            })
        };
        let is_name = |name: &&&String| name.contains(['_', '.', '-']) || CAMEL.is_match(name);
        [&tool.name, &tool.own_name].iter().filter(is_name).any(|name| stands(name))
    }

    /// Share of the name's telling words that the question says, up to their endings.
    pub(super) fn covers_name(&self, tool: &Tool) -> f64 {
        let said = |word: &&String| self.says(word) || has_synonym(word, &self.stems);
        share(tool.telling.iter().filter(said).count(), tool.telling.len())
    }

    /// Share of the question's telling words that the tool's texts say.
    pub(super) fn covered_by(&self, tool: &Tool) -> f64 {
        share(self.telling.iter().filter(|word| tool.texts.contains(*word)).count(), self.telling.len())
    }

    /// Whether it asks for what the tool's answers hold.
    pub(super) fn asks_for_results_of(&self, tool: &Tool) -> bool {
        self.telling.iter().any(|word| tool.results.contains(word))
    }

    /// Nothing but general verbs and function words: "read it".
    pub(super) fn says_nothing(&self) -> bool {
        self.telling.is_empty()
    }

    fn says(&self, stem: &str) -> bool {
        self.stems.contains(stem) || self.stems.iter().any(|other| alike(stem, other))
    }
}

/// `discover` and `discovery`: long words that begin alike.
fn alike(one: &str, other: &str) -> bool {
    let (one_length, other_length) = (one.chars().count(), other.chars().count());
    let common = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    one_length >= 5 && other_length >= 5 && common >= 5 && common * 20 >= one_length.max(other_length) * 11
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { super::to_f64(part) / super::to_f64(whole) }
}

fn lexical(text: &str) -> String {
    static REQUEST: Pattern =
        Pattern::new(r"(?i)^(?:(?:please|kindly|can you|could you)\s+)*(show|tell|give|get|see)\b");
    let mut kept = text.to_owned();
    for span in quoted(text).into_iter().rev() {
        if super::to_f64(span.range.len()) < QUOTED_SHARE_MAX * super::to_f64(text.len()) {
            kept.replace_range(span.range, " ");
        }
    }
    let verb = REQUEST.captures(&kept).and_then(|captures| captures.get(1)).map(|verb| verb.range());
    if let Some(verb) = verb {
        kept.replace_range(verb, "");
    }
    kept
}

/// "the finished tasks" are not to be finished.
const DETERMINERS: [&str; 8] = ["all", "any", "every", "the", "my", "our", "these", "those"];

fn deed(text: &str) -> Option<Deed> {
    static NOTE: Pattern = Pattern::new(r"(?i)^\s*(?:todo|task|note|reminder|memo)\s*:");
    if NOTE.is_match(text) {
        return Some(Deed::Create);
    }
    let words = words_of_request(text);
    let describes = |at: usize| {
        let before = at.checked_sub(1).map(|before| words[before].as_str());
        is_participle(&words[at]) && before.is_none_or(|word| DETERMINERS.contains(&word))
    };
    (0..words.len()).filter(|at| !describes(*at)).find_map(|at| Deed::of(&words[at]))
}

fn head(text: &str) -> Option<String> {
    let words = words_of_request(text);
    let first = words.iter().find(|word| !STOP.contains(word.as_str()))?;
    (Deed::of(first) != Some(Deed::Read)).then(|| stem(first))
}

fn words_of_request(text: &str) -> Vec<String> {
    plain_words(&POLITE.replace(text.trim(), ""))
}

fn is_question(text: &str) -> bool {
    let lower = text.to_lowercase();
    let first = lower.split(|c: char| !c.is_ascii_lowercase() && c != '\'').find(|word| !word.is_empty());
    first.is_some_and(|word| ASKING.contains(word.split('\'').next().unwrap_or(word)))
}
