//! PHP: `use` of classes, functions and constants, and `require` and `include` with a literal path.

use tree_sitter::Node;

use super::{Anchor, Import, ImportKind, Outline, Reference, children, is_short, parts};
use crate::Until;
use crate::syntax::{NotParsed, Parsed, Step};

/// Around one path.
const PARENTHESES_MAX: usize = 16;

pub(super) fn outline(parsed: &Parsed<'_>, until: &Until) -> Result<Outline, NotParsed> {
    let mut imports = Vec::new();
    let mut packages = Vec::new();
    parsed.walk(until, |node| match node.kind() {
        "namespace_definition" => {
            let name = node.child_by_field_name("name").map(|name| parts(parsed.text(name), "\\").join("\\"));
            packages.extend(name);
            Step::Into
        }
        "namespace_use_declaration" => {
            imports.extend(uses(parsed, node));
            Step::Over
        }
        "require_expression" | "require_once_expression" => {
            imports.extend(path_of(parsed, node).map(|(path, from)| import(ImportKind::Require, path, from)));
            Step::Into
        }
        "include_expression" | "include_once_expression" => {
            imports.extend(path_of(parsed, node).map(|(path, from)| import(ImportKind::Include, path, from)));
            Step::Into
        }
        _ => Step::Into,
    })?;
    Ok(Outline { imports, packages, ..Outline::default() })
}

fn import(kind: ImportKind, path: String, from: Anchor) -> Import {
    Import::new(kind, Reference::Path { path: path.clone(), from }, path)
}

/// Each clause on its own, those in braces with what stands before them.
fn uses(parsed: &Parsed<'_>, node: Node<'_>) -> Vec<Import> {
    let below = children(node);
    let prefix = below.iter().find(|child| child.kind() == "namespace_name").map(|name| parsed.text(*name));
    let group = node.child_by_field_name("body").map_or_else(Vec::new, children);
    let clauses = below.into_iter().chain(group).filter(|child| child.kind() == "namespace_use_clause");
    let paths = clauses.filter_map(|clause| {
        let name = *children(clause).iter().find(|child| matches!(child.kind(), "qualified_name" | "name"))?;
        let path = [parts(prefix.unwrap_or_default(), "\\"), parts(parsed.text(name), "\\")].concat();
        Some(Import::new(ImportKind::Import, Reference::Class(path.clone()), path.join("\\")))
    });
    paths.collect()
}

/// `"x.php"`, `__DIR__ . "/x.php"`, `dirname(__FILE__) . "/x.php"`, with or without parentheses.
fn path_of(parsed: &Parsed<'_>, node: Node<'_>) -> Option<(String, Anchor)> {
    let mut argument = *children(node).first()?;
    for _ in 0..PARENTHESES_MAX {
        if argument.kind() == "parenthesized_expression" {
            argument = *children(argument).first()?;
        }
    }
    if argument.kind() != "binary_expression" {
        return literal(parsed, argument).map(|path| (path, Anchor::LoadPath));
    }
    let left = argument.child_by_field_name("left").filter(is_short)?;
    let before: String = parsed.text(left).split_whitespace().collect();
    let here = before.eq_ignore_ascii_case("__DIR__") || before.eq_ignore_ascii_case("dirname(__FILE__)");
    let from = if here { Anchor::Here } else { Anchor::Somewhere };
    let path = literal(parsed, argument.child_by_field_name("right")?)?;
    Some((path.trim_start_matches('/').to_owned(), from))
}

fn literal(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    let parts = children(node);
    match (node.kind(), parts.as_slice()) {
        ("string" | "encapsed_string", [content]) if content.kind() == "string_content" => {
            Some(parsed.text(*content).to_owned())
        }
        _ => None,
    }
}
