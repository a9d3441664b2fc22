//! Java and Kotlin: the package, the imports, and what a file declares, which in Kotlin its name does not tell.

use tree_sitter::Node;

use super::{Import, ImportKind, Outline, Reference, children, parts, statements};
use crate::syntax::Parsed;

pub(super) fn outline(parsed: &Parsed<'_>) -> Outline {
    let mut outline = Outline::default();
    for node in statements(parsed) {
        match node.kind() {
            "package_declaration" | "package_header" => {
                outline.packages.extend(name_in(node).map(|name| parts(parsed.text(name), ".").join(".")));
            }
            "import_declaration" | "import" => outline.imports.extend(import(parsed, node)),
            _ => outline.declares.extend(declared(parsed, node)),
        }
    }
    outline
}

fn import(parsed: &Parsed<'_>, node: Node<'_>) -> Option<Import> {
    let path = parts(parsed.text(name_in(node)?), ".");
    // Java has a node for the star, Kotlin none.
    let star = parsed.text(node).trim_end_matches([';', ' ', '\t', '\r', '\n']).ends_with('*');
    let written = if star { format!("{}.*", path.join(".")) } else { path.join(".") };
    Some(Import::new(ImportKind::Import, Reference::Qualified { path, star }, written))
}

fn name_in(node: Node<'_>) -> Option<Node<'_>> {
    let is_name =
        |child: &Node<'_>| matches!(child.kind(), "scoped_identifier" | "qualified_identifier" | "identifier");
    children(node).into_iter().find(is_name)
}

fn declared(parsed: &Parsed<'_>, node: Node<'_>) -> Option<String> {
    let name = match node.kind() {
        "type_alias" => node.child_by_field_name("type"),
        "property_declaration" => children(node)
            .into_iter()
            .find(|child| child.kind() == "variable_declaration")
            .and_then(|variable| children(variable).into_iter().find(|child| child.kind() == "identifier")),
        _ => node.child_by_field_name("name"),
    };
    name.map(|name| parsed.text(name).to_owned())
}
