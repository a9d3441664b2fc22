//! One file, one writing thread, a bounded queue. When the disk cannot keep up, lines are dropped and counted, and the
//! count is written as soon as there is room: a missing line is never silent.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use countersign_host::{CallLog, CallRecord};

/// Lines that may wait for the disk.
const QUEUE: usize = 8192;

/// How long a line waits for company.
const GATHER: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct LogFile {
    lines: SyncSender<Vec<u8>>,
    lost: Arc<AtomicU64>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot write the log file `{}`", path.display())]
pub(crate) struct LogFileError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl LogFile {
    pub(crate) fn open(path: &Path) -> Result<Self, LogFileError> {
        let failed = |source| LogFileError { path: path.to_owned(), source };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        // Appending keeps several processes on one file from overwriting each other, and log rotation possible.
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path).map_err(failed)?;
        let (lines, queue) = sync_channel(QUEUE);
        let lost = Arc::new(AtomicU64::new(0));
        let thread = std::thread::Builder::new().name("log".to_owned());
        let thread = thread.spawn({
            let lost = Arc::clone(&lost);
            move || write_lines(file, &queue, &lost)
        });
        Ok(Self { lines, lost, thread: Mutex::new(Some(thread.map_err(failed)?)) })
    }

    /// Waits until everything said so far is in the file.
    pub(crate) fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // An empty line is the sign to stop. The thread drains the queue even when the disk fails, so this ends.
        if let (Some(thread), Ok(())) = (thread, self.lines.send(Vec::new())) {
            let _ = thread.join();
        }
    }

    fn send(&self, line: Vec<u8>) {
        if self.lines.try_send(line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl CallLog for LogFile {
    fn write(&self, record: &CallRecord<'_>) {
        let mut line = Vec::with_capacity(512);
        if serde_json::to_writer(&mut line, record).is_ok() {
            line.push(b'\n');
            self.send(line);
        }
    }
}

/// tracing hands over whole lines.
impl Write for &LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.send(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_lines(mut file: File, queue: &Receiver<Vec<u8>>, lost: &AtomicU64) {
    let mut chunk = Vec::new();
    while let Ok(line) = queue.recv() {
        // One wake-up for everything that comes within this moment, instead of one for each line.
        std::thread::sleep(GATHER);
        let last = [line].into_iter().chain(queue.try_iter()).any(|line| {
            chunk.extend_from_slice(&line);
            line.is_empty()
        });
        let missing = lost.swap(0, Ordering::Relaxed);
        if missing > 0 {
            let note = format!("{{\"level\":\"WARN\",\"message\":\"log lines were lost\",\"lines\":{missing}}}\n");
            chunk.extend_from_slice(note.as_bytes());
        }
        // A full disk loses this chunk; the next one may fit again, and says that lines are missing.
        if file.write_all(&chunk).is_err() {
            let lines = chunk.iter().filter(|byte| **byte == b'\n').count();
            lost.fetch_add(missing + lines as u64, Ordering::Relaxed);
        }
        if last {
            return;
        }
        chunk.clear();
    }
}
