//! One file, one writing thread, one bounded buffer that lines are written into directly. When the disk cannot keep up,
//! lines are dropped and counted, and the count is written as soon as there is room: a missing line is never silent.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use countersign_host::{CallLog, CallRecord};

/// What may wait for the disk.
const MAX_PENDING_BYTES: usize = 4 * 1024 * 1024;

/// How long a line waits for company, so that a busy server writes chunks and not lines.
const GATHER: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(crate) struct LogFile {
    shared: Arc<Shared>,
    /// Taken by the first [`Self::close`].
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    pending: Mutex<Pending>,
    /// Signalled when the first line comes, and at the end.
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Pending {
    lines: Vec<u8>,
    lost: u64,
    closing: bool,
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
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(move || writer.write_lines(file));
        Ok(Self { shared, thread: Mutex::new(Some(thread.map_err(failed)?)) })
    }

    /// Waits until everything said so far is in the file.
    pub(crate) fn close(&self) {
        self.shared.lock().closing = true;
        self.shared.arrived.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl CallLog for LogFile {
    fn write(&self, record: &CallRecord<'_>) {
        self.shared.add(|lines| serde_json::to_writer(&mut *lines, record).is_ok().then(|| lines.push(b'\n')));
    }
}

/// tracing hands over whole lines.
impl Write for &LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.shared.add(|lines| {
            lines.extend_from_slice(line);
            Some(())
        });
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    /// Puts a line into the buffer, or counts it as lost.
    fn add(&self, line: impl FnOnce(&mut Vec<u8>) -> Option<()>) {
        let mut pending = self.lock();
        let before = pending.lines.len();
        if before >= MAX_PENDING_BYTES || line(&mut pending.lines).is_none() {
            pending.lines.truncate(before);
            pending.lost += 1;
        }
        drop(pending);
        // The writer sleeps only while there is nothing.
        if before == 0 {
            self.arrived.notify_one();
        }
    }

    fn write_lines(&self, mut file: File) {
        let mut chunk = Vec::new();
        loop {
            let closing = self.take(&mut chunk);
            // A full disk loses this chunk; the next one may fit again, and says that lines are missing.
            if file.write_all(&chunk).is_err() {
                self.lock().lost += chunk.iter().filter(|byte| **byte == b'\n').count() as u64;
            }
            chunk.clear();
            if closing {
                return;
            }
        }
    }

    /// Waits for lines, then a moment for more, and takes them all. True when there will be no more.
    fn take(&self, chunk: &mut Vec<u8>) -> bool {
        let idle = |pending: &mut Pending| pending.lines.is_empty() && !pending.closing;
        let waited = self.arrived.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        let closing = waited.closing;
        drop(waited);
        if !closing {
            std::thread::sleep(GATHER);
        }
        let mut pending = self.lock();
        std::mem::swap(chunk, &mut pending.lines);
        let lost = std::mem::take(&mut pending.lost);
        if lost > 0 {
            let note = format!("{{\"level\":\"WARN\",\"message\":\"log lines were lost\",\"lines\":{lost}}}\n");
            chunk.extend_from_slice(note.as_bytes());
        }
        pending.closing
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use super::{LogFile, MAX_PENDING_BYTES, Shared};

    #[test]
    fn every_line_is_in_the_file_after_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/app.log");
        let log = LogFile::open(&path).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let log = &log;
                scope.spawn(move || (0..500).for_each(|n| writeln!(&*log, "{writer}-{n}").unwrap()));
            }
        });
        log.close();
        log.close();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2000);
        assert!(text.lines().any(|line| line == "3-499"));
    }

    #[test]
    fn an_idle_log_ends_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let log = LogFile::open(&folder.path().join("app.log")).unwrap();
        // Long enough for the writer to wait for lines.
        std::thread::sleep(std::time::Duration::from_millis(100));
        let (ended, wait) = std::sync::mpsc::sync_channel(1);
        std::thread::spawn(move || {
            log.close();
            ended.send(()).unwrap();
        });
        wait.recv_timeout(std::time::Duration::from_secs(5)).expect("an end");
    }

    #[test]
    fn what_the_disk_cannot_take_is_counted() {
        // Without the writing thread: nothing is taken out in between.
        let shared = Shared::default();
        for _ in 0..3 {
            shared.add(|lines| {
                lines.resize(lines.len() + MAX_PENDING_BYTES, b'x');
                Some(())
            });
        }
        shared.lock().closing = true;
        let mut chunk = Vec::new();
        assert!(shared.take(&mut chunk));
        let note = String::from_utf8(chunk.split_off(MAX_PENDING_BYTES)).unwrap();
        assert!(note.contains("log lines were lost") && note.contains("\"lines\":2"), "{note}");
    }
}
