//! Other programs: run to the end, or kept as a server that ends with its guard.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Seek as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::talk;

/// How long a server may take to say where it listens; a debug build on a busy machine needs a second.
const START: Duration = Duration::from_secs(30);
/// How long a server may take to end after a signal before it is killed; over its own grace period.
const END: Duration = Duration::from_secs(15);

/// Runs with our own streams; a failure names the command.
pub(crate) fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot run `{}`", shown(command)))?;
    if status.success() { Ok(()) } else { bail!("`{}` failed ({status})", shown(command)) }
}

/// Runs a script of ours that checks something. What it found wrong is repeated in the failure: the end of a long log
/// is what people see first.
pub(crate) fn find_nothing(command: &mut Command) -> anyhow::Result<()> {
    command.stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot run `{}`", shown(command)))?;
    let mut wrong = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            talk::say(&line);
            wrong.extend(line.strip_prefix("WRONG ").map(str::to_owned));
        }
    }
    let status = child.wait().context("cannot wait for a program")?;
    if status.success() { Ok(()) } else { bail!("`{}` failed ({status}): {}", shown(command), wrong.join("; ")) }
}

/// Runs and gives its stdout; a failure carries the last line of its stderr.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot run `{}`", shown(command)))?;
    if !output.status.success() {
        let talk = String::from_utf8_lossy(&output.stderr);
        let last = talk.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no message").trim();
        bail!("`{}` failed ({}): {last}", shown(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{}` did not print UTF-8", shown(command)))
}

/// How a program ended that we waited for, and what it said.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) how: How,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Well,
    Badly(ExitStatus),
    /// It was ended by us.
    TooLate,
}

/// Runs in silence, to its end or to the limit; what it said until then comes back either way.
pub(crate) fn within(limit: Duration, command: &mut Command) -> anyhow::Result<Ended> {
    // Files, not pipes: nobody has to read while it runs, and nobody it started can keep us waiting.
    let mut stdout = tempfile::tempfile().context("cannot create a temporary file")?;
    let mut stderr = tempfile::tempfile().context("cannot create a temporary file")?;
    let copy = |file: &File| file.try_clone().context("cannot share a temporary file");
    command.stdin(Stdio::null()).stdout(copy(&stdout)?).stderr(copy(&stderr)?);
    let mut child = command.spawn().with_context(|| format!("cannot run `{}`", shown(command)))?;
    let how = match wait(&mut child, limit)? {
        Some(status) if status.success() => How::Well,
        Some(status) => How::Badly(status),
        None => {
            end(&mut child, Signal::TERM);
            How::TooLate
        }
    };
    Ok(Ended { how, stdout: from_start(&mut stdout)?, stderr: from_start(&mut stderr)? })
}

fn from_start(file: &mut File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).context("cannot read what was said")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A server of ours on a port it chose itself. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts `program ARGUMENTS` in `folder` and waits until it prints `http://127.0.0.1:<port>` on either stream.
    pub(crate) fn start(program: &Path, arguments: &[&str], folder: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot run `{}`", shown(&command)))?;
        let (found, address) = sync_channel(1);
        let last = Arc::new(Mutex::new(String::new()));
        if let Some(stdout) = child.stdout.take() {
            watch(stdout, found.clone(), Arc::clone(&last));
        }
        if let Some(stderr) = child.stderr.take() {
            watch(stderr, found, Arc::clone(&last));
        }
        let Ok(address) = address.recv_timeout(START) else {
            end(&mut child, Signal::TERM);
            let last = last.lock().unwrap_or_else(PoisonError::into_inner);
            bail!("`{}` did not say where it listens; its last line: `{last}`", shown(&command))
        };
        Ok(Self { child, address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child, Signal::TERM);
    }
}

/// Reads to the end, so that the server never blocks on a full pipe; reports the first address and keeps the last line.
fn watch(stream: impl Read + Send + 'static, found: SyncSender<SocketAddr>, last: Arc<Mutex<String>>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if let Some(address) = listening(&line) {
                // Full or closed: the other stream was first, or nobody waits any more.
                let _ = found.try_send(address);
            }
            *last.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    });
}

