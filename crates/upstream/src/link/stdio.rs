//! A program of ours, one message a line on its stdin and stdout. What it says on stderr goes to the log. It runs under
//! a supervisor (`supervise.rs`), so that nothing of it outlives us.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Came, LinkError, MESSAGE_MAX, Message, Surroundings, parse, starting};
use crate::confine::Sandbox;
use crate::supervise::SUPERVISE;

/// Passed on where we have them: programs do not start without. Nothing else of our environment is.
const PASSED_ON: [&str; 8] = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];

/// How many of us are above: one that finds its own configuration starts itself, and that one the next.
const DEPTH: &str = "INSIDE_COUNTERSIGN";
const DEPTH_MAX: u32 = 3;

/// Messages that wait for a program which does not read.
const OUTGOING_MAX: usize = 64;

/// Read or written at once, about.
const PART: usize = 64 * 1024;

/// What of a line on stderr goes to the log.
const STDERR_LINE_MAX: usize = 2000;
/// Lines on stderr a second that go to the log; the rest is counted.
const STDERR_LINES_MAX: u32 = 50;
/// Bytes on stderr a second that are read at all: a program that never stops talking waits.
const STDERR_BYTES_MAX: usize = 1024 * 1024;

/// How much of the last line is repeated, and how long it is waited for when the program ends.
const LAST_WORDS_MAX: usize = 200;
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A program that prints something else on stdout, by mistake, is forgiven so often.
const GARBLED_MAX: u32 = 100;

#[derive(Debug)]
pub(crate) struct StdioLink {
    outgoing: mpsc::Sender<Vec<u8>>,
    ending: Arc<Mutex<Ending>>,
}

/// Why a program is gone, as far as that is known.
#[derive(Debug, Default)]
struct Ending {
    why: Option<String>,
    /// The last line on stderr often says more.
    last_words: Option<String>,
}

/// What to start, and how.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) folder: &'a Path,
    pub(super) sandbox: Option<&'a Sandbox>,
}

impl StdioLink {
    pub(super) async fn start(program: &Program<'_>, surroundings: Surroundings) -> Result<Self, LinkError> {
        let failed = |error: std::io::Error| LinkError::Start(error.to_string());
        let depth = depth();
        if depth >= DEPTH_MAX {
            return Err(LinkError::Start(
                "we were started by ourselves, again and again: are we our own server?".into(),
            ));
        }
        let supervisor = std::env::current_exe().map_err(failed)?;
        let passed_on = PASSED_ON.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
        let sandbox = serde_json::to_string(&program.sandbox).map_err(|error| failed(error.into()))?;
        let mut command = Command::new(supervisor);
        command
            .args([SUPERVISE, &sandbox, program.command])
            .args(program.args)
            .env_clear()
            .envs(passed_on)
            .env(DEPTH, (depth + 1).to_string())
            .envs(program.env)
            .current_dir(program.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = starting::start(command).await.map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(LinkError::Start("it has no stdin, stdout and stderr".to_owned()));
        };
        let (outgoing, lines) = mpsc::channel(OUTGOING_MAX);
        let tasks = surroundings.tasks.clone();
        let (ending, drained) = (Arc::<Mutex<Ending>>::default(), CancellationToken::new());
        let (words, server, all_said) = (Arc::clone(&ending), surroundings.server.clone(), drained.clone());
        tasks.spawn(async move {
            log_lines(stderr, &server, &words).await;
            all_said.cancel();
        });
        tasks.spawn(write(stdin, lines, surroundings.clone()));
        let known = Arc::clone(&ending);
        tasks.spawn(async move {
            let why = read_until_it_ends(stdout, &mut child, &surroundings).await;
            tracing::info!(server = surroundings.server, why, "the program's output is over");
            known.lock().unwrap_or_else(PoisonError::into_inner).why = Some(why);
            // What it said about its end is on its way.
            drop(tokio::time::timeout(LAST_WORDS, drained.cancelled()).await);
            // Its stdin is closed with this; what comes next is up to the program, for a while.
            surroundings.ended.cancel();
            starting::finish(child).await;
        });
        Ok(Self { outgoing, ending })
    }

