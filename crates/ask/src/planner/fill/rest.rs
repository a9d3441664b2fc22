//! Free text: what is left of a question when everything else is taken out of it.

use std::ops::Range;

use super::{Evidence, Filler};
use crate::planner::deed::Deed;
use crate::planner::lexicon::{self, ADJECTIVES, BORDERS, GLUE, LIMITING, LIMITS, OPENERS, VAGUE, has_synonym};
use crate::planner::parameter::{Kind, Parameter};
use crate::planner::pattern::Pattern;
use crate::planner::question::{Question, Word};
use crate::planner::span::{Found, Span};
use crate::planner::words::{Stems, find_whole, overlap, plain_words, stem};

/// "… that mention X": X is looked for.
const HOLDING: [&str; 6] = ["mention", "mentions", "contain", "contains", "match", "matches"];

/// Stands for a value that was taken out.
const TAKEN: char = '\0';

/// Politeness in front of a request.
pub(in crate::planner) static POLITE: Pattern = Pattern::new(concat!(
    r"(?i)^(?:(?:hi|hello|hey|ok|okay|so|well)\b[,!. ]*|please\b,? ?|pls\b ?|kindly |",
    r"(?:can|could|would|will) you (?:please |kindly |help me )?|i(?:'d| would) like (?:you )?(?:to )?|",
    r"i (?:want|need|have) (?:you )?(?:to )?|help me (?:to )?|let's |let me |do we have (?:any )?|",
    r"is there (?:any |an? )?|are there (?:any )?|can i |could i )+"
));

