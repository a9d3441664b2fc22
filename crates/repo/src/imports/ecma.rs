//! JavaScript and TypeScript: imports, re-exports, `require`, dynamic imports and references with a literal.

use tree_sitter::Node;

use super::{Import, ImportKind, Outline, Reference, children};
use crate::Until;
use crate::syntax::{NotParsed, Parsed, Step};

pub(super) fn outline(parsed: &Parsed<'_>, until: &Until) -> Result<Outline, NotParsed> {
    let mut imports = Vec::new();
    parsed.walk(until, |node| {
        let found = match node.kind() {
            "import_statement" => source(parsed, node).map(|specifier| (ImportKind::Import, specifier)),
            "import_require_clause" => source(parsed, node).map(|specifier| (ImportKind::Require, specifier)),
            "export_statement" => source(parsed, node).map(|specifier| (ImportKind::Reexport, specifier)),
            "call_expression" => call(parsed, node),
            "comment" => reference(parsed.text(node)).map(|path| (ImportKind::Import, path)),
            _ => None,
        };
        imports.extend(
            found.map(|(kind, specifier)| Import::new(kind, Reference::Specifier(specifier.clone()), specifier)),
        );
        Step::Into
    })?;
    Ok(Outline { imports, ..Outline::default() })
}

fn source(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    literal(parsed, node.child_by_field_name("source")?)
}

/// `import("x")`, `require("x")`, `require.resolve("x")`.
fn call(parsed: &Parsed<'_>, node: Node<'_>) -> Option<(ImportKind, String)> {
    let function = node.child_by_field_name("function")?;
    let kind = match (function.kind(), parsed.text(function)) {
        ("import", _) => ImportKind::Dynamic,
        ("identifier", "require") | ("member_expression", "require.resolve") => ImportKind::Require,
        _ => return None,
    };
    let first = children(node.child_by_field_name("arguments")?).into_iter().find(|node| node.kind() != "comment")?;
    Some((kind, literal(parsed, first)?))
}

/// A string without anything to be put into it.
fn literal(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    let whole = match node.kind() {
        "string" => true,
        "template_string" => children(node).iter().all(|child| child.kind() == "string_fragment"),
        _ => false,
    };
    let text = parsed.text(node);
    let inner = text.get(1..text.len().checked_sub(1)?)?;
    (whole && !inner.is_empty() && !inner.contains('\\')).then(|| inner.to_owned())
}

/// `/// <reference path="x" />`.
fn reference(comment: &str) -> Option<String> {
    let rest = comment.strip_prefix("///")?.trim_start().strip_prefix("<reference")?;
    let value = rest.split_once("path=")?.1;
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let path = value.get(1..)?.split(quote).next()?;
    // Always a path, even without a dot in front.
    Some(if path.starts_with('.') { path.to_owned() } else { format!("./{path}") })
}
