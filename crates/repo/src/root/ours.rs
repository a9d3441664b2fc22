//! What no tool sees wherever it lies: data folder, log, configuration. By name, as configured and where links lead now,
//! and by what it is, because a file can have several names, and another one later.

mod held;

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use self::held::{Survey, survey};

/// A link to the configuration is pointed elsewhere, a database gets a new log: both are known after this long.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Ours {
    named: Vec<PathBuf>,
    /// Lies in there, and is others'.
    except: Option<PathBuf>,
    known: Mutex<(Instant, Arc<Known>)>,
    /// Somebody puts our files where others were: nothing is opened any more before it was judged. It stays so, because
    /// each time a handle is left behind.
    wary: AtomicBool,
}

/// As it was a moment ago.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// Resolved. What was ours once stays so: a configuration that is no longer in use still has its secrets.
    places: Vec<PathBuf>,
    /// The same for what was in these places: as long as it has a name anywhere, and is not too much to be held.
    survey: Survey,
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        self.places == other.places && self.survey.identities == other.survey.identities
    }
}

impl Eq for Known {}

impl Ours {
    pub(crate) fn new(named: &[PathBuf]) -> Self {
        Self::without(named, None)
    }

    /// Of these places everything but one folder.
    pub(crate) fn without(named: &[PathBuf], except: Option<&Path>) -> Self {
        let known = Arc::new(Known::default().and_now(named, except));
        Self {
            named: named.to_vec(),
            except: except.map(Path::to_owned),
            known: Mutex::new((Instant::now(), known)),
            wary: AtomicBool::default(),
        }
    }

    /// The same as before, unless something changed.
    pub(crate) fn now(&self) -> Arc<Known> {
        self.not_older_than(LOOK_AGAIN)
    }

    /// Without looking, or waiting for somebody who does: `None` if it is time to look again.
    pub(super) fn as_looked_at(&self) -> Option<Arc<Known>> {
        let known = self.known.try_lock().ok()?;
        (known.0.elapsed() < LOOK_AGAIN).then(|| Arc::clone(&known.1))
    }

    /// As it is this very moment.
    pub(crate) fn look_again(&self) -> Arc<Known> {
        self.not_older_than(Duration::ZERO)
    }

    fn not_older_than(&self, age: Duration) -> Arc<Known> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0.elapsed() >= age {
            let now = known.1.and_now(&self.named, self.except.as_deref());
            known.0 = Instant::now();
            if now != *known.1 {
                known.1 = Arc::new(now);
            }
        }
        Arc::clone(&known.1)
    }

    /// Whether one of ours was opened under a name that was another's.
    pub(crate) fn is_wary(&self) -> bool {
        self.wary.load(Ordering::Relaxed)
    }

    /// Takes a file of ours that was opened under a name that was another's. Closed, it would lose the locks of our database:
    /// so it never is.
    pub(crate) fn leave_open(&self, file: File) {
        std::mem::forget(file);
        if !self.wary.swap(true, Ordering::Relaxed) {
            tracing::warn!("a file of our own was put in the place of another");
        }
    }
}

impl Known {
    fn and_now(&self, named: &[PathBuf], except: Option<&Path>) -> Self {
        let mut places = self.places.clone();
        for place in named.iter().flat_map(|place| [as_named(place), resolved_as_far_as_it_exists(place)]) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let survey = survey(&self.survey, &mut places, except);
        Self { places, survey }
    }

    /// Whether the place is ours, or lies in a folder of ours. Its folder is free of links.
    pub(crate) fn cover(&self, place: &Path) -> bool {
        self.places.iter().any(|ours| place.starts_with(ours))
    }

    /// Whether the place itself is one that was named.
    pub(crate) fn name(&self, place: &Path) -> bool {
        self.places.iter().any(|ours| ours.as_os_str() == place.as_os_str())
    }

    /// Under whatever name.
    pub(crate) fn are(&self, about: &Metadata) -> bool {
        self.have(about.dev(), about.ino())
    }

    pub(crate) fn have(&self, device: u64, number: u64) -> bool {
        self.survey.identities.binary_search(&(number, device)).is_ok()
    }

    /// Whether one of ours may be behind the number; another device has the same ones.
    pub(crate) fn may_have(&self, number: u64) -> bool {
        let identities = &self.survey.identities;
        identities.get(identities.partition_point(|(ours, _)| *ours < number)).is_some_and(|(ours, _)| *ours == number)
    }
}

/// The name itself, in the folder that it really lies in.
fn as_named(place: &Path) -> PathBuf {
    match (place.parent(), place.file_name()) {
        (Some(folder), Some(name)) => {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            resolved_as_far_as_it_exists(folder).join(name)
        }
        _ => place.to_owned(),
    }
}

/// A file that is not there yet will be where its folder leads.
pub(crate) fn resolved_as_far_as_it_exists(place: &Path) -> PathBuf {
    if let Ok(resolved) = place.canonicalize() {
        return resolved;
    }
    match (place.parent(), place.components().next_back()) {
        (Some(folder), Some(Component::ParentDir)) => above(folder),
        (Some(folder), Some(Component::Normal(name))) => resolved_as_far_as_it_exists(folder).join(name),
        _ => place.to_owned(),
    }
}

/// The same place without `..`. Behind a link that means something else than its name says, so what comes before it is
/// resolved; what comes after stays as it was named.
pub(crate) fn without_parents(place: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in place.components() {
        match component {
            Component::ParentDir => plain = above(&plain),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::Normal(_) => {
                plain.push(component);
            }
        }
    }
    plain
}

fn above(folder: &Path) -> PathBuf {
    let mut folder = resolved_as_far_as_it_exists(folder);
    folder.pop();
    folder
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::Known;

    #[test]
    fn what_was_named_is_known_by_name_by_place_and_by_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::create_dir(at("data")).unwrap();
        for file in ["data/db", "one.yaml", "two.yaml"] {
            fs::write(at(file), "").unwrap();
        }
        symlink("one.yaml", at("link.yaml")).unwrap();
        fs::hard_link(at("data/db"), at("other")).unwrap();
        let named = [at("data"), at("link.yaml"), at("not-there/log")];

        let known = Known::default().and_now(&named, None);
        for ours in ["data", "data/db", "data/deep/er", "link.yaml", "one.yaml", "not-there/log"] {
            assert!(known.cover(&at(ours)), "{ours}");
        }
        assert!(!known.cover(&at("two.yaml")) && !known.cover(&at("database")));
        assert!(known.are(&fs::metadata(at("other")).unwrap()));

        fs::remove_file(at("link.yaml")).unwrap();
        symlink("two.yaml", at("link.yaml")).unwrap();
        let known = known.and_now(&named, None);
        assert!(known.cover(&at("two.yaml")) && known.cover(&at("one.yaml")));
        assert_eq!(known, known.and_now(&named, None));
    }
}
