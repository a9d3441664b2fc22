//! `write_memory_entry`: one more entry at the end of one of the three memory files, after a person agreed. Nothing
//! that is there is changed, and what was answered is on disk.

use std::sync::Arc;
use std::time::Duration;

use countersign_contract::{
    Approval, CallContext, Code, Effect, Example, Mistake, Rejection, Sentence, Terms, Tool, ToolError, parse_json,
};
use countersign_repo::{AppendError, AppendOnly, NewEntry};
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fate::{self, Late};

/// Another process keeps a file for one write and one sync; longer than this is a failure, not a queue.
const PATIENCE: Duration = Duration::from_secs(10);

/// Of an entry, without its line break.
const MAX_BYTES: usize = 10_240;

pub(super) struct WriteMemoryEntry {
    pub(super) memory: Arc<AppendOnly>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Target memory file
    file: MemoryFile,
    /// Content to append
    #[schemars(length(min = 1, max = 10_000))]
    entry: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
enum MemoryFile {
    #[serde(rename = "progress_log.jsonl")]
    ProgressLog,
    #[serde(rename = "decisions.jsonl")]
    Decisions,
    #[serde(rename = "best_practices.md")]
    BestPractices,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    success: bool,
    file: MemoryFile,
    /// What was appended, its line break included
    bytes_written: u64,
}

impl Tool for WriteMemoryEntry {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "write_memory_entry";
    const TITLE: &'static str = "Write memory entry";
    const DESCRIPTION: &'static str = "Append an entry to a memory file. Append-only operation.";
    const EFFECT: Effect = Effect::Writes;

    fn terms() -> Terms {
        Terms {
            constraints: vec![
                "Append-only: cannot overwrite or delete",
                "Allowed files: only the three memory files listed",
                "Format validation: in `.jsonl` files the entry must be valid JSON, which is stored compact on one line; \
                 in `.md` files it is text without NUL, appended as-is with newline",
                "Size limit: 10,000 characters and 10,240 bytes per entry",
                "Requires approval: the user must approve each entry before it is written",
            ],
            examples: vec![Example {
                title: "Note a milestone",
                input: json!({
                    "file": "progress_log.jsonl",
                    "entry": "{\"timestamp\": \"2026-01-15T10:00:00Z\", \"event\": \"milestone\", \
                              \"description\": \"Completed EDA\"}",
                }),
                output: json!({"success": true, "file": "progress_log.jsonl", "bytes_written": 87}),
                ..Example::default()
            }],
            approval: Approval::Client,
            sentences: vec![
                Sentence { path: "/entry", keyword: "minLength", sentence: "The entry is empty" },
                Sentence {
                    path: "/entry",
                    keyword: "maxLength",
                    sentence: "The entry is longer than 10,000 characters",
                },
            ],
            ..Terms::default()
        }
    }

    fn preview(&self, input: &Input) -> Result<Option<String>, Rejection> {
        Ok(Some(format!("Append to {}:\n{}", input.file.name(), line(input)?)))
    }

    async fn call(&self, ctx: &CallContext, input: Input) -> Result<Output, ToolError> {
        let (file, entry, memory) = (input.file, line(&input)?, Arc::clone(&self.memory));
        let patience = PATIENCE.min(ctx.deadline / 2);
        let appended = fate::write(ctx, move |fate| {
            let begin = || fate.begin();
            let entry = NewEntry { text: &entry, is_line: file.line_check(), patience, begin: &begin };
            memory.append(file.name(), &entry)
        });
        let bytes_written = appended.await?.map_err(late)?.map_err(|error| failed(file, &error))?;
        Ok(Output { success: true, file, bytes_written })
    }
}

impl MemoryFile {
    fn name(self) -> &'static str {
        match self {
            Self::ProgressLog => "progress_log.jsonl",
            Self::Decisions => "decisions.jsonl",
            Self::BestPractices => "best_practices.md",
        }
    }

    fn is_json(self) -> bool {
        match self {
            Self::ProgressLog | Self::Decisions => true,
            Self::BestPractices => false,
        }
    }

    /// What a last line without a line break may be: any text is Markdown.
    fn line_check(self) -> fn(&[u8]) -> bool {
        if self.is_json() { |line| serde_json::from_slice::<IgnoredAny>(line).is_ok() } else { |_| true }
    }
}

/// The entry as the file gets it.
fn line(input: &Input) -> Result<String, Rejection> {
    let entry = &input.entry;
    if entry.len() > MAX_BYTES {
        let error = format!("The entry is larger than {MAX_BYTES} bytes");
        return Err(Rejection::new(Code::TooLarge, error));
    }
    if !input.file.is_json() {
        // In JSON it is no character either, and a database cannot keep it.
        return if entry.contains('\0') {
            Err(malformed("it has a NUL character", "The entry must be text"))
        } else {
            Ok(entry.clone())
        };
    }
    match parse_json(entry.as_bytes()) {
        Ok(_) => Ok(compact(entry)),
        Err(error) => Err(malformed(format!("not valid JSON: {error}"), "The entry must be valid JSON")),
    }
}

