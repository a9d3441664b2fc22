//! `read_file`: one source file, and with `includeDeps` the files of the project that it imports, each under the same
//! rules. That it was read is counted, for whoever ranks files later; nothing else changes.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use countersign_contract::{CallContext, Code, Effect, ErrorField, Example, Limits, Rejection, Terms, Tool, ToolError};
use countersign_repo::{
    Dependencies, Dependency, FileRefused, Found, LeftOut, NotParsed, Project, Reason, Root, Until, language_of,
    module_of, role_of,
};
use countersign_store::Accesses;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::reading::read;
use crate::source_policy::SOURCE;

/// The document's for a call with dependencies; what is not done by then is left out.
const MAX_TIME: Duration = Duration::from_secs(2);

pub(super) struct ReadFile {
    root: Arc<Root>,
    project: Arc<Project>,
    accesses: Accesses,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Input {
    /// File path relative to project root
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// Include level 1 dependencies (imports)
    #[serde(default)]
    include_deps: bool,
    /// Dependency tree depth (MVP: max 1); 0 means none
    #[serde(default = "one_level")]
    #[schemars(range(max = 1))]
    max_depth: u8,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Output {
    file: FileView,
    /// Files of the project that the file imports, in the order in which it names them; empty unless asked for
    dependencies: Vec<DependencyView>,
    /// Imports that come without content; absent where there are none
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    not_included: Vec<NotIncluded>,
    /// How many imports are in neither list, because there were too many; absent where there are none
    #[serde(default, skip_serializing_if = "is_zero")]
    imports_omitted: u64,
    metadata: Metadata,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FileView {
    /// The path without detours
    path: String,
    /// File contents
    content: String,
    /// File size in bytes
    size: u64,
    /// What follows the last line break is a line, too
    lines: u64,
    /// Such as `typescript`; `text` where it is unknown
    language: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DependencyView {
    /// Relative to project root
    path: String,
    /// How it is used
    r#type: ImportType,
    /// How many imports away it is
    #[schemars(range(min = 1, max = 1))]
    level: u8,
    /// File contents
    content: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NotIncluded {
    /// The import as the file has it
    specifier: String,
    /// How it is used
    r#type: ImportType,
    /// Where it leads, if that is a file of the project
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Why it comes without content
    reason: NotIncludedReason,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ImportType {
    Import,
    Reexport,
    Dynamic,
    Require,
    Include,
    Module,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NotIncludedReason {
    /// No part of the project
    External,
    /// A part of the project that is not there
    NotFound,
    /// It may not be read
    Refused,
    TooLarge,
    /// Not UTF-8
    NotText,
    /// There were too many, or together they were too large
    Limit,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Metadata {
    /// The part of the project that it belongs to: the innermost folder that is not only there for the layout
    module: Option<String>,
    /// What it is for: core, test, config, docs, script, example, generated, data or other
    role: Option<String>,
    /// When the file was changed last
    #[schemars(extend("format" = "date-time"))]
    last_modified: Option<String>,
}

impl Tool for ReadFile {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "read_file";
    const TITLE: &'static str = "Read file";
    const DESCRIPTION: &'static str =
        "Read file content with optional dependency tree. Tracks access for context scoring.";
    const EFFECT: Effect = Effect::ReadsLocal;

    fn terms() -> Terms {
        Terms {
            constraints: vec![
                "Allowed paths: only within the project root, links included; no absolute paths, no `..`",
                "Never read: `.env*`, `.git/`, `node_modules/`, each in any letter case; Countersign's own data folder, log \
                 and configuration",
                "Size limit: 1 MB (1,048,576 bytes) per file; text only: what is not UTF-8 is refused",
                "Dependencies: files of the project only, each under the same rules; at most 100 files and 2 MB together",
                "Imports are found in TypeScript, JavaScript, Python, Rust, Go, Java, Kotlin, C, C++, C#, Ruby, PHP and \
                 shell scripts",
                "Read-only: cannot modify files; that a file was read is counted",
            ],
            examples: examples(),
            limits: Limits { rate_per_minute: Some(100), max_time: Some(MAX_TIME), ..Limits::default() },
            error_fields: vec![ErrorField::Path],
            ..Terms::default()
        }
    }

    fn to_value(output: Output) -> Result<Value, serde_json::Error> {
        let Output { file, dependencies, not_included, imports_omitted, metadata } = output;
        let FileView { path, content, size, lines, language } = file;
        let mut value = json!({
            "file": {"path": path, "size": size, "lines": lines, "language": language},
            "metadata": metadata,
        });
        // Contents are moved, not copied.
        value["file"]["content"] = content.into();
        let dependencies = dependencies.into_iter().map(|dependency| {
            let DependencyView { path, r#type, level, content } = dependency;
            let mut value = json!({"path": path, "type": r#type, "level": level});
            value["content"] = content.into();
            value
        });
        value["dependencies"] = dependencies.collect();
        if !not_included.is_empty() {
            value["notIncluded"] = serde_json::to_value(not_included)?;
        }
        if imports_omitted > 0 {
            value["importsOmitted"] = imports_omitted.into();
        }
        Ok(value)
    }

    async fn call(&self, ctx: &CallContext, input: Input) -> Result<Output, ToolError> {
        let Input { path: asked, include_deps, max_depth } = input;
        check_form(&asked)?;
        let Found { bytes, path, modified } =
            read(&self.root, &SOURCE, &asked).await?.map_err(|error| refused(error, &asked))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| rejection(Code::EncodingError, "The file is not UTF-8 text", &asked))?;
        let (text, found) = if include_deps && max_depth > 0 {
            self.with_dependencies(ctx, path.clone(), text, &asked).await?
        } else {
            (text, Dependencies::default())
        };
        self.accesses.record(&path);
        Ok(output(path, text, modified, found))
    }
}

impl ReadFile {
    pub(super) fn new(root: Arc<Root>, accesses: Accesses) -> Self {
        Self { project: Arc::new(Project::new(Arc::clone(&root), SOURCE)), root, accesses }
    }

    /// The text goes along and comes back.
    async fn with_dependencies(
        &self,
        ctx: &CallContext,
        path: String,
        text: String,
        asked: &str,
    ) -> Result<(String, Dependencies), ToolError> {
        let cancelled = ctx.cancelled.clone();
        let until = Until::new(ctx.deadline.min(MAX_TIME), move || cancelled.is_cancelled());
        let project = Arc::clone(&self.project);
        let looked = tokio::task::spawn_blocking(move || {
            let found = project.dependencies(&path, &text, &until);
            (text, found)
        });
        let (text, found) = looked.await.map_err(ToolError::internal)?;
        let found = found.map_err(|error: NotParsed| {
            rejection(Code::UnsupportedType, "Failed to parse imports", asked).with_details(error.to_string().into())
        })?;
        Ok((text, found))
    }
}

fn output(path: String, content: String, modified: Option<SystemTime>, found: Dependencies) -> Output {
    let language = language_of(&path, &content);
    let metadata = Metadata {
        module: module_of(&path).map(str::to_owned),
        role: Some(role_of(&path, language, &content).as_str().to_owned()),
        last_modified: modified.and_then(timestamp),
    };
    let size = content.len() as u64;
    let lines = lines(&content);
    Output {
        file: FileView { size, lines, language: language.to_owned(), path, content },
        dependencies: found.included.into_iter().map(DependencyView::from).collect(),
        not_included: found.left_out.into_iter().map(NotIncluded::from).collect(),
        imports_omitted: found.unlisted as u64,
        metadata,
    }
}

impl From<Dependency> for DependencyView {
    fn from(Dependency { path, kind, content }: Dependency) -> Self {
        Self { path, r#type: kind.into(), level: 1, content }
    }
}

impl From<LeftOut> for NotIncluded {
    fn from(LeftOut { written, kind, path, reason }: LeftOut) -> Self {
        let reason = match reason {
            Reason::External => NotIncludedReason::External,
            Reason::NotFound => NotIncludedReason::NotFound,
            Reason::Refused => NotIncludedReason::Refused,
            Reason::TooLarge => NotIncludedReason::TooLarge,
            Reason::NotText => NotIncludedReason::NotText,
            Reason::Limit => NotIncludedReason::Limit,
        };
        Self { specifier: written, r#type: kind.into(), path, reason }
    }
}

impl From<countersign_repo::ImportKind> for ImportType {
    fn from(kind: countersign_repo::ImportKind) -> Self {
        use countersign_repo::ImportKind as Kind;
        match kind {
            Kind::Import => Self::Import,
            Kind::Reexport => Self::Reexport,
            Kind::Dynamic => Self::Dynamic,
            Kind::Require => Self::Require,
            Kind::Include => Self::Include,
            Kind::Module => Self::Module,
        }
    }
}

fn one_level() -> u8 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn lines(text: &str) -> u64 {
    let breaks = text.bytes().filter(|byte| *byte == b'\n').count() as u64;
    breaks + u64::from(!text.is_empty() && !text.ends_with('\n'))
}

/// To the second, as the document has it.
fn timestamp(time: SystemTime) -> Option<String> {
    let exact = Timestamp::try_from(time).ok()?;
    Timestamp::from_second(exact.as_second()).ok().map(|time| time.to_string())
}

/// The document has a sentence of its own for each of these.
fn check_form(path: &str) -> Result<(), Rejection> {
    let sentence = if path.starts_with('/') {
        "Absolute paths not allowed"
    } else if SOURCE.goes_up(path) {
        "Path traversal not allowed"
    } else {
        return Ok(());
    };
    Err(rejection(Code::AccessDenied, sentence, path))
}

fn refused(refused: FileRefused, path: &str) -> Rejection {
    match refused {
        FileRefused::Denied => rejection(Code::AccessDenied, "Permission denied", path),
        FileRefused::NotFound => rejection(Code::NotFound, "File not found", path),
        FileRefused::TooLarge { limit } => {
            rejection(Code::TooLarge, format!("File is larger than {limit} bytes"), path)
        }
        // The operator's log has the reason; a caller could learn from it what lies where.
        FileRefused::Io(error) => {
            tracing::warn!(%error, "cannot read a file of the repository");
            rejection(Code::IoError, "The file cannot be read", path)
        }
    }
}

fn rejection(code: Code, sentence: impl Into<String>, path: &str) -> Rejection {
    Rejection::new(code, sentence).with_field(ErrorField::Path, path)
}

fn examples() -> Vec<Example> {
    const SERVICE: &str = "import { TokenManager } from \"./TokenManager\";\nimport jwt from \"jsonwebtoken\";\n\n\
                           export class AuthService {}\n";
    const MANAGER: &str = "export class TokenManager {}\n";
    let file = json!({
        "path": "src/server/auth/AuthService.ts",
        "content": SERVICE,
        "size": SERVICE.len(),
        "lines": 4,
        "language": "typescript",
    });
    let metadata = json!({"module": "auth", "role": "core", "lastModified": "2025-01-15T09:00:00Z"});
    let files = vec![("src/server/auth/AuthService.ts", SERVICE), ("src/server/auth/TokenManager.ts", MANAGER)];
    vec![
        Example {
            title: "Simple file read",
            input: json!({"path": "src/server/auth/AuthService.ts", "includeDeps": false}),
            output: json!({"file": file, "dependencies": [], "metadata": metadata}),
            varies: vec!["/metadata/lastModified"],
            files: files.clone(),
            ..Example::default()
        },
        Example {
            title: "With dependencies",
            input: json!({"path": "src/server/auth/AuthService.ts", "includeDeps": true, "maxDepth": 1}),
            output: json!({
                "file": file,
                "dependencies": [
                    {"path": "src/server/auth/TokenManager.ts", "type": "import", "level": 1, "content": MANAGER},
                ],
                "notIncluded": [{"specifier": "jsonwebtoken", "type": "import", "reason": "external"}],
                "metadata": metadata,
            }),
            varies: vec!["/metadata/lastModified"],
            files,
            ..Example::default()
        },
    ]
}

#[cfg(test)]
mod tests {
    use countersign_contract::Tool as _;
    use countersign_repo::{Dependencies, Dependency, ImportKind, LeftOut, Reason};

    use super::{ReadFile, lines, output, timestamp};

    #[test]
    fn the_output_reads_as_its_type_says() {
        let left_out =
            LeftOut { written: "fs".to_owned(), kind: ImportKind::Import, path: None, reason: Reason::NotText };
        let included = Dependency { path: "a".to_owned(), kind: ImportKind::Module, content: "text".to_owned() };
        for (included, left_out, unlisted) in [(vec![], vec![], 0), (vec![included], vec![left_out], 3)] {
            let found = Dependencies { included, left_out, unlisted };
            let output = output("src/a.rs".to_owned(), "fn a() {}".to_owned(), None, found);
            let by_type = serde_json::to_value(&output).unwrap();
            assert_eq!(ReadFile::to_value(output).unwrap(), by_type);
        }
    }

    #[test]
    fn lines_and_times() {
        for (text, count) in [("", 0), ("\n", 1), ("a\nb", 2), ("a\nb\n", 2)] {
            assert_eq!(lines(text), count, "{text:?}");
        }
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_736_931_600_999);
        assert_eq!(timestamp(time).as_deref(), Some("2025-01-15T09:00:00Z"));
    }
}
