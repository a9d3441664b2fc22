//! JavaScript and TypeScript: relative paths with the endings that may be left out, `paths` and `baseUrl` of the nearest
//! `tsconfig.json`, `imports` of the nearest `package.json`, and packages of the same workspace.

mod config;
mod exports;
mod packages;

use self::config::TsConfig;
pub(super) use self::packages::Packages;
use self::packages::{Package, package_name};
use super::paths::{folder_of, joined, upwards, within};
use super::view::{Look, View};
use super::{Resolution, one};

/// Beyond what is tried for TypeScript: what bundlers take.
const TYPED: [&str; 3] = [".ts", ".tsx", ".d.ts"];
const UNTYPED: [&str; 4] = [".js", ".jsx", ".mjs", ".cjs"];
const FURTHER: [&str; 7] = [".mts", ".cts", ".d.mts", ".d.cts", ".json", ".vue", ".svelte"];

/// What is written stands for what it is compiled from.
const COMPILED: [(&str, &[&str]); 6] = [
    (".js", &[".ts", ".tsx", ".d.ts"]),
    (".jsx", &[".tsx", ".d.ts"]),
    (".mjs", &[".mts", ".d.mts"]),
    (".cjs", &[".cts", ".d.cts"]),
    // Declarations may name the sources that they were made from.
    (".ts", &[".ts", ".d.ts"]),
    (".mts", &[".mts", ".d.mts"]),
];

/// What holds for the file whose imports are resolved.
#[derive(Debug)]
struct EcmaConfig {
    typescript: TsConfig,
    /// The package that the file is part of, and its folder.
    package: Option<(String, Package)>,
}

pub(super) fn resolve(view: &View<'_>, from: &str, specifier: &str) -> Resolution {
    let folder = folder_of(from);
    // Bundlers take questions after the path: `./icon.svg?raw`.
    let path = specifier.split('?').next().unwrap_or(specifier);
    if path == "." || path == ".." || path.starts_with("./") || path.starts_with("../") {
        return relative(view, folder, path);
    }
    if path.is_empty() || path.starts_with('/') || path.contains(':') {
        return Resolution::External;
    }
    let config = view.once("ecma", || EcmaConfig {
        typescript: TsConfig::nearest(view, folder),
        package: packages::nearest(view, folder),
    });
    mapped(view, &config.typescript, path)
        .or_else(|| imported(view, &config, path))
        .or_else(|| packaged(view, &config, path))
        .unwrap_or(if config.typescript.claims(path) { Resolution::NotFound } else { Resolution::External })
}

fn relative(view: &View<'_>, folder: &str, path: &str) -> Resolution {
    let Some(target) = joined(folder, path) else { return Resolution::Refused };
    let only_folder = path.ends_with('/') || path.ends_with("..") || path == ".";
    let found = if only_folder { in_folder(view, &target) } else { at(view, &target) };
    // The file itself, so that it is said when it may not be read.
    found.map_or_else(|| one(view, Some(target)), |path| Resolution::Files(vec![path]))
}

/// By `paths`, then by `baseUrl`.
fn mapped(view: &View<'_>, config: &TsConfig, specifier: &str) -> Option<Resolution> {
    let candidates = config.candidates(specifier);
    candidates.iter().find_map(|path| at(view, path)).map(|path| Resolution::Files(vec![path]))
}

/// `#name`, by the package that the file is part of.
fn imported(view: &View<'_>, config: &EcmaConfig, specifier: &str) -> Option<Resolution> {
    let (folder, package) = config.package.as_ref().filter(|_| specifier.starts_with('#'))?;
    let found = package.imports(specifier).iter().find_map(|target| source_of(view, folder, target));
    Some(found.map_or(Resolution::NotFound, |path| Resolution::Files(vec![path])))
}

