//! Cargo packages: which files are roots of something to build, and what a package's name leads to.

use std::rc::Rc;

use toml::{Table, Value};

use super::super::paths::{folder_of, joined, name_of, upwards, within};
use super::super::view::View;
use super::Module;

/// The tables that name other packages.
const DEPENDENCIES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// What one manifest says of the package around a file.
pub(super) struct Cargo {
    folder: String,
    manifest: Rc<Table>,
}

impl Cargo {
    fn around(view: &View<'_>, file: &str) -> Option<Self> {
        upwards(folder_of(file)).find_map(|folder| {
            let manifest = view.manifest(&within(folder, "Cargo.toml"))?;
            manifest.contains_key("package").then(|| Self { folder: folder.to_owned(), manifest })
        })
    }

    /// Whether a file is a root by where it lies, or by what the manifest says.
    pub(super) fn is_target(view: &View<'_>, file: &str) -> bool {
        let folder = folder_of(file);
        let of_package = |folder: &str| view.is_file(&within(folder_of(folder), "Cargo.toml"));
        let by_place = match name_of(folder) {
            "tests" | "examples" | "benches" => of_package(folder),
            "bin" => name_of(folder_of(folder)) == "src" && of_package(folder_of(folder)),
            _ => false,
        };
        by_place || Self::around(view, file).is_some_and(|cargo| cargo.declared().any(|path| path == file))
    }

    /// The roots that the manifest declares, and the usual ones.
    pub(super) fn targets(view: &View<'_>, file: &str) -> Vec<String> {
        let Some(cargo) = Self::around(view, file) else { return Vec::new() };
        cargo.declared().chain(cargo.library(view)).collect()
    }

    fn declared(&self) -> impl Iterator<Item = String> {
        let lists = ["bin", "test", "example", "bench"].iter().filter_map(|key| self.manifest.get(*key)?.as_array());
        let entries = lists.flatten().chain(self.manifest.get("lib"));
        entries.filter_map(|entry| joined(&self.folder, entry.get("path")?.as_str()?))
    }

    fn library(&self, view: &View<'_>) -> Option<String> {
        let lib = self.manifest.get("lib").and_then(|lib| lib.get("path")).and_then(Value::as_str);
        let path = joined(&self.folder, lib.unwrap_or("src/lib.rs"))?;
        view.is_file(&path).then_some(path)
    }

    /// The root of the library that goes by this name in a file: a package next door, or the file's own.
    pub(super) fn package(view: &View<'_>, file: &str, name: &str) -> Option<Module> {
        let own = Self::around(view, file)?;
        let library = if own.is_called(name) {
            own.library(view)?
        } else {
            let folder = own.dependency(view, name)?;
            let manifest = view.manifest(&within(&folder, "Cargo.toml"))?;
            Self { folder, manifest }.library(view)?
        };
        Some(Module { file: library, inside: Vec::new() })
    }

    fn is_called(&self, name: &str) -> bool {
        let text = |table: &str| self.manifest.get(table)?.get("name")?.as_str();
        let known = text("lib").or_else(|| text("package")).unwrap_or_default();
        known.replace('-', "_") == name
    }

    /// The folder of a dependency that lies in the project.
    fn dependency(&self, view: &View<'_>, name: &str) -> Option<String> {
        let targets = self.manifest.get("target").and_then(Value::as_table);
        let tables = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
        let tables = tables.chain([&*self.manifest]);
        let lists = tables.flat_map(|table| DEPENDENCIES.iter().filter_map(|key| table.get(*key)?.as_table()));
        let (key, entry) = lists.flatten().find(|(key, _)| key.replace('-', "_") == name)?;
        if let Some(path) = entry.get("path").and_then(Value::as_str) {
            return joined(&self.folder, path);
        }
        let around = workspace(view, &self.folder);
        let (folder, shared) = around.unwrap_or_else(|| (self.folder.clone(), Rc::clone(&self.manifest)));
        let is_shared = entry.get("workspace").and_then(Value::as_bool) == Some(true);
        let entry = if is_shared { shared.get("workspace")?.get("dependencies")?.get(key)? } else { entry };
        if let Some(path) = entry.get("path").and_then(Value::as_str) {
            return joined(&folder, path);
        }
        // By version only: then it comes from a registry, whatever lies next door, unless that is patched.
        let path = patched(&shared, package_of(key, entry))?;
        joined(&folder, path)
    }
}

/// The package that an entry means, which may go by another name here.
fn package_of<'e>(key: &'e str, entry: &'e Value) -> &'e str {
    entry.get("package").and_then(Value::as_str).unwrap_or(key)
}

/// The path that takes the place of a package, from whatever registry.
fn patched<'m>(manifest: &'m Table, package: &str) -> Option<&'m str> {
    let tables = manifest.get("patch")?.as_table()?.values().filter_map(Value::as_table);
    let mut entries = tables.flatten();
    let (_, entry) = entries.find(|(key, entry)| package_of(key, entry) == package)?;
    entry.get("path")?.as_str()
}

/// The workspace around a folder, and its manifest.
fn workspace(view: &View<'_>, folder: &str) -> Option<(String, Rc<Table>)> {
    upwards(folder).find_map(|folder| {
        let manifest = view.manifest(&within(folder, "Cargo.toml"))?;
        manifest.contains_key("workspace").then(|| (folder.to_owned(), manifest))
    })
}