    pub(super) async fn send(&self, message: &Message) -> Result<(), LinkError> {
        let over = |_| LinkError::Over("the program does not listen any more".to_owned());
        self.outgoing.send(line(message)).await.map_err(over)
    }

    pub(super) fn ending(&self) -> Option<String> {
        let ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        let why = ending.why.as_ref()?;
        let said = ending.last_words.as_ref().map(|words| format!("; it said last: {words}")).unwrap_or_default();
        Some(format!("{why}{said}"))
    }

    pub(super) fn try_send(&self, message: &Message) {
        // A program that does not read gets no courtesies.
        drop(self.outgoing.try_send(line(message)));
    }
}

fn line(message: &Message) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

fn depth() -> u32 {
    std::env::var_os(DEPTH).and_then(|depth| depth.into_string().ok()?.parse().ok()).unwrap_or_default()
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<Vec<u8>>, surroundings: Surroundings) {
    let ended = surroundings.ended.clone();
    let writing = async {
        while let Some(mut line) = lines.recv().await {
            while line.len() < PART
                && let Ok(next) = lines.try_recv()
            {
                line.extend_from_slice(&next);
            }
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

/// Someone else may hold its output when it has ended; what it said before that still counts.
async fn read_until_it_ends(stdout: ChildStdout, child: &mut Child, surroundings: &Surroundings) -> String {
    let mut reading = pin!(read(BufReader::with_capacity(PART, stdout), surroundings));
    tokio::select! {
        biased;
        why = &mut reading => why,
        _ = child.wait() => match tokio::time::timeout(LAST_WORDS, reading).await {
            Ok(why) => why,
            Err(_) => "the program ended".to_owned(),
        },
    }
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
            Ok(false) => return "the program closed its output".to_owned(),
            Err(error) => return error.to_string(),
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            if let Some(pause) = surroundings.listener.hear_nothing(1) {
                tokio::time::sleep_until(pause).await;
            }
            continue;
        }
        match parse(&line) {
            Ok(message) => {
                if let Some(pause) = surroundings.listener.hear(message, Came::Anyhow) {
                    tokio::time::sleep_until(pause).await;
                }
            }
            Err(error @ LinkError::TooMuch(_)) => return error.to_string(),
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
        let (taken, done) = match memchr::memchr(b'\n', chunk) {
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

async fn log_lines(stderr: impl AsyncRead + Unpin, server: &str, ending: &Mutex<Ending>) {
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
        let text = String::from_utf8_lossy(&line);
        let said = countersign_contract::visible(text.trim_end());
        if !said.is_empty() {
            let words = said.chars().take(LAST_WORDS_MAX).collect();
            ending.lock().unwrap_or_else(PoisonError::into_inner).last_words = Some(words);
        }
        lines += 1;
        if lines > STDERR_LINES_MAX {
            unlogged += 1;
            continue;
        }
        tracing::info!(server, said = &*said, unlogged, "upstream stderr");
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
        let (taken, done) = match memchr::memchr(b'\n', chunk) {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::read;
    use crate::link::{Came, Listener, Message, Surroundings};

    /// Counts messages, and lines without one.
    #[derive(Default)]
    struct Counting(AtomicU32, AtomicU32);

    impl Listener for Counting {
        fn hear(&self, _message: Message, _came: Came) -> Option<Instant> {
            self.0.fetch_add(1, Ordering::Relaxed);
            None
        }

        fn hear_nothing(&self, lines: u32) -> Option<Instant> {
            self.1.fetch_add(lines, Ordering::Relaxed);
            None
        }
    }

    #[test]
    fn blank_lines_count() {
        let listener = Arc::new(Counting::default());
        let surroundings = Surroundings {
            tasks: TaskTracker::new(),
            ended: CancellationToken::new(),
            server: "toy".to_owned(),
            listener: Arc::clone(&listener) as Arc<dyn Listener>,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let why = runtime.block_on(read(&b"\n{}\n \n\r\n{}\n"[..], &surroundings));
        assert_eq!(why, "the program closed its output");
        assert_eq!((listener.0.load(Ordering::Relaxed), listener.1.load(Ordering::Relaxed)), (2, 3));
    }
}
