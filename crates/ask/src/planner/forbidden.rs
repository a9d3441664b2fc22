//! Whether a question may lead to the change that it fits best. It may not where it says not to, asks about the change
//! instead of for it, or means several things where the tool takes one.
//!
//! Asked once, for calls that change something. The rules are signs in the words and no grammar; in doubt nothing is
//! changed, since a question can be put again and a deletion cannot be taken back.

mod marked;
mod reading;
mod several;

#[cfg(test)]
mod tests;

use std::ops::Range;

use countersign_contract::Effect;

use self::reading::Reading;
use super::Ranked;
use super::deed::{Deed, Deeds};
use super::pattern::Pattern;
use super::question::Question;

/// Why the change is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forbidden {
    Denied,
    Excepted,
    /// What the tool does is to be undone.
    Undone,
    AskedAbout,
    /// The same, by somebody who would do it: nothing that only reads is an answer.
    Proposed,
    Several,
}

impl Forbidden {
    pub(super) fn sentence(self, tool: &str) -> String {
        match self {
            Self::Denied => format!("The question says what not to do, and `{tool}` would do it."),
            Self::Excepted => format!("The question makes an exception, and `{tool}` cannot leave anything out."),
            Self::Undone => format!("The question asks to undo something, and `{tool}` would do it."),
            Self::AskedAbout | Self::Proposed => {
                format!("The question asks about a change and not for one, and `{tool}` would make it.")
            }
            Self::Several => format!("The question names several things, and `{tool}` takes one in a call."),
        }
    }

    /// Something else may be read instead.
    pub(super) fn may_be_looked_up(self) -> bool {
        match self {
            Self::AskedAbout => true,
            Self::Denied | Self::Excepted | Self::Undone | Self::Proposed | Self::Several => false,
        }
    }
}

/// `None` where the call may be made.
pub(super) fn forbidden(question: &Question, ranked: &Ranked<'_>) -> Option<Forbidden> {
    // Whoever announces no effect may do anything; a tool that only speaks of reading is not held to that.
    let only_reads = !ranked.tool.deeds.is_empty() && ranked.tool.deeds.changing().is_empty();
    if !ranked.tool.effect.changes_something() || only_reads || ranked.commands_to_look() {
        return None;
    }
    let reading = Reading::new(question, ranked);
    let denial = reading.sentences.iter().find_map(|sentence| denial(sentence, ranked.tool.deeds));
    denial
        .or_else(|| denies_another(&reading).then_some(Forbidden::Denied))
        .or_else(|| asked_about(question, &reading, ranked))
        .or_else(|| several::names_several(question, &reading, ranked).then_some(Forbidden::Several))
}

fn denial(sentence: &str, deeds: Deeds) -> Option<Forbidden> {
    static DENIED: Pattern = Pattern::new(concat!(
        r" (?:not|never|nobody|neither|nor|without|avoid|refrain|instead of|rather than|hold off|",
        r"no (?:one|need|reason|way|point)|(?:nothing|none) (?:[^, ]+ ){0,3}?(?:should|must|may|shall|can|will)) (?:, .*?)?(?:[^, ]+ )*?(?:DO|DONE|DOING|DOES) | (?:stop|quit) DOING |",
        r" DO (?:nothing|none|neither|no) "
    ));
    // "… — not!", "please don't".
    static BARE: Pattern =
        Pattern::new(r" not (?:(?:,|please|thanks|ever|it|that|this|yet|now|today|so|do|under any circumstances) )*$");
    static EXCEPTED: Pattern = Pattern::new(concat!(
        r" (?:except|excepting|excluding|unless|other than|apart from|aside from|save for|all but|nothing but|but not|",
        r"leaving? out|with the exception) |",
        r" but (?:(?:the|for|my|our|number|id|THING) )*(?:VALUE|last|first|newest|oldest|latest) |",
        r" (?:not|keep) (?:(?:only|just|the|my|our|number|id|THING) )*VALUE "
    ));
    if DENIED.is_match(sentence) && !deeds.is_empty() || BARE.is_match(sentence) {
        Some(Forbidden::Denied)
    } else if EXCEPTED.is_match(sentence) {
        Some(Forbidden::Excepted)
    } else {
        asks_to_undo(sentence, deeds).then_some(Forbidden::Undone)
    }
}

