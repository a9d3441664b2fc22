//! C#: a namespace is no folder, but most projects lay it out as one. What is found is what declares the namespace.

use super::Resolution;
use super::paths::{folder_of, stem_of, within};
use super::view::View;

/// Files of a folder that are looked at for the namespace.
const SEARCHED_MAX: usize = 300;

pub(super) fn resolve(view: &View<'_>, from: &str, path: &[String]) -> Resolution {
    let namespace = path.join(".");
    let declared = in_namespace(view, from, &namespace, None);
    if !declared.is_empty() {
        return Resolution::Files(declared);
    }
    // `using static A.B.C` and aliases name a type.
    if let Some((name, namespace)) = path.split_last() {
        let declared = in_namespace(view, from, &namespace.join("."), Some(name));
        if !declared.is_empty() {
            return Resolution::Files(declared);
        }
    }
    Resolution::External
}

/// Files that declare the namespace, and the type if one is meant.
fn in_namespace(view: &View<'_>, from: &str, namespace: &str, name: Option<&str>) -> Vec<String> {
    let declares = |path: &String| {
        view.outline(path).is_some_and(|outline| {
            outline.packages.iter().any(|known| known == namespace)
                && name.is_none_or(|name| outline.declares.iter().any(|known| known == name))
        })
    };
    let mut found = Vec::new();
    for folder in folders(view, from, namespace) {
        let files = view.files_in(&folder, &[".cs"]).into_iter().take(SEARCHED_MAX);
        found.extend(files.filter(|path| path != from).filter(declares));
        if !found.is_empty() {
            break;
        }
    }
    found
}

/// Where a namespace may lie: below a project that it begins with the name of, or in a folder of its last names.
fn folders(view: &View<'_>, from: &str, namespace: &str) -> Vec<String> {
    let mut folders = Vec::new();
    let projects = view.once("csharp", || {
        let projects = view.census().manifests(".csproj").iter().take_while(|_| !view.is_over());
        projects.map(|path| (folder_of(path).to_owned(), root_namespace(view, path))).collect::<Vec<_>>()
    });
    for (project, root) in projects.iter() {
        let rest = namespace.strip_prefix(root.as_str()).filter(|rest| rest.is_empty() || rest.starts_with('.'));
        if let Some(rest) = rest {
            folders.push(within(project, &rest.trim_start_matches('.').replace('.', "/")));
        }
    }
    let path = namespace.replace('.', "/");
    let mut names = path.as_str();
    while !names.is_empty() {
        folders.extend(view.census().folders_ending(names, from).into_iter().map(str::to_owned));
        names = names.split_once('/').map_or("", |(_, rest)| rest);
    }
    folders.retain(|folder| view.is_folder(folder));
    folders
}

fn root_namespace(view: &View<'_>, project: &str) -> String {
    let text = view.text(project).unwrap_or_default();
    let said = text.split_once("<RootNamespace>").and_then(|(_, rest)| rest.split_once("</RootNamespace>"));
    said.map_or_else(|| stem_of(project).to_owned(), |(name, _)| name.trim().to_owned())
}
