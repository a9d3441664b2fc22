//! Shell scripts: `source` and `.`, with a path that is written out, or one that starts with something to be put in.

use tree_sitter::Node;

use super::{Anchor, Import, ImportKind, Outline, Reference, children, is_short};
use crate::Until;
use crate::syntax::{NotParsed, Parsed, Step};

pub(super) fn outline(parsed: &Parsed<'_>, until: &Until) -> Result<Outline, NotParsed> {
    let mut imports = Vec::new();
    parsed.walk(until, |node| {
        if node.kind() == "command" {
            imports.extend(import(parsed, node));
        }
        Step::Into
    })?;
    Ok(Outline { imports, ..Outline::default() })
}

fn import(parsed: &Parsed<'_>, node: Node<'_>) -> Option<Import> {
    let name = node.child_by_field_name("name")?;
    if !matches!(parsed.text(name), "source" | "." | "\\.") {
        return None;
    }
    // One in another in another: each would be copied with all that it contains.
    let argument = node.child_by_field_name("argument").filter(is_short)?;
    let written = parsed.text(argument).trim_matches('"').to_owned();
    let (path, from) = path_of(parsed, argument)?;
    (!path.is_empty()).then(|| Import::new(ImportKind::Require, Reference::Path { path, from }, written))
}

fn path_of(parsed: &Parsed<'_>, node: Node<'_>) -> Option<(String, Anchor)> {
    match node.kind() {
        "word" => {
            let text = parsed.text(node);
            // A home folder, or a pattern that the shell would fill in.
            let plain = !text.starts_with('~') && !text.contains(['*', '?', '\\']);
            plain.then(|| (text.to_owned(), Anchor::LoadPath))
        }
        "raw_string" => Some((parsed.text(node).trim_matches('\'').to_owned(), Anchor::LoadPath)),
        "string" | "concatenation" => after_the_first(parsed, node),
        _ => None,
    }
}

/// `"$DIR/x.sh"`: one thing to be put in, at the start, and then a path.
fn after_the_first(parsed: &Parsed<'_>, node: Node<'_>) -> Option<(String, Anchor)> {
    let parts = children(node);
    let text = |node: Node<'_>| parsed.text(node).trim_matches('"').to_owned();
    let fixed = |node: &Node<'_>| matches!(node.kind(), "string_content" | "word");
    match parts.as_slice() {
        [only] if fixed(only) => Some((text(*only), Anchor::LoadPath)),
        [put_in, rest] if !fixed(put_in) && fixed(rest) => {
            let path = text(*rest).strip_prefix('/')?.to_owned();
            let before = parsed.text(*put_in);
            let here = ["dirname", "BASH_SOURCE", "${0%"].iter().any(|sign| before.contains(sign));
            // Whatever lies at home or on the system is not the project's.
            let elsewhere = ["HOME", "XDG_", "PREFIX"].iter().any(|sign| before.contains(sign));
            let from = if here { Anchor::Here } else { Anchor::Somewhere };
            (!elsewhere).then_some((path, from))
        }
        _ => None,
    }
}
