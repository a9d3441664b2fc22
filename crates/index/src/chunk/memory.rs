//! The memory files, entry by entry: a line of JSON is one, an item of a list or a paragraph of Markdown is one. What
//! an entry says about itself counts; the name of its file is for those that say nothing.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::lines::Lines;
use super::markdown::{item, pieces};
use super::{CHUNK_BYTES_MAX, CHUNKS_MAX, Chunk, File, Kind, SYMBOL_BYTES_MAX, Source, date, kinds};

/// Keys are compared in lower case, without `_` and `-`.
const KIND_KEYS: [&str; 5] = ["type", "kind", "category", "tag", "event"];
const MODULE_KEYS: [&str; 5] = ["module", "component", "area", "package", "service"];
const SESSION_KEYS: [&str; 2] = ["session", "sessionid"];
const DATE_KEYS: [&str; 8] = ["timestamp", "date", "datetime", "time", "createdat", "created", "at", "ts"];

/// What an entry is about, in the order in which it is shown.
const TEXT_KEYS: [&str; 22] = [
    "title",
    "summary",
    "decision",
    "rule",
    "pattern",
    "issue",
    "problem",
    "content",
    "entry",
    "text",
    "description",
    "message",
    "note",
    "body",
    "details",
    "solution",
    "rationale",
    "reason",
    "why",
    "context",
    "alternatives",
    "consequences",
];

/// Of a module or a session that is taken as such.
const NAME_BYTES_MAX: usize = 200;

pub(super) fn chunks(file: &File<'_>, language: &str) -> Vec<Chunk> {
    let name = file.path.rsplit('/').next().unwrap_or(file.path);
    let kind = kinds::of_heading(name.split('.').next().unwrap_or(name)).unwrap_or(Kind::Note);
    // The folder of the memory says nothing about what is remembered.
    let common = Chunk { module: None, ..file.chunk(Source::Discovery, kind) };
    let mut chunks = match language {
        "jsonl" => json_lines(file.text, &common),
        "json" => match serde_json::from_str(file.text) {
            Ok(Value::Array(entries)) => entries.iter().flat_map(|entry| of_json(entry, &common)).collect(),
            Ok(entry) => of_json(&entry, &common),
            Err(_) => of_text(file.text, &common),
        },
        _ => markdown(file.text, &common),
    };
    chunks.extend(sessions(&chunks, &common));
    chunks
}

/// What was recorded in one session, together. Of one that recorded a single thing, that entry says it all.
fn sessions(entries: &[Chunk], common: &Chunk) -> Vec<Chunk> {
    let mut by_session: BTreeMap<&str, Vec<&Chunk>> = BTreeMap::new();
    for entry in entries {
        by_session.entry(entry.session.as_deref().unwrap_or_default()).or_default().push(entry);
    }
    by_session.retain(|session, entries| !session.is_empty() && entries.len() > 1);
    let whole = |(session, entries): (&str, Vec<&Chunk>)| {
        let texts: Vec<&str> = entries.iter().map(|entry| entry.text.as_str()).collect();
        let date = entries.iter().filter_map(|entry| entry.date).max();
        let session = Some(session.to_owned());
        let common = Chunk { source: Source::Session, kind: Kind::Session, session, date, ..common.clone() };
        of_text(&texts.join("\n"), &common)
    };
    by_session.into_iter().flat_map(whole).collect()
}

fn json_lines(text: &str, common: &Chunk) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let common = Chunk { lines: Some((number, number)), ..common.clone() };
        match serde_json::from_str(line) {
            Ok(entry) => chunks.extend(of_json(&entry, &common)),
            // Torn, or not JSON: somebody wrote it all the same.
            Err(_) => chunks.extend(of_text(line, &common)),
        }
        if chunks.len() >= CHUNKS_MAX {
            break;
        }
    }
    chunks
}

fn of_json(entry: &Value, common: &Chunk) -> Vec<Chunk> {
    let Value::Object(fields) = entry else { return of_text(&shown(entry), common) };
    let mut chunk = common.clone();
    let own_kind = values(fields, &KIND_KEYS).find_map(|value| kinds::named(value.as_str()?));
    // `{"decision": "…"}` is one.
    let by_text = || TEXT_KEYS.iter().find_map(|key| values(fields, &[*key]).next().and_then(|_| kinds::named(key)));
    chunk.kind = own_kind.or_else(|| by_text().filter(|kind| *kind != Kind::Note)).unwrap_or(common.kind);
    chunk.module = values(fields, &MODULE_KEYS).find_map(name);
    chunk.session = values(fields, &SESSION_KEYS).find_map(name);
    chunk.date = values(fields, &DATE_KEYS).find_map(moment).or(common.date);
    let mut texts: Vec<String> = values(fields, &TEXT_KEYS).map(shown).filter(|text| !text.trim().is_empty()).collect();
    texts.dedup();
    if texts.is_empty() {
        let known = [&KIND_KEYS[..], &MODULE_KEYS, &SESSION_KEYS, &DATE_KEYS].concat();
        let others = fields.iter().filter(|(key, _)| !known.contains(&plain(key).as_str()));
        texts.extend(others.map(|(key, value)| format!("{key}: {}", shown(value))));
    }
    of_text(&texts.join("\n"), &chunk)
}

