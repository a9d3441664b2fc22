//! PostgreSQL for tests: a database on the server that the test command started, or a server of a test's own that it
//! may kill. Where there is none, tests run on SQLite alone; the test command says so, and in CI takes it for a failure.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::env::wait_for;

/// The address of a server that outlives the tests.
const SERVER: &str = "COUNTERSIGN_TEST_POSTGRES";
/// The folder with `postgres`, `initdb` and `psql`.
const PROGRAMS: &str = "COUNTERSIGN_TEST_POSTGRES_BIN";

/// Who runs a server where we are root, which it refuses to be run by.
const UNPRIVILEGED: &str = "nobody";

/// The address of a new and empty database.
pub(crate) fn fresh_database() -> Option<String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let server = std::env::var_os(SERVER)?.into_string().unwrap();
    let name = format!("e2e_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let created = Command::new(programs()?.join("psql"))
        .args([&server, "-q", "-c", &format!("CREATE DATABASE {name}")])
        .status()
        .unwrap();
    assert!(created.success());
    let (address, _) = server.rsplit_once('/').unwrap();
    Some(format!("{address}/{name}"))
}

fn programs() -> Option<PathBuf> {
    std::env::var_os(PROGRAMS).map(PathBuf::from)
}

/// A server that may be killed and started again: it keeps what it said it kept.
pub(crate) struct Postgres {
    folder: TempDir,
    port: u16,
    process: Child,
}

impl Postgres {
    pub(crate) fn start() -> Option<Self> {
        let programs = programs()?;
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        if is_root() {
            assert!(Command::new("chown").arg(UNPRIVILEGED).arg(folder.path()).status().unwrap().success());
        }
        let mut initialise = unprivileged(&programs.join("initdb"));
        initialise.args(["--no-sync", "-U", "postgres", "-A", "trust", "-D"]).arg(&data);
        assert!(initialise.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = launch(&programs, &data, port);
        let server = Self { folder, port, process };
        server.wait();
        Some(server)
    }

    pub(crate) fn address(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// All of it: its workers end when they notice that it is gone.
    pub(crate) fn kill(&mut self) {
        let workers = children_of(self.process.id());
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        for worker in workers {
            // It may be gone by itself.
            let _ = Command::new("kill").args(["-9", &worker]).stderr(Stdio::null()).status();
        }
    }

    pub(crate) fn start_again(&mut self) {
        let (programs, data) = (programs().unwrap(), self.folder.path().join("data"));
        // Until the last of the old workers is gone, there is none.
        wait_for("the server to start again", || {
            self.process = launch(&programs, &data, self.port);
            wait_for("an answer or an end", || match self.process.try_wait().unwrap() {
                Some(_) => Some(None),
                None => self.answers().then_some(Some(())),
            })
        });
    }

    fn wait(&self) {
        wait_for("the server to answer", || self.answers().then_some(()));
    }

    fn answers(&self) -> bool {
        if TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            return false;
        }
        let mut ask = Command::new(programs().unwrap().join("psql"));
        ask.args([&self.address(), "-q", "-c", "SELECT 1"]).stdout(Stdio::null()).stderr(Stdio::null());
        ask.status().unwrap().success()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

fn launch(programs: &Path, data: &Path, port: u16) -> Child {
    let log = fs::OpenOptions::new().create(true).append(true).open(data.with_extension("log")).unwrap();
    let mut server = unprivileged(&programs.join("postgres"));
    server.arg("-D").arg(data).args(["-p", &port.to_string()]);
    server.args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]);
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

/// The program replaces the one that gave up its privileges, so its id is the child's.
fn unprivileged(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", UNPRIVILEGED, "--regid", "nogroup", "--clear-groups"]).arg(program);
    command
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

fn children_of(process: u32) -> Vec<String> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    children.split_whitespace().map(str::to_owned).collect()
}