impl Filler<'_> {
    /// The one required text that is still without a value.
    pub(super) fn required_text(&mut self) {
        let is_text =
            |each: &&Parameter| each.kind == Kind::Text && each.is_text() && each.required && each.choices.is_empty();
        let Some(parameter) = self.open().into_iter().find(is_text) else { return };
        if let Some(text) = behind_own_name(self.question, parameter) {
            return self.set(parameter, text.into(), Evidence::NAMED);
        }
        let text = self.rest(parameter);
        let wants_words = ["message", "content", "text", "body", "entry", "title", "query", "search"];
        let says_nothing = parameter.is_called(&wants_words)
            && plain_words(&text).iter().enumerate().all(|(at, word)| self.is_idle(parameter, at, word));
        if !text.is_empty() && !says_nothing {
            self.set(parameter, text.into(), Evidence::REST);
        }
    }

    /// The only text of a tool that requires nothing; the text behind a colon for the only optional text.
    pub(super) fn optional_text(&mut self) {
        static COLON: Pattern = Pattern::new(r"(?s):\s+(\S.*)$");
        let all = &self.shape.parameters;
        let open: Vec<&Parameter> = self
            .open()
            .into_iter()
            .filter(|each| each.is_text() && each.choices.is_empty() && !each.required)
            .collect();
        let only = all.iter().filter(|each| each.is_text()).count() == 1 && !all.iter().any(|each| each.required);
        if let Some(parameter) = open.first().filter(|_| only)
            && matches!(parameter.kind, Kind::Name | Kind::Place | Kind::Any | Kind::Term)
        {
            // "test the MCP connectivity" says MCP because the tool does.
            let is_own = |span: &Span| {
                span.found == Found::Name && self.tool.vocabulary.contains(&stem(&span.text.to_lowercase()))
            };
            let is_value = |span: &&&Span| matches!(span.found, Found::Name | Found::Quoted) && !is_own(span);
            let mut values = self.free.iter().filter(is_value);
            if let (Some(value), None) = (values.next(), values.next()) {
                self.set(parameter, value.text.as_str().into(), Evidence::of(&value.found));
            }
        }
        let texts: Vec<&Parameter> =
            open.into_iter().filter(|each| each.kind == Kind::Text && !self.has(each)).collect();
        let [parameter] = texts[..] else { return };
        if all.iter().any(|each| each.kind == Kind::Text && each.choices.is_empty() && self.has(each)) {
            return;
        }
        let behind = COLON.captures(&self.question.text).and_then(|captures| captures.get(1));
        // "notes.txt: read" ends with what is to be done.
        let request = &self.question.request;
        let asks = |text: &regex::Match<'_>| request.is_sure() && request.place.start + 2 >= text.start();
        let is_free = |text: &regex::Match<'_>| !self.used.iter().any(|used| overlap(used, &text.range()));
        if let Some(text) = behind.filter(|text| is_free(text) && !asks(text)) {
            self.set(parameter, text.as_str().trim().into(), Evidence::REST);
        }
    }

    /// Whether a word of a text only repeats tool and parameter.
    fn is_idle(&self, parameter: &Parameter, at: usize, word: &str) -> bool {
        let own = stem(word);
        GLUE.contains(word)
            || ADJECTIVES.contains(word)
            || LIMITS.contains(word)
            || lexicon::number(word).is_some()
            || VAGUE.contains(word)
            || OPENERS.contains(word) && at == 0
            || self.tool.vocabulary.contains(&own)
            || parameter.name_set.contains(&own)
            || self.shape.parameters.iter().flat_map(|each| &each.choices).any(|choice| choice.stems.contains(&own))
            || word.chars().all(|c| c.is_ascii_digit())
    }

    fn rest(&self, parameter: &Parameter) -> String {
        static TAIL: Pattern = Pattern::new(r"(?i)(?:[,.]? ?(?:please|pls|thanks|thank you|for me))+[.!?]*$");
        static LABEL: Pattern =
            Pattern::new(r"(?s)^(?:[^:\n]{1,60}:|(?i:to-?do|task|note|reminder|memo)\s+-)\s+([^\x00].*)$");
        static LAST_PREPOSITION: Pattern =
            Pattern::new(r"(?i)(?:(?:\s|^)(?:in|to|on|of|for|from|with|at|by|and|the|is|as)\s*)+$");
        let text = self.without_taken();
        let text = TAIL.replace(text.trim(), "");
        if let Some(term) = looked_for(&text).filter(|_| parameter.is_called(&["query", "search", "pattern", "term"])) {
            return term.trim_end_matches(['.', '?', '!']).to_owned();
        }
        if let Some(noted) = without_order(&text) {
            return noted.trim_matches([' ', ',', ';', ':', TAKEN]).trim_end_matches(['.', '?', '!']).to_owned();
        }
        let text = POLITE.replace(&text, "");
        let own = &self.tool.vocabulary | &parameter.name_set;
        let text = match LABEL.captures(&text) {
            // "todo: X", "semantic search: X".
            Some(captures) => captures[1].to_owned(),
            None => without_request(&text, &own).to_owned(),
        };
        let others: Stems = self
            .shape
            .parameters
            .iter()
            .filter(|each| each.name != parameter.name)
            .flat_map(|each| each.name_set.iter().cloned())
            .collect();
        let choices = self.shape.parameters.iter().flat_map(|each| &each.choices);
        let choices: Stems = choices.flat_map(|choice| choice.stems.iter().cloned()).collect();
        let own_and_others = &own | &others;
        let is_query = parameter.is_called(&["query", "search", "question", "term"]);
        let text = if is_query { without_instruction(&text, &(&own_and_others | &choices)) } else { &text };
        let text = without_idle_clauses(text, &own_and_others);
        let text = without_place(&text, &own);
        let words: Vec<&str> = text.split(TAKEN).map(str::trim).filter(|part| !part.is_empty()).collect();
        let text = words.join(" ");
        let text = LAST_PREPOSITION.replace(text.trim_matches([' ', ',', ';']), "");
        text.trim().trim_matches([' ', ',', ';', ':']).trim_end_matches(['.', '?', '!']).trim().to_owned()
    }

    /// The question with a mark for each value that an argument has.
    fn without_taken(&self) -> String {
        let mut taken: Vec<Range<usize>> = self.used.iter().chain(&self.named).cloned().collect();
        taken.sort_by_key(|range| (range.start, range.end));
        let (mut text, mut at) = (String::new(), 0);
        for range in taken {
            if range.start > at || text.is_empty() {
                text.push_str(&self.question.text[at..range.start]);
                text.push(TAKEN);
            }
            at = at.max(range.end);
        }
        text + &self.question.text[at..]
    }
}

/// "I have to call Bob, put that on my list", "remind me to call Bob": what is to be noted, without the order to do so.
fn without_order(text: &str) -> Option<&str> {
    static ORDER: Pattern = Pattern::new(concat!(
        r"(?i)(?:\s*[,;.!:\u{2013}\u{2014}]|\s+-|\s+and)\s+",
        r"(?:so\s+|then\s+|please\s+|pls\s+|just\s+|(?:can|could|would|will) you\s+)*",
        r"(?:add|put|make|create|note|write|save|log|jot|track|record|stick|file|remember|list|turn)\b",
        r"[^,;.!?]*\b(?:it|that|this|one)\b.*$"
    ));
    static DUTY: Pattern = Pattern::new(concat!(
        r"(?i)^(?:please\s+|pls\s+|hey,?\s+|(?:can|could|would|will) you\s+)*(?:remind (?:me|us) (?:to|that|about)|",
        r"(?:please )?do(?:n't|nt| not) (?:let me |let us )?forget (?:to|that|about)|",
        r"(?:i|we) (?:always )?keep forgetting (?:to|that|about)|",
        r"remember (?:to|that)|note to self:?|",
        r"(?:i|we|i've|we've|somebody|someone) (?:really |still )?",
        r"(?:have|has|need|needs|must|should|ought|want|got|gotta)(?: to)?|",
        r"(?:i|we)'ll (?:have|need) to)\s+(\S.*)$"
    ));
    let order = ORDER.find(text).filter(|order| order.start() > 0);
    let said = order.map_or(text, |order| &text[..order.start()]);
    let duty = DUTY.captures(said).and_then(|found| found.get(1)).map(|found| found.as_str());
    let reminds = || {
        said.to_lowercase().contains("remind")
            || said.to_lowercase().contains("forget")
            || said.to_lowercase().starts_with("remember")
    };
    match (order, duty) {
        (Some(_), duty) => Some(duty.unwrap_or(said)),
        (None, duty) => duty.filter(|_| reminds()),
    }
}

