//! The resources of one server that somebody wants to hear of. They outlast sessions: each one tells the server anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Weak;
use std::time::Duration;

use countersign_contract::Watching;
use serde_json::Map;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::{CallFailure, Era, Errand, Inner, Session};

/// Resources of one server.
pub(super) const WATCHED_MAX: usize = 256;

/// For a server to take note of it.
pub(super) const NOTE_TIMEOUT: Duration = Duration::from_secs(5);

/// By the server's own names, with the number of those who want to hear of it.
type Wanted = BTreeMap<String, usize>;

#[derive(Debug, Clone, Default)]
pub(crate) struct Watched(watch::Sender<Wanted>);

/// One of those who want to hear of a resource, until it is dropped.
struct Watcher {
    watched: Watched,
    uri: String,
}

impl Watched {
    /// Nothing, where too many others are watched.
    pub(crate) fn add(&self, uri: &str) -> Option<Watching> {
        let mut possible = true;
        self.0.send_if_modified(|wanted| {
            if let Some(count) = wanted.get_mut(uri) {
                *count += 1;
                return false;
            }
            possible = wanted.len() < WATCHED_MAX;
            possible && wanted.insert(uri.to_owned(), 1).is_none()
        });
        possible.then(|| Watching::new(Watcher { watched: self.clone(), uri: uri.to_owned() }))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.watched.0.send_if_modified(|wanted| match wanted.get_mut(&self.uri) {
            Some(count) if *count > 1 => {
                *count -= 1;
                false
            }
            Some(_) | None => wanted.remove(&self.uri).is_some(),
        });
    }
}

impl Session {
    /// Has the server tell of these from now on, whichever they are.
    pub(crate) fn follow(&self, watched: &Watched, tasks: &TaskTracker) {
        let (session, wanted) = (std::sync::Arc::downgrade(&self.inner), watched.0.subscribe());
        tasks.spawn(follow(session, wanted));
    }

    /// Until the server was told to tell of it, or long enough.
    pub(crate) async fn tells_of(&self, uri: &str) {
        let mut told = self.inner.told.subscribe();
        tokio::select! {
            told = tokio::time::timeout(NOTE_TIMEOUT, told.wait_for(|told| told.contains(uri))) => drop(told),
            () = self.inner.ended.cancelled() => {}
        }
    }
}

async fn follow(session: Weak<Inner>, mut wanted: watch::Receiver<Wanted>) {
    let mut first = true;
    loop {
        let Some(session) = session.upgrade() else { return };
        let now: BTreeSet<String> = wanted.borrow_and_update().keys().cloned().collect();
        match session.era {
            Era::Modern => session.is_to_tell(&now),
            Era::Legacy => session.tell(&now).await,
        }
        if std::mem::take(&mut first) && !now.is_empty() {
            session.are_news(now).await;
        }
        let ended = session.ended.clone();
        drop(session);
        tokio::select! {
            changed = wanted.changed() => match changed {
                Ok(()) => {}
                Err(_) => return,
            },
            () = ended.cancelled() => return,
        }
    }
}

impl Inner {
    /// In the modern era, all at once, by a request that stays open.
    fn is_to_tell(&self, now: &BTreeSet<String>) {
        self.to_watch.send_if_modified(|before| {
            let differs = before != now;
            before.clone_from(now);
            differs
        });
    }

    /// In the older era, one by one.
    async fn tell(&self, now: &BTreeSet<String>) {
        let told = self.told.borrow().clone();
        let begin = now.difference(&told).map(|uri| ("resources/subscribe", uri));
        let end = told.difference(now).map(|uri| ("resources/unsubscribe", uri));
        for (method, uri) in begin.chain(end) {
            let params = Map::from_iter([("uri".to_owned(), uri.clone().into())]);
            match self.ask(method, params, NOTE_TIMEOUT, Errand::default()).await {
                Ok(_) => {}
                Err(CallFailure::Link(_)) if self.ended.is_cancelled() => return,
                Err(error) => tracing::debug!(%error, "a resource cannot be watched"),
            }
            self.told.send_modify(|told| {
                if !told.remove(uri) {
                    told.insert(uri.clone());
                }
            });
        }
    }

    /// What happened to these while nobody listened is not known: whoever watches them looks again.
    async fn are_news(&self, uris: BTreeSet<String>) {
        let mut told = self.told.subscribe();
        tokio::select! {
            told = tokio::time::timeout(NOTE_TIMEOUT, told.wait_for(|told| uris.is_subset(told))) => drop(told),
            () = self.ended.cancelled() => return,
        }
        for uri in uris {
            self.said.has_changed(uri);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{WATCHED_MAX, Watched};

    #[test]
    fn a_resource_is_watched_until_the_last_one_lets_go() {
        let watched = Watched::default();
        let mut seen = watched.0.subscribe();
        let mut now = || (seen.has_changed().unwrap(), seen.borrow_and_update().keys().cloned().collect::<Vec<_>>());
        let (one, other) = (watched.add("a").unwrap(), watched.add("a").unwrap());
        assert_eq!(now(), (true, vec!["a".to_owned()]));
        drop(one);
        assert_eq!(now(), (false, vec!["a".to_owned()]));
        drop(other);
        assert_eq!(now(), (true, Vec::new()));
    }

    #[test]
    fn so_many_are_watched_and_no_more() {
        let watched = Watched::default();
        let mut all: Vec<_> = (0..WATCHED_MAX).map(|number| watched.add(&number.to_string()).unwrap()).collect();
        assert!(watched.add("more").is_none() && watched.add("0").is_some());
        all.pop();
        assert!(watched.add("more").is_some());
    }
}
