//! Java and Kotlin: a package is a folder below some source root, and a class is in a file of its name, or, in Kotlin, in
//! any file of the package.

use std::collections::HashSet;

use super::Resolution;
use super::paths::{folder_of, name_of, within};
use super::view::View;

const ENDINGS: [&str; 2] = [".java", ".kt"];

/// They describe a package or a module, and declare nothing.
const DESCRIBING: [&str; 2] = ["package-info.java", "module-info.java"];

/// Files of a package that are searched for a name.
const SEARCHED_MAX: usize = 200;

/// Folders that one package may lie in: sources and tests of every module.
const FOLDERS_MAX: usize = 32;

pub(super) fn resolve(view: &View<'_>, from: &str, path: &[String], star: bool) -> Resolution {
    if star && let Some(found) = whole_package(view, from, path) {
        return found;
    }
    // `a.b.Outer.Inner` and `a.b.C.method`: the longest beginning that is a package has the class.
    for classes in 1..path.len() {
        let (package, names) = path.split_at(path.len() - classes);
        let folders = folders(view, from, package);
        let Some(name) = names.first() else { continue };
        let files = folders.iter().flat_map(|folder| ENDINGS.map(|ending| within(folder, &format!("{name}{ending}"))));
        if let Some(file) = files.into_iter().find(|path| view.is_file(path)) {
            return Resolution::Files(vec![file]);
        }
        if let Some(file) = folders.iter().find_map(|folder| declaring(view, folder, package, name)) {
            return Resolution::Files(vec![file]);
        }
    }
    Resolution::External
}

fn whole_package(view: &View<'_>, from: &str, package: &[String]) -> Option<Resolution> {
    let names = package.join("/");
    let mut folders = folders(view, from, package);
    if !own_root(view, from).is_some_and(|root| is_for_tests(&root)) {
        // Programs do not see their tests; the package's own name may be anything.
        folders.retain(|folder| !is_for_tests(folder.strip_suffix(&names).unwrap_or(folder)));
    }
    let mut files: Vec<String> = folders.iter().flat_map(|folder| view.files_in(folder, &ENDINGS)).collect();
    // A class that is there twice, as in two editions of a library, is the nearest one.
    let mut seen = HashSet::from(DESCRIBING.map(str::to_owned));
    files.retain(|path| seen.insert(name_of(path).to_owned()));
    (!files.is_empty()).then_some(Resolution::Files(files))
}

/// `src/test/java`, `src/testFixtures/java`, `src/integrationTest/java`.
fn is_for_tests(root: &str) -> bool {
    root.split('/').any(|part| matches!(part, "test" | "tests" | "testFixtures") || part.ends_with("Test"))
}

/// In Kotlin the name of a file says nothing: whichever of the package declares it.
fn declaring(view: &View<'_>, folder: &str, package: &[String], name: &str) -> Option<String> {
    let package = package.join(".");
    let mut files = view.files_in(folder, &[".kt"]).into_iter().take(SEARCHED_MAX);
    files.find(|path| {
        view.outline(path).is_some_and(|outline| {
            outline.packages.first().is_none_or(|known| *known == package)
                && outline.declares.iter().any(|known| known == name)
        })
    })
}

/// The folders of a package: below the file's own source root first, then wherever else, nearest first.
fn folders(view: &View<'_>, from: &str, package: &[String]) -> Vec<String> {
    let names = package.join("/");
    let own = own_root(view, from).map(|root| within(&root, &names)).filter(|folder| view.is_folder(folder));
    let mut folders: Vec<String> = own.into_iter().collect();
    for folder in view.census().folders_ending(&names, from).into_iter().take(FOLDERS_MAX) {
        if !folders.iter().any(|known| known == folder) {
            folders.push(folder.to_owned());
        }
    }
    folders
}

/// What remains of the file's folder without its package.
fn own_root(view: &View<'_>, from: &str) -> Option<String> {
    let package = view.outline(from)?.packages.first()?.replace('.', "/");
    let root = folder_of(from).strip_suffix(&package)?;
    (root.is_empty() || root.ends_with('/')).then(|| root.trim_end_matches('/').to_owned())
}
