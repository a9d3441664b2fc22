//! Checks chains as they are read, one record at a time, so that a log of any length takes the same memory.
//!
//! It knows no database: a backend feeds it every chain in the order of ids and every record in the order of numbers,
//! all from one snapshot; whatever it reads may be forged. After a finding it picks up again at the next record, so that one change is one finding.

use crate::chain::{ChainHash, Head, Opening};
use crate::record::Marks;

/// A log that is all wrong must not fill the memory with findings; the rest is counted.
const LISTED_MAX: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Verified(Extent),
    Broken {
        extent: Extent,
        findings: Vec<Finding>,
        /// How many more findings there are than are listed.
        unlisted: u64,
    },
}

/// What was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    pub chains: u64,
    pub records: u64,
    /// Entries that gap records admit to have lost while the database could not be written.
    pub lost: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    pub chain: i64,
    /// Absent where a chain as a whole is meant.
    pub seq: Option<i64>,
    /// How many records, or chains, in a row.
    pub count: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// The record's text or hash is not what was written. For record 1 it may be the chain's opening instead.
    Changed,
    Missing,
    /// The record was written under another number, or the chain has a number that none can have.
    OutOfOrder,
    /// The chain's head, or the count of chains, does not agree with what is there.
    HeadMismatch,
    /// Another chain is not what it was when this chain was opened.
    BrokenLink,
    RemovedChain,
    Unreadable,
}

/// A chain as its row says.
#[derive(Debug, Clone)]
pub(crate) struct StoredChain {
    pub(crate) id: i64,
    /// `None` where the row or its links are no opening.
    pub(crate) opening: Option<Opening>,
    /// `None` where the row does not hold one.
    pub(crate) head: Option<Head>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredRecord<'a> {
    pub(crate) seq: i64,
    pub(crate) body: &'a [u8],
    pub(crate) hash: &'a [u8],
}

#[derive(Debug, Default)]
pub(crate) struct Verifier {
    extent: Extent,
    findings: Vec<Finding>,
    unlisted: u64,
    last_chain: i64,
}

/// One chain on its way.
#[derive(Debug)]
pub(crate) struct Walk {
    chain: i64,
    next_seq: i64,
    previous: Previous,
    head: Option<Head>,
}

/// The hash that the next record builds on.
#[derive(Debug, Clone, Copy)]
enum Previous {
    Known(ChainHash),
    /// After a changed record: the hash it carries if its text was changed, the one it should carry if its hash was.
    Either(ChainHash, ChainHash),
    /// After a record that is missing or elsewhere; the next one is taken as it stands.
    Unknown,
}

impl Verifier {
    pub(crate) fn begin(&mut self, chain: &StoredChain) -> Walk {
        self.extent.chains += 1;
        if chain.id < 1 {
            self.find(FindingKind::OutOfOrder, chain.id, None, 1);
        } else {
            self.succeed(chain);
        }
        if chain.opening.is_none() || chain.head.is_none() {
            self.find(FindingKind::Unreadable, chain.id, None, 1);
        }
        let previous = chain.opening.as_ref().map_or(Previous::Unknown, |opening| Previous::Known(opening.hash()));
        Walk { chain: chain.id, next_seq: 1, previous, head: chain.head }
    }

    /// Every chain follows the one before and links to it, as that one cannot have been linked to earlier.
    fn succeed(&mut self, chain: &StoredChain) {
        let due = self.last_chain.saturating_add(1);
        let links = chain.opening.as_ref().map(|opening| opening.links.as_slice());
        if chain.id > due {
            // The link leads to the removed chain, which is a finding already.
            self.find(FindingKind::RemovedChain, due, None, chain.id.saturating_sub(due));
        } else if due > 1 && links.is_some_and(|links| links.iter().all(|link| link.chain != self.last_chain)) {
            self.find(FindingKind::BrokenLink, chain.id, None, 1);
        }
        self.last_chain = chain.id;
    }

