//! What verbs do to their objects: read, create, update, complete, delete and so on. A verb may do several of them.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::lexicon::keyed;
use super::words::{is_misspelt, stem};

/// Words between a verb and the word that belongs to it, as in "take task 13 off".
const REACH: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Deed {
    Create,
    Delete,
    Update,
    Read,
    /// To find what has something in it.
    Search,
    Complete,
    Undo,
    /// From one place to another.
    Transfer,
    /// A machine or a program.
    Operate,
}

/// A set of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Deeds(u16);

/// Verbs by their stems, and those with a second word by the first.
#[derive(Debug, Default)]
struct Verbs {
    single: HashMap<String, Deeds>,
    /// As they are written.
    written: HashSet<&'static str>,
    joined: HashMap<String, Vec<(Vec<&'static str>, Deeds)>>,
}

static VERBS: LazyLock<Verbs> = LazyLock::new(|| {
    let mut verbs = Verbs::default();
    for (name, words) in keyed(include_str!("../../data/verbs.txt")) {
        let deeds = Deed::ALL.iter().find(|deed| deed.name() == name).copied().map(Deeds::from).unwrap_or_default();
        for word in words.split_whitespace() {
            let mut parts = word.split('+');
            let first = parts.next().unwrap_or(word);
            verbs.written.insert(first);
            let first = stem(first);
            let others: Vec<&str> = parts.collect();
            if others.is_empty() {
                verbs.single.entry(first).or_default().add(deeds);
            } else {
                verbs.joined.entry(first).or_default().push((others, deeds));
            }
        }
    }
    verbs
});

impl Deed {
    pub(super) const ALL: [Self; 9] = [
        Self::Create,
        Self::Delete,
        Self::Update,
        Self::Read,
        Self::Search,
        Self::Complete,
        Self::Undo,
        Self::Transfer,
        Self::Operate,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Update => "update",
            Self::Read => "read",
            Self::Search => "search",
            Self::Complete => "complete",
            Self::Undo => "undo",
            Self::Transfer => "transfer",
            Self::Operate => "operate",
        }
    }

    /// Of a verb alone.
    pub(super) fn of(word: &str) -> Deeds {
        VERBS.single.get(&stem(word)).copied().unwrap_or_default()
    }

    /// In its first form: "commits" may be a verb, but not that of a request.
    pub(super) fn is_verb(word: &str) -> bool {
        VERBS.written.contains(word)
    }

    /// The verb that a word is but for a letter that is missing, too much or in the place of its neighbour; `None` if
    /// there are several.
    pub(super) fn misspelt(word: &str) -> Option<&'static str> {
        // "commits" and "forgot" are forms of their verbs.
        let is_form = |verb: &str| verb.len() == word.len() && !is_swapped(word, verb) || stem(verb) == stem(word);
        let mut meant = VERBS.written.iter().copied().filter(|verb| is_misspelt(word, verb) && !is_form(verb));
        meant.next().filter(|_| meant.next().is_none())
    }

    /// Of a verb with the words behind it: "check" reads, and "check it off" completes.
    pub(super) fn of_phrase<'w>(verb: &str, behind: impl Iterator<Item = &'w str>) -> Deeds {
        let behind: Vec<&str> = behind.take(REACH).collect();
        let goes_on = |words: &[&str]| {
            let mut rest = behind.iter();
            words.iter().all(|word| rest.any(|other| other == word))
        };
        let phrases = VERBS.joined.get(&stem(verb)).into_iter().flatten().filter(|(words, _)| goes_on(words));
        // "take back out" is more than "take out", and of equals the first counts.
        let longest = phrases.reduce(|best, next| if next.0.len() > best.0.len() { next } else { best });
        longest.map_or_else(|| Self::of(verb), |(_, deeds)| *deeds)
    }
}

/// The same letters in another order.
fn is_swapped(one: &str, other: &str) -> bool {
    let sorted = |word: &str| {
        let mut bytes = word.as_bytes().to_vec();
        bytes.sort_unstable();
        bytes
    };
    sorted(one) == sorted(other)
}

impl From<Deed> for Deeds {
    fn from(deed: Deed) -> Self {
        Self(1 << deed as u8)
    }
}

impl Deeds {
    pub(super) fn has(self, deed: Deed) -> bool {
        self.meets(deed.into())
    }

    pub(super) fn meets(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Without those that leave everything as it is.
    pub(super) fn changing(self) -> Self {
        Self(self.0 & !(Self::from(Deed::Read).0 | Self::from(Deed::Search).0))
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn add(&mut self, others: Self) {
        self.0 |= others.0;
    }

    /// Nothing but this.
    pub(super) fn is_only(self, deed: Deed) -> bool {
        self == Self::from(deed)
    }
}
