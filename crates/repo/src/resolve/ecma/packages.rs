//! Packages of JavaScript: what `package.json` says, and which of them are one workspace.

use std::collections::HashMap;

use serde_json::Value;

use super::super::paths::{folder_of, within};
use super::super::view::View;
use super::exports::targets;
use super::{config, nearest_file};

/// Manifests that are read to find a workspace's packages.
const PACKAGES_MAX: usize = 5000;

/// Patterns of all workspaces together.
const PATTERNS_MAX: usize = 1000;

/// One `package.json`.
#[derive(Debug)]
pub(crate) struct Package(Value);

/// The packages of all workspaces, by name, with their folders.
#[derive(Debug, Default)]
pub(crate) struct Packages(HashMap<String, (String, Package)>);

/// The package around a folder.
pub(super) fn nearest(view: &View<'_>, folder: &str) -> Option<(String, Package)> {
    let path = nearest_file(view, folder, &["package.json"])?;
    Some((folder_of(&path).to_owned(), Package::read(view, &path)?))
}

/// `@scope/name/rest` in two, the rest without its slash.
pub(super) fn package_name(specifier: &str) -> Option<(&str, &str)> {
    let slashes = if specifier.starts_with('@') { 2 } else { 1 };
    let end = specifier.match_indices('/').nth(slashes - 1).map(|(at, _)| at);
    let (name, rest) = end.map_or((specifier, ""), |end| (&specifier[..end], &specifier[end + 1..]));
    (!name.is_empty()).then_some((name, rest))
}

