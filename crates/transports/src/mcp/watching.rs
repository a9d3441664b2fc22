//! What clients are told of: lists that are others now, and the resources that each of them watches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use countersign_contract::{Caller, Code, Provider, Rejection, ToolError, Watching};
use countersign_host::Change;
use futures_util::StreamExt as _;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, ServiceError, SubscriptionContext};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::{Endpoint, Session, Shared};

/// Resources that one session, or one request to listen, may watch.
const WATCHED_MAX: usize = 256;

/// Of many resources that are to be watched, those that are looked up together.
const AT_ONCE: usize = 8;

/// The resources that one client wants to hear of. Nobody watches them any more when this goes.
#[derive(Default)]
pub(super) struct Watches(Mutex<HashMap<String, Watching>>);

impl Watches {
    pub(super) async fn begin(&self, provider: &dyn Provider, caller: &Caller, uri: String) -> Result<(), ToolError> {
        let watching = provider.watch(caller, &uri).await?;
        let mut watched = self.lock();
        if watched.len() >= WATCHED_MAX && !watched.contains_key(&uri) {
            let error = format!("No more than {WATCHED_MAX} resources can be watched at once");
            return Err(Rejection::new(Code::Unavailable, error).into());
        }
        watched.insert(uri, watching);
        Ok(())
    }

    pub(super) fn end(&self, uri: &str) {
        let ended = self.lock().remove(uri);
        drop(ended);
    }

    fn contains(&self, uri: &str) -> bool {
        self.lock().contains_key(uri)
    }

    fn uris(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Watching>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Endpoint {
    /// The modern era: as long as the request is open. What cannot be watched is left out.
    pub(super) async fn tell_listener(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.gate.changes().listen();
        let over = async {
            tokio::select! {
                () = subscription.cancelled() => {}
                () = self.shared.stopping.cancelled() => {}
            }
        };
        let (watches, caller) = (Watches::default(), self.caller(subscription.request_context()));
        let tell = async {
            let uris = subscription.accepted().resource_subscriptions.clone().unwrap_or_default();
            let begin = |uri| async { drop(watches.begin(&*self.shared.provider, &caller, uri).await) };
            futures_util::stream::iter(uris.into_iter().take(WATCHED_MAX)).for_each_concurrent(AT_ONCE, begin).await;
            let sink = subscription.sink();
            while let Some(news) = next(&mut changes, || watches.uris()).await {
                for change in news {
                    let told = match change {
                        Change::Tools => sink.notify_tool_list_changed().await,
                        Change::Prompts => sink.notify_prompt_list_changed().await,
                        Change::Resources => sink.notify_resource_list_changed().await,
                        Change::Resource(uri) if watches.contains(&uri) => sink.notify_resource_updated(uri).await,
                        Change::Resource(_) => Ok(()),
                    };
                    // What it did not ask for is not sent, which is not an error of ours.
                    drop(told);
                }
            }
        };
        tokio::select! {
            () = over => {}
            () = tell => {}
        }
        Ok(())
    }

    /// The older era: as long as the session lasts, which this must not prolong.
    pub(super) fn tell_session(&self, peer: Peer<RoleServer>) {
        if self.session.is_told.swap(true, std::sync::atomic::Ordering::Relaxed) {
            return;
        }
        let changes = self.shared.gate.changes().listen();
        let (shared, session) = (Arc::clone(&self.shared), Arc::downgrade(&self.session));
        let over = self.session.over.clone();
        self.shared.gate.recorder().tasks.spawn(async move {
            tokio::select! {
                () = over.cancelled() => {}
                () = shared.stopping.cancelled() => {}
                () = tell_all(&shared, session, &peer, changes) => {}
            }
        });
    }
}

async fn tell_all(shared: &Shared, session: Weak<Session>, peer: &Peer<RoleServer>, mut changes: Receiver<Change>) {
    let uris = || session.upgrade().map(|session| session.watches.uris()).unwrap_or_default();
    while let Some(news) = next(&mut changes, uris).await {
        for change in news {
            let watched = |uri: &str| session.upgrade().is_some_and(|session| session.watches.contains(uri));
            if tell(shared, peer, change, watched).await.is_err() {
                return;
            }
        }
    }
}

/// A session is told of everything it declared no wish about, but resources one by one.
async fn tell(
    shared: &Shared,
    peer: &Peer<RoleServer>,
    change: Change,
    watched: impl Fn(&str) -> bool,
) -> Result<(), ServiceError> {
    let offers = shared.provider.offers();
    match change {
        Change::Tools => peer.notify_tool_list_changed().await,
        Change::Prompts if offers.prompts => peer.notify_prompt_list_changed().await,
        Change::Resources if offers.resources => peer.notify_resource_list_changed().await,
        Change::Resource(uri) if watched(&uri) => {
            peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await
        }
        Change::Prompts | Change::Resources | Change::Resource(_) => Ok(()),
    }
}

/// The next change; nothing when there will be none. Whoever was too slow to hear of some is told to look at everything
/// again, and at what is watched then.
async fn next(changes: &mut Receiver<Change>, watched: impl Fn() -> Vec<String>) -> Option<Vec<Change>> {
    match changes.recv().await {
        Ok(change) => Some(vec![change]),
        Err(RecvError::Lagged(_)) => {
            // Whatever waits says no more than that.
            *changes = changes.resubscribe();
            let resources = watched().into_iter().map(Change::Resource);
            Some([Change::Tools, Change::Prompts, Change::Resources].into_iter().chain(resources).collect())
        }
        Err(RecvError::Closed) => None,
    }
}

#[cfg(test)]
mod tests {
    use countersign_host::{Change, Changes};

    use super::next;

    #[tokio::test]
    async fn whoever_was_too_slow_looks_at_everything_again() {
        let changes = Changes::default();
        let mut heard = changes.listen();
        let watched = || vec!["a:one".to_owned(), "a:two".to_owned()];
        changes.announce(Change::Prompts);
        assert_eq!(next(&mut heard, watched).await, Some(vec![Change::Prompts]));
        for _ in 0..1000 {
            changes.announce(Change::Resource("a:other".to_owned()));
        }
        let resource = |uri: &str| Change::Resource(uri.to_owned());
        let all = vec![Change::Tools, Change::Prompts, Change::Resources, resource("a:one"), resource("a:two")];
        assert_eq!(next(&mut heard, watched).await, Some(all));
        changes.announce(Change::Tools);
        assert_eq!(next(&mut heard, watched).await, Some(vec![Change::Tools]));
        drop(changes);
        assert_eq!(next(&mut heard, watched).await, None);
    }
}