/// "… for the term X", "something is about X - search for it".
fn looked_for(text: &str) -> Option<&str> {
    static TERM: Pattern = Pattern::new(concat!(
        r"(?i)\b(?:for|with|contain(?:s|ing)?|mention(?:s|ing)?) the ",
        r"(?:terms?|words?|phrases?|keywords?|strings?|text)\s+([^\x00]+)$"
    ));
    static IT: Pattern = Pattern::new(concat!(
        r"(?i)\b(?:about|on|regarding|concerning)\s+([^\x00,;.!?\u{2013}\u{2014}-]+?)\s*[,;.!?\u{2013}\u{2014}-]\s*",
        r"(?:(?:please|so|can you|could you)\s+)*(?:search|look|find|hunt|dig)\b[^,;.!?]*\b(?:it|them|that|those)\W*$"
    ));
    let found = TERM.captures(text).or_else(|| IT.captures(text))?;
    found.get(1).map(|term| term.as_str().trim())
}

/// "using the command X".
fn behind_own_name(question: &Question, parameter: &Parameter) -> Option<String> {
    static VALUE: Pattern = Pattern::new(r#"(?s)^\s+(?:is |called |named |of |saying )?([\w%/."'].*)$"#);
    static ARTICLE: Pattern = Pattern::new(r"\b(?:the |with |a )$");
    if !parameter.is_called(&["command", "instruction", "message", "text"]) {
        return None;
    }
    let place =
        find_whole(&question.lower, &parameter.spoken).find(|place| VALUE.is_match(&question.text[place.end..]))?;
    let start = ARTICLE.find(&question.lower[..place.start]).map_or(place.start, |article| article.start());
    let value = VALUE.captures(&question.text[place.end..])?.get(1)?.as_str();
    (start > 0).then(|| value.trim().trim_end_matches(['.', '?', '!']).to_owned())
}

/// Without leading words of the tool itself, articles, and what joins them to the text.
fn without_request<'t>(text: &'t str, own: &Stems) -> &'t str {
    static WORD: Pattern = Pattern::new(r"\x00|[^\W_][\w'\u{2019}-]*|[^\s\w]");
    let words: Vec<_> = WORD.find_iter(text).map(|found| (found.start(), found.as_str().to_lowercase())).collect();
    let is_own = |word: &str| {
        let stem = stem(&word.replace('-', ""));
        own.contains(&stem) || has_synonym(&stem, own) && !Deed::is_verb(word)
    };
    let (mut begun, mut named) = (false, false);
    for (at, (start, word)) in words.iter().enumerate() {
        let asks = ["how", "what", "where", "why", "when", "who", "which"].contains(&word.as_str());
        let after_verb = at == 1 && words.first().is_some_and(|(_, first)| Deed::is_verb(first)) && Deed::is_verb(word);
        let opens =
            at < 2 && (OPENERS.contains(word.as_str()) || at == 0 && Deed::is_verb(word)) && !asks && !after_verb;
        let particle = begun && at == 1 && ["down", "up", "in", "on"].contains(&word.as_str());
        let next = words.get(at + 1).map_or("", |(_, next)| next.as_str());
        // "a task to add tests": what is to be done begins here, even with a word of the tool.
        if named
            && ["to", "that", "for", "about", "saying"].contains(&word.as_str())
            && (Deed::is_verb(next) || word == "that" || word == "saying")
            && !HOLDING.contains(&next)
        {
            return words.get(at + 1).map_or(text, |(start, _)| &text[*start..]);
        }
        if word == "\0" || is_own(word) || opens || particle {
            named |= is_own(word) && !Deed::is_verb(word) || word == "\0";
            begun = true;
        } else if !GLUE.contains(word.as_str()) && word != "," && word != ":" {
            return if begun { &text[*start..] } else { text };
        }
    }
    text
}

