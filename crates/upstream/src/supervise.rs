//! The process between us and an upstream program, so that nothing of it is left: it ends the program, and everything
//! that came of the program, when it is told to, when the program ends, and when we are gone, even by `kill -9`.
//!
//! Orphans of the program become its children, whatever group or session they fled to.

use std::ffi::OsString;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use crate::confine::ENTER;

/// The hidden command that runs this.
pub const SUPERVISE: &str = "supervise";

/// How long the program has after a polite request.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs the program, confined; answers its exit code.
pub fn supervise(sandbox: &str, command: &[OsString]) -> std::io::Result<u8> {
    let parent = rustix::process::getppid();
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // It may have gone before we asked to be told.
    if rustix::process::getppid() != parent {
        return Ok(1);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        let mut told = signal(SignalKind::terminate())?;
        let mut child = Command::new(std::env::current_exe()?)
            .args([ENTER, sandbox])
            .args(command)
            .stdin(Stdio::inherit())
            .stdout(Stdio::inherit())
            .stderr(Stdio::inherit())
            .process_group(0)
            .spawn()?;
        // The pipes are the program's: where it closes one, whoever is at the other end has to notice.
        let nothing = fs::File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(&nothing)?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let ended = tokio::select! {
            ended = child.wait() => Some(ended?),
            _ = told.recv() => None,
        };
        if ended.is_none() {
            // Whoever of the group is gone already needs no request.
            group.map(|group| rustix::process::kill_process_group(group, Signal::TERM)).transpose().unwrap_or_default();
            drop(tokio::time::timeout(PATIENCE, child.wait()).await);
        }
        Ok::<_, std::io::Error>(ended.and_then(|status| status.code()).unwrap_or(1))
    })?;
    end_descendants();
    Ok(u8::try_from(code).unwrap_or(1))
}

/// As long as there are any: one that forks faster than it is found is stopped before it is killed.
fn end_descendants() {
    loop {
        let descendants = descendants();
        if descendants.is_empty() {
            return;
        }
        for signal in [Signal::STOP, Signal::KILL] {
            for id in &descendants {
                // It may be gone by itself.
                let _ = rustix::process::kill_process(*id, signal);
            }
        }
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn descendants() -> Vec<Pid> {
    let mut found = children(rustix::process::getpid());
    let mut next = 0;
    while let Some(id) = found.get(next) {
        found.extend(children(*id));
        next += 1;
    }
    found
}

/// Each thread has its own.
fn children(of: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{}/task", of.as_raw_nonzero())).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let ids = lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    ids.filter_map(|id| Pid::from_raw(id.parse().ok()?)).collect()
}
