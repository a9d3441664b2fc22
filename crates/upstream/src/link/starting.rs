//! The start of a program, and its end.

use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::aside::STARTER;

/// How long a program has to end by itself once its stdin is closed.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) async fn start(mut command: Command) -> io::Result<Child> {
    let ((started, child), runtime) = (oneshot::channel(), Handle::current());
    let starting = STARTER.run(move || {
        let _entered = runtime.enter();
        if !started.is_closed()
            && let Err(Ok(child)) = started.send(command.spawn())
        {
            // Nobody wants it any more.
            runtime.spawn(finish(child));
        }
    });
    let nobody = || io::Error::other("no thread can be started for it");
    starting.await.ok_or_else(nobody)?;
    child.await.map_err(|_| nobody())?
}

/// The supervisor ends its program and everything that came of it, as soon as it is told to.
pub(super) async fn finish(mut child: Child) {
    // It is told by the end of its input, where we still have that.
    drop(child.stdin.take());
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_ok() {
        return;
    }
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
        // It may have ended meanwhile, or have been stopped.
        let _ = kill_process(id, Signal::TERM);
        let _ = kill_process(id, Signal::CONT);
    }
    // Never by force: then nobody would end what came of the program.
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
        tracing::warn!("an upstream program is slow to end");
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::thread;
    use std::time::Duration;

    use tokio::process::Command;
    use tokio::runtime::Builder;

    use super::{finish, start};

    #[test]
    fn a_program_outlives_the_thread_that_asked_for_it() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let asking = runtime.handle().clone();
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = thread::spawn(move || asking.block_on(start(command))).join().unwrap().unwrap();
        runtime.block_on(async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert_eq!(child.try_wait().unwrap(), None);
            finish(child).await;
        });
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_an_error() {
        assert_eq!(start(Command::new("/nowhere/at/all")).await.unwrap_err().kind(), std::io::ErrorKind::NotFound);
    }
}
