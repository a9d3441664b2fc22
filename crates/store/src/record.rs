//! The text of an audit record, which is what the chain hashes: JSON with the record's number in it, so that a record
//! that was moved says so itself. The number stands last: it is known last.

use std::fmt::{self, Write as _};

use countersign_contract::{AuditEntry, AuditEvent, Digest};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de};
use serde_json::Value;

use crate::ChainHash;

/// What `event` says in a gap; `AuditEvent` has the other words.
const GAP: &str = "gap";

/// What a draft ends with.
const SEQ_KEY: &str = ",\"seq\":";
const SEQ_DIGITS_MAX: usize = 10;

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

/// A record whose number is not known yet: the caller makes the text, the writer puts the number at its end.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// Up to where the number belongs.
    text: String,
}

impl Draft {
    pub(crate) fn of_entry(entry: &AuditEntry) -> Result<Self, fmt::Error> {
        // All fields by name: a new one must find its place here, or the log would drop it.
        let AuditEntry {
            event,
            at,
            request_id,
            caller,
            wire,
            tool,
            contract,
            arguments,
            code,
            duration_us,
            result,
            approval,
        } = entry;
        // By hand, not by serde: a fifth of the cost, and this is on the way of every call.
        let mut text = String::with_capacity(USUAL_BYTES);
        write!(text, r#"{{"at":"{at}","request_id":"{request_id}","event":""#)?;
        text.push_str(word(*event));
        text.push_str(r#"","tool":"#);
        push_string(&mut text, tool.as_str())?;
        text.push_str(r#","caller":"#);
        push_string(&mut text, caller)?;
        text.push_str(r#","wire":"#);
        push_string(&mut text, wire)?;
        text.push_str(r#","contract":"#);
        push_digest(&mut text, contract)?;
        text.push_str(r#","arguments":"#);
        push_digest(&mut text, arguments)?;
        if let Some(code) = code {
            text.push_str(r#","code":"#);
            push_string(&mut text, code.as_str())?;
        }
        if let Some(duration_us) = duration_us {
            write!(text, r#","duration_us":{duration_us}"#)?;
        }
        if let Some(result) = result {
            text.push_str(r#","result":"#);
            push_digest(&mut text, result)?;
        }
        if let Some(approval) = approval {
            write!(text, r#","approval":"{approval}""#)?;
        }
        text.push_str(SEQ_KEY);
        Ok(Self { text })
    }

    pub(crate) fn of_gap(gap: Gap) -> Result<Self, fmt::Error> {
        let Gap { at, lost } = gap;
        let mut text = String::new();
        write!(text, r#"{{"at":"{at}","event":"{GAP}","lost":{lost}{SEQ_KEY}"#)?;
        Ok(Self { text })
    }

    /// How long the record's text becomes at most.
    pub(crate) fn max_len(&self) -> usize {
        self.text.len() + SEQ_DIGITS_MAX + 1
    }

    /// Adds the record's text: one line, as JSON without spaces has no line breaks.
    pub(crate) fn write_with_seq(&self, seq: i64, text: &mut String) {
        text.push_str(&self.text);
        text.push_str(&seq.to_string());
        text.push('}');
    }
}

fn word(event: AuditEvent) -> &'static str {
    match event {
        AuditEvent::Intent => "intent",
        AuditEvent::Answered => "answered",
        AuditEvent::Failed => "failed",
        AuditEvent::Asked => "asked",
        AuditEvent::Abandoned => "abandoned",
        AuditEvent::Approved => "approved",
        AuditEvent::Denied => "denied",
    }
}

fn push_string(text: &mut String, value: &str) -> fmt::Result {
    if value.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        return write!(text, "{}", Value::from(value));
    }
    text.push('"');
    text.push_str(value);
    text.push('"');
    Ok(())
}

/// Not by its own formatting, which goes byte by byte: three digests would cost more than all the rest.
fn push_digest(text: &mut String, digest: &Digest) -> fmt::Result {
    let digit = |half: u8| if half < 10 { b'0' + half } else { b'a' - 10 + half };
    let mut hex = [[0; 2]; 32];
    for (digits, byte) in hex.iter_mut().zip(digest.as_bytes()) {
        *digits = [digit(byte >> 4), digit(byte & 15)];
    }
    text.push_str("\"blake3:");
    text.push_str(str::from_utf8(hex.as_flattened()).map_err(|_| fmt::Error)?);
    text.push('"');
    Ok(())
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
    use countersign_contract::{ApprovalId, AuditEntry, AuditEvent, Code, Digest, RequestId};
    use serde_json::{Value, json};

    use super::{Draft, Gap, Marks, RecordBody, parse};

    #[test]
    fn the_text_says_what_serde_would_and_reads_back() {
        let abandoned = AuditEntry { event: AuditEvent::Abandoned, ..intent() };
        let asked = AuditEntry { event: AuditEvent::Asked, ..intent() };
        let decided = |event| AuditEntry { event, approval: Some(ApprovalId::generate()), ..intent() };
        let (approved, denied) = (decided(AuditEvent::Approved), decided(AuditEvent::Denied));
        for entry in [answered(), intent(), failed(), asked, abandoned, approved, denied] {
            let text = text(&Draft::of_entry(&entry).unwrap(), 17);
            let mut value = serde_json::to_value(&entry).unwrap();
            value["seq"] = json!(17);
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value, "{text}");
            assert_eq!(text.len(), value.to_string().len(), "no space and nothing twice: {text}");
            assert_eq!(parse(text.as_bytes()).unwrap(), RecordBody::Entry(entry));
            assert_eq!(serde_json::from_str::<Marks>(&text).unwrap(), Marks { seq: 17, lost: 0 });
        }
    }

    #[test]
    fn gaps_read_back_too() {
        let gap = Gap { at: "2026-11-15T03:00:00Z".parse().unwrap(), lost: 12 };
        let text = text(&Draft::of_gap(gap).unwrap(), 3);
        assert_eq!(text, r#"{"at":"2026-11-15T03:00:00Z","event":"gap","lost":12,"seq":3}"#);
        assert_eq!(parse(text.as_bytes()).unwrap(), RecordBody::Gap(gap));
        assert_eq!(serde_json::from_str::<Marks>(&text).unwrap(), Marks { seq: 3, lost: 12 });
    }

    pub(crate) fn text(draft: &Draft, seq: i64) -> String {
        let mut text = String::new();
        draft.write_with_seq(seq, &mut text);
        assert!(text.len() <= draft.max_len() && !text.contains('\n'), "{text}");
        text
    }

    pub(crate) fn answered() -> AuditEntry {
        AuditEntry {
            event: AuditEvent::Answered,
            at: "2026-11-15T03:04:05.678901Z".parse().unwrap(),
            request_id: RequestId::generate(),
            caller: "a \"caller\"\nwith\u{1}\u{7f}é".into(),
            wire: "mcp\\stdio".into(),
            tool: "read_file".parse().unwrap(),
            contract: Digest::of_bytes(b"contract"),
            arguments: Digest::of_bytes(b"arguments"),
            code: None,
            duration_us: Some(1234),
            result: Some(Digest::of_bytes(b"result")),
            approval: None,
        }
    }

    fn intent() -> AuditEntry {
        AuditEntry { event: AuditEvent::Intent, duration_us: None, result: None, ..answered() }
    }

    fn failed() -> AuditEntry {
        AuditEntry { event: AuditEvent::Failed, code: Some(Code::RateLimited), result: None, ..answered() }
    }
}
