//! Who does what to whom: two things in one order in the evidence, and in the other in the claim.

use std::collections::BTreeSet;

use countersign_index::stem;

use super::Flaw;
use super::facts::{Facts, Token, TokenKind};
use super::words::{are_contrary, are_forms};

/// Of what stands between them, shared by claim and evidence: less, and they are two different sentences.
const SAME_RELATION: f64 = 0.5;

/// What has one thing before it and another after it.
const SIDES: [&str; 6] = ["to", "with", "than", "over", "behind", "ahead"];

pub(super) fn swapped(claimed: &Facts, shown: &Facts) -> Option<Flaw> {
    let counts = |token: &&Token| {
        matches!(token.kind, TokenKind::Number { .. }) || claimed.content().any(|(content, _)| content == *token)
    };
    let content: Vec<&Token> = claimed.tokens.iter().filter(counts).collect();
    for (at, first) in content.iter().enumerate() {
        for last in content.iter().skip(at + 1) {
            if let (Some(here), Some(there)) = (between(claimed, first, last), between(shown, last, first))
                && same_relation(here, there)
            {
                return Some(Flaw::Swapped(first.text.clone(), last.text.clone()));
            }
        }
    }
    passive(claimed, shown).or_else(|| passive(shown, claimed))
}

/// What stands between the only mentions of two words, if they come in this order and not in one list.
fn between<'f>(facts: &'f Facts, first: &Token, last: &Token) -> Option<&'f [Token]> {
    let only = |wanted: &Token| {
        let mut places = facts.tokens.iter().enumerate().filter(|(_, token)| stem(&token.text) == stem(&wanted.text));
        let place = places.next().map(|(at, _)| at);
        place.filter(|_| places.next().is_none())
    };
    let (start, end) = (only(first)?, only(last)?);
    let listed =
        facts.tokens.get(start)?.listed || facts.tokens.get(start + 1).is_some_and(|next| is_joint(&next.text));
    (start < end && !listed).then(|| &facts.tokens[start + 1..end])
}

fn same_relation(here: &[Token], there: &[Token]) -> bool {
    let set = |tokens: &[Token]| -> BTreeSet<String> {
        tokens
            .iter()
            .filter(|token| token.kind == TokenKind::Word && !is_joint(&token.text))
            .map(|token| stem(&token.text).to_owned())
            .collect()
    };
    let (here, there) = (set(here), set(there));
    if here.is_empty() || there.is_empty() {
        return false;
    }
    let sides =
        |words: &BTreeSet<String>| SIDES.iter().filter(|side| words.contains(**side)).copied().collect::<Vec<_>>();
    if !sides(&here).is_empty() && sides(&here) == sides(&there) {
        return true;
    }
    let contrary =
        here.difference(&there).filter(|word| there.difference(&here).any(|other| are_contrary(word, other))).count();
    let shared = here.intersection(&there).count() + contrary;
    let all = here.union(&there).count() - contrary;
    #[expect(clippy::cast_precision_loss, reason = "a sentence has few words")]
    let share = shared as f64 / all as f64;
    share > SAME_RELATION
}

/// `A uses B` where it should be `A is used by B`.
fn passive(active: &Facts, passive: &Facts) -> Option<Flaw> {
    for (at, pair) in passive.tokens.windows(2).enumerate() {
        let [verb, by] = pair else { continue };
        if by.text != "by" || !verb.text.ends_with(['d', 'n']) || at == 0 {
            continue;
        }
        let after = passive.tokens.iter().skip(at + 2).find(|token| is_actor(token))?;
        let place = |wanted: &str| active.tokens.iter().position(|token| are_forms(&token.text, wanted));
        let (Some(verb_at), Some(actor_at)) = (place(&verb.text), place(&after.text)) else {
            continue;
        };
        let is_active = active.tokens.get(verb_at + 1).is_none_or(|next| next.text != "by") && verb_at > 0;
        if is_active && actor_at > verb_at {
            return Some(Flaw::Swapped(verb.text.clone(), after.text.clone()));
        }
    }
    None
}

fn is_actor(token: &Token) -> bool {
    match token.kind {
        TokenKind::Name | TokenKind::Mark => true,
        TokenKind::Word => !["the", "a", "an", "its", "their"].contains(&token.text.as_str()),
        TokenKind::Number { .. } | TokenKind::Date { .. } => false,
    }
}

fn is_joint(word: &str) -> bool {
    matches!(word, "and" | "or")
}