fn malformed(message: impl Into<String>, sentence: &str) -> Rejection {
    let mistake = Mistake { path: "/entry".to_owned(), message: message.into(), keyword: "format".to_owned() };
    Rejection::invalid(sentence, &[mistake])
}

/// Valid JSON without the space between its parts. Numbers and texts stay as they were written.
fn compact(json: &str) -> String {
    let (mut line, mut in_text, mut escaped) = (String::with_capacity(json.len()), false, false);
    for character in json.chars() {
        if in_text || !character.is_ascii_whitespace() {
            line.push(character);
        }
        in_text = if in_text { escaped || character != '"' } else { character == '"' };
        escaped = in_text && !escaped && character == '\\';
    }
    line
}

fn late(late: Late) -> Rejection {
    late.rejection(
        "The entry could not be written in time; nothing was written",
        "The disk did not answer in time; the entry may be there or come yet, which shows when the file is read",
    )
}

fn failed(file: MemoryFile, error: &AppendError) -> ToolError {
    let rejection = match error {
        AppendError::Abandoned => return ToolError::Cancelled,
        AppendError::NotPlain => Rejection::new(Code::AccessDenied, "Access denied"),
        AppendError::Locked => {
            Rejection::new(Code::Unavailable, "Another process keeps the file locked; nothing was written")
        }
        AppendError::NoSpace(_) => Rejection::no_space("No space is left; nothing was written"),
        AppendError::Io(_) => Rejection::new(Code::IoError, "Failed to write file"),
        AppendError::Unknown(_) => {
            Rejection::new(Code::IoError, "Failed to write file; whether the entry is there shows when it is read")
        }
    };
    // The operator's log has the reason; the path would tell a caller what lies where.
    tracing::warn!(file = file.name(), error = error as &(dyn std::error::Error + 'static), "cannot append");
    rejection.into()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::sync::Arc;
    use std::time::Duration;

    use countersign_contract::{Code, Tool as _, ToolError};
    use countersign_repo::AppendOnly;
    use tokio::runtime::Builder;

    use super::{Input, MemoryFile, WriteMemoryEntry, compact, late, line};
    use crate::fate::{Late, context};

    #[test]
    fn what_was_given_up_in_time_is_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory/best_practices.md");
        fs::create_dir(folder.path().join("memory")).unwrap();
        fs::write(&path, "first\n").unwrap();
        let notes = folder.path().join("notes");
        fs::create_dir(&notes).unwrap();
        let memory = Arc::new(AppendOnly::new(folder.path(), &folder.path().join("memory"), &notes));
        let (tool, locked) = (WriteMemoryEntry { memory }, File::open(&path).unwrap());
        locked.lock().unwrap();
        let input = Input { file: MemoryFile::BestPractices, entry: "second".to_owned() };
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (refused, ()) = runtime.block_on(async {
            let minute = Duration::from_mins(1);
            let ctx = context(minute);
            tokio::join!(tool.call(&ctx, input), tokio::time::advance(minute))
        });
        let ToolError::Rejected(rejection) = refused.unwrap_err() else { panic!("not for the caller") };
        assert_eq!(rejection, late(Late::GivenUp));
        drop(locked);
        // Waits for the writer's thread.
        drop(runtime);
        assert_eq!(fs::read_to_string(&path).unwrap(), "first\n");
    }

    #[test]
    fn json_is_stored_on_one_line_as_it_was_written() {
        for (entry, stored) in [
            (" {\n\t\"a\" : [ 1.10 , 12345678901234567890 ] } \r\n", r#"{"a":[1.10,12345678901234567890]}"#),
            (r#"{"a": "x \" y \\", "b" : "\\\" z"}"#, r#"{"a":"x \" y \\","b":"\\\" z"}"#),
            (r#""  spaced  ""#, r#""  spaced  ""#),
            ("7", "7"),
        ] {
            assert_eq!(compact(entry), stored);
            let input = Input { file: MemoryFile::Decisions, entry: entry.to_owned() };
            assert_eq!(line(&input).unwrap(), stored);
        }
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for entry in ["", "{", "{\"a\":1}\n{\"b\":2}", "{\"a\":1,}", "text", "\u{feff}{}", &"[".repeat(5000)] {
            let input = Input { file: MemoryFile::ProgressLog, entry: entry.to_owned() };
            assert!(line(&input).is_err(), "{entry}");
        }
        for (file, entry) in [(MemoryFile::BestPractices, "a\0b"), (MemoryFile::Decisions, "\"a\0b\"")] {
            let refused = line(&Input { file, entry: entry.to_owned() }).unwrap_err();
            assert_eq!(refused.code, Code::ValidationError);
        }
        for (characters, fits) in [(10_240, true), (10_241, false)] {
            let input = Input { file: MemoryFile::BestPractices, entry: "x".repeat(characters) };
            assert_eq!(line(&input).is_ok(), fits);
        }
    }
}
