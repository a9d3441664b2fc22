//! `read_repo_file`: one text file of the repository, within the document's boundaries: its pattern, its blocked names,
//! one megabyte. It never changes anything and never waits for anyone.

use std::sync::Arc;

use countersign_contract::{CallContext, Code, Effect, Example, Rejection, Sentence, Terms, Tool, ToolError};
use countersign_repo::{FileRefused, Found, Name, ParentRule, PathPolicy, Root};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::reading::read;

const POLICY: PathPolicy = PathPolicy {
    blocked: &[Name::BeginsWith(".env"), Name::Contains("secret"), Name::Contains("credential"), Name::Is(".git")],
    parents: ParentRule::TwoDots,
    max_bytes: 1024 * 1024,
};

pub(super) struct ReadRepoFile {
    pub(super) root: Arc<Root>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Relative path from repo root
    #[schemars(regex(pattern = r"^[a-zA-Z0-9_./-]+$"), length(max = 4096))]
    path: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Output {
    /// File contents
    content: String,
    /// Normalized path
    path: String,
    /// File size in bytes
    size: u64,
}

impl Tool for ReadRepoFile {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "read_repo_file";
    const TITLE: &'static str = "Read repository file";
    const DESCRIPTION: &'static str = "Read a file from the repository within safe boundaries.";
    const EFFECT: Effect = Effect::ReadsLocal;

    fn terms() -> Terms {
        Terms {
            constraints: vec![
                "Allowed paths: only within the repository root, links included",
                "Blocked patterns: `..` (path traversal), `.env*` (environment files), `*secret*`, `*credential*` \
                 (sensitive files), `.git/` (git internals), each in any letter case",
                "Blocked places: Countersign's own data folder, log and configuration",
                "Size limit: 1 MB (1,048,576 bytes) maximum",
                "Text only: what is not UTF-8 is refused",
                "Read-only: cannot modify files",
            ],
            examples: vec![Example {
                title: "Read the progress log",
                input: json!({"path": ".claude/memory/progress_log.jsonl"}),
                output: json!({
                    "content": "{\"timestamp\":\"2026-01-01T09:00:00Z\"}\n",
                    "path": ".claude/memory/progress_log.jsonl",
                    "size": 37,
                }),
                files: vec![(".claude/memory/progress_log.jsonl", "{\"timestamp\":\"2026-01-01T09:00:00Z\"}\n")],
                ..Example::default()
            }],
            sentences: vec![Sentence {
                path: "/path",
                keyword: "pattern",
                sentence: "The path may have letters, digits, `_`, `.`, `/` and `-` only",
            }],
            ..Terms::default()
        }
    }

    fn to_value(output: Output) -> Result<Value, serde_json::Error> {
        let Output { content, path, size } = output;
        let members = [("content", Value::from(content)), ("path", path.into()), ("size", size.into())];
        Ok(Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
    }

    async fn call(&self, _ctx: &CallContext, input: Input) -> Result<Output, ToolError> {
        let Found { bytes, path, .. } = read(&self.root, &POLICY, &input.path).await?.map_err(refused)?;
        let size = bytes.len() as u64;
        let content =
            String::from_utf8(bytes).map_err(|_| Rejection::new(Code::EncodingError, "The file is not UTF-8 text"))?;
        Ok(Output { content, path, size })
    }
}

fn refused(refused: FileRefused) -> ToolError {
    match refused {
        FileRefused::Denied => Rejection::new(Code::AccessDenied, "Access denied").into(),
        FileRefused::NotFound => Rejection::new(Code::NotFound, "File not found").into(),
        FileRefused::TooLarge { limit } => {
            Rejection::new(Code::TooLarge, format!("File is larger than {limit} bytes")).into()
        }
        // The operator's log has the reason; a caller could learn from it what lies where.
        FileRefused::Io(error) => {
            tracing::warn!(%error, "cannot read a file of the repository");
            Rejection::new(Code::IoError, "The file cannot be read").into()
        }
    }
}

#[cfg(test)]
mod tests {
    use countersign_contract::Tool as _;

    use super::{Output, ReadRepoFile};

    #[test]
    fn the_output_reads_as_its_type_says() {
        let output = || Output { content: "text".to_owned(), path: "a/b".to_owned(), size: 4 };
        assert_eq!(ReadRepoFile::to_value(output()).unwrap(), serde_json::to_value(output()).unwrap());
    }
}