    pub(crate) fn record(&mut self, walk: &mut Walk, record: StoredRecord<'_>) {
        self.extent.records += 1;
        if record.seq < walk.next_seq {
            self.find(FindingKind::OutOfOrder, walk.chain, Some(record.seq), 1);
            return;
        }
        if record.seq > walk.next_seq {
            self.find(FindingKind::Missing, walk.chain, Some(walk.next_seq), record.seq.saturating_sub(walk.next_seq));
            walk.previous = Previous::Unknown;
        }
        walk.next_seq = record.seq.saturating_add(1);
        walk.previous = match self.judge(walk.previous, record) {
            Ok(hash) => Previous::Known(hash),
            Err((kind, previous)) => {
                self.find(kind, walk.chain, Some(record.seq), 1);
                previous
            }
        };
    }

    pub(crate) fn end(&mut self, walk: &Walk) {
        let last_seq = walk.next_seq - 1;
        let Some(head) = walk.head else { return };
        if head.seq > last_seq && (last_seq == 0 || !walk.previous.is(head.hash)) {
            self.find(FindingKind::Missing, walk.chain, Some(last_seq + 1), head.seq.saturating_sub(last_seq));
        } else if head.seq != last_seq || !walk.previous.may_be(head.hash) {
            self.find(FindingKind::HeadMismatch, walk.chain, None, 1);
        }
    }

    /// A chain says of another one's record what that record does not say itself.
    pub(crate) fn broken_link(&mut self, opening: i64) {
        self.find(FindingKind::BrokenLink, opening, None, 1);
    }

    /// Records that belong to no chain.
    pub(crate) fn orphans(&mut self, chain: i64) {
        // One with an id in a hole among the chains is a finding already.
        if chain < 1 || chain > self.last_chain {
            self.find(FindingKind::RemovedChain, chain, None, 1);
        }
    }

    pub(crate) fn finish(mut self, chains_opened: Option<i64>) -> Verdict {
        let last = self.last_chain;
        match chains_opened {
            Some(opened) if opened == last => {}
            Some(opened) if opened > last => {
                self.find(FindingKind::RemovedChain, last.saturating_add(1), None, opened.saturating_sub(last));
            }
            Some(_) | None => self.find(FindingKind::HeadMismatch, last, None, 1),
        }
        if self.findings.is_empty() {
            return Verdict::Verified(self.extent);
        }
        Verdict::Broken { extent: self.extent, findings: self.findings, unlisted: self.unlisted }
    }

    /// The record's hash, or what is wrong with it and what the next one may build on.
    fn judge(&mut self, previous: Previous, record: StoredRecord<'_>) -> Result<ChainHash, (FindingKind, Previous)> {
        let Some(hash) = ChainHash::from_stored(record.hash) else {
            return Err((FindingKind::Unreadable, Previous::Unknown));
        };
        let Ok(marks) = serde_json::from_slice::<Marks>(record.body) else {
            return Err((FindingKind::Unreadable, Previous::Known(hash)));
        };
        if marks.seq != record.seq {
            return Err((FindingKind::OutOfOrder, Previous::Unknown));
        }
        self.extent.lost = self.extent.lost.saturating_add(marks.lost);
        let (computed, agrees) = match previous {
            Previous::Unknown => return Ok(hash),
            Previous::Known(before) => {
                let computed = before.followed_by(record.body);
                (computed, computed == hash)
            }
            Previous::Either(carried, due) => {
                let computed = carried.followed_by(record.body);
                (computed, computed == hash || due.followed_by(record.body) == hash)
            }
        };
        if agrees { Ok(hash) } else { Err((FindingKind::Changed, Previous::Either(hash, computed))) }
    }

    fn find(&mut self, kind: FindingKind, chain: i64, seq: Option<i64>, count: i64) {
        if self.findings.len() == LISTED_MAX {
            self.unlisted += 1;
            return;
        }
        self.findings.push(Finding { kind, chain, seq, count });
    }
}

impl Previous {
    fn is(self, hash: ChainHash) -> bool {
        match self {
            Self::Known(known) => known == hash,
            Self::Either(carried, due) => carried == hash || due == hash,
            Self::Unknown => false,
        }
    }

    fn may_be(self, hash: ChainHash) -> bool {
        matches!(self, Self::Unknown) || self.is(hash)
    }
}

#[cfg(test)]
mod tests;