/// The address in a line such as `serving MCP at http://127.0.0.1:8000/mcp`, whatever surrounds it.
fn listening(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    let port: u16 = digits.parse().ok()?;
    (port != 0).then(|| SocketAddr::from(([127, 0, 0, 1], port)))
}

/// The signal to this one process, then SIGKILL to it if it stays.
pub(crate) fn end(child: &mut Child, signal: Signal) {
    // Once its end was seen, its number may be somebody else's.
    if !matches!(child.try_wait(), Ok(None)) {
        return;
    }
    // Failures here mean that it is gone already, which is what we want.
    let _ = kill_process(Pid::from_child(child), signal);
    if !matches!(wait(child, END), Ok(None)) {
        return;
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Its exit status, unless it is still running when the time is over.
fn wait(child: &mut Child, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for a program")? {
            return Ok(Some(status));
        }
        if since.elapsed() >= limit {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_address_in_any_line() {
        for (line, port) in [
            ("listening on http://127.0.0.1:8000", Some(8000)),
            ("\u{1b}[2mINFO\u{1b}[0m url=http://127.0.0.1:41234/mcp ready", Some(41234)),
            (r#"{"url":"http://127.0.0.1:9/"}"#, Some(9)),
            ("asked for http://127.0.0.1:0", None),
            ("https://127.0.0.1:8000", None),
            ("nothing here", None),
        ] {
            assert_eq!(listening(line).map(|address| address.port()), port, "{line}");
        }
    }

    #[test]
    fn a_server_is_found_on_either_stream_and_ends_with_its_guard() {
        let folder = tempfile::tempdir().unwrap();
        for stream in ["", ">&2"] {
            let script = format!("echo starting; echo http://127.0.0.1:4321/ {stream}; exec sleep 60");
            let server = Server::start(Path::new("sh"), &["-c", &script], folder.path()).unwrap();
            let process = format!("/proc/{}", server.child.id());
            assert_eq!(server.address().port(), 4321);
            assert!(Path::new(&process).exists());
            drop(server);
            assert!(!Path::new(&process).exists());
        }
    }

    #[test]
    fn a_server_that_ends_early_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let err = Server::start(Path::new("sh"), &["-c", "echo port taken >&2; exit 3"], folder.path()).unwrap_err();
        assert!(err.to_string().ends_with("did not say where it listens; its last line: `port taken`"), "{err}");
    }

    #[test]
    fn a_program_is_waited_for_until_its_limit() {
        let run = |script: &str, limit| within(limit, Command::new("sh").args(["-c", script])).unwrap();
        let good = run("echo out; echo err >&2", Duration::from_secs(30));
        assert_eq!((good.how, good.stdout.as_str(), good.stderr.as_str()), (How::Well, "out\n", "err\n"));
        let bad = run("exit 3", Duration::from_secs(30));
        assert!(matches!(bad.how, How::Badly(status) if status.code() == Some(3)), "{bad:?}");
        let late = run("echo begun; exec sleep 60", Duration::from_millis(300));
        assert_eq!((late.how, late.stdout.as_str()), (How::TooLate, "begun\n"));
    }

    #[test]
    fn a_script_that_finds_something_says_so_again() {
        let run = |script| find_nothing(Command::new("sh").args(["-c", script]));
        run("echo ok").unwrap();
        let err = run("echo ok; echo WRONG this: late; echo WRONG that; exit 1").unwrap_err();
        assert!(err.to_string().ends_with("failed (exit status: 1): this: late; that"), "{err}");
    }

    #[test]
    fn a_failure_carries_the_last_line() {
        let err = output(Command::new("sh").args(["-c", "echo one >&2; echo two >&2; exit 4"])).unwrap_err();
        assert!(err.to_string().ends_with("failed (exit status: 4): two"), "{err}");
    }
}
