//! Go: imports stand at the top of the file.

use tree_sitter::Node;

use super::{Import, ImportKind, Outline, Reference, children, statements};
use crate::syntax::Parsed;

pub(super) fn outline(parsed: &Parsed<'_>) -> Outline {
    let top = statements(parsed);
    let packages = top.iter().filter(|node| node.kind() == "package_clause").flat_map(|node| children(*node));
    let packages = packages.map(|name| parsed.text(name).to_owned()).collect();
    let declarations = top.iter().filter(|node| node.kind() == "import_declaration");
    let specs = declarations.flat_map(|node| children(*node)).flat_map(|node| match node.kind() {
        "import_spec_list" => children(node),
        _ => vec![node],
    });
    let imports = specs.filter_map(|spec| import(parsed, spec)).collect();
    Outline { imports, packages, ..Outline::default() }
}

fn import(parsed: &Parsed<'_>, spec: Node<'_>) -> Option<Import> {
    let path = parsed.text(spec.child_by_field_name("path")?).trim_matches(['"', '`']);
    (!path.is_empty()).then(|| Import::new(ImportKind::Import, Reference::Package(path.to_owned()), path))
}
