//! What clients asked to be told about: that a list or a resource is no longer what it was.

use tokio::sync::broadcast;

/// A client that falls further behind is told by the next change; each only says "look again".
const KEPT: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Tools,
    Prompts,
    Resources,
    /// One resource, by its URI.
    Resource(String),
}

/// Announces changes to whoever listens; without listeners it costs nothing.
#[derive(Debug, Clone)]
pub struct Changes(broadcast::Sender<Change>);

impl Changes {
    pub fn announce(&self, change: Change) {
        // Nobody listens: nobody needs to know.
        let _ = self.0.send(change);
    }

    pub fn listen(&self) -> broadcast::Receiver<Change> {
        self.0.subscribe()
    }
}

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }
}
