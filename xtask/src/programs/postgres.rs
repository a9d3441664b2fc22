//! A PostgreSQL server for the tests: fresh, of their own, reached over loopback only, gone with its guard.
//!
//! The programs are the machine's; where there are none, apt-get is asked for them if we are root. It is never crashed,
//! so nothing is synced: a test that crashes a server starts one of its own.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context as _, bail};
use rustix::process::{Signal, geteuid};
use tempfile::TempDir;

use crate::process::{self, How};
use crate::talk;

/// Where Debian and its relatives keep the programs, a folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// The oldest that we promise to work with.
const OLDEST: u32 = 14;
/// PostgreSQL refuses to run as root.
const UNPRIVILEGED: &str = "nobody";
/// Each test has a pool of its own.
const CONNECTIONS: u32 = 300;
/// Both in the temporary folder.
const DATA: &str = "data";
const LOG: &str = "log";

/// How long apt-get may take for one of its two steps.
const INSTALLATION: Duration = Duration::from_mins(5);
/// How long a new data folder may take; three seconds are usual.
const INITIALISATION: Duration = Duration::from_mins(1);
/// How long the server may take until it accepts connections; less than a second is usual.
const START: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Postgres {
    programs: PathBuf,
    server: Child,
    port: u16,
    /// Dropped last, when nobody works in it any more.
    folder: TempDir,
}

impl Postgres {
    /// Installs the programs first where that is necessary and possible.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let programs = match find() {
            Some(programs) => programs,
            None => install()?,
        };
        Self::start_from(programs)
    }

    fn start_from(programs: PathBuf) -> anyhow::Result<Self> {
        check_version(&process::output(Command::new(programs.join("postgres")).arg("--version"))?)?;
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        let user = unprivileged()?;
        if let Some(User { uid, gid }) = user {
            chown(folder.path(), Some(uid), Some(gid)).context("cannot give a folder away")?;
        }
        let mut initdb = command(&programs.join("initdb"), &folder, user);
        initdb.args(["--no-sync", "--username=postgres", "--auth=trust", "--no-locale", "--encoding=UTF8"]);
        quietly(INITIALISATION, initdb.args(["--pgdata", DATA]))?;
        let port = free_port()?;
        let log = File::create(folder.path().join(LOG)).context("cannot create a log")?;
        let mut postgres = command(&programs.join("postgres"), &folder, user);
        postgres.args(settings(port)).stdin(Stdio::null());
        postgres.stdout(log.try_clone().context("cannot share a log")?).stderr(log);
        // It stays in our process group: Ctrl-C, which ends us without a word, is then for it, too.
        let server = postgres.spawn().context("cannot run `postgres`")?;
        let mut started = Self { programs, server, port, folder };
        started.wait()?;
        Ok(started)
    }

    /// Of a database that nobody needs: each test makes one for itself.
    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@{}:{}/postgres", Ipv4Addr::LOCALHOST, self.port)
    }

    /// The folder of `postgres` and `initdb`.
    pub(crate) fn programs(&self) -> &Path {
        &self.programs
    }

    fn wait(&mut self) -> anyhow::Result<()> {
        let since = Instant::now();
        loop {
            if let Some(status) = self.server.try_wait().context("cannot wait for PostgreSQL")? {
                bail!("PostgreSQL ended ({status}): {}", self.last_words());
            }
            // Connecting would not tell whose server it is.
            let about = fs::read_to_string(self.folder.path().join(DATA).join("postmaster.pid"));
            if about.is_ok_and(|about| is_ready(&about)) {
                return Ok(());
            }
            if since.elapsed() >= START {
                bail!("PostgreSQL is not ready after {START:?}: {}", self.last_words());
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.folder.path().join(LOG)).unwrap_or_default();
        last_lines(&log)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Its word for "now"; at SIGTERM it waits for all who are connected.
        process::end(&mut self.server, Signal::INT);
    }
}

