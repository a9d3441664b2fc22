//! The first occurrences of all that several threads find, in the order of paths and lines. No more are kept than are
//! wanted, and whoever is past the last of them need not collect any.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Occurrence;

pub(super) struct First {
    limit: usize,
    kept: Mutex<Kept>,
    /// Counts how often a thread's idea of what is past the last became old.
    version: AtomicU64,
}

#[derive(Default)]
struct Kept {
    files: BTreeMap<PathBuf, Vec<Occurrence>>,
    count: usize,
}

/// What one thread knows of it: a file after this one is of no interest. It may be old, never wrong.
#[derive(Default)]
pub(super) struct Bound {
    version: u64,
    last: Option<PathBuf>,
}

impl First {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: Mutex::default(), version: AtomicU64::new(0) }
    }

    /// How many occurrences in this file are of interest.
    pub(super) fn wanted(&self, bound: &mut Bound, path: &Path) -> usize {
        let version = self.version.load(Ordering::Acquire);
        if version != bound.version {
            let kept = self.lock();
            *bound = Bound { version, last: kept.files.last_key_value().map(|(path, _)| path.clone()) };
        }
        if bound.last.as_deref().is_some_and(|last| path > last) { 0 } else { self.limit }
    }

    pub(super) fn add(&self, path: &Path, occurrences: Vec<Occurrence>) {
        let mut kept = self.lock();
        kept.count += occurrences.len();
        kept.files.insert(path.to_owned(), occurrences);
        while let Some(last) = kept.files.last_entry() {
            let without = last.get().len();
            if kept.count - without < self.limit {
                break;
            }
            kept.files.pop_last();
            kept.count -= without;
        }
        if kept.count >= self.limit {
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    pub(super) fn into_occurrences(self) -> Vec<Occurrence> {
        let kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let in_order = kept.files.into_iter().flat_map(|(path, occurrences)| {
            let file = path.to_string_lossy().into_owned();
            occurrences.into_iter().map(move |found| Occurrence { file: file.clone(), ..found })
        });
        in_order.take(self.limit).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_are_kept_in_whatever_order_they_come(
            files in prop::collection::btree_map("[ab]{1,2}(/[a.]{1,2})?", 1_u64..6, 0..20),
            limit in 1_usize..12,
            seed in any::<u64>(),
        ) {
            let mut expected: Vec<_> = files.iter().map(|(path, count)| (PathBuf::from(path), *count)).collect();
            expected.sort();
            expected.dedup_by(|one, other| one.0 == other.0);
            let mut shuffled = expected.clone();
            shuffled.sort_by_key(|(path, _)| {
                let length = u32::try_from(path.as_os_str().len()).unwrap();
                u64::from(length) ^ seed.rotate_left(length)
            });
            let (first, mut bound) = (First::new(limit), Bound::default());
            for (path, count) in &shuffled {
                let wanted = first.wanted(&mut bound, path).min(usize::try_from(*count).unwrap());
                if wanted > 0 {
                    first.add(path, (1..=wanted as u64).map(occurrence).collect());
                }
            }
            let expected: Vec<_> = expected
                .iter()
                .flat_map(|(path, count)| (1..=*count).map(move |line| (path.to_str().unwrap().to_owned(), line)))
                .take(limit)
                .collect();
            let found = first.into_occurrences().into_iter().map(|found| (found.file, found.line));
            prop_assert_eq!(found.collect::<Vec<_>>(), expected);
        }
    }

    fn occurrence(line: u64) -> Occurrence {
        let text = String::new();
        Occurrence { file: String::new(), line, column: 1, text, before: Vec::new(), after: Vec::new() }
    }
}
