//! C and C++: includes, wherever the preprocessor would find one. What it makes of the rest may be beyond any grammar;
//! then the lines are taken as they are.

use super::{Import, ImportKind, Outline, Reference};
use crate::Until;
use crate::syntax::{NotParsed, Parsed, Step};

pub(super) fn outline(parsed: &Parsed<'_>, until: &Until) -> Result<Outline, NotParsed> {
    if parsed.root().has_error() {
        return Ok(Outline { imports: lines(parsed.text(parsed.root())), ..Outline::default() });
    }
    let mut imports = Vec::new();
    parsed.walk(until, |node| {
        let argument = match node.kind() {
            "preproc_include" => node.child_by_field_name("path"),
            "preproc_call" => {
                let directive = node.child_by_field_name("directive").map(|directive| parsed.text(directive));
                let includes = matches!(directive, Some("#import" | "#include_next"));
                node.child_by_field_name("argument").filter(|_| includes)
            }
            _ => return Step::Into,
        };
        imports.extend(argument.and_then(|argument| include(parsed.text(argument).trim())));
        Step::Over
    })?;
    Ok(Outline { imports, ..Outline::default() })
}

/// Lines that begin with `#include` and are not in a comment over several lines.
fn lines(text: &str) -> Vec<Import> {
    let mut imports = Vec::new();
    let mut in_comment = false;
    for line in text.lines() {
        let rest = if in_comment { line.split_once("*/").map(|(_, rest)| rest) } else { Some(line) };
        let Some(rest) = rest else { continue };
        let directive = rest.trim_start().strip_prefix('#').map(str::trim_start);
        let argument = directive
            .and_then(|text| ["include_next", "include", "import"].iter().find_map(|word| text.strip_prefix(word)));
        imports.extend(argument.and_then(|argument| include(argument.trim_start())));
        in_comment = match (rest.rfind("/*"), rest.rfind("*/")) {
            (Some(begin), Some(end)) => begin > end,
            (Some(begin), None) => !rest[..begin].contains("//"),
            (None, _) => false,
        };
    }
    imports
}

fn include(argument: &str) -> Option<Import> {
    let angled = argument.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let quoted = argument.strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let (path, angled) = match (angled, quoted) {
        (Some((path, _)), _) => (path, true),
        (None, Some((path, _))) => (path, false),
        // A macro: only the compiler knows.
        (None, None) => return None,
    };
    let path = path.trim().to_owned();
    (!path.is_empty())
        .then(|| Import::new(ImportKind::Include, Reference::Include { path: path.clone(), angled }, path))
}
