//! Shell scripts: beside the file, or seen from a folder around it, since nobody says where a script is started.

use super::paths::{folder_of, joined, upwards};
use super::view::View;
use super::{Resolution, first};
use crate::imports::Anchor;

pub(super) fn resolve(view: &View<'_>, from: &str, path: &str, anchor: Anchor) -> Resolution {
    if path.starts_with('/') {
        return Resolution::External;
    }
    let folder = folder_of(from);
    if let Some(found) = first(view, [joined(folder, path)]) {
        return found;
    }
    let around = upwards(folder).filter_map(|folder| joined(folder, path)).find(|path| view.is_file(path));
    match (around, anchor) {
        (Some(found), Anchor::LoadPath | Anchor::Somewhere) => Resolution::Files(vec![found]),
        (_, Anchor::Here) | (None, Anchor::LoadPath) => Resolution::NotFound,
        // Only the one who runs it knows what was to be put in.
        (None, Anchor::Somewhere) => Resolution::External,
    }
}