fn settings(port: u16) -> Vec<String> {
    let mut arguments = vec!["-D".to_owned(), DATA.to_owned()];
    for setting in [
        format!("listen_addresses={}", Ipv4Addr::LOCALHOST),
        format!("port={port}"),
        "unix_socket_directories=".to_owned(),
        format!("max_connections={CONNECTIONS}"),
        "fsync=off".to_owned(),
    ] {
        arguments.extend(["-c".to_owned(), setting]);
    }
    arguments
}

/// In the folder, in English, and not as root.
fn command(program: &Path, folder: &TempDir, user: Option<User>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("LC_ALL", "C");
    if let Some(User { uid, gid }) = user {
        // Our other groups are dropped along with the user.
        command.uid(uid).gid(gid);
    }
    command
}

fn find() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().flatten().map(|entry| entry.path());
    let path = env::var_os("PATH").unwrap_or_default();
    newest_first(versions.collect())
        .into_iter()
        .map(|version| version.join("bin"))
        .chain(env::split_paths(&path))
        .find(|folder| ["postgres", "initdb"].iter().all(|program| folder.join(program).is_file()))
}

/// Folders that are called like versions, as numbers: 9.6 is older than 15.
fn newest_first(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let version = |folder: &Path| {
        let numbers = folder.file_name()?.to_str()?.split('.').map(str::parse::<u32>);
        numbers.collect::<Result<Vec<u32>, _>>().ok()
    };
    let mut versions: Vec<_> = folders.into_iter().filter_map(|folder| Some((version(&folder)?, folder))).collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, folder)| folder).collect()
}

const MISSING: &str = "PostgreSQL is not installed: install it (Debian: the package `postgresql`)";

fn install() -> anyhow::Result<PathBuf> {
    if !geteuid().is_root() || process::output(Command::new("apt-get").arg("--version")).is_err() {
        bail!(MISSING);
    }
    talk::note("installing PostgreSQL with apt-get, once, about a minute");
    for arguments in [&["update"][..], &["install", "--yes", "--no-install-recommends", "postgresql"]] {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        quietly(INSTALLATION, &mut command).context(MISSING)?;
    }
    find().context("apt-get installed PostgreSQL, but its programs are not to be found")
}

