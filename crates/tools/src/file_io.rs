//! `file-io`: reads and writes text files in one folder, `file_io.root`. A write replaces the file as a whole or
//! changes nothing; nothing outside of the folder is reached, whatever links and races say.

use std::io;
use std::sync::Arc;

use countersign_contract::{CallContext, Code, Effect, Example, Mistake, Rejection, Terms, Tool, ToolError};
use countersign_repo::{Consent, FileRefused, ParentRule, PathPolicy, Sandbox, WriteRefused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::fate::{self, Late};

/// 5 MB, both ways; a file of exactly this size is still served.
const MAX_BYTES: u64 = 5 * 1024 * 1024;

/// The document's words.
const FAILED: &str = "Failed to write file";

const POLICY: PathPolicy = PathPolicy { blocked: &[], parents: ParentRule::Component, max_bytes: MAX_BYTES };

pub(super) struct FileIo {
    pub(super) sandbox: Arc<Sandbox>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// `read_file` gives the content of a file, `write_file` replaces it or makes a new file
    command: Command,
    /// Both commands: the file, relative to the sandbox folder, or absolute inside of it
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// `write_file` only, and needed there: the whole new content of the file
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    content: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Command {
    ReadFile,
    WriteFile,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// What was done, and nothing of the other command.
#[schemars(extend("minProperties" = 2, "maxProperties" = 2))]
pub(super) struct Output {
    #[schemars(extend("const" = true))]
    ok: bool,
    /// `read_file`: the content of the file
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    contents: Option<String>,
    /// `write_file`: how many bytes the file has now
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    bytes_written: Option<u64>,
}

/// What is to be done, with what it needs.
enum Order {
    Read { path: String },
    Write { path: String, content: String },
}

impl Tool for FileIo {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "file-io";
    const TITLE: &'static str = "File I/O";
    const DESCRIPTION: &'static str =
        "Read from and write to the local filesystem within a sandboxed directory. Text files only.";
    const EFFECT: Effect = Effect::Destroys;

    fn terms() -> Terms {
        Terms {
            constraints: vec![
                "Allowed paths: only within the sandbox folder, links included; any `..` is refused",
                "Blocked places: Countersign's own data folder, log and configuration; memory files, lockfile and \
                 overlays cannot be written",
                "Regular files only: folders, pipes and devices are refused",
                "`write_file` creates missing folders and replaces the file as a whole, or changes nothing",
                "Size limit: 5 MB (5,242,880 bytes), both ways",
                "Text only: what is not UTF-8 is refused",
            ],
            examples: vec![
                Example {
                    title: "Read a file",
                    input: json!({"command": "read_file", "path": "my-notes.txt"}),
                    output: json!({"ok": true, "contents": "Water the plants.\n"}),
                    files: vec![("data/my-notes.txt", "Water the plants.\n")],
                    ..Example::default()
                },
                Example {
                    title: "Write a file",
                    input: json!({"command": "write_file", "path": "new-file.txt", "content": "Hello from Adam!"}),
                    output: json!({"ok": true, "bytes_written": 16}),
                    ..Example::default()
                },
            ],
            ..Terms::default()
        }
    }

    fn preview(&self, input: &Input) -> Result<Option<String>, Rejection> {
        let content = input.content.as_deref();
        check(input.command, content)?;
        let path = &input.path;
        Ok(Some(match content {
            None => format!("Read {path}"),
            Some(content) => format!("Replace {path} by these {} bytes:\n{content}", content.len()),
        }))
    }

    fn to_value(output: Output) -> Result<Value, serde_json::Error> {
        let Output { ok, contents, bytes_written } = output;
        let mut members = Map::from_iter([("ok".to_owned(), ok.into())]);
        members.extend(contents.map(|contents| ("contents".to_owned(), contents.into())));
        members.extend(bytes_written.map(|count| ("bytes_written".to_owned(), count.into())));
        Ok(Value::Object(members))
    }

    async fn call(&self, ctx: &CallContext, input: Input) -> Result<Output, ToolError> {
        match order(input)? {
            Order::Read { path } => self.read(path).await,
            Order::Write { path, content } => self.write(ctx, path, content).await,
        }
    }
}

impl FileIo {
    async fn read(&self, path: String) -> Result<Output, ToolError> {
        let sandbox = Arc::clone(&self.sandbox);
        let read = tokio::task::spawn_blocking(move || sandbox.read(&POLICY, &path));
        let found = read.await.map_err(ToolError::internal)?.map_err(unread)?;
        let contents =
            String::from_utf8(found.bytes).map_err(|_| Rejection::new(Code::EncodingError, "Encoding error"))?;
        Ok(Output { ok: true, contents: Some(contents), bytes_written: None })
    }

    async fn write(&self, ctx: &CallContext, path: String, content: String) -> Result<Output, ToolError> {
        let sandbox = Arc::clone(&self.sandbox);
        let written = fate::write(ctx, move |fate| {
            let consent = Consent { still_wanted: &|| !fate.is_given_up(), begin: &|| fate.begin() };
            sandbox.write(&POLICY, &path, content.as_bytes(), consent).map(|()| content.len() as u64)
        });
        let count = written.await?.map_err(late)?.map_err(|refused| unwritten(&refused))?;
        Ok(Output { ok: true, contents: None, bytes_written: Some(count) })
    }
}

fn order(input: Input) -> Result<Order, Rejection> {
    let Input { command, path, content } = input;
    check(command, content.as_deref())?;
    Ok(match content {
        None => Order::Read { path },
        Some(content) => Order::Write { path, content },
    })
}

/// What the schema cannot say: which command needs what.
fn check(command: Command, content: Option<&str>) -> Result<(), Rejection> {
    let message = match (command, content) {
        (Command::WriteFile, None) => "`write_file` needs it",
        (Command::ReadFile, Some(_)) => "is for `write_file` only",
        (Command::WriteFile, Some(content)) if content.len() as u64 > MAX_BYTES => {
            return Err(too_large());
        }
        (Command::WriteFile, Some(_)) | (Command::ReadFile, None) => return Ok(()),
    };
    let mistake = Mistake { path: "/content".to_owned(), message: message.to_owned(), keyword: "required".to_owned() };
    Err(Rejection::invalid("Invalid parameters", &[mistake]))
}

fn too_large() -> Rejection {
    Rejection::new(Code::TooLarge, "File size exceeds limit of 5 MB")
}

fn unread(refused: FileRefused) -> ToolError {
    match refused {
        FileRefused::Denied => Rejection::new(Code::AccessDenied, "Access denied").into(),
        FileRefused::NotFound => Rejection::new(Code::NotFound, "File not found").into(),
        FileRefused::TooLarge { .. } => too_large().into(),
        // The operator's log has the reason; a caller could learn from it what lies where.
        FileRefused::Io(error) => {
            tracing::warn!(%error, "cannot read a file of the sandbox");
            Rejection::new(Code::IoError, "Failed to read file").into()
        }
    }
}

fn late(late: Late) -> Rejection {
    late.rejection(
        "The file could not be written in time; nothing was changed",
        "The disk did not answer in time; the new content may be in place or come yet, which shows when the file is read",
    )
}

fn unwritten(refused: &WriteRefused) -> ToolError {
    let failed = |details: &str| Rejection::new(Code::IoError, FAILED).with_details(json!(details));
    let rejection = match refused {
        WriteRefused::Denied => return Rejection::new(Code::AccessDenied, "Access denied").into(),
        WriteRefused::Abandoned => return ToolError::Cancelled,
        WriteRefused::NoSpace(_) => {
            Rejection::no_space(FAILED).with_details(json!("No space is left; nothing was changed"))
        }
        WriteRefused::Unsettled(_) => failed("The new content is in place, but a power failure may undo that"),
        WriteRefused::Io(error) => failed(reason(error)),
    };
    tracing::warn!(error = refused as &(dyn std::error::Error + 'static), "cannot write a file of the sandbox");
    rejection.into()
}

/// As much of the reason as says nothing about what lies outside.
fn reason(error: &io::Error) -> &'static str {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the log has all other reasons")]
    match error.kind() {
        io::ErrorKind::IsADirectory => "It is not a regular file; nothing was changed",
        io::ErrorKind::NotADirectory => "A folder of the path is a file; nothing was changed",
        io::ErrorKind::InvalidFilename => "The path or a name in it is too long; nothing was changed",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "It may not be written; nothing was changed"
        }
        _ => "Nothing was changed",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    use countersign_contract::{Code, Tool as _, ToolError};
    use countersign_repo::{Places, Root, Sandbox};
    use tokio::runtime::Builder;

    use super::{Command, FileIo, Input, MAX_BYTES, Output, check, late};
    use crate::fate::{Late, context};

    #[test]
    fn the_caller_is_told_that_the_time_was_up_before_anything_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (root, notes) = (folder.path().join("data"), folder.path().join("notes"));
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a.txt"), "old").unwrap();
        let repository = Root::open(folder.path(), &[]).unwrap();
        let sandbox = Arc::new(Sandbox::new(Places { root: root.clone(), guarded: Vec::new(), notes }, &repository));
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).max_blocking_threads(1).build().unwrap();
        // Keeps the writer from its thread.
        let (go_on, goes_on) = sync_channel::<()>(1);
        runtime.spawn_blocking(move || goes_on.recv());
        let input =
            |path: &str| Input { command: Command::WriteFile, path: path.to_owned(), content: Some("new".to_owned()) };
        let tool = FileIo { sandbox };
        let (refused, ()) = runtime.block_on(async {
            let minute = Duration::from_mins(1);
            let ctx = context(minute);
            tokio::join!(tool.call(&ctx, input("a.txt")), tokio::time::advance(minute))
        });
        let ToolError::Rejected(rejection) = refused.unwrap_err() else { panic!("not for the caller") };
        assert_eq!(rejection, late(Late::GivenUp));
        go_on.send(()).unwrap();
        // Comes after the first writer.
        let written = runtime.block_on(tool.call(&context(Duration::from_mins(1)), input("b.txt"))).unwrap();
        assert_eq!(written, Output { ok: true, contents: None, bytes_written: Some(3) });
        assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "old");
    }

    #[test]
    fn each_command_gets_what_it_needs() {
        let (limit, over) = ("x".repeat(5 * 1024 * 1024), "é".repeat(5 * 512 * 1024 + 1));
        assert!(limit.len() as u64 == MAX_BYTES && over.chars().count() < limit.len());
        for (command, content, code) in [
            (Command::ReadFile, None, None),
            (Command::WriteFile, Some(""), None),
            (Command::WriteFile, Some(limit.as_str()), None),
            (Command::WriteFile, Some(over.as_str()), Some(Code::TooLarge)),
            (Command::WriteFile, None, Some(Code::ValidationError)),
            (Command::ReadFile, Some(""), Some(Code::ValidationError)),
        ] {
            let refused = check(command, content).err();
            assert_eq!(refused.as_ref().map(|rejection| rejection.code), code, "{command:?}");
            let explained = refused.is_none_or(|rejection| code == Some(Code::TooLarge) || rejection.details.is_some());
            assert!(explained, "{command:?}");
        }
    }

    #[test]
    fn the_output_reads_as_its_type_says() {
        for (contents, bytes_written) in [(Some("text".to_owned()), None), (None, Some(4))] {
            let output = || Output { ok: true, contents: contents.clone(), bytes_written };
            assert_eq!(FileIo::to_value(output()).unwrap(), serde_json::to_value(output()).unwrap());
        }
    }
}
