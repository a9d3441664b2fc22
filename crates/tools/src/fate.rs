//! What becomes of something that is being written when the time of its call is up. The writer decides once, just before
//! it changes anything; the call asks shortly before its end, and tells its caller what was decided.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use countersign_contract::{CallContext, Code, Rejection, ToolError};

/// So long before its time is up the call says itself what has become of it; the gate does not know.
const TIME_TO_ANSWER: Duration = Duration::from_millis(200);

/// The first one who decides is right, and the other one knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fate(Arc<OnceLock<Decision>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Begun,
    GivenUp,
}

/// The time is up before the writer was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    /// Nothing was changed, and nothing will be.
    GivenUp,
    /// It was begun before, and may be done already or come yet.
    Begun,
}

impl Fate {
    /// The writer's: whether it may go on. If so, nothing holds it back any more.
    pub(crate) fn begin(&self) -> bool {
        self.is(Decision::Begun)
    }

    /// Decides nothing.
    pub(crate) fn is_given_up(&self) -> bool {
        self.0.get() == Some(&Decision::GivenUp)
    }

    fn give_up(&self) -> Late {
        if self.is(Decision::GivenUp) { Late::GivenUp } else { Late::Begun }
    }

    fn is(&self, decision: Decision) -> bool {
        *self.0.get_or_init(|| decision) == decision
    }
}

impl Late {
    /// `given_up` and `begun` are for people and models: what that means for what was written.
    pub(crate) fn rejection(self, given_up: &str, begun: &str) -> Rejection {
        let error = match self {
            Self::GivenUp => given_up,
            Self::Begun => begun,
        };
        Rejection::new(Code::Timeout, error)
    }
}

/// Gives up whatever was not begun when its call ends, so that whoever goes away does not find it done later.
struct GivesUp(Fate);

impl Drop for GivesUp {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// Has it written in a thread of its own, and so to its end once it has begun.
pub(crate) async fn write<T: Send + 'static>(
    ctx: &CallContext,
    write: impl FnOnce(&Fate) -> T + Send + 'static,
) -> Result<Result<T, Late>, ToolError> {
    let fate = Fate::default();
    let _given_up = GivesUp(fate.clone());
    let of_the_writer = fate.clone();
    let written = tokio::task::spawn_blocking(move || write(&of_the_writer));
    let time = ctx.deadline.saturating_sub(TIME_TO_ANSWER.min(ctx.deadline / 10));
    match tokio::time::timeout(time, written).await {
        Ok(written) => written.map(Ok).map_err(ToolError::internal),
        Err(_) => Ok(Err(fate.give_up())),
    }
}

/// A call for tests of those who write.
#[cfg(test)]
pub(crate) fn context(deadline: Duration) -> CallContext {
    use countersign_contract::{Access, Caller, Client, Progress};
    use tokio_util::sync::CancellationToken;

    let caller = Arc::new(Caller { name: "test".into(), access: Access::All, approver: false });
    CallContext::new(caller, deadline, CancellationToken::new(), Progress::default(), Client::default())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    use tokio::runtime::Builder;

    use super::{Fate, GivesUp, Late, context, write};

    #[test]
    fn who_decides_first_is_right() {
        let fate = Fate::default();
        assert!(!fate.is_given_up());
        drop(GivesUp(fate.clone()));
        assert!(fate.is_given_up() && !fate.begin());
        let fate = Fate::default();
        assert!(fate.begin());
        drop(GivesUp(fate.clone()));
        assert!(fate.begin() && !fate.is_given_up());
    }

    #[test]
    fn the_call_says_in_time_what_was_decided() {
        for (begins, expected) in [(true, Late::Begun), (false, Late::GivenUp)] {
            let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
            let (ready, is_ready) = sync_channel(1);
            let (go_on, goes_on) = sync_channel::<()>(1);
            let (last, words) = sync_channel(1);
            let answered = runtime.block_on(async {
                let minute = Duration::from_mins(1);
                let ctx = context(minute);
                let written = write(&ctx, move |fate| {
                    ready.send(!begins || fate.begin()).unwrap();
                    goes_on.recv().unwrap();
                    last.send(fate.begin()).unwrap();
                });
                let time = async {
                    assert!(is_ready.recv().unwrap());
                    // Before the gate's own time is up.
                    tokio::time::advance(Duration::from_millis(59_801)).await;
                };
                tokio::join!(written, time).0
            });
            assert_eq!(answered.unwrap(), Err(expected));
            go_on.send(()).unwrap();
            assert_eq!(words.recv().unwrap(), begins, "it goes to its end, or changes nothing");
        }
    }

    #[test]
    fn who_is_in_time_is_heard() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let written = runtime.block_on(write(&context(Duration::from_mins(1)), Fate::begin));
        assert_eq!(written.unwrap(), Ok(true));
    }
}
