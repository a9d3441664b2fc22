//! Where an import leads: to files of the project, or out of it. Each language looks where its own tools would.
//!
//! Nothing here hands out content. Whatever is found is read under the same rules as any file, by whoever asked.

mod c;
mod census;
mod csharp;
mod ecma;
mod go;
mod jvm;
mod paths;
mod php;
mod python;
mod ruby;
mod rust;
mod scripts;
mod view;

pub(crate) use self::census::{Census, LastCensus};
use self::paths::{folder_of, joined};
use self::view::Look;
pub(crate) use self::view::View;
use crate::imports::{Anchor, Import, Reference};

/// What became of one import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// In the order in which they are to be shown; several where a package is a folder.
    Files(Vec<String>),
    /// It names something that is no part of this project.
    External,
    /// It names a part of this project that is not there.
    NotFound,
    /// It leads out of the root, or to what no tool may read.
    Refused,
}

/// `from` is the path of the file that has the import.
pub(crate) fn resolve(view: &View<'_>, from: &str, import: &Import) -> Resolution {
    match &import.reference {
        Reference::Specifier(specifier) => ecma::resolve(view, from, specifier),
        Reference::Python { level, module, names } => python::resolve(view, from, *level, module, names),
        Reference::RustModule { inside, name, path } => rust::module(view, from, inside, name, path.as_deref()),
        Reference::RustUse { inside, path } => rust::resolve(view, from, inside, path),
        Reference::Package(path) => go::resolve(view, from, path),
        Reference::Qualified { path, star } => jvm::resolve(view, from, path, *star),
        Reference::Namespace(path) => csharp::resolve(view, from, path),
        Reference::Class(path) => php::resolve(view, from, path),
        Reference::Include { path, angled } => c::resolve(view, from, path, *angled),
        Reference::Path { path, from: anchor } => path_of_script(view, from, path, *anchor),
    }
}

/// Paths in words of the file system, of several languages; the file that uses it says which.
fn path_of_script(view: &View<'_>, from: &str, path: &str, anchor: Anchor) -> Resolution {
    match from.rsplit('.').next() {
        Some("rs") => one(view, joined(folder_of(from), path)),
        Some("rb" | "rake" | "gemspec" | "ru") => ruby::resolve(view, from, path, anchor),
        Some("php" | "phtml") => php::require(view, from, path, anchor),
        _ if view.is_ruby() => ruby::resolve(view, from, path, anchor),
        _ => scripts::resolve(view, from, path, anchor),
    }
}

/// What a path that can be nowhere else leads to; `None` is a path out of the root.
fn one(view: &View<'_>, path: Option<String>) -> Resolution {
    let Some(path) = path else { return Resolution::Refused };
    match view.look(&path) {
        Look::File => Resolution::Files(vec![path]),
        Look::Refused => Resolution::Refused,
        Look::Folder | Look::Nothing => Resolution::NotFound,
    }
}

/// The first of several that is there. One that is refused ends the search: what comes after would be another file.
fn first(view: &View<'_>, candidates: impl IntoIterator<Item = Option<String>>) -> Option<Resolution> {
    candidates.into_iter().map(|path| one(view, path)).find(|found| *found != Resolution::NotFound)
}
