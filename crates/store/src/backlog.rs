//! Batched entries on their way to the database, and what becomes of them while it cannot be written: the oldest are
//! kept up to a bound, the rest are counted, and the count goes into the chain where they are missing.

use std::collections::VecDeque;

use jiff::Timestamp;

use crate::record::{Draft, Gap};

/// Some 5 MB of text. Enough for seconds of full load or hours of a single user's.
pub(crate) const RETAINED_MAX: usize = 8192;

/// What shares one transaction. More than this fills the page cache, and pages would be written twice.
pub(crate) const BATCH_MAX: usize = 1024;

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

    /// How many transactions it takes before the last.
    pub(crate) fn full_batches(&self) -> usize {
        self.drafts.len().saturating_sub(1) / BATCH_MAX
    }

    /// What the next transaction takes: the oldest, and the gap with the last of them.
    pub(crate) fn batch(&self) -> (impl Iterator<Item = &Draft>, Option<Gap>) {
        (self.drafts.iter().take(BATCH_MAX), self.gap.filter(|_| self.drafts.len() <= BATCH_MAX))
    }

    pub(crate) fn carried(&self) -> Carried {
        let (drafts, gap) = self.batch();
        Carried { drafts: drafts.count(), lost: gap.map_or(0, |gap| gap.lost) }
    }

    /// Adds what came after.
    pub(crate) fn append(&mut self, later: Self) {
        later.drafts.into_iter().for_each(|draft| self.push(draft));
        if let Some(lost_later) = later.gap {
            self.gap.get_or_insert(Gap { lost: 0, ..lost_later }).lost += lost_later.lost;
        }
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
    use super::{BATCH_MAX, Backlog, RETAINED_MAX};
    use crate::record::Draft;
    use crate::record::tests::answered;

    #[test]
    fn what_goes_beyond_the_bound_is_counted() {
        let mut backlog = filled(RETAINED_MAX + 3);
        assert_eq!(held(&backlog), (RETAINED_MAX, 3));
        assert_eq!(backlog.entries(), RETAINED_MAX as u64 + 3);

        for _ in 0..backlog.full_batches() {
            assert_eq!(backlog.batch().1, None, "the gap stands after the last");
            backlog.settle(backlog.carried());
        }
        let carried = backlog.carried();
        backlog.push(draft());
        backlog.settle(carried);
        assert_eq!(held(&backlog), (0, 1), "lost after the attempt");

        backlog.settle(backlog.carried());
        assert!(backlog.is_empty());
        backlog.push(draft());
        assert_eq!(held(&backlog), (1, 0));
    }

    #[test]
    fn what_came_after_an_attempt_stays() {
        let mut backlog = filled(2);
        let carried = backlog.carried();
        backlog.push(draft());
        backlog.settle(carried);
        assert_eq!(held(&backlog), (1, 0));
    }

    #[test]
    fn a_batch_takes_the_oldest() {
        let mut backlog = filled(BATCH_MAX + 2);
        assert_eq!(backlog.batch().0.count(), BATCH_MAX);
        backlog.settle(backlog.carried());
        assert_eq!(held(&backlog), (2, 0));
    }

    #[test]
    fn what_came_later_is_added_behind() {
        let mut backlog = filled(RETAINED_MAX - 1);
        backlog.append(filled(3));
        assert_eq!(held(&backlog), (RETAINED_MAX, 2));
        backlog.append(filled(RETAINED_MAX + 1));
        assert_eq!(held(&backlog), (RETAINED_MAX, RETAINED_MAX as u64 + 3));
        let mut backlog = Backlog::default();
        backlog.append(filled(RETAINED_MAX + 1));
        assert_eq!(held(&backlog), (RETAINED_MAX, 1));
    }

    fn held(backlog: &Backlog) -> (usize, u64) {
        (backlog.drafts.len(), backlog.gap.map_or(0, |gap| gap.lost))
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