impl Package {
    pub(super) fn read(view: &View<'_>, path: &str) -> Option<Self> {
        let text = view.text(path)?;
        serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(&text)).ok().map(Self)
    }

    pub(super) fn is_called(&self, name: &str) -> bool {
        self.0["name"] == name
    }

    /// What stands for the package as a whole, best first.
    pub(super) fn mains(&self) -> Vec<&str> {
        ["types", "typings", "source", "module", "main"].iter().filter_map(|key| self.0[*key].as_str()).collect()
    }

    /// What stands for a part of it, or for all of it: best first.
    pub(super) fn targets(&self, rest: &str) -> Vec<String> {
        let key = if rest.is_empty() { ".".to_owned() } else { format!("./{rest}") };
        let mut found = targets(&self.0["exports"], &key);
        if rest.is_empty() {
            found.extend(self.mains().into_iter().map(str::to_owned));
            found.push("index".to_owned());
        }
        found
    }

    /// What `#name` stands for within it.
    pub(super) fn imports(&self, specifier: &str) -> Vec<String> {
        targets(&self.0["imports"], specifier)
    }

    fn workspaces(&self) -> Vec<String> {
        let list = self.0["workspaces"].as_array().or_else(|| self.0["workspaces"]["packages"].as_array());
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

impl Packages {
    pub(super) fn get(&self, name: &str) -> Option<(&str, &Package)> {
        self.0.get(name).map(|(folder, package)| (folder.as_str(), package))
    }

    /// Those that the patterns of a workspace name.
    pub(super) fn of(view: &View<'_>) -> Self {
        let paths = view.census().manifests("package.json").iter().take(PACKAGES_MAX).take_while(|_| !view.is_over());
        let packages: Vec<(&str, Package)> =
            paths.filter_map(|path| Some((folder_of(path), Package::read(view, path)?))).collect();
        let declared = packages.iter().map(|(folder, package)| (*folder, package.workspaces()));
        let mut workspaces: Vec<(&str, Vec<String>)> = declared.filter(|(_, patterns)| !patterns.is_empty()).collect();
        for path in view.census().manifests("pnpm-workspace.yaml") {
            workspaces.push((folder_of(path), view.text(path).map_or_else(Vec::new, |text| listed_packages(&text))));
        }
        for path in view.census().manifests("lerna.json") {
            let text = view.text(path).unwrap_or_default();
            let raw: Value = serde_json::from_str(&config::without_comments(&text)).unwrap_or_default();
            let patterns = raw["packages"].as_array().into_iter().flatten().filter_map(Value::as_str);
            workspaces.push((folder_of(path), patterns.map(str::to_owned).collect()));
        }
        let mut left = PATTERNS_MAX;
        for (_, patterns) in &mut workspaces {
            patterns.truncate(left);
            left -= patterns.len();
        }
        let belongs = |folder: &str| workspaces.iter().any(|(root, patterns)| is_member(root, patterns, folder));
        let members = packages.into_iter().filter(|(folder, _)| belongs(folder)).filter_map(|(folder, package)| {
            Some((package.0["name"].as_str()?.to_owned(), (folder.to_owned(), package)))
        });
        Self(members.collect())
    }
}

/// The list under `packages:`, which is all that this file usually has.
fn listed_packages(yaml: &str) -> Vec<String> {
    let below = yaml.lines().skip_while(|line| !line.starts_with("packages:")).skip(1);
    let items = below.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let items = items.map_while(|line| line.strip_prefix('-'));
    items.map(|item| item.split(" #").next().unwrap_or(item).trim().trim_matches(['"', '\'']).to_owned()).collect()
}

fn is_member(root: &str, patterns: &[String], folder: &str) -> bool {
    let inside = |pattern: &str| fits(&within(root, pattern.trim_start_matches("./").trim_end_matches('/')), folder);
    let named = patterns.iter().filter(|pattern| !pattern.starts_with('!')).any(|pattern| inside(pattern));
    named && !patterns.iter().filter_map(|pattern| pattern.strip_prefix('!')).any(inside)
}

/// `packages/*`, `apps/**`, `libs/ui-*`.
fn fits(pattern: &str, folder: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let folder: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    // By the positions in the pattern that are reached after each name, so that many stars cost no more than few.
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    let skip_deep = |reached: &mut Vec<bool>| {
        for at in 0..pattern.len() {
            reached[at + 1] |= reached[at] && pattern[at] == "**";
        }
    };
    skip_deep(&mut reached);
    for name in folder {
        let mut next = vec![false; pattern.len() + 1];
        for (at, part) in pattern.iter().enumerate().filter(|(at, _)| reached[*at]) {
            if *part == "**" {
                next[at] = true;
            } else if one_name(part, name) {
                next[at + 1] = true;
            }
        }
        skip_deep(&mut next);
        reached = next;
    }
    reached[pattern.len()]
}

fn one_name(pattern: &str, name: &str) -> bool {
    config::matches(pattern, name).is_some()
}

#[cfg(test)]
mod tests {
    use super::{fits, listed_packages, package_name};

    #[test]
    fn members_of_a_workspace() {
        for (pattern, folder, fitting) in [
            ("packages/*", "packages/a", true),
            ("packages/*", "packages/a/b", false),
            ("apps/**", "apps/a/b", true),
            ("apps/**", "apps", true),
            ("**/plugins/*", "x/y/plugins/z", true),
            ("libs/ui-*", "libs/ui-x", true),
            ("libs/ui-*", "libs/x", false),
            ("tool", "tool", true),
            ("**/**/**/**/**/x", "a/b/c/d/e/f/g", false),
        ] {
            assert_eq!(fits(pattern, folder), fitting, "{pattern} {folder}");
        }
        let yaml = "packages:\n  # ours\n  - 'packages/*'\n  - \"apps/*\" # too\n\n  - !x\ncatalog:\n  - no\n";
        assert_eq!(listed_packages(yaml), ["packages/*", "apps/*", "!x"]);
    }

    #[test]
    fn names_of_packages() {
        assert_eq!(package_name("@a/b/c/d"), Some(("@a/b", "c/d")));
        assert_eq!(package_name("@a/b"), Some(("@a/b", "")));
        assert_eq!(package_name("a/b"), Some(("a", "b")));
        assert_eq!(package_name("a"), Some(("a", "")));
    }
}
