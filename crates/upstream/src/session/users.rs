//! Who has ever asked a server something. Of what it says with no call, nobody can tell whom it is about: only while all
//! calls were one caller's is that known. Over HTTP a server outlasts our sessions with it, and so does this.

use std::sync::{Arc, Mutex, PoisonError};

/// The caller that stands for everybody without a token. No token has this name.
pub(crate) const ANYBODY: &str = "anonymous";

#[derive(Debug, Clone, Default)]
pub(crate) struct Users(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
enum Seen {
    #[default]
    Nobody,
    One(Arc<str>),
    /// Or anybody: what is for one of them may be for another.
    Several,
}

impl Users {
    pub(super) fn note(&self, caller: &Arc<str>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*seen {
            Seen::Nobody if **caller != *ANYBODY => *seen = Seen::One(Arc::clone(caller)),
            Seen::One(known) if known == caller => {}
            Seen::Nobody | Seen::One(_) | Seen::Several => *seen = Seen::Several,
        }
    }

    pub(super) fn are_several(&self) -> bool {
        matches!(*self.0.lock().unwrap_or_else(PoisonError::into_inner), Seen::Several)
    }
}
