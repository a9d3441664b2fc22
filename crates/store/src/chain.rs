//! The hash chain itself, without a database: what is hashed over what.
//!
//! Each record's hash covers the hash before it and the record's exact text. A chain begins with the hash over its own
//! opening, which names where every chain stood that had grown since it was last named; so whatever was there when the
//! newest chain was opened can neither change nor go without a later hash noticing.

// What was added after that is held only by heads and by the count of chains, which anyone who can write the database
// can make fit: a tail cut off there, or the newest chain removed as a whole, does not show. Nor does a log whose
// hashes were all made anew from the change on. Against both helps only a hash that was kept elsewhere.

use std::fmt;

use countersign_contract::canonical_json;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// SHA-256, printed as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainHash([u8; 32]);

/// How far a chain has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// Of the newest record; the first has 1.
    pub(crate) seq: i64,
    pub(crate) hash: ChainHash,
}

/// Where another chain stood when a chain was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) chain: i64,
    pub(crate) head: Head,
}

/// What a chain's first hash covers. The texts are those in the database, not what they mean: verification must not
/// depend on how a time is written back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opening {
    pub(crate) uuid: String,
    pub(crate) opened_at: String,
    /// In the order of the chains they point to.
    pub(crate) links: Vec<Link>,
}

impl ChainHash {
    pub(crate) const BYTES: usize = 32;

    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// `None` where the bytes are not a hash.
    pub(crate) fn from_stored(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The hash of a record with this text, where `self` is the hash before it.
    pub(crate) fn followed_by(&self, body: &[u8]) -> Self {
        Self(Sha256::new_with_prefix(self.0).chain_update(body).finalize().into())
    }
}

impl Opening {
    pub(crate) fn hash(&self) -> ChainHash {
        let link =
            |link: &Link| json!({ "chain": link.chain, "hash": link.head.hash.to_string(), "seq": link.head.seq });
        let links: Vec<Value> = self.links.iter().map(link).collect();
        let text = canonical_json(&json!({ "links": links, "opened_at": self.opened_at, "uuid": self.uuid }));
        ChainHash(Sha256::digest(&text).into())
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::{ChainHash, Head, Link, Opening};

    /// Anyone can recompute a chain with `sha256sum`; these values were made with it.
    #[test]
    fn hashes_are_plain_sha256() {
        let opening = Opening { uuid: "u".to_owned(), opened_at: "t".to_owned(), links: Vec::new() };
        // printf '{"links":[],"opened_at":"t","uuid":"u"}' | sha256sum
        let first = "b2ac52c30e987f3583d9a1758d9a7ddd82f383d16f004853761c46927a0529cb";
        assert_eq!(opening.hash().to_string(), first);
        // (printf '{"links":[],"opened_at":"t","uuid":"u"}' | sha256sum | cut -c-64 | xxd -r -p; printf body) | sha256sum
        assert_eq!(
            opening.hash().followed_by(b"body").to_string(),
            "f5748b36c8f42a61be3f9d93b887b816a14fcd4630030d08213b0106931cc3a0"
        );
    }

    #[test]
    fn every_part_of_an_opening_counts() {
        let head = Head { seq: 3, hash: ChainHash([7; 32]) };
        let opening = |uuid: &str, opened_at: &str, links: &[Link]| {
            Opening { uuid: uuid.to_owned(), opened_at: opened_at.to_owned(), links: links.to_vec() }.hash()
        };
        let link = Link { chain: 1, head };
        let hashes = [
            opening("u", "t", &[]),
            opening("v", "t", &[]),
            opening("u", "s", &[]),
            opening("u", "t", &[link]),
            opening("u", "t", &[Link { chain: 2, ..link }]),
            opening("u", "t", &[link, Link { chain: 2, ..link }]),
            opening("u", "t", &[Link { head: Head { seq: 4, ..head }, ..link }]),
            opening("u", "t", &[Link { head: Head { hash: ChainHash([8; 32]), ..head }, ..link }]),
        ];
        for (index, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..index].contains(hash), "opening {index}");
        }
    }
}