/// Values of the fields with these names, in the order of the names.
fn values<'v>(fields: &'v Map<String, Value>, keys: &[&'v str]) -> impl Iterator<Item = &'v Value> {
    let keys = keys.to_vec();
    keys.into_iter()
        .flat_map(move |key| fields.iter().filter(move |(field, _)| plain(field) == key).map(|(_, value)| value))
}

fn plain(key: &str) -> String {
    key.chars().filter(|character| !matches!(character, '_' | '-')).collect::<String>().to_ascii_lowercase()
}

fn name(value: &Value) -> Option<String> {
    let name = value.as_str()?.trim();
    (!name.is_empty() && name.len() <= NAME_BYTES_MAX).then(|| name.replace('\0', ""))
}

fn moment(value: &Value) -> Option<jiff::Timestamp> {
    match value {
        Value::String(text) => date::date(text),
        Value::Number(number) => date::date_of_number(number.as_i64()?),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A value as people would write it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// One entry, in as many chunks as it takes. They have the lines of the entry.
fn of_text(text: &str, common: &Chunk) -> Vec<Chunk> {
    // A database may not take it.
    let text = text.replace('\0', " ");
    let lines = Lines::new(&text);
    let chunks = pieces(&lines, 0, lines.count() - 1, common);
    chunks.into_iter().map(|chunk| Chunk { lines: common.lines, ..chunk }).collect()
}

/// Entries below headings. An entry that begins with a word such as `Rule:` says what it is.
fn markdown(text: &str, common: &Chunk) -> Vec<Chunk> {
    let lines = Lines::new(text);
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut heading: Option<&str> = None;
    let mut at = 0;
    while at < lines.count() && chunks.len() < CHUNKS_MAX {
        let line = lines.line(at);
        if lines.is_blank(at) {
            at += 1;
            continue;
        }
        if line.starts_with('#') {
            heading = Some(line.trim_matches(['#', ' '])).filter(|heading| !heading.is_empty());
            at += 1;
            continue;
        }
        let end = end_of_entry(&lines, at);
        let written = lines.text(&lines.bytes(at, end));
        let entry = item(line).map_or(written.as_str(), |first| {
            // The sign of the list goes; what stands below the item stays as it is.
            let begin = written.find(first).unwrap_or_default();
            &written[begin..]
        });
        chunks.extend(of_text(entry, &of_markdown(entry, heading, lines.numbers(&lines.bytes(at, end)), common)));
        at = end + 1;
    }
    chunks
}

/// An item with all that is indented below it, or a paragraph.
fn end_of_entry(lines: &Lines<'_>, first: usize) -> usize {
    let mut end = first;
    let mut size = lines.size(first, first);
    while end + 1 < lines.count() {
        let next = lines.line(end + 1);
        let is_next = lines.is_blank(end + 1)
            || next.starts_with('#')
            || (item(next).is_some() && !next.starts_with([' ', '\t']));
        size += lines.size(end + 1, end + 1);
        if is_next || size > 8 * CHUNK_BYTES_MAX {
            break;
        }
        end += 1;
    }
    end
}

fn of_markdown(entry: &str, heading: Option<&str>, numbers: (u32, u32), common: &Chunk) -> Chunk {
    let first = entry.lines().next().unwrap_or_default();
    let own = first.split_once(':').and_then(|(word, _)| kinds::named(word));
    let kind = own.or_else(|| heading.and_then(kinds::of_heading)).unwrap_or(common.kind);
    let date = date::date(first).or_else(|| heading.and_then(date::date)).or(common.date);
    let symbol = heading.map(|heading| heading[..heading.floor_char_boundary(SYMBOL_BYTES_MAX)].to_owned());
    Chunk { kind, date, symbol, lines: Some(numbers), ..common.clone() }
}

#[cfg(test)]
mod tests {
    use countersign_repo::language_of;

    use super::{Chunk, File, Kind, Source, chunks};

    #[test]
    fn lines_of_json_in_various_spellings() {
        for (name, line, expected) in [
            (
                "progress_log.jsonl",
                r#"{"timestamp":"2026-01-15T10:00:00Z","type":"issue","module":"auth","content":"Fixed with a mutex"}"#,
                "issue auth - 2026-01-15T10:00:00Z Fixed with a mutex",
            ),
            (
                "progress_log.jsonl",
                r#"{"timestamp":"2026-01-01T00:00:00Z","entry":"OK_seed"}"#,
                "note - - 2026-01-01T00:00:00Z OK_seed",
            ),
            ("decisions.jsonl", r#"{"entry":"OK_seed"}"#, "decision - - - OK_seed"),
            (
                "progress_log.jsonl",
                r#"{"createdAt":1768471200,"event":"milestone","description":"Completed EDA","session_id":"s-1"}"#,
                "note - s-1 2026-01-15T10:00:00Z Completed EDA",
            ),
            (
                "log.jsonl",
                r#"{"Decision":"Use X","rationale":"It is fast","Component":"api"}"#,
                "decision api - - Use X|It is fast",
            ),
            ("log.jsonl", r#"{"kind":"best_practice","text":["a","b"]}"#, "rule - - - a, b"),
            ("log.jsonl", r#"{"count":3,"date":"2025-01-02"}"#, "note - - 2025-01-02T00:00:00Z count: 3"),
            ("log.jsonl", r#""just a text""#, "note - - - just a text"),
            ("log.jsonl", "{torn", "note - - - {torn"),
            ("log.jsonl", r#"{"text":"a\u0000b"}"#, "note - - - a b"),
        ] {
            assert_eq!(shown(name, &format!("\n{line}\n")), [format!("2-2 {expected}")], "{line}");
        }
        assert!(shown("log.jsonl", "{}\n\n[]\nnull\n").is_empty());
    }

    #[test]
    fn what_one_session_recorded_is_also_found_together() {
        let entry = |session: &str, day: u8, text: &str| {
            format!("{{\"session\":\"{session}\",\"date\":\"2026-01-0{day}\",\"text\":\"{text}\"}}\n")
        };
        let text =
            [entry("s-1", 2, "a"), entry("s-2", 1, "b"), entry("s-1", 1, "c"), entry("", 1, "d"), entry("", 1, "e")];
        let found = made("log.jsonl", &text.concat());
        let sessions: Vec<&Chunk> = found.iter().filter(|chunk| chunk.source == Source::Session).collect();
        let [session] = sessions[..] else { panic!("one session recorded more than one thing: {sessions:?}") };
        assert_eq!(
            (session.session.as_deref(), session.text.as_str(), session.kind),
            (Some("s-1"), "a\nc", Kind::Session)
        );
        assert_eq!(session.date.unwrap().to_string(), "2026-01-02T00:00:00Z");
    }

    #[test]
    fn markdown_by_entries() {
        let text = "# Best practices\n\nOK_seed\n- Rule: every handler validates its input\n\
                    - **Pattern:** one lock\n  around both\n\n## Known issues\n\n2026-02-03: It is slow.\nStill.\n";
        let expected = [
            "3-3 rule - - - OK_seed",
            "4-4 rule - - - Rule: every handler validates its input",
            "5-6 pattern - - - **Pattern:** one lock|  around both",
            "10-11 issue - - 2026-02-03T00:00:00Z 2026-02-03: It is slow.|Still.",
        ];
        assert_eq!(shown("best_practices.md", text), expected);
    }

    #[test]
    fn long_entries_are_cut() {
        let line = format!(r#"{{"type":"rule","content":"{}"}}"#, "word ".repeat(1000));
        let found = made("log.jsonl", &line);
        assert!(found.len() > 4 && found.iter().all(|chunk| chunk.text.len() <= 1500 && chunk.lines == Some((1, 1))));
    }

    fn shown(name: &str, text: &str) -> Vec<String> {
        let or = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        made(name, text)
            .into_iter()
            .map(|chunk| {
                let ((first, last), kind) = (chunk.lines.unwrap(), chunk.kind.as_str());
                let (module, session, date) =
                    (or(chunk.module), or(chunk.session), or(chunk.date.map(|date| date.to_string())));
                format!("{first}-{last} {kind} {module} {session} {date} {}", chunk.text.replace('\n', "|"))
            })
            .collect()
    }

    fn made(name: &str, text: &str) -> Vec<Chunk> {
        let path = format!(".claude/memory/{name}");
        chunks(&File { path: &path, text, modified: None }, language_of(&path, text))
    }
}
