//! Kills writers at random moments and looks whether anything that was acknowledged is gone.
//!
//! The writers are this same test binary, started again with a folder in the environment.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test's helpers may fail the test"
)]

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use countersign_contract::{AuditEntry, AuditEvent, AuditLog as _, Digest, Durability, RequestId};
use countersign_store::{Store, Verdict};
use jiff::Timestamp;
use serde_json::Value;

const FOLDER: &str = "COUNTERSIGN_STORE_CRASH_FOLDER";

const WRITERS: usize = 3;
/// On one folder; then comes a fresh one, so that creating is hit, too.
const ROUNDS_PER_FOLDER: usize = 8;
const ROUNDS: usize = 40;
const ROUNDS_LONG: usize = 1000;
const KILLS_MIN: usize = 120;

/// What a child says before anything else: a run in which no test has that name says nothing.
const STARTED: &str = "started";

/// A writer that never acknowledges anything is a failure, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn nothing_acknowledged_is_lost_to_a_kill() {
    let mut random = Random::new();
    println!("seed {}", random.0);
    let runtime = runtime();
    let rounds = if std::env::var_os("COUNTERSIGN_LONG").is_some() { ROUNDS_LONG } else { ROUNDS };
    let mut acknowledged_in_all = 0;
    let mut kills = 0;
    for _ in 0..rounds / ROUNDS_PER_FOLDER {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("data");
        let mut acknowledged = Vec::new();
        for _ in 0..ROUNDS_PER_FOLDER {
            acknowledged.extend(round(&folder, &mut random));
            kills += WRITERS;
            runtime.block_on(check(&folder, &acknowledged));
        }
        acknowledged_in_all += acknowledged.len();
    }
    println!("{kills} kills, {acknowledged_in_all} acknowledged entries");
    assert!(kills >= KILLS_MIN, "{kills} kills");
    assert!(acknowledged_in_all > rounds, "too few entries to have seen anything");
}

/// Not a test of its own: what the other one starts and kills.
#[test]
fn child() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        println!("{STARTED}");
        runtime().block_on(write_until_killed(&PathBuf::from(folder)));
    }
}

/// Starts the writers, kills each at its own moment and answers what they said was safe.
fn round(folder: &Path, random: &mut Random) -> Vec<String> {
    let writers: Vec<Running> = (0..WRITERS).map(|_| Running::start(folder)).collect();
    let mut acknowledged = Vec::new();
    for writer in writers {
        // By time, kills hit starts and recoveries; by count, they hit commits however slow the machine is.
        if random.below(3) == 0 {
            std::thread::sleep(Duration::from_millis(random.below(40)));
        } else {
            for _ in 0..random.below(12) {
                acknowledged.push(writer.acknowledged.recv_timeout(PATIENCE).expect("a writer that writes"));
            }
            std::thread::sleep(Duration::from_micros(random.below(5000)));
        }
        acknowledged.extend(writer.kill());
    }
    acknowledged
}

async fn check(folder: &Path, acknowledged: &[String]) {
    let store = match Store::open_existing(folder).await {
        Err(countersign_store::StoreError::NotThere { .. }) if acknowledged.is_empty() => return,
        opened => opened.unwrap(),
    };
    assert_eq!(store.integrity_check().await.unwrap(), Vec::<String>::new());
    let verdict = store.verify().await.unwrap();
    assert!(matches!(verdict, Verdict::Verified(_)), "{verdict:?}");
    let mut times_found: HashMap<String, usize> = HashMap::new();
    let exported = store.export(|record| {
        let body: Value = serde_json::from_slice(record.body)?;
        *times_found.entry(body["request_id"].as_str().unwrap().to_owned()).or_default() += 1;
        Ok(())
    });
    exported.await.unwrap();
    for id in acknowledged {
        assert_eq!(times_found.get(id), Some(&1), "{id}");
    }
    assert!(times_found.values().all(|times| *times == 1));
    store.close().await.unwrap();
}

async fn write_until_killed(folder: &Path) {
    let store = Store::open(folder).await.unwrap();
    let log = store.audit_log();
    let writing = (0..2).map(|_| async {
        let mut random = Random::new();
        loop {
            for _ in 0..random.below(8) {
                log.append(entry(RequestId::generate()), Durability::Batched).await.unwrap();
            }
            let id = RequestId::generate();
            log.append(entry(id), Durability::Synced).await.unwrap();
            println!("ack {id}");
        }
    });
    futures_util::future::join_all(writing).await;
}

struct Running {
    process: Child,
    acknowledged: Receiver<String>,
    reading: JoinHandle<()>,
}

impl Running {
    fn start(folder: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["child", "--exact", "--nocapture"])
            .env(FOLDER, folder)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(lines.by_ref().map_while(Result::ok).any(|line| line.ends_with(STARTED)), "the child ran no test");
        let (found, acknowledged) = sync_channel(100_000);
        let reading = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if let Some(id) = line.strip_prefix("ack ") {
                    found.send(id.to_owned()).unwrap();
                }
            }
        });
        Self { process, acknowledged, reading }
    }

    /// Answers what was acknowledged up to the end.
    fn kill(mut self) -> Vec<String> {
        self.process.kill().unwrap();
        let status = self.process.wait().unwrap();
        assert_eq!(status.code(), None, "killed, not ended by itself");
        self.reading.join().unwrap();
        self.acknowledged.try_iter().collect()
    }
}

/// Good enough to choose moments with.
struct Random(u64);

impl Random {
    fn new() -> Self {
        Self(RandomState::new().build_hasher().finish() | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn entry(request_id: RequestId) -> AuditEntry {
    AuditEntry {
        event: AuditEvent::Intent,
        at: Timestamp::now(),
        request_id,
        caller: "crash test".into(),
        wire: "none".into(),
        tool: "add_task".parse().unwrap(),
        contract: Digest::of_bytes(b"contract"),
        arguments: Digest::of_bytes(b"arguments"),
        code: None,
        duration_us: None,
        result: None,
        approval: None,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
