//! `context_search`: what the project knows, by meaning. The index behind it is made in the background; where it is not
//! ready, the answer says so and names the tool that needs none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign_contract::{
    CallContext, Code, Effect, ErrorField, Example, Limits, Normalisation, Rejection, Sentence, Terms, Tool, ToolError,
};
use countersign_index::{Answer, Asked, Index, Kind, Piece, SearchError, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const DEFAULT_LIMIT: usize = 5;
const MAX_LIMIT: usize = 20;

/// From the document's table of performance targets.
const MAX_TIME: Duration = Duration::from_secs(5);

const FALLBACK: &str = "Use grep_codebase for text search";

pub(super) struct ContextSearch {
    pub(super) index: Arc<Index>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    /// Search query describing what to find
    #[schemars(length(min = 3, max = 500))]
    query: String,
    /// Filter by discovery type
    #[serde(default)]
    r#type: Filter,
    /// Filter by module name
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 200))]
    module: Option<String>,
    /// Maximum number of results to return
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    limit: usize,
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Filter {
    #[default]
    All,
    Pattern,
    Rule,
    Decision,
    Issue,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Output {
    /// The best first, at most `limit`
    results: Vec<View>,
    /// The query that was searched for
    query: String,
    /// How many there are, returned or not
    total_found: usize,
    /// How long the search took, in milliseconds
    search_time: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct View {
    /// Stays the same as long as the content does
    id: String,
    /// pattern, rule, decision, issue or note; session; code
    r#type: String,
    content: String,
    /// The part of the project that it is about
    module: Option<String>,
    /// The day's work that it comes from
    session: Option<String>,
    /// RFC 3339
    #[schemars(extend("format" = "date-time"))]
    date: Option<String>,
    /// From 0 to 1, comparable between queries
    #[schemars(range(min = 0.0, max = 1.0))]
    score: f64,
    source: SourceView,
    /// The file, relative to the repository root
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    path: Option<String>,
    /// First and last line in the file, from 1
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "[u32; 2]")]
    lines: Option<[u32; 2]>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SourceView {
    Discovery,
    Session,
    Code,
}

impl Tool for ContextSearch {
    type Input = Input;
    type Output = Output;

    const NAME: &'static str = "context_search";
    const TITLE: &'static str = "Search the project's context";
    const DESCRIPTION: &'static str = "Search project context semantically using RAG (Retrieval-Augmented Generation) \
                                       with embeddings. Returns relevant discoveries, sessions, and code snippets \
                                       ranked by similarity.";
    const EFFECT: Effect = Effect::ReadsLocal;

    fn terms() -> Terms {
        Terms {
            constraints: vec![
                "Covers source code, Markdown and decision records, the memory files, `TODO`, `FIXME` and `HACK` \
                 comments, and the commits of the repository",
                "Nothing is indexed of files that `read_file` refuses, that `.gitignore` and its kin name, or that \
                 `context.exclude` leaves out",
                "`type` filters discoveries; `all` includes sessions and code",
                "Until a project is embedded, the answer comes from its words, and what fits best is embedded at once",
                "Read-only: cannot modify files",
            ],
            normalise: vec![("query", Normalisation::Trim), ("module", Normalisation::Trim)],
            sentences: vec![Sentence {
                path: "/query",
                keyword: "minLength",
                sentence: "Query must be at least 3 characters",
            }],
            examples: vec![found_example()],
            limits: Limits { rate_per_minute: Some(30), max_time: Some(MAX_TIME), timeout: None },
            error_fields: vec![ErrorField::Fallback, ErrorField::Suggestion, ErrorField::Action, ErrorField::Message],
            ..Terms::default()
        }
    }

    async fn call(&self, _ctx: &CallContext, input: Input) -> Result<Output, ToolError> {
        let started = Instant::now();
        let Input { query, r#type, module, limit } = input;
        let module = module.filter(|module| !module.is_empty());
        let asked = Asked { query, kind: r#type.kind(), module, limit };
        let Answer { pieces, total } = self.index.search(&asked).await.map_err(failed)?;
        Ok(Output {
            results: pieces.into_iter().map(View::from).collect(),
            query: asked.query,
            total_found: total,
            search_time: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }
}

impl Filter {
    fn kind(self) -> Option<Kind> {
        match self {
            Self::All => None,
            Self::Pattern => Some(Kind::Pattern),
            Self::Rule => Some(Kind::Rule),
            Self::Decision => Some(Kind::Decision),
            Self::Issue => Some(Kind::Issue),
        }
    }
}

/// The documents' sentences for each case.
fn failed(error: SearchError) -> ToolError {
    match error {
        SearchError::Nothing => {
            Rejection::new(Code::Unavailable, "No embeddings found. Run initial session to generate context.")
                .with_field(ErrorField::Fallback, FALLBACK)
                .into()
        }
        SearchError::NotYet => Rejection::new(Code::Unavailable, "No embeddings available")
            .with_field(ErrorField::Suggestion, FALLBACK)
            .with_field(ErrorField::Action, "Embeddings will be generated in background")
            .into(),
        SearchError::Query(error) => {
            tracing::warn!(%error, "a query cannot be embedded");
            Rejection::new(Code::UpstreamError, "Failed to generate query embedding")
                .with_details(json!(error.to_string()))
                .with_field(ErrorField::Fallback, FALLBACK)
                .into()
        }
        SearchError::Store(error) => {
            tracing::warn!(%error, "the context index cannot be read");
            Rejection::new(Code::DatabaseError, "Search failed")
                .with_field(ErrorField::Message, "The context index cannot be read")
                .with_field(ErrorField::Fallback, FALLBACK)
                .into()
        }
    }
}

impl From<Piece> for View {
    fn from(Piece { id, score, chunk }: Piece) -> Self {
        Self {
            id: id.to_string(),
            r#type: chunk.kind.as_str().to_owned(),
            content: chunk.text,
            module: chunk.module,
            session: chunk.session,
            date: chunk.date.map(|date| date.to_string()),
            score: f64::from(score),
            source: match chunk.source {
                Source::Discovery => SourceView::Discovery,
                Source::Session => SourceView::Session,
                Source::Code => SourceView::Code,
            },
            path: chunk.path,
            lines: chunk.lines.map(|(first, last)| [first, last]),
        }
    }
}

fn found_example() -> Example {
    let record = "# Sessions\n\n## Status\n\nAccepted\n\n## Decision\n\nUse JWT tokens in httpOnly cookies.\n";
    Example {
        title: "Find a decision",
        input: json!({"query": "how does authentication work", "type": "decision", "limit": 1}),
        output: json!({
            "results": [{
                "id": "5f0c1d52-7a4e-8d2b-9a53-0c6b7f1f2a11",
                "type": "decision",
                "content": record.trim_end(),
                "module": null,
                "session": null,
                "date": "2025-01-15T10:00:00Z",
                "score": 0.52,
                "source": "discovery",
                "path": "docs/auth/decisions/0001-sessions.md",
                "lines": [1, 9],
            }],
            "query": "how does authentication work",
            "totalFound": 1,
            "searchTime": 12,
        }),
        varies: vec!["/searchTime", "/results/0/id", "/results/0/date", "/results/0/score", "/totalFound"],
        files: vec![("docs/auth/decisions/0001-sessions.md", record)],
        ..Example::default()
    }
}
