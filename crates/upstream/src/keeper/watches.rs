//! Which resources of one server somebody here watches. The session has the server tell of them; what it tells of others
//! concerns nobody.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use countersign_contract::Watching;

use crate::session::Watched;

#[derive(Debug, Clone, Default)]
pub(crate) struct Watches {
    /// What the server is to tell of.
    watched: Watched,
    /// By the server's own names. All who watch one share it, and the server need tell no more when the last of them goes.
    shared: Arc<Mutex<Shared>>,
}

type Shared = BTreeMap<String, Weak<Watching>>;

impl Watches {
    /// Nothing, where too many others are watched.
    pub(crate) fn add(&self, uri: &str) -> Option<Watching> {
        let mut shared = self.lock();
        let known = shared.get(uri).and_then(Weak::upgrade);
        let watching = match known {
            Some(watching) => watching,
            None => Arc::new(self.watched.add(uri)?),
        };
        shared.retain(|_, watching| watching.strong_count() > 0);
        shared.insert(uri.to_owned(), Arc::downgrade(&watching));
        Some(Watching::new(watching))
    }

    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.lock().get(uri).is_some_and(|watching| watching.strong_count() > 0)
    }

    pub(crate) fn uris(&self) -> Vec<String> {
        let shared = self.lock();
        let living = shared.iter().filter(|(_, watching)| watching.strong_count() > 0);
        living.map(|(uri, _)| uri.clone()).collect()
    }

    pub(super) fn to_tell(&self) -> &Watched {
        &self.watched
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Watches;

    #[test]
    fn a_resource_is_watched_until_the_last_one_lets_go() {
        let watches = Watches::default();
        let (one, other) = (watches.add("a").unwrap(), watches.add("a").unwrap());
        let next = watches.add("b").unwrap();
        drop(one);
        assert_eq!((watches.uris(), watches.contains("a")), (vec!["a".to_owned(), "b".to_owned()], true));
        drop(other);
        assert_eq!((watches.uris(), watches.contains("a")), (vec!["b".to_owned()], false));
        drop(next);
        let again = watches.add("a").unwrap();
        assert_eq!((watches.uris(), watches.lock().len()), (vec!["a".to_owned()], 1));
        drop(again);
    }
}
