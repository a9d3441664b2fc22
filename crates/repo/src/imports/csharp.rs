//! C#: `using` directives, and the namespaces and types that a file declares.

use tree_sitter::Node;

use super::{Import, ImportKind, Outline, Reference, children, parts};
use crate::Until;
use crate::syntax::{NotParsed, Parsed, Step};

pub(super) fn outline(parsed: &Parsed<'_>, until: &Until) -> Result<Outline, NotParsed> {
    let mut outline = Outline::default();
    parsed.walk(until, |node| match node.kind() {
        "using_directive" => {
            outline.imports.extend(using(parsed, node));
            Step::Over
        }
        "namespace_declaration" | "file_scoped_namespace_declaration" => {
            let name = node.child_by_field_name("name").map(|name| parts(parsed.text(name), ".").join("."));
            outline.packages.extend(name);
            Step::Into
        }
        "class_declaration"
        | "record_declaration"
        | "struct_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "delegate_declaration" => {
            outline.declares.extend(node.child_by_field_name("name").map(|name| parsed.text(name).to_owned()));
            Step::Over
        }
        "compilation_unit" | "declaration_list" => Step::Into,
        kind if kind.starts_with("preproc_") => Step::Into,
        _ => Step::Over,
    })?;
    Ok(outline)
}

/// `using A.B;`, `using static A.B.C;`, `using D = A.B.C;`: what stands last.
fn using(parsed: &Parsed<'_>, node: Node<'_>) -> Option<Import> {
    let name = children(node).pop()?;
    let text = parsed.text(name);
    let path = parts(text.strip_prefix("global::").unwrap_or(text), ".");
    // Arguments of a generic type are other names, and not for us to look for.
    let plain = path.iter().all(|part| part.chars().all(|character| character.is_alphanumeric() || character == '_'));
    plain.then(|| Import::new(ImportKind::Import, Reference::Namespace(path.clone()), path.join(".")))
}
