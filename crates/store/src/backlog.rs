//! Batched entries on their way to the database, and what becomes of them while it cannot be written: the oldest are
//! kept up to a bound, the rest are counted, and the count goes into the chain where they are missing.

use std::collections::VecDeque;

use jiff::Timestamp;

use crate::record::{Draft, Gap};

/// Some 5 MB of text. Enough for seconds of full load or hours of a single user's.
pub(crate) const RETAINED_MAX: usize = 8192;

#[derive(Debug, Default)]
pub(crate) struct Backlog {
    drafts: VecDeque<Draft>,
    /// Lost after the last of `drafts`.
    gap: Option<Gap>,
}

/// How much of a backlog went into one transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    drafts: usize,
    lost: u64,
}

impl Backlog {
    pub(crate) fn push(&mut self, draft: Draft) {
        match &mut self.gap {
            // Once one is lost, all are until the gap is in the chain, or it would stand in the wrong place.
            Some(gap) => gap.lost += 1,
            None if self.drafts.len() == RETAINED_MAX => self.gap = Some(Gap { at: Timestamp::now(), lost: 1 }),
            None => self.drafts.push_back(draft),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.drafts.is_empty() && self.gap.is_none()
    }

    /// All entries that would be missing if the process ended now.
    pub(crate) fn entries(&self) -> u64 {
        self.drafts.len() as u64 + self.gap.map_or(0, |gap| gap.lost)
    }

    pub(crate) fn drafts(&self) -> impl Iterator<Item = &Draft> {
        self.drafts.iter()
    }

    pub(crate) fn gap(&self) -> Option<Gap> {
        self.gap
    }

    pub(crate) fn carried(&self) -> Carried {
        Carried { drafts: self.drafts.len(), lost: self.gap.map_or(0, |gap| gap.lost) }
    }

    /// Forgets what is in the database now.
    pub(crate) fn settle(&mut self, carried: Carried) {
        self.drafts.drain(..carried.drafts.min(self.drafts.len()));
        self.gap = self.gap.and_then(|gap| {
            let lost = gap.lost.saturating_sub(carried.lost);
            (lost > 0).then_some(Gap { lost, ..gap })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{Backlog, RETAINED_MAX};
    use crate::record::Draft;
    use crate::record::tests::answered;

    #[test]
    fn what_goes_beyond_the_bound_is_counted() {
        let mut backlog = filled(RETAINED_MAX + 3);
        assert_eq!((backlog.drafts().count(), backlog.gap().unwrap().lost), (RETAINED_MAX, 3));
        assert_eq!(backlog.entries(), RETAINED_MAX as u64 + 3);

        let carried = backlog.carried();
        backlog.push(draft());
        backlog.settle(carried);
        assert_eq!((backlog.drafts().count(), backlog.gap().unwrap().lost), (0, 1), "lost after the attempt");

        let carried = backlog.carried();
        backlog.settle(carried);
        assert!(backlog.is_empty());
        backlog.push(draft());
        assert_eq!((backlog.drafts().count(), backlog.gap()), (1, None));
    }

    #[test]
    fn what_came_after_an_attempt_stays() {
        let mut backlog = filled(2);
        let carried = backlog.carried();
        backlog.push(draft());
        backlog.settle(carried);
        assert_eq!((backlog.drafts().count(), backlog.gap()), (1, None));
    }

    fn filled(entries: usize) -> Backlog {
        let mut backlog = Backlog::default();
        (0..entries).for_each(|_| backlog.push(draft()));
        backlog
    }

    fn draft() -> Draft {
        Draft::of_entry(&answered()).unwrap()
    }
}