/// "buy stamps on my todo list" without where it is to be noted.
fn without_place<'t>(text: &'t str, own: &Stems) -> &'t str {
    static PLACE: Pattern = Pattern::new(r"(?i)\s+(?:on|to|onto|into|in)\s+(?:my|the|our|this)\s+([^,;:.\x00]+)$");
    let Some(place) = PLACE.captures(text) else { return text };
    let is_own = |word: &String| {
        let stem = stem(word);
        own.contains(&stem) || has_synonym(&stem, own) || GLUE.contains(word.as_str()) || word == "list"
    };
    let start = place.get(0).map_or(text.len(), |place| place.start());
    if plain_words(&place[1]).iter().all(is_own) { &text[..start] } else { text }
}

/// Without a last sentence that only says how to look: "… Look through the recorded decisions only."
fn without_instruction<'t>(text: &'t str, own: &Stems) -> &'t str {
    static LAST: Pattern = Pattern::new(r"[.?!]\s+([A-Za-z][^.?!]*)[.!]?$");
    let Some(last) = LAST.captures(text) else { return text };
    let words = plain_words(&last[1]);
    let deeds = |word: &str| Deed::of(word);
    let orders = words.first().is_some_and(|first| {
        ["only", "just"].contains(&first.as_str()) || deeds(first).has(Deed::Read) || deeds(first).has(Deed::Search)
    });
    let is_idle = |word: &String| {
        BORDERS.contains(word.as_str())
            || ADJECTIVES.contains(word.as_str())
            || GLUE.contains(word.as_str())
            || own.contains(&stem(word))
            || !deeds(word).is_empty()
    };
    let start = last.get(0).map_or(text.len(), |last| last.start());
    if orders && words.iter().all(is_idle) { &text[..=start] } else { text }
}

/// Without clauses at either end that hold nothing but these stems, glue and taken values.
fn without_idle_clauses(text: &str, own: &Stems) -> String {
    static BORDER: Pattern = Pattern::new(r"[,;?!.]\s+");
    static WORD: Pattern = Pattern::new(r"[^\W_\x00][\w'\u{2019}-]*");
    let is_idle = |clause: &&str| {
        WORD.find_iter(clause).all(|word| {
            let lower = word.as_str().to_lowercase();
            GLUE.contains(lower.as_str())
                || OPENERS.contains(lower.as_str())
                || Deed::is_verb(&lower)
                || own.contains(&stem(&lower))
                || lower.chars().all(|c| c.is_ascii_digit())
        })
    };
    let (mut clauses, mut at) = (Vec::new(), 0);
    for border in BORDER.find_iter(text) {
        clauses.push(&text[at..=border.start()]);
        at = border.end();
    }
    clauses.push(&text[at..]);
    while clauses.len() > 1 && clauses.last().is_some_and(is_idle) {
        clauses.pop();
    }
    while clauses.len() > 1 && clauses.first().is_some_and(is_idle) {
        clauses.remove(0);
    }
    clauses.join(" ")
}

/// A value together with the words around it that name its parameter.
pub(super) fn with_names(question: &Question, span: &Span, parameter: &Parameter) -> Range<usize> {
    static PREPOSITIONS: Pattern =
        Pattern::new(r"(?i)(?:\b(?:in|to|on|of|for|from|with|at|by|as|the|file|repo|repository|folder|module)\s+)+$");
    let before = question.words.iter().rev().filter(|word| word.range.end <= span.range.start);
    let behind = question.words.iter().filter(|word| word.range.start >= span.range.end);
    let start = last_naming(parameter, before).map_or(span.range.start, |word| word.range.start);
    let end = last_naming(parameter, behind).map_or(span.range.end, |word| word.range.end);
    let start = PREPOSITIONS.find(&question.text[..start]).map_or(start, |found| found.start());
    start..end
}

/// The furthest of the next words that names the parameter; only small words may be between.
fn last_naming<'q>(parameter: &Parameter, words: impl Iterator<Item = &'q Word>) -> Option<&'q Word> {
    let mut last = None;
    for word in words.take(4).take_while(|word| !word.is_sign()) {
        let own = parameter.name_set.contains(&word.stem) || parameter.description_set.contains(&word.stem);
        let limits = || LIMITS.contains(word.lower.as_str()) && !parameter.name_set.is_disjoint(&LIMITING);
        if own || limits() {
            last = Some(word);
        } else if !["of", "the", "a", "at", "is", "to", "in", "for", "with", "on"].contains(&word.lower.as_str()) {
            break;
        }
    }
    last
}
