//! C and C++: beside the file, then in the folders that projects keep headers in, then wherever a header of that name is.

use super::paths::{folder_of, joined, upwards, within};
use super::view::View;
use super::{Resolution, first};

/// Folders of headers, in any folder around the file.
const HEADER_FOLDERS: [&str; 5] = ["", "include", "inc", "src", "lib"];

pub(super) fn resolve(view: &View<'_>, from: &str, path: &str, angled: bool) -> Resolution {
    let folder = folder_of(from);
    if path.starts_with('/') {
        return Resolution::External;
    }
    if !angled && let Some(found) = first(view, [joined(folder, path)]) {
        return found;
    }
    let around = upwards(folder).flat_map(|folder| HEADER_FOLDERS.iter().map(move |name| within(folder, name)));
    let around = around.filter_map(|folder| joined(&folder, path));
    if let Some(found) = around.into_iter().find(|path| view.is_file(path)) {
        return Resolution::Files(vec![found]);
    }
    let name = path.trim_start_matches("./").trim_start_matches("../");
    // What stands in angle brackets without a folder is most often the system's.
    let anywhere = if angled && !name.contains('/') { Vec::new() } else { view.census().headers_ending(name, from) };
    match anywhere.into_iter().find(|path| view.is_file(path)) {
        Some(found) => Resolution::Files(vec![found]),
        None if angled => Resolution::External,
        None => Resolution::NotFound,
    }
}
