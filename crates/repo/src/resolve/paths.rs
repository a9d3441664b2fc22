//! Paths of the project as text: relative to its root, with `/`, without `.` and `..`. The root itself is empty.

/// `relative` as seen from a folder; `None` where that is outside the root.
pub(super) fn joined(folder: &str, relative: &str) -> Option<String> {
    if relative.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(super) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name without its ending.
pub(super) fn stem_of(path: &str) -> &str {
    let name = name_of(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// A name in a folder, which may be the root.
pub(super) fn within(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, name) => format!("{folder}/{name}"),
    }
}

/// The folder and those around it, innermost first, the root last.
pub(super) fn upwards(folder: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(folder);
    std::iter::from_fn(move || {
        let here = next?;
        next = if here.is_empty() { None } else { Some(folder_of(here)) };
        Some(here)
    })
}

/// How far two paths go together, in whole names.
pub(super) fn common(one: &str, other: &str) -> usize {
    one.split('/').zip(other.split('/')).take_while(|(a, b)| a == b).count()
}

/// Whether a path ends with these names.
pub(super) fn ends_with(path: &str, names: &str) -> bool {
    path.strip_suffix(names).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::{common, ends_with, joined, upwards};

    #[test]
    fn paths_stay_below_the_root() {
        for (folder, relative, found) in [
            ("a/b", "./c", Some("a/b/c")),
            ("a/b", "../c", Some("a/c")),
            ("a/b", "../../c/./d//e", Some("c/d/e")),
            ("a/b", "../..", Some("")),
            ("a/b", "../../../c", None),
            ("", "..", None),
            ("", "a", Some("a")),
            ("a", "/etc/passwd", None),
        ] {
            assert_eq!(joined(folder, relative).as_deref(), found, "{folder} {relative}");
        }
        assert_eq!(upwards("a/b").collect::<Vec<_>>(), ["a/b", "a", ""]);
        assert_eq!(upwards("").collect::<Vec<_>>(), [""]);
        assert_eq!((common("a/b/c", "a/b/d"), common("ab", "a")), (2, 0));
        assert!(ends_with("x/a/b", "a/b") && ends_with("a/b", "a/b") && !ends_with("xa/b", "a/b"));
    }
}
