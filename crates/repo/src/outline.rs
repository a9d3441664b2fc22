//! What a source file defines, and its comments, with the lines they are on. It is for cutting code into pieces that
//! have names, so it takes what it can get: a mistake in the text hides what is in its place, and nothing else.

mod comments;
mod forms;
mod names;

use std::ops::Range;

use tree_sitter::Node;

use self::forms::{Form, form_of, is_comment, leads};
use self::names::{Surroundings, defined};
use crate::Until;
use crate::language::grammar_of;
use crate::syntax::{Grammar, NotParsed, Parsed, Step};

/// More than any file that somebody wrote; the rest of a generated one has no names.
const DEFINITIONS_MAX: usize = 20_000;
const COMMENTS_MAX: usize = 20_000;

/// Whoever indents further does not write for people; looking back costs time for each node.
const INDENT_MAX: usize = 200;

/// What was learned from one file, in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeOutline {
    /// Outer ones before those that are inside of them.
    pub definitions: Vec<Definition>,
    pub comments: Vec<Comment>,
}

/// A name, and the text that says what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// As it is written, without what is around it. A method that is defined outside of its type has the type in front:
    /// `Store::put`. An `impl` has the name of its type.
    pub name: String,
    pub kind: DefinitionKind,
    /// First and last line, from 1, with the comments, attributes and decorators that stand directly before it.
    pub lines: (u32, u32),
    pub bytes: Range<usize>,
    /// How many others it is inside of.
    pub depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DefinitionKind {
    /// Also methods, constructors and macros.
    Function,
    /// Classes, structures, interfaces, and what implements something for them.
    Type,
    /// Modules and namespaces, where they have a body here.
    Module,
    /// Constants and variables of a whole file.
    Constant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// With the signs that make it a comment.
    pub bytes: Range<usize>,
    /// Nothing else stands before it on its first line.
    pub alone: bool,
}

/// Definitions where there is a grammar for the language, and comments where we know what they look like.
pub fn outline(path: &str, language: &str, text: &str, until: &Until) -> Result<CodeOutline, NotParsed> {
    let Some(grammar) = grammar_of(path, language) else {
        return Ok(CodeOutline { definitions: Vec::new(), comments: comments::by_lines(language, text) });
    };
    let parsed = Parsed::new(grammar, text, until)?;
    let mut found = Collector {
        parsed: &parsed,
        text,
        grammar,
        outline: CodeOutline::default(),
        open: Vec::new(),
        functions: 0,
        lead: None,
    };
    parsed.walk(until, |node| found.visit(node))?;
    Ok(found.outline)
}

struct Collector<'p, 't> {
    parsed: &'p Parsed<'t>,
    text: &'t str,
    grammar: Grammar,
    outline: CodeOutline,
    /// The definitions that the walk is inside of.
    open: Vec<Open>,
    /// How many of them are functions.
    functions: usize,
    /// What stands directly before the next definition, if one comes.
    lead: Option<Lead>,
}

struct Open {
    kind: DefinitionKind,
    bytes: Range<usize>,
}

/// Comments, attributes and decorators on lines of their own. Rows are from 0.
struct Lead {
    begin: usize,
    first: usize,
    last: usize,
    indent: usize,
}

impl Collector<'_, '_> {
    fn visit(&mut self, node: Node<'_>) -> Step {
        while let Some(open) = self.open.last()
            && node.start_byte() >= open.bytes.end
        {
            self.functions -= usize::from(open.kind == DefinitionKind::Function);
            self.open.pop();
        }
        let kind = node.kind();
        if is_comment(kind) {
            self.comment(node);
            self.note_lead(node, last_row(node));
            return Step::Over;
        }
        if leads(kind) {
            self.note_lead(node, last_row(node));
            return Step::Over;
        }
        if kind == "template_declaration" {
            // What it is a template of is inside; the parameters are often on a line of their own.
            let parameters = node.child_by_field_name("parameters");
            self.note_lead(node, parameters.map_or(node.start_position().row, last_row));
        } else if let Some(form) = form_of(self.grammar, kind) {
            self.definition(node, form);
        }
        Step::Into
    }

    fn comment(&mut self, node: Node<'_>) {
        if self.outline.comments.len() < COMMENTS_MAX {
            let lines = (number(node.start_position().row), number(last_row(node)));
            let alone = self.indent(node).is_some_and(|indent| indent.alone);
            self.outline.comments.push(Comment { lines, bytes: node.byte_range(), alone });
        }
    }

    fn note_lead(&mut self, node: Node<'_>, last: usize) {
        let Some(Indent { width: indent, alone: true }) = self.indent(node) else { return };
        let first = node.start_position().row;
        match &mut self.lead {
            Some(lead) if lead.indent == indent && first <= lead.last + 1 => lead.last = last,
            lead => *lead = Some(Lead { begin: node.start_byte(), first, last, indent }),
        }
    }

    fn definition(&mut self, node: Node<'_>, form: Form) {
        if self.outline.definitions.len() >= DEFINITIONS_MAX {
            return;
        }
        let indent = self.indent(node);
        let surroundings = Surroundings {
            outermost: indent.as_ref().is_some_and(|indent| indent.width == 0),
            in_function: self.functions > 0,
        };
        let Some((kind, name)) = defined(self.parsed, node, form, surroundings) else { return };
        let (mut begin, mut first) = (node.start_byte(), node.start_position().row);
        if let Some(lead) = self.lead.take()
            && indent.is_some_and(|indent| indent.width == lead.indent)
            && lead.last + 1 >= first
            && self.open.last().is_none_or(|open| open.bytes.start <= lead.begin)
        {
            (begin, first) = (lead.begin, lead.first);
        }
        let bytes = begin..node.end_byte();
        let depth = self.open.len();
        self.functions += usize::from(kind == DefinitionKind::Function);
        self.open.push(Open { kind, bytes: bytes.clone() });
        let lines = (number(first), number(last_row(node)));
        self.outline.definitions.push(Definition { name, kind, lines, bytes, depth });
    }

    /// Of the line on which the node begins; `None` where that is too far away.
    fn indent(&self, node: Node<'_>) -> Option<Indent> {
        let (at, column) = (node.start_byte(), node.start_position().column);
        if column > INDENT_MAX {
            return None;
        }
        let before = self.text.as_bytes().get(at.checked_sub(column)?..at)?;
        let width = before.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        Some(Indent { width, alone: width == before.len() })
    }
}

struct Indent {
    width: usize,
    /// The node is the first on its line.
    alone: bool,
}

/// Some nodes take the end of their last line along.
fn last_row(node: Node<'_>) -> usize {
    let (begin, end) = (node.start_position().row, node.end_position());
    if end.column == 0 && end.row > begin { end.row - 1 } else { end.row }
}

/// From 1, as people count.
fn number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests;