/// A failure carries the last lines of what it said.
fn quietly(limit: Duration, command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ended = process::within(limit, command)?;
    match ended.how {
        How::Well => Ok(()),
        How::Badly(status) => bail!("`{name}` failed ({status}): {}", last_lines(&ended.stderr)),
        How::TooLate => bail!("`{name}` took longer than {limit:?}: {}", last_lines(&ended.stderr)),
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.split_at(lines.len().saturating_sub(5)).1.join("; ")
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`
fn check_version(printed: &str) -> anyhow::Result<()> {
    let version = printed.trim().strip_prefix("postgres (PostgreSQL) ").unwrap_or_default();
    let major = version.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST => Ok(()),
        Some(_) | None => bail!("PostgreSQL {OLDEST} or later is needed, not `{}`", printed.trim()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
}

/// Whom to run as instead of root; nobody else needs that.
fn unprivileged() -> anyhow::Result<Option<User>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let passwd = fs::read_to_string("/etc/passwd").context("cannot read the list of users")?;
    let user = user_in(&passwd, UNPRIVILEGED);
    Ok(Some(user.with_context(|| format!("PostgreSQL does not run as root, and there is no user `{UNPRIVILEGED}`"))?))
}

/// `nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin`
fn user_in(passwd: &str, name: &str) -> Option<User> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let found = fields.next()? == name;
        let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        found.then_some(User { uid, gid })
    })
}

/// Somebody else could take it before the server does; then it says so and ends.
fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot find a free port")?;
    Ok(listener.local_addr().context("cannot find a free port")?.port())
}

/// The eighth line of `postmaster.pid` is how far it is, for `pg_ctl` and us.
fn is_ready(about: &str) -> bool {
    about.lines().nth(7).is_some_and(|state| state.trim_end() == "ready")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    #[test]
    fn starts_and_ends() {
        let Some(programs) = find() else {
            // A test installs nothing; the command that runs all tests does, or counts this as a gap.
            let err = Postgres::start_from("nowhere".into()).unwrap_err();
            assert_eq!(err.to_string(), "cannot run `nowhere/postgres --version`");
            return;
        };
        let server = Postgres::start_from(programs.clone()).unwrap();
        let (folder, port) = (server.folder.path().to_owned(), server.port);
        assert_eq!(server.url(), format!("postgres://postgres@127.0.0.1:{port}/postgres"));
        assert_eq!(server.programs(), programs);
        // Whoever is still connected does not keep it.
        let connection = log_in(port);
        let since = Instant::now();
        drop(server);
        assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
        assert!(!folder.exists());
        drop(connection);
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap_err();
    }

    /// As far as the first prompt, without a password.
    fn log_in(port: u16) -> TcpStream {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        connection.set_read_timeout(Some(START)).unwrap();
        let greeting = b"\0\x03\0\0user\0postgres\0database\0postgres\0\0";
        let length = u32::try_from(greeting.len() + 4).unwrap().to_be_bytes();
        connection.write_all(&[&length[..], greeting].concat()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"Z\0\0\0\x05I") {
            let mut byte = [0];
            connection.read_exact(&mut byte).unwrap();
            answer.extend(byte);
        }
        connection
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let version = "echo 'postgres (PostgreSQL) 14.1'";
        for (postgres, initdb, message) in [
            (
                "echo 'postgres (PostgreSQL) 13.9'",
                "",
                "PostgreSQL 14 or later is needed, not `postgres (PostgreSQL) 13.9`",
            ),
            (version, "echo one >&2; echo two >&2; exit 1", "initdb` failed (exit status: 1): one; two"),
            (version, "", "PostgreSQL ended (exit status: 0): postgres (PostgreSQL) 14.1"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            // By another process: a test beside us that forks meanwhile would keep the file open, and what is open for
            // writing cannot be run.
            let write = r#"chmod 755 .; for name in postgres initdb; do
                printf '#!/bin/sh\n%s\n' "$1" > $name; chmod 755 $name; shift
            done"#;
            let mut shell = Command::new("sh");
            process::output(shell.args(["-c", write, "sh", postgres, initdb]).current_dir(&folder)).unwrap();
            let err = Postgres::start_from(folder.path().to_owned()).unwrap_err();
            assert!(err.to_string().ends_with(message), "{err}");
        }
    }

    #[test]
    fn the_newest_version_comes_first() {
        let folders = ["9.6", "15", "bin", "14", "100"].map(PathBuf::from).to_vec();
        assert_eq!(newest_first(folders), ["100", "15", "14", "9.6"].map(PathBuf::from));
    }

    #[test]
    fn versions_are_understood() {
        for (printed, good) in [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", true),
            ("postgres (PostgreSQL) 14.0", true),
            ("postgres (PostgreSQL) 19beta1", true),
            ("postgres (PostgreSQL) 13.23", false),
            ("postgres (PostgreSQL) 9.6.24", false),
            ("postgres 15", false),
        ] {
            assert_eq!(check_version(printed).is_ok(), good, "{printed}");
        }
    }

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\n+::::::\nnobody2:x:7:8::/:\nnobody:x:65534:65533:n:/:/bin/false\n";
        assert_eq!(user_in(passwd, "nobody"), Some(User { uid: 65534, gid: 65533 }));
        assert_eq!(user_in(passwd, "nobod"), None);
        assert_eq!(user_in("nobody:*:-2:-2::/:\n", "nobody"), None);
    }

    #[test]
    fn a_server_is_ready_when_it_says_so() {
        let about = |state| format!("4242\ndata\n1760000000\n5432\n\n127.0.0.1\n  1  2\n{state}\n");
        for (state, ready) in [("ready   ", true), ("starting", false), ("stopping", false)] {
            assert_eq!(is_ready(&about(state)), ready, "{state}");
        }
        assert!(!is_ready("4242\ndata\n"));
    }
}
