//! Which folders the project has, and where its manifests and headers are: what the contents of one file do not tell.
//! It is counted anew after a while; files that an import names exactly are looked for on the spot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::ecma::Packages;
use super::paths::{common, ends_with, name_of, within};
use crate::root::Look;
use crate::{Project, Until};

/// Larger projects are known in part.
const FOLDERS_MAX: usize = 50_000;
const HEADERS_MAX: usize = 200_000;

/// How long counting may take, and how long the result holds at least. What took long holds longer.
const TIME_MAX: Duration = Duration::from_millis(800);
const HOLDS_FOR: Duration = Duration::from_secs(5);
const HOLDS_TIMES: u32 = 50;

/// Folders that hold what was made or fetched, not written.
const SKIPPED: [&str; 14] = [
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    "vendor",
    "__pycache__",
    "venv",
    "bower_components",
    "coverage",
    "third_party",
    "obj",
    "Pods",
    "site-packages",
];

/// Files that say something about the folder they are in.
const MANIFESTS: [&str; 10] = [
    "package.json",
    "pnpm-workspace.yaml",
    "lerna.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "go.mod",
    "composer.json",
    "Gemfile",
    "conftest.py",
];
const MANIFEST_ENDINGS: [&str; 2] = [".csproj", ".gemspec"];
const HEADER_ENDINGS: [&str; 12] =
    [".h", ".hpp", ".hh", ".hxx", ".h++", ".inc", ".inl", ".ipp", ".tpp", ".tcc", ".cuh", ".def"];

#[derive(Debug, Default)]
pub(crate) struct Census {
    /// By their last name, nearest to the root first.
    folders: HashMap<String, Vec<String>>,
    /// Paths by name.
    manifests: HashMap<String, Vec<String>>,
    /// Their folders by name.
    headers: HashMap<String, Vec<String>>,
    /// What the manifests of JavaScript packages say, once somebody wants to know.
    packages: OnceLock<Packages>,
}

/// The last count, for as long as it holds.
#[derive(Debug, Default)]
pub(crate) struct LastCensus(Mutex<Option<(Instant, Arc<Census>)>>);

impl LastCensus {
    pub(crate) fn get(&self, project: &Project, until: &Until) -> Arc<Census> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some((good_until, census)) = &*last
            && now < *good_until
        {
            return Arc::clone(census);
        }
        let census = Arc::new(Census::take(project, until));
        let took = now.elapsed();
        // One that was broken off says less than there is.
        if until.is_over() {
            return census;
        }
        *last = Some((Instant::now() + HOLDS_FOR.max(took * HOLDS_TIMES), Arc::clone(&census)));
        census
    }
}

impl Census {
    fn take(project: &Project, until: &Until) -> Self {
        let start = Instant::now();
        let mut census = Self::default();
        // Breadth first: what is cut off is deep down.
        let mut level = vec![String::new()];
        let (mut folders, mut headers) = (0, 0);
        while !level.is_empty() {
            let mut next = Vec::new();
            for folder in level {
                if folders >= FOLDERS_MAX || start.elapsed() > TIME_MAX || until.is_over() {
                    return census;
                }
                folders += 1;
                for entry in project.list(&folder) {
                    let path = within(&folder, &entry.name);
                    match entry.look {
                        // Links to folders are not followed: they may lead in circles.
                        Look::Folder if entry.link || is_passed_over(&folder, &entry.name) => {}
                        Look::Folder => {
                            census.folders.entry(entry.name).or_default().push(path.clone());
                            next.push(path);
                        }
                        Look::File if is_manifest(&entry.name) => census.note_manifest(entry.name, path),
                        Look::File if headers < HEADERS_MAX && is_header(&entry.name) => {
                            headers += 1;
                            census.headers.entry(entry.name).or_default().push(folder.clone());
                        }
                        Look::File | Look::Refused | Look::Nothing => {}
                    }
                }
            }
            level = next;
        }
        census
    }

    fn note_manifest(&mut self, name: String, path: String) {
        let ending = MANIFEST_ENDINGS.iter().find(|ending| name.ends_with(**ending));
        let key = ending.map_or(name, |ending| (*ending).to_owned());
        self.manifests.entry(key).or_default().push(path);
    }

    /// Paths of manifests of this name, or of this ending.
    pub(super) fn manifests(&self, name: &str) -> &[String] {
        self.manifests.get(name).map_or(&[], Vec::as_slice)
    }

    /// Folders whose paths end with these names, those next to `near` first.
    pub(super) fn folders_ending(&self, names: &str, near: &str) -> Vec<&str> {
        let of_that_name = self.folders.get(name_of(names)).map_or(&[] as &[String], Vec::as_slice);
        nearest(of_that_name.iter().map(String::as_str).filter(|path| ends_with(path, names)).collect(), near)
    }

    /// Headers whose paths end so, those next to `near` first.
    pub(super) fn headers_ending(&self, path: &str, near: &str) -> Vec<String> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folders = self.headers.get(name).map_or(&[] as &[String], Vec::as_slice);
        let fits = |known: &&str| folder.is_empty() || ends_with(known, folder);
        let folders = nearest(folders.iter().map(String::as_str).filter(fits).collect(), near);
        folders.into_iter().map(|folder| within(folder, name)).collect()
    }

    pub(super) fn packages(&self, make: impl FnOnce() -> Packages) -> &Packages {
        self.packages.get_or_init(make)
    }
}

/// Those that share the most with `near` first, then the shortest.
fn nearest<'p>(mut paths: Vec<&'p str>, near: &str) -> Vec<&'p str> {
    paths.sort_by_key(|path| (usize::MAX - common(path, near), path.matches('/').count(), *path));
    paths
}

/// Below a folder of sources every name may be one of theirs.
fn is_passed_over(folder: &str, name: &str) -> bool {
    let made = SKIPPED.contains(&name) && (name == "node_modules" || !folder.split('/').any(|part| part == "src"));
    made || name.starts_with('.')
}

fn is_manifest(name: &str) -> bool {
    MANIFESTS.contains(&name) || MANIFEST_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn is_header(name: &str) -> bool {
    HEADER_ENDINGS.iter().any(|ending| name.ends_with(ending))
}
