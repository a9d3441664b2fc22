//! A program of ours, one message a line on its stdin and stdout. What it says on stderr goes to the log. It runs under
//! a supervisor (`supervise.rs`), so that nothing of it outlives us.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{LinkError, MESSAGE_MAX, Message, Surroundings, parse};
use crate::supervise::SUPERVISE;

/// Passed on where we have them: programs do not start without. Nothing else of our environment is.
const PASSED_ON: [&str; 8] = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];

/// Messages that wait for a program which does not read.
const OUTGOING_MAX: usize = 64;

/// What of a line on stderr goes to the log.
const STDERR_LINE_MAX: usize = 2000;
/// Lines on stderr a second that go to the log; the rest is counted.
const STDERR_LINES_MAX: u32 = 50;
/// Bytes on stderr a second that are read at all: a program that never stops talking waits.
const STDERR_BYTES_MAX: usize = 1024 * 1024;

/// A program that prints something else on stdout, by mistake, is forgiven so often.
const GARBLED_MAX: u32 = 100;

/// How long a program has to end by itself once its stdin is closed.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct StdioLink {
    outgoing: mpsc::Sender<Message>,
}

impl StdioLink {
    pub(super) fn start(
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
        folder: &Path,
        surroundings: Surroundings,
    ) -> Result<Self, LinkError> {
        let failed = |error: std::io::Error| LinkError::Start(error.to_string());
        let supervisor = std::env::current_exe().map_err(failed)?;
        let passed_on = PASSED_ON.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let mut child = Command::new(supervisor)
            .arg(SUPERVISE)
            .arg(command)
            .args(args)
            .env_clear()
            .envs(passed_on)
            .envs(env)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(LinkError::Start("it has no stdin, stdout and stderr".to_owned()));
        };
        let (outgoing, messages) = mpsc::channel(OUTGOING_MAX);
        let tasks = surroundings.tasks.clone();
        tasks.spawn(log_lines(stderr, surroundings.clone()));
        tasks.spawn(write(stdin, messages, surroundings.clone()));
        tasks.spawn(async move {
            let why = read(BufReader::new(stdout), &surroundings).await;
            tracing::info!(server = surroundings.server, why, "the program's output is over");
            // Its stdin is closed with this; what comes next is up to the program, for a while.
            surroundings.ended.cancel();
            finish(child).await;
        });
        Ok(Self { outgoing })
    }

    pub(super) async fn send(&self, message: Message) -> Result<(), LinkError> {
        let over = |_| LinkError::Over("the program does not listen any more".to_owned());
        self.outgoing.send(message).await.map_err(over)
    }

    pub(super) fn try_send(&self, message: Message) {
        // A program that does not read gets no courtesies.
        drop(self.outgoing.try_send(message));
    }
}

async fn write(mut stdin: ChildStdin, mut messages: mpsc::Receiver<Message>, surroundings: Surroundings) {
    let ended = surroundings.ended.clone();
    let writing = async {
        while let Some(message) = messages.recv().await {
            let mut line = serde_json::to_vec(&message).unwrap_or_default();
            line.push(b'\n');
            if stdin.write_all(&line).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = writing => {}
        () = ended.cancelled() => {}
    }
    surroundings.ended.cancel();
}

/// Until it is over; answers why.
async fn read(mut stdout: impl AsyncBufRead + Unpin, surroundings: &Surroundings) -> String {
    let (mut line, mut garbled) = (Vec::new(), 0);
    loop {
        let got = tokio::select! {
            got = next_line(&mut stdout, &mut line) => got,
            () = surroundings.ended.cancelled() => return "closed by us".to_owned(),
        };
        match got {
            Ok(true) => {}
            Ok(false) => return "closed by the program".to_owned(),
            Err(error) => return error.to_string(),
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match parse(&line) {
            Ok(message) => {
                if surroundings.incoming.send(message).await.is_err() {
                    return "closed by us".to_owned();
                }
            }
            Err(error) => {
                garbled += 1;
                tracing::warn!(server = surroundings.server, %error, "a line that is no message");
                if garbled > GARBLED_MAX {
                    return "too many lines that are no messages".to_owned();
                }
            }
        }
    }
}

/// Fills `line`; false at the end.
async fn next_line(stdout: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    loop {
        let chunk = stdout.fill_buf().await?;
        if chunk.is_empty() {
            return Ok(!line.is_empty());
        }
        let (taken, done) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (chunk.len(), false),
        };
        if line.len() + taken > MESSAGE_MAX {
            return Err(std::io::Error::other(format!("a message of more than {MESSAGE_MAX} bytes")));
        }
        line.extend_from_slice(&chunk[..taken]);
        stdout.consume(taken);
        if done {
            return Ok(true);
        }
    }
}

async fn log_lines(stderr: impl AsyncRead + Unpin, surroundings: Surroundings) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    let (mut second, mut lines, mut bytes, mut unlogged) = (Instant::now(), 0, 0, 0_u64);
    loop {
        line.clear();
        // To the end even when the link is over: whoever writes to a pipe that nobody reads may hang.
        match bounded_line(&mut stderr, &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(length) => bytes += length,
        }
        if bytes > STDERR_BYTES_MAX {
            tokio::time::sleep_until(second + Duration::from_secs(1)).await;
        }
        if second.elapsed() >= Duration::from_secs(1) {
            (second, lines, bytes) = (Instant::now(), 0, 0);
        }
        lines += 1;
        if lines > STDERR_LINES_MAX {
            unlogged += 1;
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        let said = countersign_contract::visible(text.trim_end());
        tracing::info!(server = surroundings.server, said = &*said, unlogged, "upstream stderr");
        unlogged = 0;
    }
}

/// Like a line, but the rest of a long one is thrown away as it comes. Answers how long it was; 0 at the end.
async fn bounded_line(input: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut length = 0;
    loop {
        let chunk = input.fill_buf().await?;
        // One that has no end is given back in parts.
        if chunk.is_empty() || length > STDERR_BYTES_MAX {
            return Ok(length);
        }
        let (taken, done) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (chunk.len(), false),
        };
        let room = STDERR_LINE_MAX.saturating_sub(line.len()).min(taken);
        line.extend_from_slice(&chunk[..room]);
        input.consume(taken);
        length += taken;
        if done {
            return Ok(length);
        }
    }
}

/// The supervisor ends its program and everything that came of it, as soon as it is told to.
async fn finish(mut child: Child) {
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_ok() {
        return;
    }
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw) {
        // It may have ended meanwhile.
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    }
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
        drop(child.kill().await);
    }
}
