//! Asking a program something: without a shell, input or an environment, for a short time, and no longer than its answer
//! is worth. What it started goes with it.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

/// A program that is well says its version in a fraction of this.
const PATIENCE: Duration = Duration::from_secs(3);

const MAX_ANSWER: u64 = 64 * 1024;

/// What it says; `None` when it cannot be started, fails, or takes too long. `search_path` is all it knows of us.
pub(super) async fn ask<A: AsRef<OsStr>>(program: &Path, arguments: &[A], search_path: &OsStr) -> Option<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", search_path)
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let mut answer = Vec::new();
    let asking = async {
        // The pipe is closed behind the last byte that counts: whoever goes on talking is told so.
        child.stdout.take()?.take(MAX_ANSWER).read_to_end(&mut answer).await.ok()?;
        child.wait().await.ok()
    };
    let ended = tokio::time::timeout(PATIENCE, asking).await.ok().flatten()?;
    group.0 = None;
    ended.success().then(|| String::from_utf8_lossy(&answer).into_owned())
}

/// Ended with everything in it, unless its first process is known to have ended: then its number may be another's.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(first) = self.0 {
            let _ = kill_process_group(first, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::{MAX_ANSWER, ask};

    async fn sh(script: &str) -> Option<String> {
        ask(Path::new("/bin/sh"), &["-c", script], OsStr::new("/usr/bin:/bin")).await
    }

    #[tokio::test]
    async fn it_gets_no_environment_and_no_input() {
        assert_eq!(sh("echo $HOME$USER; cat").await.as_deref(), Some("\n"));
        assert_eq!(sh("pwd").await.as_deref(), Some("/\n"));
    }

    #[tokio::test]
    async fn what_fails_or_is_not_there_says_nothing() {
        assert_eq!(sh("echo 1.0; exit 3").await, None);
        assert_eq!(ask(Path::new("/no/such/program"), &["--version"], OsStr::new("")).await, None);
    }

    #[tokio::test]
    async fn an_endless_answer_is_cut() {
        let answer = sh("trap '' PIPE; yes || true").await.unwrap();
        assert_eq!(answer.len() as u64, MAX_ANSWER);
    }

    #[tokio::test]
    async fn one_that_hangs_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("child");
        let start = Instant::now();
        let script = format!("sleep 60 & echo $! > {}; wait", file.display());
        assert_eq!(sh(&script).await, None);
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        let child = fs::read_to_string(file).unwrap();
        let status = Path::new("/proc").join(child.trim()).join("stat");
        // Ended, or a zombie until somebody notices.
        let running = || fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z "));
        let give_up = Instant::now() + Duration::from_secs(10);
        while running() {
            assert!(Instant::now() < give_up, "{child} still runs");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