/// "don't get rid of task 4" does not mean to complete it. Of a tool whose verb nobody knows, only orders are understood.
fn denies_another(reading: &Reading<'_>) -> bool {
    static ORDER: Pattern = Pattern::new(concat!(
        r"(?:^ (?:(?:please|hey|ok|okay|so|well|,|just) )*(?:do not|not|never)| please (?:do )?not| (?:you|should|must|to) not|",
        r" do not want) (?:[^, ]+ )*?(OTHER|DO) "
    ));
    let is_asked_for = reading.sentences.iter().any(|sentence| DEED.is_match(sentence));
    let mut orders = reading.sentences.iter().filter_map(|sentence| ORDER.captures(sentence));
    orders.any(|order| &order[1] == "DO" || !is_asked_for)
}

/// Of a tool that does not undo anything.
fn asks_to_undo(sentence: &str, deeds: Deeds) -> bool {
    static UNDO: Pattern =
        Pattern::new(r" (?:undo|undoing|revert|reverting|reverse|rollback|roll back|take back|abort|call off) ");
    static BACK: Pattern = Pattern::new(
        r" (?:restore|recover|undelete|uncomplete|reopen|re-open|unarchive|resurrect) | (?:bring|get|put|give) (?:[^, ]+ )*?back ",
    );
    static AS_OPEN: Pattern =
        Pattern::new(r" (?:as|to be|is) (?:still )?(?:open|pending|outstanding|active|incomplete|undone|unfinished) ");
    if deeds.has(Deed::Undo) || deeds.is_empty() {
        return false;
    }
    let first = DEED.find(sentence).map_or(sentence.len(), |found| found.start());
    let begins = |pattern: &Pattern| pattern.find(sentence).is_some_and(|found| found.start() <= first);
    let only_takes = [Deed::Delete, Deed::Complete].iter().any(|deed| deeds.is_only(*deed));
    begins(&UNDO) || only_takes && begins(&BACK) || deeds.is_only(Deed::Complete) && AS_OPEN.is_match(sentence)
}

static DEED: Pattern = Pattern::new(r"\b(?:DO|DONE|DOING|DOES)\b");

fn asked_about(question: &Question, reading: &Reading<'_>, ranked: &Ranked<'_>) -> Option<Forbidden> {
    static PROPOSED: Pattern =
        Pattern::new(r" (?:can|could|may|might|shall|should)(?: not)? (?:i|we) (?:[^, ]+ )*?DO ");
    static PAST: Pattern = Pattern::new(r"^ (?:(?:who|why|when|where|how) )?(?:was|were|did|has|had|have|DONE) ");
    let tool = ranked.tool;
    // "can I add a task: …" is how some ask for it. What only adds can be taken back.
    let only_adds = tool.deeds.changing().is_only(Deed::Create) && tool.effect != Effect::Destroys;
    let leave = if only_adds && marked::ends_with_text(question, ranked) { Leave::Asks } else { Leave::AsksAbout };
    if !asks_about(reading, tool.deeds, leave) {
        return None;
    }
    let has = |pattern: &Pattern| reading.sentences.iter().any(|sentence| pattern.is_match(sentence));
    // "did I add a task called …" is answered by what there is.
    let is_proposed = has(&PROPOSED) || marked::says_text(question, ranked) && !has(&PAST);
    Some(if is_proposed { Forbidden::Proposed } else { Forbidden::AskedAbout })
}

/// What "can I" does: with a text and nothing behind it but politeness, it asks for the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leave {
    Asks,
    AsksAbout,
}

/// There is a deed of the tool within what is only spoken about, and none elsewhere.
fn asks_about(reading: &Reading<'_>, deeds: Deeds, leave: Leave) -> bool {
    if deeds.changing().is_empty() {
        return false;
    }
    let (mut asked_about, mut asked_for, mut asks) = (false, false, false);
    for sentence in &reading.sentences {
        let framed = framed(sentence, deeds, leave);
        for deed in DEED.find_iter(sentence) {
            let is_framed = framed.iter().any(|frame| frame.contains(&deed.start()));
            asked_about |= is_framed;
            asked_for |= !is_framed;
        }
        asks |= LOOKS_BACK.is_match(sentence);
    }
    // "why is task 1 gone?" speaks of no deed, and asks for none.
    let only_asks = asks && deeds.changing() == deeds;
    !asked_for && (asked_about || only_asks)
}

static LOOKS_BACK: Pattern =
    Pattern::new(r"^ (?:was|were|did|has|had|have (?:[^, ]+ )*?been|why|who|when|how (?:does|did|is|are)) ");

