//! The text of an audit record, which is what the chain hashes: canonical JSON with the record's number in it, so that
//! a record that was moved says so itself.

use countersign_contract::{AuditEntry, Digest};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de, ser};
use serde_json::Value;

use crate::ChainHash;

/// What `event` says in a gap; `AuditEvent` has the other words.
const GAP: &str = "gap";

/// Most texts fit, so that making one allocates once.
const USUAL_BYTES: usize = 640;

/// One record as it was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub chain: i64,
    pub seq: i64,
    pub hash: ChainHash,
    pub body: RecordBody,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordBody {
    Entry(AuditEntry),
    Gap(Gap),
}

/// Entries that could not be kept while the database could not be written: a loss that shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// When the first of them was lost.
    pub at: Timestamp,
    pub lost: u64,
}

/// One record as it lies in the database, for passing on.
#[derive(Debug, Clone, Copy)]
pub struct RawRecord<'a> {
    pub chain: i64,
    pub seq: i64,
    pub hash: &'a [u8],
    pub body: &'a [u8],
}

/// A record whose number is not known yet: the caller makes the text, the writer puts the number in.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    text: String,
    /// Where in `text` the number belongs.
    seq_at: usize,
}

impl Draft {
    pub(crate) fn of_entry(entry: &AuditEntry) -> Result<Self, serde_json::Error> {
        // All fields by name: a new one must find its place here, or the log would drop it.
        let AuditEntry { event, at, request_id, caller, wire, tool, contract, arguments, code, duration_us, result } =
            entry;
        let mut object = Object::new();
        object.digest("arguments", arguments);
        object.member("at", at)?;
        object.member("caller", caller)?;
        if let Some(code) = code {
            object.member("code", code)?;
        }
        object.digest("contract", contract);
        if let Some(duration_us) = duration_us {
            object.member("duration_us", duration_us)?;
        }
        object.member("event", event)?;
        object.member("request_id", request_id)?;
        if let Some(result) = result {
            object.digest("result", result);
        }
        let seq_at = object.leave_out("seq");
        object.member("tool", tool)?;
        object.member("wire", wire)?;
        object.into_draft(seq_at)
    }

    pub(crate) fn of_gap(gap: Gap) -> Result<Self, serde_json::Error> {
        let Gap { at, lost } = gap;
        let mut object = Object::new();
        object.member("at", &at)?;
        object.member("event", GAP)?;
        object.member("lost", &lost)?;
        let seq_at = object.leave_out("seq");
        object.into_draft(seq_at)
    }

    pub(crate) fn with_seq(&self, seq: i64) -> String {
        let (before, after) = self.text.split_at(self.seq_at);
        let seq = seq.to_string();
        let mut text = String::with_capacity(self.text.len() + seq.len());
        text.push_str(before);
        text.push_str(&seq);
        text.push_str(after);
        text
    }
}

/// A JSON object in the making. Members go in by hand and in order, which makes it what `canonical_json` would write, at
/// a fraction of the cost.
struct Object {
    text: Vec<u8>,
}

impl Object {
    fn new() -> Self {
        let mut text = Vec::with_capacity(USUAL_BYTES);
        text.push(b'{');
        Self { text }
    }

    fn member(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<(), serde_json::Error> {
        self.key(key);
        serde_json::to_writer(&mut self.text, value)
    }

    /// Not by its own serialisation, which formats byte by byte: three digests would cost more than all the rest.
    fn digest(&mut self, key: &str, digest: &Digest) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.key(key);
        self.text.extend_from_slice(b"\"sha256:");
        let hex = digest.as_bytes().map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        self.text.extend_from_slice(hex.as_flattened());
        self.text.push(b'"');
    }

    /// Answers where the value belongs.
    fn leave_out(&mut self, key: &str) -> usize {
        self.key(key);
        self.text.len()
    }

    fn key(&mut self, key: &str) {
        if self.text.len() > 1 {
            self.text.push(b',');
        }
        self.text.push(b'"');
        self.text.extend_from_slice(key.as_bytes());
        self.text.extend_from_slice(b"\":");
    }

    fn into_draft(mut self, seq_at: usize) -> Result<Draft, serde_json::Error> {
        self.text.push(b'}');
        let text = String::from_utf8(self.text).map_err(ser::Error::custom)?;
        Ok(Draft { text, seq_at })
    }
}

/// Reads a record's text back, as far as this version knows it.
pub(crate) fn parse(text: &[u8]) -> Result<RecordBody, serde_json::Error> {
    let mut value: Value = serde_json::from_slice(text)?;
    let members = value.as_object_mut().ok_or_else(|| de::Error::custom("a record is an object"))?;
    members.remove("seq");
    if members.get("event").and_then(Value::as_str) == Some(GAP) {
        return Gap::deserialize(value).map(RecordBody::Gap);
    }
    AuditEntry::deserialize(value).map(RecordBody::Entry)
}

/// What verification wants from a text: any version's records have these.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Marks {
    pub(crate) seq: i64,
    /// Only in gaps.
    #[serde(default)]
    pub(crate) lost: u64,
}

#[cfg(test)]
pub(crate) mod tests {
    use countersign_contract::{AuditEntry, AuditEvent, Code, Digest, RequestId, canonical_json};
    use serde_json::json;

    use super::{Draft, Gap, Marks, RecordBody, parse};

    #[test]
    fn the_text_is_canonical_json_and_reads_back() {
        for entry in [answered(), intent(), failed()] {
            let text = Draft::of_entry(&entry).unwrap().with_seq(17);
            let mut value = serde_json::to_value(&entry).unwrap();
            value["seq"] = json!(17);
            assert_eq!(text.as_bytes(), canonical_json(&value), "{text}");
            assert_eq!(parse(text.as_bytes()).unwrap(), RecordBody::Entry(entry));
            assert_eq!(serde_json::from_str::<Marks>(&text).unwrap(), Marks { seq: 17, lost: 0 });
        }
    }

    #[test]
    fn gaps_read_back_too() {
        let gap = Gap { at: "2026-11-15T03:00:00Z".parse().unwrap(), lost: 12 };
        let text = Draft::of_gap(gap).unwrap().with_seq(3);
        assert_eq!(text, r#"{"at":"2026-11-15T03:00:00Z","event":"gap","lost":12,"seq":3}"#);
        assert_eq!(parse(text.as_bytes()).unwrap(), RecordBody::Gap(gap));
        assert_eq!(serde_json::from_str::<Marks>(&text).unwrap(), Marks { seq: 3, lost: 12 });
    }

    pub(crate) fn answered() -> AuditEntry {
        AuditEntry {
            event: AuditEvent::Answered,
            at: "2026-11-15T03:04:05.678901Z".parse().unwrap(),
            request_id: RequestId::generate(),
            caller: "a \"caller\"\nwith\u{1}\u{7f}é".to_owned(),
            wire: "mcp\\stdio".to_owned(),
            tool: "read_file".parse().unwrap(),
            contract: Digest::of_bytes(b"contract"),
            arguments: Digest::of_bytes(b"arguments"),
            code: None,
            duration_us: Some(1234),
            result: Some(Digest::of_bytes(b"result")),
        }
    }

    fn intent() -> AuditEntry {
        AuditEntry { event: AuditEvent::Intent, duration_us: None, result: None, ..answered() }
    }

    fn failed() -> AuditEntry {
        AuditEntry { event: AuditEvent::Failed, code: Some(Code::RateLimited), result: None, ..answered() }
    }
}
