//! Every source file is part of a crate: one that no `mod` reaches is compiled by nobody, and its tests never run.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::{TextFile, Tree};

/// A module in `foo/mod.rs` cannot be found by its name; it is `foo.rs`.
pub(super) fn mod_files(tree: &Tree) -> Vec<Finding> {
    let rename = |file: &TextFile| {
        let folder = file.path.strip_suffix("/mod.rs")?;
        Some(Finding { path: file.path.clone(), line: 1, message: format!("`mod.rs`: call it `{folder}.rs`") })
    };
    tree.rust().filter_map(rename).collect()
}

/// Files under `src/` and in folders of `tests/` that no crate contains.
pub(super) fn forgotten(tree: &Tree) -> Vec<Finding> {
    let mut reached = BTreeSet::new();
    let mut candidates = Vec::new();
    for file in tree.rust() {
        match place(tree, &file.path) {
            Place::Root => reach(tree, file, &parent(&file.path), &mut reached),
            Place::Inside => candidates.push(file),
            Place::Elsewhere => {}
        }
    }
    candidates
        .into_iter()
        .filter(|file| !reached.contains(file.path.as_str()))
        .map(|file| Finding { path: file.path.clone(), line: 1, message: "no `mod` line reaches this file".to_owned() })
        .collect()
}

enum Place {
    /// Cargo compiles it by itself.
    Root,
    /// Compiled only if another file says so.
    Inside,
    /// Not source code of a package: a fixture, say.
    Elsewhere,
}

fn place(tree: &Tree, path: &str) -> Place {
    let package = path
        .match_indices('/')
        .map(|(at, _)| path.split_at(at + 1))
        .rfind(|(folder, _)| tree.file(&format!("{folder}Cargo.toml")).is_some());
    let Some((_, inner)) = package else { return Place::Elsewhere };
    match inner.split('/').collect::<Vec<_>>().as_slice() {
        ["build.rs"]
        | ["src", "lib.rs" | "main.rs"]
        | ["src", "bin", _]
        | ["src", "bin", _, "main.rs"]
        | ["tests" | "benches" | "examples", _]
        | ["tests" | "benches" | "examples", _, "main.rs"] => Place::Root,
        folders if folders.contains(&"fixtures") => Place::Elsewhere,
        ["src" | "tests" | "benches" | "examples", ..] => Place::Inside,
        _ => Place::Elsewhere,
    }
}

/// Follows the `mod name;` lines of a file whose child modules lie in `folder`.
fn reach<'t>(tree: &'t Tree, file: &'t TextFile, folder: &str, reached: &mut BTreeSet<&'t str>) {
    for name in file.rust.iter().filter_map(|line| declared(&line.code)) {
        for ending in [".rs", "/mod.rs"] {
            if let Some(module) = tree.file(&format!("{folder}{name}{ending}"))
                && reached.insert(&module.path)
            {
                reach(tree, module, &format!("{folder}{name}/"), reached);
            }
        }
    }
}

/// The name in `mod name;`, whatever its visibility.
fn declared(code: &str) -> Option<&str> {
    let (visibility, name) = code.trim().strip_suffix(';')?.rsplit_once("mod ")?;
    let visible = visibility.is_empty() || (visibility.starts_with("pub") && visibility.ends_with([' ', ')']));
    visible.then_some(name.trim())
}

fn parent(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"))
}
