//! Rust: a module's file, and the file of the module that a path leads to, through re-exports and into other packages of
//! the workspace.

mod cargo;

use std::sync::Arc;

use self::cargo::Cargo;
use super::paths::{folder_of, joined, name_of, stem_of, within};
use super::view::View;
use super::{Resolution, first, one};
use crate::imports::{Outline, RustOutline};

/// Steps from name to name; re-exports may lead in circles.
const STEPS_MAX: usize = 64;

/// Glob imports that are searched for a name, one after the other.
const GLOBS_MAX: usize = 16;

/// Files of a crate that are searched for a macro of its root.
const SEARCHED_MAX: usize = 200;

/// A module: the file it is in, and the inline modules around it there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Module {
    file: String,
    inside: Vec<String>,
}

/// `mod name;`.
pub(super) fn module(view: &View<'_>, from: &str, inside: &[String], name: &str, path: Option<&str>) -> Resolution {
    first(view, module_files(view, from, inside, name, path)).unwrap_or(Resolution::NotFound)
}

pub(super) fn resolve(view: &View<'_>, from: &str, inside: &[String], path: &[String]) -> Resolution {
    let here = Module { file: from.to_owned(), inside: inside.to_vec() };
    let found = lead(view, &here, path, &mut { STEPS_MAX }).or_else(|| {
        // What stands first may be a module that a glob brought here.
        let (name, rest) = path.split_first()?;
        by_glob(view, &here, name, rest, &mut { STEPS_MAX })
    });
    match found {
        Some(module) if module.file == from => Resolution::Files(Vec::new()),
        Some(module) => one(view, Some(module.file)),
        None if matches!(path.first().map(String::as_str), Some("crate" | "self" | "super")) => Resolution::NotFound,
        None => Resolution::External,
    }
}

/// Where `mod name;` may be.
fn module_files(view: &View<'_>, from: &str, inside: &[String], name: &str, path: Option<&str>) -> [Option<String>; 2] {
    let around = inside.join("/");
    let own = own_folder(view, from);
    if let Some(path) = path {
        // Relative to the file, unless the module is inside of an inline one.
        let base = if inside.is_empty() { folder_of(from).to_owned() } else { within(&own, &around) };
        return [joined(&base, path), None];
    }
    let folder = within(&own, &around);
    [Some(within(&folder, &format!("{name}.rs"))), Some(within(&folder, &format!("{name}/mod.rs")))]
}

/// The folder that the modules of a file are in: its own for a root, one of its name for others.
fn own_folder(view: &View<'_>, file: &str) -> String {
    let folder = folder_of(file);
    if is_root(view, file) { folder.to_owned() } else { within(folder, stem_of(file)) }
}

fn is_root(view: &View<'_>, file: &str) -> bool {
    matches!(name_of(file), "mod.rs" | "lib.rs" | "main.rs" | "build.rs") || Cargo::is_target(view, file)
}

/// The module that a path leads to, or the one that has the item it names.
fn lead(view: &View<'_>, here: &Module, path: &[String], steps: &mut usize) -> Option<Module> {
    *steps = steps.checked_sub(1)?;
    let (start, rest) = path.split_first()?;
    match start.as_str() {
        "crate" => follow(view, root_of(view, here, steps)?, rest, steps),
        "self" => follow(view, here.clone(), rest, steps),
        "super" => follow(view, parent(view, here)?, rest, steps),
        // A leading `::`.
        "" => {
            let (name, rest) = rest.split_first()?;
            follow(view, Cargo::package(view, &here.file, name)?, rest, steps)
        }
        name => {
            if child(view, here, name).is_some() {
                return follow(view, here.clone(), path, steps);
            }
            if let Some(root) = Cargo::package(view, &here.file, name) {
                return follow(view, root, rest, steps);
            }
            let outline = view.outline(&here.file)?;
            let bound = bound(&outline.rust, here, name).map(<[String]>::to_vec);
            // Bound to itself, it is another package.
            let bound = bound.filter(|used| used.first().is_some_and(|first| first != name))?;
            lead(view, here, &[bound, rest.to_vec()].concat(), steps)
        }
    }
}

/// Down from a module, name by name.
fn follow(view: &View<'_>, from: Module, path: &[String], steps: &mut usize) -> Option<Module> {
    *steps = steps.checked_sub(1)?;
    let mut module = from;
    let mut rest = path;
    while let Some((name, after)) = rest.split_first() {
        match name.as_str() {
            "*" => return Some(module),
            "self" => {}
            "super" => module = parent(view, &module)?,
            name => match child(view, &module, name) {
                Some(below) => module = below,
                None => return Some(item(view, &module, name, after, steps).unwrap_or(module)),
            },
        }
        rest = after;
    }
    Some(module)
}

