//! Syntax trees of source code. Hostile text costs time and memory, never more than the bounds here: no recursion goes
//! as deep as the text is nested, and whoever asks says until when.

mod cache;

use std::ops::ControlFlow;

use tree_sitter::{Language, Node, ParseOptions, Parser, Tree};

pub(crate) use self::cache::ByContent;
use crate::Until;

/// Nodes between two looks at the clock.
const NODES_PER_LOOK: usize = 4096;

/// What we can parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Grammar {
    TypeScript,
    Tsx,
    JavaScript,
    Python,
    Rust,
    Go,
    Java,
    Kotlin,
    C,
    Cpp,
    CSharp,
    Ruby,
    Php,
    Bash,
}

/// Why there is nothing to be learned from a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotParsed {
    #[error("Syntax error at line {line}")]
    Syntax { line: usize },
    #[error("The file takes too long to parse")]
    TooSlow,
}

/// Whether to go on below a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Into,
    Over,
}

/// The text and its tree.
pub(crate) struct Parsed<'t> {
    text: &'t str,
    tree: Tree,
}

impl<'t> Parsed<'t> {
    pub(crate) fn new(grammar: Grammar, text: &'t str, until: &Until) -> Result<Self, NotParsed> {
        let mut parser = Parser::new();
        if let Err(error) = parser.set_language(&grammar.language()) {
            // The versions of parser and grammar do not fit each other; a test parses with every one of them.
            tracing::error!(%error, ?grammar, "a grammar cannot be used");
            return Err(NotParsed::TooSlow);
        }
        let mut stop = |_: &_| if until.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let options = ParseOptions::new().progress_callback(&mut stop);
        let bytes = text.as_bytes();
        let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
        Ok(Self { text, tree: tree.ok_or(NotParsed::TooSlow)? })
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    pub(crate) fn text(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Every named node in the order of the text, as long as `visit` wants to see what is below.
    pub(crate) fn walk<'a>(&'a self, until: &Until, mut visit: impl FnMut(Node<'a>) -> Step) -> Result<(), NotParsed> {
        let mut cursor = self.tree.walk();
        let mut seen = 0_usize;
        loop {
            seen += 1;
            if seen.is_multiple_of(NODES_PER_LOOK) && until.is_over() {
                return Err(NotParsed::TooSlow);
            }
            let node = cursor.node();
            if node.is_named() && visit(node) == Step::Into && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return Ok(());
                }
            }
        }
    }

    /// The line of a mistake in a statement that `concerns` names, or of the beginning of one among what could not be
    /// read. Others hide no such statement; often it is the grammar that does not know the newest syntax.
    pub(crate) fn mistake(&self, concerns: impl Fn(&str) -> bool) -> Option<usize> {
        let root = self.root();
        if !root.has_error() {
            return None;
        }
        // Down through what could not be read, and no deeper.
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            if node == root || node.is_error() {
                let below: Vec<Node<'_>> = node.children(&mut node.walk()).collect();
                open.extend(below.into_iter().rev());
            } else if is_beginning(node) || (node.has_error() && concerns(node.kind())) {
                return Some(node.start_position().row + 1);
            }
        }
        None
    }
}

/// A word that begins an import, left over where no statement could be made of it.
fn is_beginning(node: Node<'_>) -> bool {
    node.named_child_count() == 0 && matches!(node.kind(), "import" | "use" | "using" | "package")
}

impl Grammar {
    fn language(self) -> Language {
        match self {
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
            Self::Kotlin => tree_sitter_kotlin_ng::LANGUAGE.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Self::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
            Self::Ruby => tree_sitter_ruby::LANGUAGE.into(),
            Self::Php => tree_sitter_php::LANGUAGE_PHP.into(),
            Self::Bash => tree_sitter_bash::LANGUAGE.into(),
        }
    }
}

#[cfg(test)]
mod tests;
