//! PHP: classes by the `autoload` rules of the `composer.json` files around and in the project, and paths of `require`.

use serde_json::Value;

use super::paths::{common, folder_of, joined, upwards, within};
use super::view::View;
use super::{Resolution, first};
use crate::imports::Anchor;

/// One rule: classes of this namespace are below that folder.
struct Rule {
    namespace: String,
    folder: String,
    /// PSR-0 repeats the namespace in the folders.
    repeats: bool,
}

pub(super) fn resolve(view: &View<'_>, from: &str, path: &[String]) -> Resolution {
    let class = path.join("\\");
    let all = view.once("php", || rules(view, from));
    let below = format!("{class}\\");
    let mut rules: Vec<&Rule> = all.iter().filter(|rule| below.starts_with(&rule.namespace)).collect();
    rules.sort_by_key(|rule| usize::MAX - rule.namespace.len());
    let known = rules.iter().any(|rule| !rule.namespace.is_empty());
    // `use function` and `use const` name a part of a file that Composer loads by itself, so the class comes first.
    let found = rules.iter().find_map(|rule| {
        let rest = if rule.repeats { class.as_str() } else { &class[rule.namespace.len().min(class.len())..] };
        let path = format!("{}.php", within(&rule.folder, &rest.replace('\\', "/")));
        view.is_file(&path).then_some(path)
    });
    match found {
        Some(path) => Resolution::Files(vec![path]),
        None if known => Resolution::NotFound,
        None => Resolution::External,
    }
}

/// Of every manifest, the nearest first.
fn rules(view: &View<'_>, from: &str) -> Vec<Rule> {
    let mut manifests: Vec<&str> = view.census().manifests("composer.json").iter().map(String::as_str).collect();
    manifests.sort_by_key(|path| (usize::MAX - common(path, from), *path));
    let mut rules = Vec::new();
    for path in manifests.into_iter().take_while(|_| !view.is_over()) {
        let raw: Value = view.text(path).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        for section in ["autoload", "autoload-dev"] {
            for (key, repeats) in [("psr-4", false), ("psr-0", true)] {
                for (namespace, folders) in raw[section][key].as_object().into_iter().flatten() {
                    let folders = folders.as_array().map_or_else(|| vec![folders], |list| list.iter().collect());
                    let folders = folders.into_iter().filter_map(|folder| joined(folder_of(path), folder.as_str()?));
                    rules.extend(folders.map(|folder| Rule { namespace: namespace.clone(), folder, repeats }));
                }
            }
        }
    }
    rules
}

pub(super) fn require(view: &View<'_>, from: &str, path: &str, anchor: Anchor) -> Resolution {
    let folder = folder_of(from);
    if path.starts_with('/') {
        return Resolution::External;
    }
    match anchor {
        Anchor::Here => first(view, [joined(folder, path)]).unwrap_or(Resolution::NotFound),
        Anchor::LoadPath => {
            let beside = first(view, [joined(folder, path)]);
            let around = || upwards(folder).filter_map(|folder| joined(folder, path)).find(|path| view.is_file(path));
            beside.unwrap_or_else(|| around().map_or(Resolution::NotFound, |path| Resolution::Files(vec![path])))
        }
        Anchor::Somewhere => {
            let around = upwards(folder).filter_map(|folder| joined(folder, path)).find(|path| view.is_file(path));
            around.map_or(Resolution::External, |path| Resolution::Files(vec![path]))
        }
    }
}
