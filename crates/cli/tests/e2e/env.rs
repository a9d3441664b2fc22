//! A world of its own for each test: folder, configuration, environment and port.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::http::{Answer, request};
use crate::postgres::fresh_database;

/// Ample on two busy cores; only a hang is longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A folder in which commands run and see nothing of the machine's own configuration.
#[must_use]
pub(crate) struct TestEnv {
    folder: TempDir,
    /// SQLite in the folder, unless it is the address of another.
    database: Option<String>,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), database: None }
    }

    pub(crate) fn with_database(address: String) -> Self {
        Self { database: Some(address), ..Self::new() }
    }

    /// The address, where it is not SQLite.
    pub(crate) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// One on SQLite, and one on PostgreSQL where there is a server.
    pub(crate) fn on_each_database() -> impl Iterator<Item = Self> {
        std::iter::once(Self::new()).chain(fresh_database().map(Self::with_database))
    }

    /// With this configuration file.
    pub(crate) fn with_config(yaml: &str) -> Self {
        let env = Self::new();
        env.write("countersign.yaml", yaml);
        env
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.args(arguments).current_dir(self.folder.path()).env_clear().env("HOME", self.folder.path());
        if let Some(database) = &self.database {
            command.env("COUNTERSIGN_DATABASE", database);
        }
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command that must succeed prints as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub(crate) fn serve(&self) -> Server {
        Server::start(self.command(&["serve", "--listen", "127.0.0.1:0"]))
    }

    /// Without anything that must appear in it, once it does.
    pub(crate) fn log_lines(&self, until: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let file = self.path(".countersign/countersign.log");
        wait_for("log lines", || {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            until(&lines).then_some(lines)
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// A running `countersign serve`. Killed when dropped, unless it was stopped.
#[must_use]
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("no address in {first:?}")).parse().unwrap();
        Self { child, address }
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        request(self.address, "POST", path, &[("content-type", "application/json")], body.as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        request(self.address, "GET", path, &[], b"")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end; the exit code.
    pub(crate) fn wait(mut self) -> Option<i32> {
        wait_for("the server to end", || self.child.try_wait().unwrap()).code()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Open descriptors, for finding leaks.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Polls until there is an answer: nothing tells a test when another process is so far.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
