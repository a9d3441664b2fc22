//! The hash chain itself, without a database: what is hashed over what.
//!
//! Each record's hash covers the hash before it and the record's exact text. A chain begins with the hash over its own
//! opening, which names where the chain before it stood; so no chain can go without the next one noticing.

use std::fmt;

use countersign_contract::canonical_json;
use serde_json::json;
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

/// Where the chain before stood when a chain was opened.
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
    pub(crate) link: Option<Link>,
}

impl ChainHash {
    pub fn as_bytes(&self) -> &[u8; 32] {
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
        let link = self
            .link
            .map(|link| json!({ "chain": link.chain, "hash": link.head.hash.to_string(), "seq": link.head.seq }));
        let text = canonical_json(&json!({ "link": link, "opened_at": self.opened_at, "uuid": self.uuid }));
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
        let opening = Opening { uuid: "u".to_owned(), opened_at: "t".to_owned(), link: None };
        // printf '{"link":null,"opened_at":"t","uuid":"u"}' | sha256sum
        let first = "20c11b0ca02f751ae4c180cb4fcab545c148c78c63a91c6827a431fd523b3976";
        assert_eq!(opening.hash().to_string(), first);
        // (printf '{"link":null,"opened_at":"t","uuid":"u"}' | sha256sum | cut -c-64 | xxd -r -p; printf body) | sha256sum
        assert_eq!(
            opening.hash().followed_by(b"body").to_string(),
            "a1bca294026a738b26c8da8ad9bc3cc2c17e9ebe609b1d452dd7ca443c76ca26"
        );
    }

    #[test]
    fn every_part_of_an_opening_counts() {
        let head = Head { seq: 3, hash: ChainHash([7; 32]) };
        let opening = |uuid: &str, opened_at: &str, link| {
            Opening { uuid: uuid.to_owned(), opened_at: opened_at.to_owned(), link }.hash()
        };
        let hashes = [
            opening("u", "t", None),
            opening("v", "t", None),
            opening("u", "s", None),
            opening("u", "t", Some(Link { chain: 1, head })),
            opening("u", "t", Some(Link { chain: 2, head })),
            opening("u", "t", Some(Link { chain: 1, head: Head { seq: 4, ..head } })),
            opening("u", "t", Some(Link { chain: 1, head: Head { hash: ChainHash([8; 32]), ..head } })),
        ];
        for (index, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..index].contains(hash), "opening {index}");
        }
    }
}