/// What is no module: declared here, or passed on from elsewhere.
fn item(view: &View<'_>, module: &Module, name: &str, after: &[String], steps: &mut usize) -> Option<Module> {
    let outline = view.outline(&module.file)?;
    let rust = &outline.rust;
    if rust.items.iter().any(|(inside, item)| *inside == module.inside && item == name) {
        return Some(module.clone());
    }
    if let Some(used) = bound(rust, module, name) {
        return lead(view, module, &[used, after].concat(), steps);
    }
    by_glob(view, module, name, after, steps).or_else(|| exported(view, module, name))
}

/// What one of the module's globs brings.
fn by_glob(view: &View<'_>, module: &Module, name: &str, after: &[String], steps: &mut usize) -> Option<Module> {
    let outline = view.outline(&module.file)?;
    let rust = &outline.rust;
    let globs = rust.uses.iter().filter(|used| used.inside == module.inside && used.name == "*").take(GLOBS_MAX);
    for glob in globs {
        let Some(source) = lead(view, module, &glob.path, steps).filter(|source| source != module) else { continue };
        if let Some(below) = child(view, &source, name) {
            return follow(view, below, after, steps);
        }
        if let Some(found) = item(view, &source, name, after, steps) {
            return Some(found);
        }
        *steps = steps.checked_sub(1)?;
    }
    None
}

/// The module of a macro that belongs to the root of its crate by `#[macro_export]`, those at the top first.
fn exported(view: &View<'_>, module: &Module, name: &str) -> Option<Module> {
    if !module.inside.is_empty() || name_of(&module.file) == "mod.rs" || !is_root(view, &module.file) {
        return None;
    }
    let mut files = vec![module.file.clone()];
    let mut at = 0;
    while let Some(file) = files.get(at).filter(|_| at < SEARCHED_MAX).cloned() {
        at += 1;
        let Some(outline) = view.outline(&file) else { continue };
        if outline.rust.exported.iter().any(|known| known == name) {
            return Some(Module { file, inside: Vec::new() });
        }
        for known in outline.rust.modules.iter().filter(|known| !known.inline) {
            let paths = module_files(view, &file, &known.inside, &known.name, known.path.as_deref());
            let below = paths.into_iter().flatten().find(|path| view.is_file(path));
            files.extend(below.filter(|path| !files.contains(path)));
        }
    }
    None
}

/// The path behind a name that a module imports.
fn bound<'o>(rust: &'o RustOutline, module: &Module, name: &str) -> Option<&'o [String]> {
    let used = rust.uses.iter().find(|used| used.inside == module.inside && used.name == name)?;
    Some(&used.path)
}

fn child(view: &View<'_>, module: &Module, name: &str) -> Option<Module> {
    let outline = view.outline(&module.file)?;
    let declared =
        |module: &Module| outline.rust.modules.iter().find(|known| known.inside == module.inside && known.name == name);
    let known = declared(module)?;
    if known.inline {
        let inside = [module.inside.clone(), vec![name.to_owned()]].concat();
        return Some(Module { file: module.file.clone(), inside });
    }
    let files = module_files(view, &module.file, &module.inside, name, known.path.as_deref());
    let file = files.into_iter().flatten().find(|path| view.is_file(path))?;
    Some(Module { file, inside: Vec::new() })
}

fn parent(view: &View<'_>, module: &Module) -> Option<Module> {
    let mut inside = module.inside.clone();
    if inside.pop().is_some() {
        return Some(Module { file: module.file.clone(), inside });
    }
    let (place, name) = if name_of(&module.file) == "mod.rs" {
        (folder_of(folder_of(&module.file)), name_of(folder_of(&module.file)))
    } else {
        (folder_of(&module.file), stem_of(&module.file))
    };
    let mut candidates: Vec<String> = ["lib.rs", "main.rs", "mod.rs"].iter().map(|name| within(place, name)).collect();
    candidates.insert(0, format!("{place}.rs"));
    candidates.extend(Cargo::targets(view, &module.file));
    if matches!(name_of(place), "tests" | "examples" | "benches") {
        candidates.extend(view.files_in(place, &[".rs"]));
    }
    candidates.retain(|path| *path != module.file && view.is_file(path));
    candidates.into_iter().find_map(|file| {
        let outline: Arc<Outline> = view.outline(&file)?;
        // Declared there, perhaps inside of inline modules, and found where this one is.
        let around = outline.rust.modules.iter().find(|known| {
            let leads_here = || module_files(view, &file, &known.inside, &known.name, known.path.as_deref());
            !known.inline
                && (known.name == name || known.path.is_some())
                && leads_here().into_iter().flatten().any(|path| path == module.file)
        })?;
        Some(Module { file: file.clone(), inside: around.inside.clone() })
    })
}

fn root_of(view: &View<'_>, module: &Module, steps: &mut usize) -> Option<Module> {
    let mut module = Module { file: module.file.clone(), inside: Vec::new() };
    while let Some(above) = parent(view, &module) {
        *steps = steps.checked_sub(1)?;
        module = Module { file: above.file, inside: Vec::new() };
    }
    Some(module)
}