/// A sentence that begins like a question and is no request.
static LOOKS: Pattern = Pattern::new(concat!(
    r"^ (?:(?:please|hi|hello|hey|ok|okay|so|well|and|but|also|now|or|,|just|then|um|wait|quick question|yes or no) )*",
    r"(?:was|were|is|are|am|did|does|has|had|do (?:you|i|we|they)|have (?:you|i|we|they|he|she|any\w*|some\w*)|",
    r"have (?:[^, ]+ )*?been|what|why|who|whom|whose|when|where|which|how) "
));

/// Where a sentence speaks about things: from a question word or "should I" until it turns to a request.
fn framed(sentence: &str, deeds: Deeds, leave: Leave) -> Vec<Range<usize>> {
    static MODAL: Pattern = Pattern::new(concat!(
        r"^ (?:(?:please|hi|hello|hey|ok|okay|so|well|and|but|also|now|or|,|just|then|um|wait|quick question|yes or no) )*",
        r"(?:(?:should|shall|may|must|might|ought|would|will)(?: not)? ([^ ]+)|(?:can|could)(?: not)? (?:i|we|they|he|she|one)|",
        r"(?:would|could|will) you (?:say|recommend|advise|suggest|have|ever|be DOING)) "
    ));
    static LEAVE: Pattern = Pattern::new(r"(?:can|could) (?:i|we) $");
    static EMBEDDED: Pattern = Pattern::new(concat!(
        r" (?:tell|know|explain|wonder|wondering|show|see|find out|describe|understand|ask|learn|sure|curious|remember|idea|",
        r"say|teach|check|verify|confirm|look up) (?:[^, ]+ ){0,4}?",
        r"(?:who|why|how|whether|if|when|what|which|where) | (?:tell|know|ask|explain) (?:[^, ]+ )*?about (?:[^, ]+ )*?DOING | (?:check|verify|confirm) (?:that|for) |",
        r" (?:explain|describe) (?:[^, ]+ )*?DOING "
    ));
    static SUPPOSED: Pattern = Pattern::new(concat!(
        r" (?:if|suppose|supposing|imagine|assuming|should) (?:i|we|they|he|she|someone|somebody|anyone|anybody) ",
        r"(?:(?:were|to|had|ever|would|just|accidentally) )*(?:DO|DONE) | if (?:[^, ]+ )*?(?:is|was|were|gets|got|been) DONE |",
        r" (?:thinking|wonder|wondering|considering|tempted|afraid|worried|unsure|undecided|hesitant|unclear) "
    ));
    static TOLD: Pattern = Pattern::new(concat!(
        r" (?:was|were|been|got|i|we|he|she|they|who|someone|somebody|anyone|already|have|has|had) ",
        r"(?:(?:already|just|never|been) )*DONE "
    ));
    let modal = MODAL.captures(sentence).filter(|found| {
        if leave == Leave::Asks && LEAVE.is_match(&found[0]) && !found[0].contains(" yes or no ") {
            return false;
        }
        let requested = ["you", "u", "ya", "someone", "somebody", "anyone", "anybody", "kindly", "please"];
        found.get(1).is_none_or(|subject| !requested.contains(&subject.as_str()))
    });
    let starts =
        [modal.and_then(|found| found.get(0)), LOOKS.find(sentence), EMBEDDED.find(sentence), SUPPOSED.find(sentence)];
    let mut framed: Vec<Range<usize>> =
        starts.into_iter().flatten().map(|found| found.start()..end_of_frame(sentence, found.start())).collect();
    // "I finished task 3" wants that to be noted.
    if !deeds.has(Deed::Complete) {
        framed.extend(TOLD.find_iter(sentence).map(|found| found.range()));
    }
    framed
}

/// "when you are there, please delete it": a request after all.
fn end_of_frame(sentence: &str, start: usize) -> usize {
    static TURN: Pattern = Pattern::new(concat!(
        r" , (?:(?:and|but|please|pls|just|so|then|,|kindly|can you|could you|would you|will you|go ahead|i want you to|you can) )*",
        r"DO "
    ));
    TURN.find(&sentence[start..]).map_or(sentence.len(), |turn| start + turn.start())
}

impl Ranked<'_> {
    /// Of a tool that reads and writes, the command that reads.
    fn commands_to_look(&self) -> bool {
        let looks = |given: &serde_json::Value| {
            let verb = given.as_str().and_then(|command| super::words::parts(command).into_iter().next());
            verb.is_some_and(|verb| {
                let deeds = Deed::of(&verb);
                !deeds.is_empty() && deeds.changing().is_empty()
            })
        };
        let commands = self.tool.shape.parameters.iter().filter(|each| each.required && !each.choices.is_empty());
        commands.filter_map(|each| self.filling.arguments.get(&each.name)).any(looks)
    }
}
