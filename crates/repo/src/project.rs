//! A file's dependencies: what it imports, as far as it lies in the project and may be read. Every one of them is read
//! under the rules of the file itself.

use std::collections::HashSet;
use std::sync::Arc;

use crate::imports::{Import, ImportKind, Outline, Reference};
use crate::language::{grammar_of, language_of};
use crate::resolve::{LastCensus, Resolution, View, resolve};
use crate::root::{Entry, Look};
use crate::syntax::{ByContent, Grammar};
use crate::{Census, FileRefused, NotParsed, PathPolicy, Root, Until};

/// What parsed files may take in memory, twice; see [`ByContent`].
const PARSED_MAX_BYTES: usize = 16 * 1024 * 1024;

/// What comes along with one file.
const INCLUDED_MAX: usize = 100;
const INCLUDED_MAX_BYTES: usize = 2 * 1024 * 1024;

/// Imports that are looked at, and how many of those that do not come along are named.
const IMPORTS_MAX: usize = 1000;
const LEFT_OUT_MAX: usize = 200;

/// The files below one root under one policy, as programs see them that import each other.
#[derive(Debug)]
pub struct Project {
    root: Arc<Root>,
    policy: PathPolicy,
    outlines: ByContent<Result<Arc<Outline>, NotParsed>>,
    census: LastCensus,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// In the order in which the file names them, each once.
    pub included: Vec<Dependency>,
    pub left_out: Vec<LeftOut>,
    /// Imports beyond those that are named in either list.
    pub unlisted: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Dependency {
    pub path: String,
    pub kind: ImportKind,
    pub content: String,
}

/// An import that does not come with its content.
#[derive(Debug, PartialEq, Eq, Hash, Clone)]
pub struct LeftOut {
    /// As the file has it.
    pub written: String,
    pub kind: ImportKind,
    /// Where it leads, if that is a file of the project that may be known.
    pub path: Option<String>,
    pub reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No part of the project.
    External,
    NotFound,
    /// The rules forbid it, or it leads out of the root.
    Refused,
    TooLarge,
    NotText,
    /// There were too many, or all together would be too large, or it took too long.
    Limit,
}

impl Project {
    pub fn new(root: Arc<Root>, policy: PathPolicy) -> Self {
        Self { root, policy, outlines: ByContent::new(PARSED_MAX_BYTES), census: LastCensus::default() }
    }

    /// What the file `path` with this text imports. Nothing, where its language is none that we can parse. Blocks on the
    /// disk; not for an async thread.
    pub fn dependencies(&self, path: &str, text: &str, until: &Until) -> Result<Dependencies, NotParsed> {
        let Some(grammar) = grammar_of(path, language_of(path, text)) else { return Ok(Dependencies::default()) };
        let outline = self.outline(grammar, text, until)?;
        let view = View::new(self, grammar, until);
        let mut gathering = Gathering::new(self, path);
        for (at, import) in outline.imports.iter().enumerate() {
            if at >= IMPORTS_MAX || until.is_over() {
                gathering.found.unlisted += outline.imports.len() - at;
                break;
            }
            let found = resolve(&view, path, import);
            gathering.take(import, if view.is_exhausted() { Err(Reason::Limit) } else { Ok(found) });
        }
        Ok(gathering.found)
    }

    /// From memory, where the same text was parsed before.
    pub(crate) fn outline(&self, grammar: Grammar, text: &str, until: &Until) -> Result<Arc<Outline>, NotParsed> {
        let make = || match Outline::of(grammar, text, until) {
            Ok(outline) => {
                let weight = outline.weight();
                Ok((Ok(Arc::new(outline)), weight))
            }
            Err(error @ NotParsed::Syntax { .. }) => Ok((Err(error), size_of::<NotParsed>())),
            // With more time it may turn out well.
            Err(error @ NotParsed::TooSlow) => Err(error),
        };
        self.outlines.get_or_make(grammar, text, make)?
    }

    pub(crate) fn look(&self, path: &str) -> Look {
        self.root.look(&self.policy, path)
    }

    pub(crate) fn list(&self, folder: &str) -> Vec<Entry> {
        self.root.list(&self.policy, folder)
    }

    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let found = self.root.read(&self.policy, path).ok()?;
        String::from_utf8(found.bytes).ok()
    }

    pub(crate) fn census(&self, until: &Until) -> Arc<Census> {
        self.census.get(self, until)
    }
}

/// What was found so far, within the bounds.
struct Gathering<'p> {
    project: &'p Project,
    /// Paths that are in one of the lists, and the file itself.
    seen: HashSet<String>,
    named: HashSet<LeftOut>,
    bytes: usize,
    found: Dependencies,
}

impl<'p> Gathering<'p> {
    fn new(project: &'p Project, own: &str) -> Self {
        let seen = HashSet::from([own.to_owned()]);
        Self { project, seen, named: HashSet::new(), bytes: 0, found: Dependencies::default() }
    }

    fn take(&mut self, import: &Import, found: Result<Resolution, Reason>) {
        match found {
            Ok(Resolution::Files(paths)) => {
                for path in paths {
                    if self.seen.insert(path.clone()) {
                        self.include(import, path);
                    }
                }
            }
            Ok(Resolution::External) => self.leave_out(import, None, Reason::External),
            Ok(Resolution::NotFound) => self.leave_out(import, None, Reason::NotFound),
            Ok(Resolution::Refused) => self.leave_out(import, None, Reason::Refused),
            Err(reason) => self.leave_out(import, None, reason),
        }
    }

    fn include(&mut self, import: &Import, path: String) {
        match self.content(&path) {
            Ok(content) => {
                self.bytes += content.len();
                self.found.included.push(Dependency { path, kind: import.kind, content });
            }
            Err(reason) => self.leave_out(import, Some(path).filter(|_| reason != Reason::Refused), reason),
        }
    }

    fn content(&self, path: &str) -> Result<String, Reason> {
        let room = INCLUDED_MAX_BYTES - self.bytes;
        if self.found.included.len() >= INCLUDED_MAX || room == 0 {
            return Err(Reason::Limit);
        }
        let read = self.project.root.read(&self.project.policy, path);
        let found = read.map_err(|refused| match refused {
            FileRefused::Denied => Reason::Refused,
            FileRefused::NotFound | FileRefused::Io(_) => Reason::NotFound,
            FileRefused::TooLarge { .. } => Reason::TooLarge,
        })?;
        let content = String::from_utf8(found.bytes).map_err(|_| Reason::NotText)?;
        if content.len() > room { Err(Reason::Limit) } else { Ok(content) }
    }

    fn leave_out(&mut self, import: &Import, path: Option<String>, reason: Reason) {
        let written = match (&import.reference, reason) {
            // The package says it all.
            (Reference::RustUse { path, .. }, Reason::External) => {
                path.iter().find(|part| !part.is_empty()).cloned().unwrap_or_default()
            }
            _ => import.written.clone(),
        };
        let left_out = LeftOut { written, kind: import.kind, path, reason };
        if self.named.contains(&left_out) {
            return;
        }
        if self.found.left_out.len() >= LEFT_OUT_MAX {
            self.found.unlisted += 1;
            return;
        }
        self.named.insert(left_out.clone());
        self.found.left_out.push(left_out);
    }
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::NotFound => "not_found",
            Self::Refused => "refused",
            Self::TooLarge => "too_large",
            Self::NotText => "not_text",
            Self::Limit => "limit",
        }
    }
}

#[cfg(test)]
mod tests;
