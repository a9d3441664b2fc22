//! Python: `import`, `from … import`, and `importlib.import_module` with a literal, wherever they stand.

use tree_sitter::Node;

use super::{Import, ImportKind, Outline, Reference, children, fields};
use crate::Until;
use crate::syntax::{NotParsed, Parsed, Step};

pub(super) fn outline(parsed: &Parsed<'_>, until: &Until) -> Result<Outline, NotParsed> {
    let mut imports = Vec::new();
    parsed.walk(until, |node| match node.kind() {
        "import_statement" => {
            for name in fields(node, "name") {
                let module = dotted(parsed, name);
                let reference = Reference::Python { level: 0, module: module.clone(), names: Vec::new() };
                imports.push(Import::new(ImportKind::Import, reference, module));
            }
            Step::Over
        }
        "import_from_statement" => {
            imports.extend(from(parsed, node));
            Step::Over
        }
        "call" => {
            imports.extend(call(parsed, node));
            Step::Into
        }
        _ => Step::Into,
    })?;
    Ok(Outline { imports, ..Outline::default() })
}

fn from(parsed: &Parsed<'_>, node: Node<'_>) -> Option<Import> {
    let module = parsed.text(node.child_by_field_name("module_name")?);
    let written: String = module.split_whitespace().collect();
    let plain = written.trim_start_matches('.');
    let star = children(node).iter().any(|child| child.kind() == "wildcard_import");
    let names: Vec<String> = if star {
        vec!["*".to_owned()]
    } else {
        fields(node, "name").into_iter().map(|name| dotted(parsed, name)).collect()
    };
    let reference = Reference::Python { level: written.len() - plain.len(), module: plain.to_owned(), names };
    Some(Import::new(ImportKind::Import, reference, written))
}

/// `importlib.import_module("a.b")`, `import_module(".c", __package__)`, `__import__("a")`.
fn call(parsed: &Parsed<'_>, node: Node<'_>) -> Option<Import> {
    let function = parsed.text(node.child_by_field_name("function")?);
    if !matches!(function, "importlib.import_module" | "import_module" | "__import__") {
        return None;
    }
    let first = *children(node.child_by_field_name("arguments")?).first()?;
    let content: Vec<Node<'_>> = children(first).into_iter().filter(|part| part.kind() == "string_content").collect();
    let literal = first.kind() == "string" && children(first).iter().all(|part| part.kind() != "interpolation");
    let [content] = content.as_slice() else { return None };
    let written = parsed.text(*content);
    let plain = written.trim_start_matches('.');
    let is_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.');
    if !literal || plain.is_empty() || !plain.chars().all(is_name) {
        return None;
    }
    let level = written.len() - plain.len();
    let reference = Reference::Python { level, module: plain.to_owned(), names: Vec::new() };
    Some(Import::new(ImportKind::Dynamic, reference, written))
}

/// The name itself, without `as`.
fn dotted(parsed: &Parsed<'_>, node: Node<'_>) -> String {
    let name = node.child_by_field_name("name").unwrap_or(node);
    parsed.text(name).split_whitespace().collect()
}
