//! Ruby: beside the file, or in the folders that a project puts on the load path.

use super::paths::{folder_of, joined, upwards, within};
use super::view::View;
use super::{Resolution, first};
use crate::imports::Anchor;

/// Folders of the load path, in any folder around the file.
const LOAD_PATH: [&str; 5] = ["lib", "", "app", "test", "spec"];

pub(super) fn resolve(view: &View<'_>, from: &str, path: &str, anchor: Anchor) -> Resolution {
    if path.starts_with('/') {
        return Resolution::External;
    }
    let folder = folder_of(from);
    let names = if path.rsplit_once('.').is_some_and(|(_, ending)| ending == "rb") {
        vec![path.to_owned()]
    } else {
        vec![format!("{path}.rb"), path.to_owned()]
    };
    let here = anchor == Anchor::Here || path.starts_with("./") || path.starts_with("../");
    if here {
        let beside = names.iter().map(|name| joined(folder, name));
        return first(view, beside).unwrap_or(Resolution::NotFound);
    }
    let mut roots: Vec<String> =
        upwards(folder).flat_map(|folder| LOAD_PATH.iter().map(move |name| within(folder, name))).collect();
    let projects = [".gemspec", "Gemfile"].iter().flat_map(|name| view.census().manifests(name));
    roots.extend(projects.map(|path| within(folder_of(path), "lib")));
    // Without `.rb` it could be any file of that name.
    let candidates = roots.iter().filter_map(|root| joined(root, &names[0]));
    match candidates.into_iter().find(|path| view.is_file(path)) {
        Some(found) => Resolution::Files(vec![found]),
        None => Resolution::External,
    }
}
