//! Go: a package is a folder, and an import leads to all of its files but the tests.

use super::Resolution;
use super::paths::{folder_of, joined, upwards, within};
use super::view::View;

/// A module: what its packages' paths begin with, and the folder that stands for it.
struct Module {
    path: String,
    folder: String,
}

pub(super) fn resolve(view: &View<'_>, from: &str, path: &str) -> Resolution {
    let folder = folder_of(from);
    if path.starts_with("./") || path.starts_with("../") {
        return joined(folder, path).map_or(Resolution::Refused, |folder| package(view, &folder));
    }
    let known = view.once("go", || modules(view, folder));
    let holds =
        |module: &&Module| path.strip_prefix(&module.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    // Modules may lie inside of one another: the longest says it best.
    match known.iter().filter(holds).max_by_key(|module| module.path.len()) {
        Some(module) => {
            let rest = path[module.path.len()..].trim_start_matches('/');
            joined(&module.folder, rest).map_or(Resolution::Refused, |folder| package(view, &folder))
        }
        None => Resolution::External,
    }
}

fn package(view: &View<'_>, folder: &str) -> Resolution {
    let is_part = |path: &String| {
        let name = super::paths::name_of(path);
        !name.ends_with("_test.go") && !name.starts_with(['_', '.'])
    };
    let files: Vec<String> = view.files_in(folder, &[".go"]).into_iter().filter(is_part).collect();
    if files.is_empty() { Resolution::NotFound } else { Resolution::Files(files) }
}

/// The module around a folder with what it replaces, and those of the same workspace.
fn modules(view: &View<'_>, folder: &str) -> Vec<Module> {
    let mut known = Vec::new();
    let own = upwards(folder).find(|folder| view.is_file(&within(folder, "go.mod")));
    known.extend(own.and_then(|folder| module(view, folder, &mut Vec::new())));
    if let Some(own) = own {
        let mut replaced = Vec::new();
        module(view, own, &mut replaced);
        known.append(&mut replaced);
    }
    let workspace = upwards(folder).find(|folder| view.is_file(&within(folder, "go.work")));
    if let Some(workspace) = workspace {
        let text = view.text(&within(workspace, "go.work")).unwrap_or_default();
        let used = directives(&text, "use").into_iter().filter_map(|line| joined(workspace, unquoted(line)));
        known.extend(used.filter_map(|folder| module(view, &folder, &mut Vec::new())));
    }
    known
}

/// What `go.mod` in a folder says; replacements that lie in the project are added to `replaced`.
fn module(view: &View<'_>, folder: &str, replaced: &mut Vec<Module>) -> Option<Module> {
    let text = view.text(&within(folder, "go.mod"))?;
    for line in directives(&text, "replace") {
        let Some((old, new)) = line.split_once("=>") else { continue };
        let path = old.split_whitespace().next().map(unquoted);
        let place = new.split_whitespace().next().map(unquoted).filter(|place| place.starts_with('.'));
        if let (Some(path), Some(place)) = (path, place.and_then(|place| joined(folder, place))) {
            replaced.push(Module { path: path.to_owned(), folder: place });
        }
    }
    let path = directives(&text, "module").first().copied().map(unquoted)?;
    Some(Module { path: path.to_owned(), folder: folder.to_owned() })
}

/// What follows a word, on its line or each line in parentheses.
fn directives<'t>(text: &'t str, word: &str) -> Vec<&'t str> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or(line).trim();
        if inside {
            inside = line != ")";
            found.extend(Some(line).filter(|line| inside && !line.is_empty()));
        } else if let Some(rest) = line.strip_prefix(word).filter(|rest| rest.starts_with([' ', '\t', '('])) {
            inside = rest.trim() == "(";
            found.extend(Some(rest.trim()).filter(|_| !inside));
        }
    }
    found
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '`'])
}

#[cfg(test)]
mod tests {
    use super::directives;

    #[test]
    fn lines_and_blocks() {
        let text =
            "module example.org/a // ours\n\nreplace (\n\tb => ./b\n\n\tc v1 => ../c\n)\nreplace d => ./d\nmodules x\n";
        assert_eq!(directives(text, "module"), ["example.org/a"]);
        assert_eq!(directives(text, "replace"), ["b => ./b", "c v1 => ../c", "d => ./d"]);
    }
}
