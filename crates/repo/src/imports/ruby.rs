//! Ruby: `require`, `require_relative`, `load` and `autoload`, with a literal or with this file's own folder in front.

use tree_sitter::Node;

use super::{Anchor, Import, ImportKind, Outline, Reference, children};
use crate::Until;
use crate::syntax::{NotParsed, Parsed, Step};

pub(super) fn outline(parsed: &Parsed<'_>, until: &Until) -> Result<Outline, NotParsed> {
    let mut imports = Vec::new();
    parsed.walk(until, |node| {
        if node.kind() == "call" {
            imports.extend(import(parsed, node));
        }
        Step::Into
    })?;
    Ok(Outline { imports, ..Outline::default() })
}

fn import(parsed: &Parsed<'_>, node: Node<'_>) -> Option<Import> {
    let method = parsed.text(node.child_by_field_name("method")?);
    let (anchor, at) = match method {
        "require_relative" => (Anchor::Here, 0),
        "require" | "load" => (Anchor::LoadPath, 0),
        "autoload" => (Anchor::LoadPath, 1),
        _ => return None,
    };
    let receiver = node.child_by_field_name("receiver").map(|receiver| parsed.text(receiver));
    // `autoload` may be a module's own; anything else with these names and a receiver is somebody's method.
    if !matches!(receiver, None | Some("Kernel")) && method != "autoload" {
        return None;
    }
    let argument = *children(node.child_by_field_name("arguments")?).get(at)?;
    let (path, from) = match literal(parsed, argument) {
        Some(path) => (path, anchor),
        None => (beside_this_file(parsed, argument)?, Anchor::Here),
    };
    let kind = if method == "autoload" { ImportKind::Dynamic } else { ImportKind::Require };
    Some(Import::new(kind, Reference::Path { path: path.clone(), from }, path))
}

fn literal(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    let parts = children(node);
    match (node.kind(), parts.as_slice()) {
        ("string", [content]) if content.kind() == "string_content" => Some(parsed.text(*content).to_owned()),
        _ => None,
    }
}

/// `File.expand_path("../x", __FILE__)`, `File.join(__dir__, "x")`.
fn beside_this_file(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    let method = parsed.text(node.child_by_field_name("method")?);
    if parsed.text(node.child_by_field_name("receiver")?) != "File" {
        return None;
    }
    let arguments = children(node.child_by_field_name("arguments")?);
    let [first, second] = arguments.as_slice() else { return None };
    match (method, parsed.text(*first), parsed.text(*second)) {
        // As if the file were a folder.
        ("expand_path", _, "__FILE__") => literal(parsed, *first)?.strip_prefix("../").map(str::to_owned),
        ("expand_path", _, "__dir__") => literal(parsed, *first),
        ("join", "__dir__" | "File.dirname(__FILE__)", _) => literal(parsed, *second),
        _ => None,
    }
}