/// A package of the same workspace, or this file's own.
fn packaged(view: &View<'_>, config: &EcmaConfig, specifier: &str) -> Option<Resolution> {
    let (name, rest) = package_name(specifier)?;
    let own = config.package.as_ref().filter(|(_, package)| package.is_called(name));
    let (folder, package) = match own {
        Some((folder, package)) => (folder.as_str(), package),
        None => view.census().packages(|| Packages::of(view)).get(name)?,
    };
    let targets = package.targets(rest);
    let found = targets.iter().find_map(|target| source_of(view, folder, target));
    let found =
        found.or_else(|| at(view, &within(folder, rest))).or_else(|| at(view, &within(folder, &within("src", rest))));
    Some(found.map_or(Resolution::NotFound, |path| Resolution::Files(vec![path])))
}

/// What a manifest names may have yet to be built; then what it is built from.
fn source_of(view: &View<'_>, folder: &str, target: &str) -> Option<String> {
    let target = target.strip_prefix("./").unwrap_or(target);
    if let Some(found) = joined(folder, target).and_then(|path| at(view, &path)) {
        return Some(found);
    }
    let mut rest = target;
    while let Some((first, after)) = rest.split_once('/')
        && matches!(first, "dist" | "lib" | "build" | "out" | "esm" | "cjs" | "es" | "types" | "umd" | "src")
    {
        rest = after;
    }
    let bare = [".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs", ".ts"].iter();
    let bare = bare.clone().find_map(|ending| rest.strip_suffix(ending)).unwrap_or(rest);
    [within("src", bare), bare.to_owned(), within("lib", bare)].iter().find_map(|path| at(view, &joined(folder, path)?))
}

/// A file with or without its ending, or what stands for a folder.
fn at(view: &View<'_>, path: &str) -> Option<String> {
    file(view, path).or_else(|| in_folder(view, path))
}

fn file(view: &View<'_>, path: &str) -> Option<String> {
    // One that may not be read is found, too: another in its place would be another file.
    let exists = |path: &String| matches!(view.look(path), Look::File | Look::Refused);
    let compiled = COMPILED.iter().find_map(|(ending, sources)| Some((path.strip_suffix(ending)?, *sources)));
    if let Some((bare, sources)) = compiled
        && let Some(found) = sources.iter().map(|ending| format!("{bare}{ending}")).find(exists)
    {
        return Some(found);
    }
    let (first, second): (&[&str], &[&str]) =
        if view.is_javascript() { (&UNTYPED, &TYPED) } else { (&TYPED, &UNTYPED) };
    // A name with an ending of ours is complete; that is one look instead of many.
    let complete = [first, second, &FURTHER].iter().any(|endings| endings.iter().any(|ending| path.ends_with(ending)));
    let whole = path.to_owned();
    if complete && exists(&whole) {
        return Some(whole);
    }
    let endings = first.iter().chain(second).chain(&FURTHER);
    let found = endings.map(|ending| format!("{path}{ending}")).find(exists);
    found.or_else(|| Some(whole).filter(exists))
}

/// What its manifest names, or its index.
fn in_folder(view: &View<'_>, folder: &str) -> Option<String> {
    if !view.is_folder(folder) {
        return None;
    }
    let manifest = within(folder, "package.json");
    if view.is_file(&manifest)
        && let Some(package) = Package::read(view, &manifest)
        && let Some(found) = package.mains().iter().find_map(|main| file_or_index(view, &joined(folder, main)?))
    {
        return Some(found);
    }
    file(view, &within(folder, "index"))
}

fn file_or_index(view: &View<'_>, path: &str) -> Option<String> {
    file(view, path).or_else(|| file(view, &within(path, "index")))
}

/// The nearest of these files around a folder.
fn nearest_file(view: &View<'_>, folder: &str, names: &[&str]) -> Option<String> {
    let mut paths = upwards(folder).flat_map(|folder| names.iter().map(move |name| within(folder, name)));
    paths.find(|path| view.is_file(path))
}
