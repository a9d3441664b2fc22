//! `grep_codebase`: a regular expression in all files of the repository, with ripgrep's engine. It changes nothing and
//! shows nothing that `read_file` refuses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_contract::{CallContext, Code, Effect, ErrorField, Example, Limits, Rejection, Terms, Tool, ToolError};
use countersign_repo::{Case, FileGlob, GrepFailed, Occurrence, Pattern, Report, Root, Scope, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::source_policy::{EXCLUDED, SOURCE};

/// Each search uses all processors; more at a time would only wait for each other.
const SEARCHES_AT_A_TIME: usize = 4;

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 100;

/// From the document's table of performance targets.
const MAX_TIME: Duration = Duration::from_secs(3);

pub(super) struct GrepCodebase {
    root: Arc<Root>,
    searches: Arc<Semaphore>,
}

impl GrepCodebase {
    pub(super) fn new(root: Arc<Root>) -> Self {
        Self { root, searches: Arc::new(Semaphore::new(SEARCHES_AT_A_TIME)) }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Input {
    /// Regex pattern to search for
    #[schemars(length(min = 1, max = 200))]
    pattern: String,
    /// Glob pattern to filter files (e.g., "**/*.ts")
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 1000))]
    file_pattern: Option<String>,
    /// Case-sensitive search
    #[serde(default)]
    case_sensitive: bool,
    /// Maximum number of matches to return
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: usize,
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Output {
    /// The first matches in the order of files and lines, at most `limit`: one entry for each occurrence
    matches: Vec<Match>,
    /// The pattern that was searched for
    pattern: String,
    /// Occurrences in all files, returned or not
    total_matches: u64,
    /// Files that were searched
    files_searched: u64,
    /// How long the search took, in milliseconds
    search_time: u64,
    /// What was found, for a person; only where nothing was
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    message: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Match {
    /// Path of the file, relative to the repository root
    file: String,
    /// Line number, from 1
    #[schemars(range(min = 1))]
    line: u64,
    /// Column of the match in characters, from 1
    #[schemars(range(min = 1))]
    column: u64,
    /// The line; of a long one, what is around the match
    text: String,
    context: Context,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Context {
    /// Up to two lines before
    before: Vec<String>,
    /// Up to two lines after
    after: Vec<String>,
}

impl Tool for GrepCodebase {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "grep_codebase";
    const TITLE: &'static str = "Grep codebase";
    const DESCRIPTION: &'static str = "Fast text search across codebase using regex patterns. Good for exact matches \
                                       and when semantic search is unavailable.";
    const EFFECT: Effect = Effect::ReadsLocal;

    fn terms() -> Terms {
        Terms {
            constraints: vec![
                "Respects `.gitignore`, `.ignore`, `.rgignore`, `.git/info/exclude` and the user's own git excludes",
                "Excluded folders: `node_modules/`, `.git/`, `dist/`, `build/`, `.next/`, `.context/`",
                "Nothing is shown of files that `read_file` refuses (`.env*`, `.git`, `node_modules`, in any letter \
                 case), of binary files, or of Countersign's own data folder, log and configuration",
                "Links are not followed; hidden files are searched",
                "The pattern is a regular expression of the Rust crate `regex`: no look-around, no references back, \
                 one line at a time; counted repetitions may multiply to at most 1000",
                "Lines longer than 500 characters are cut around the match; files with lines of more than 8 MB are not \
                 searched",
                "Read-only: cannot modify files",
            ],
            examples: vec![found_example(), nothing_example()],
            limits: Limits { rate_per_minute: Some(60), max_time: Some(MAX_TIME), timeout: None },
            error_fields: vec![ErrorField::Pattern, ErrorField::Message, ErrorField::Fallback],
            ..Terms::default()
        }
    }

    async fn call(&self, _ctx: &CallContext, input: Input) -> Result<Output, ToolError> {
        // Whatever ends this call ends the search.
        let ended = StopOnDrop(Stop::default());
        let (root, stop) = (Arc::clone(&self.root), ended.0.clone());
        let permit = Arc::clone(&self.searches).acquire_owned().await.map_err(ToolError::internal)?;
        let search = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            search(&root, input, &stop)
        });
        search.await.map_err(ToolError::internal)?
    }
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn search(root: &Root, input: Input, stop: &Stop) -> Result<Output, ToolError> {
    let started = Instant::now();
    let Input { pattern, file_pattern, case_sensitive, limit } = input;
    let case = if case_sensitive { Case::Sensitive } else { Case::Insensitive };
    let glob = file_pattern.filter(|glob| !glob.trim().is_empty()).map(|glob| FileGlob::new(root, &glob)).transpose();
    let (compiled, glob) = match (Pattern::new(&pattern, case), glob) {
        (Ok(compiled), Ok(glob)) => (compiled, glob),
        (compiled, glob) => {
            let reasons = [("/pattern", compiled.err().map(|error| error.to_string()))];
            let reasons = reasons.into_iter().chain([("/filePattern", glob.err().map(|error| error.to_string()))]);
            return Err(invalid(&pattern, reasons).into());
        }
    };
    let scope = Scope { policy: &SOURCE, excluded: EXCLUDED, files: glob.as_ref() };
    let Report { occurrences, total, files } = root.grep(scope, &compiled, limit, stop).map_err(failed)?;
    let message = (total == 0).then(|| format!("No matches found for pattern '{pattern}'"));
    Ok(Output {
        matches: occurrences.into_iter().map(Match::from).collect(),
        pattern,
        total_matches: total,
        files_searched: files,
        search_time: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        message,
    })
}

/// All mistakes at once; the document's sentence where the pattern is one of them.
fn invalid(pattern: &str, reasons: impl Iterator<Item = (&'static str, Option<String>)>) -> Rejection {
    let mistakes: Vec<(&str, String)> =
        reasons.filter_map(|(path, reason)| reason.map(|reason| (path, reason))).collect();
    let of_pattern = mistakes.iter().any(|(path, _)| *path == "/pattern");
    let sentence = if of_pattern { "Invalid regex pattern" } else { "Invalid parameters" };
    let details: Vec<Value> =
        mistakes.into_iter().map(|(path, message)| json!({"path": path, "message": message})).collect();
    let rejection = Rejection::new(Code::ValidationError, sentence).with_details(details.into());
    if of_pattern { rejection.with_field(ErrorField::Pattern, pattern) } else { rejection }
}

fn failed(failed: GrepFailed) -> ToolError {
    match failed {
        GrepFailed::Stopped => ToolError::Cancelled,
        GrepFailed::Io(error) => {
            tracing::warn!(%error, "cannot search the repository");
            Rejection::new(Code::IoError, "Search failed")
                .with_field(ErrorField::Message, "The repository cannot be read")
                .with_field(ErrorField::Fallback, "Try read_file for files whose paths are known")
                .into()
        }
    }
}

impl From<Occurrence> for Match {
    fn from(found: Occurrence) -> Self {
        let Occurrence { file, line, column, text, before, after } = found;
        Self { file, line, column, text, context: Context { before, after } }
    }
}

fn found_example() -> Example {
    let text = "  // Generate JWT token\n  function generateToken(payload) {\n    const token = jwt.sign(payload, SECRET);\n    \
                return token;\n  }\n";
    Example {
        title: "Find all uses of a function",
        input: json!({"pattern": "jwt\\.sign", "filePattern": "**/*.ts"}),
        output: json!({
            "matches": [{
                "file": "src/server/auth/AuthService.ts",
                "line": 3,
                "column": 19,
                "text": "    const token = jwt.sign(payload, SECRET);",
                "context": {
                    "before": ["  // Generate JWT token", "  function generateToken(payload) {"],
                    "after": ["    return token;", "  }"],
                },
            }],
            "pattern": "jwt\\.sign",
            "totalMatches": 1,
            "filesSearched": 1,
            "searchTime": 4,
        }),
        varies: vec!["/searchTime"],
        files: vec![("src/server/auth/AuthService.ts", text)],
        ..Example::default()
    }
}

fn nothing_example() -> Example {
    Example {
        title: "Nothing found",
        input: json!({"pattern": "nonexistent"}),
        output: json!({
            "matches": [],
            "pattern": "nonexistent",
            "totalMatches": 0,
            "filesSearched": 1,
            "searchTime": 4,
            "message": "No matches found for pattern 'nonexistent'",
        }),
        varies: vec!["/searchTime", "/filesSearched"],
        files: vec![("README.md", "# Project\n")],
        ..Example::default()
    }
}
