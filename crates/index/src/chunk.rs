//! The piece of a project that can be found, what is known about it, and how a file becomes pieces: code along its
//! definitions, Markdown along its headings, memory by its entries. What is no text for people gives none.

mod code;
mod date;
mod kinds;
mod lines;
mod markdown;
mod memory;
mod remarks;
mod symbols;

use countersign_repo::{Until, language_of, module_of, outline};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use self::kinds::{says, words};

/// As many bytes as we aim at. The model reads 256 tokens: about 3.2 bytes of code each, about 4 of prose, and a few
/// are for the line with path and names.
const CODE_BYTES: usize = 900;
const PROSE_BYTES: usize = 1000;

/// No chunk is longer; what is over the aim is what was too short to stand alone.
pub(crate) const CHUNK_BYTES_MAX: usize = 1500;

/// A piece that is shorter takes its neighbour in.
const SMALL_BYTES: usize = 300;

/// A closing bracket, a line between two definitions: nothing that anybody looks for by itself.
const TINY_BYTES: usize = 120;

/// More than any file that somebody wrote; the end of a generated one is not indexed.
const CHUNKS_MAX: usize = 2000;

/// The policy of the tools that read source code, once more: whoever calls has read the file by it.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// JSON of this size is data.
const JSON_BYTES_MAX: usize = 64 * 1024;

/// Lines over this length, when they are most of a file, were not written by people.
const LONG_LINE_BYTES: usize = 1000;

/// Names and headings of a chunk, together.
const SYMBOL_BYTES_MAX: usize = 200;

/// Folders and name at the end of a path that the model reads.
const PATH_PARTS_SHOWN: usize = 3;

/// Kept as JSON in the store: what is left out there is `None` here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    pub source: Source,
    pub kind: Kind,
    /// Of the file, relative to the root; a commit has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// First and last line in the file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// What a piece of code defines, with what it is part of: `Router::route`; of a text, its headings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<Timestamp>,
    pub text: String,
}

/// Where it comes from, in the document's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Discovery,
    Session,
    Code,
}

/// What it is, in the document's words as far as it has some: the first four can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Pattern,
    Rule,
    Decision,
    Issue,
    /// A discovery of no particular type.
    Note,
    Session,
    Code,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pattern => "pattern",
            Self::Rule => "rule",
            Self::Decision => "decision",
            Self::Issue => "issue",
            Self::Note => "note",
            Self::Session => "session",
            Self::Code => "code",
        }
    }
}

/// The chunks of a file. Where its syntax takes longer than `until`, it is cut along its lines.
///
/// Files of the memory are entries whatever they are called. Of the others these give nothing: what is not text, data
/// (CSV, JSONL, large JSON, patches, drawings, notebooks), what package managers lock, and what was made for machines.
pub fn chunks_of_file(path: &str, text: &str, modified: Option<Timestamp>, memory: bool, until: &Until) -> Vec<Chunk> {
    if text.len() > FILE_BYTES_MAX || text.contains('\0') {
        return Vec::new();
    }
    let (file, language) = (File { path, text, modified }, language_of(path, text));
    let mut chunks = if memory {
        memory::chunks(&file, language)
    } else if language == "markdown" {
        markdown::chunks(&file)
    } else if is_prose(path, language) {
        markdown::paragraphs(&file)
    } else if is_data(path, language, text) {
        Vec::new()
    } else {
        let outline = outline(path, language, text, until).unwrap_or_default();
        let mut chunks = remarks::chunks(&file, &outline);
        chunks.extend(code::chunks(&file, &outline));
        chunks
    };
    chunks.truncate(CHUNKS_MAX);
    chunks
}

/// What the model reads: where it stands and what it is called, then the text.
pub fn text_to_embed(chunk: &Chunk) -> String {
    // The name of a log of entries says nothing about any of them.
    let path = chunk.path.as_deref().filter(|path| language_of(path, "") != "jsonl");
    let Some(path) = path else { return chunk.text.clone() };
    let from = path.rmatch_indices('/').nth(PATH_PARTS_SHOWN - 1).map_or(0, |(at, _)| at + 1);
    let shown = &path[from..];
    match &chunk.symbol {
        Some(symbol) => format!("{shown} {symbol}\n{}", chunk.text),
        None => format!("{shown}\n{}", chunk.text),
    }
}

/// A file as it was read.
#[derive(Debug, Clone, Copy)]
struct File<'a> {
    path: &'a str,
    text: &'a str,
    modified: Option<Timestamp>,
}

impl File<'_> {
    /// What all chunks of the file have in common.
    fn chunk(&self, source: Source, kind: Kind) -> Chunk {
        Chunk {
            path: Some(self.path.to_owned()),
            module: module_of(self.path).map(str::to_owned),
            date: self.modified,
            ..Chunk::new(source, kind, String::new())
        }
    }
}

impl Chunk {
    /// Of which nothing else is known.
    pub(crate) fn new(source: Source, kind: Kind, text: String) -> Self {
        Self { source, kind, path: None, lines: None, symbol: None, module: None, session: None, date: None, text }
    }
}

/// Written to be read from top to bottom.
fn is_prose(path: &str, language: &str) -> bool {
    let name = name_of(path);
    let plain = language == "text" && matches!(name.rsplit_once('.'), None | Some(("", _) | (_, "txt")));
    plain || matches!(language, "asciidoc" | "latex" | "restructuredtext")
}

/// Kept by programs for programs.
fn is_data(path: &str, language: &str, text: &str) -> bool {
    const ENDINGS: [&str; 5] = [".svg", ".map", ".ipynb", ".lock", ".sum"];
    const LOCKS: [&str; 3] = ["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml"];
    let name = name_of(path);
    matches!(language, "csv" | "diff" | "jsonl")
        || (language == "json" && text.len() > JSON_BYTES_MAX)
        || LOCKS.contains(&name.as_str())
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name.contains(".min.")
        || is_minified(text)
}

fn is_minified(text: &str) -> bool {
    let long: usize = text.lines().map(str::len).filter(|length| *length > LONG_LINE_BYTES).sum();
    long > 4 * LONG_LINE_BYTES && 2 * long > text.len()
}

fn name_of(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
